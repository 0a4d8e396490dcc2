import Rankings
import SQLite

extension Rows {
    static func write(_ work: Work, to connection: Connection) throws(DatabaseError) {
        let separator = String(Schema.tagSeparator)
        let tags = work.tags.map { tag in tag.filter { $0 != Schema.tagSeparator } }.filter { !$0.isEmpty }
        try connection.run(
            "INSERT OR REPLACE INTO works VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            .integer(work.id.rawValue), .text(work.title), .integer(work.author.rawValue), .text(work.authorName),
            .text(tags.joined(separator: separator)), .integer(work.kind.rawValue), .integer(work.width),
            .integer(work.height), .integer(work.pageCount), .integer(work.uploaded),
            .optional(work.views.map(Int64.init)), .optional(work.ratings.map(Int64.init)), .text(work.picture),
            .optional(work.withheld))
    }

    /// The record of an entry: what is newest of the work, but the picture that the entry was listed with.
    static func record(
        of entry: ListingEntry, in key: ListingKey, _ connection: Connection
    ) throws(DatabaseError) -> ListedWork? {
        try connection.first(
            """
            SELECT w.id, w.title, w.author, w.author_name, w.tags, w.kind, w.width, w.height, w.page_count, w.views,
                w.ratings, w.withheld, e.rank, e.previous_rank, e.uploaded, e.reference
            FROM listings l JOIN entries e ON e.listing = l.id JOIN works w ON w.id = e.work
            WHERE l.key = ? AND e.work = ? AND e.name = ?
            """,
            .text(key.text), .integer(entry.picture.work.rawValue), .text(entry.name)
        ) { row in
            ListedWork(
                rank: row.optionalInt64(12).map(Int.init), previousRank: row.optionalInt64(13).map(Int.init),
                work: Work(
                    id: WorkID(rawValue: row.int64(0)), title: row.text(1), author: UserID(rawValue: row.int64(2)),
                    authorName: row.text(3), tags: row.text(4).split(separator: Schema.tagSeparator).map(String.init),
                    kind: WorkKind(rawValue: row.int(5)) ?? .illustration, width: row.int(6), height: row.int(7),
                    pageCount: row.int(8), uploaded: row.int64(14), views: row.optionalInt64(9).map(Int.init),
                    ratings: row.optionalInt64(10).map(Int.init), picture: row.text(15), withheld: row.optionalText(11))
            )
        }
    }
}
