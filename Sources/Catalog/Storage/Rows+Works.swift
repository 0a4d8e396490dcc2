import Rankings
import SQLite

extension Rows {
    static func write(_ work: Work, to connection: Connection) throws(DatabaseError) {
        let separator = String(Schema.tagSeparator)
        let tags = work.tags.map { tag in tag.filter { $0 != Schema.tagSeparator } }.filter { !$0.isEmpty }
        try connection.run(
            // A listing that does not tell how a work was made leaves what another one told.
            """
            INSERT OR REPLACE INTO works
            VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
                ifnull(?15, (SELECT ai FROM works WHERE id = ?1)), ?16)
            """,
            .integer(work.id.rawValue), .text(work.title), .integer(work.author.rawValue), .text(work.authorName),
            .text(tags.joined(separator: separator)), .integer(work.kind.rawValue), .integer(work.width),
            .integer(work.height), .integer(work.pageCount), .integer(work.uploaded),
            .optional(work.views.map(Int64.init)), .optional(work.ratings.map(Int64.init)), .text(work.picture),
            .optional(work.withheld), .optional(work.isAI.map { $0 ? 1 : 0 }),
            .optional(work.origin))
    }

    /// The record of an entry: what is newest of the work, but the picture that the entry was listed with.
    static func record(
        of entry: ListingEntry, in key: ListingKey, _ variant: StoredVariant, _ connection: Connection
    ) throws(DatabaseError) -> ListedWork? {
        try connection.first(
            """
            SELECT w.id, w.title, w.author, w.author_name, w.tags, w.kind, w.width, w.height, w.page_count, w.views,
                w.ratings, w.withheld, e.rank, e.previous_rank, e.uploaded, e.reference, w.ai, w.origin
            FROM listings l JOIN entries e ON e.listing = l.id JOIN works w ON w.id = e.work
            WHERE l.key = ? AND e.work = ? LIMIT 1
            """,
            .text(variant.text(of: key)), .integer(entry.picture.work.rawValue)
        ) { row in
            ListedWork(
                rank: row.optionalInt64(12).map(Int.init), previousRank: row.optionalInt64(13).map(Int.init),
                work: Work(
                    id: WorkID(rawValue: row.int64(0)), title: row.text(1), author: UserID(rawValue: row.int64(2)),
                    authorName: row.text(3), tags: tags(row.text(4)),
                    kind: WorkKind(rawValue: row.int(5)) ?? .illustration, width: row.int(6), height: row.int(7),
                    pageCount: row.int(8), uploaded: row.int64(14), views: row.optionalInt64(9).map(Int.init),
                    ratings: row.optionalInt64(10).map(Int.init), picture: row.text(15), withheld: row.optionalText(11),
                    isAI: row.optionalInt64(16).map { $0 != 0 }, origin: row.optionalText(17))
            )
        }
    }

    static func tags(_ text: String) -> [String] {
        text.split(separator: Schema.tagSeparator).map(String.init)
    }
}
