import Rankings
import SQLite

extension Rows {
    static func write(_ text: StoredText, under key: TextKey, to connection: Connection) throws(DatabaseError) {
        try connection.run(
            """
            INSERT INTO texts VALUES(?1, ?2, ?3, ?3)
            ON CONFLICT(key) DO UPDATE SET text = ?2, fetched = ?3, changed = iif(text = ?2, changed, ?3)
            """,
            .text(key.text), .text(text.text), .integer(text.fetched))
    }

    static func text(_ key: TextKey, in connection: Connection) throws(DatabaseError) -> StoredText? {
        try connection.first("SELECT text, fetched, changed FROM texts WHERE key = ?", .text(key.text)) { row in
            StoredText(text: row.text(0), fetched: row.int64(1), changed: row.int64(2))
        }
    }

    static func deleteText(_ key: TextKey, in connection: Connection) throws(DatabaseError) {
        try connection.run("DELETE FROM texts WHERE key = ?", .text(key.text))
    }

    // MARK: - Recent pictures

    /// Writes a picture that was read, and deletes the oldest ones above the bound.
    static func write(_ picture: RecentPicture, to connection: Connection) throws(DatabaseError) {
        try connection.run(
            "INSERT OR REPLACE INTO recent(path, opened) VALUES(?, ?)", .text(picture.path), .integer(picture.opened))
        try connection.run(
            """
            DELETE FROM recent WHERE place NOT IN (SELECT place FROM recent ORDER BY place DESC LIMIT ?)
            """,
            .integer(RecentPictures.bound))
    }

    /// Newest first.
    static func recentPictures(_ connection: Connection) throws(DatabaseError) -> [RecentPicture] {
        var pictures: [RecentPicture] = []
        try connection.rows("SELECT path, opened FROM recent ORDER BY place DESC") { row in
            pictures.append(RecentPicture(path: row.text(0), opened: row.int64(1)))
        }
        return pictures
    }

    // MARK: - Where a work is listed

    /// The listings of this variant that have a work as an entry; a few, rankings first, which never need the network.
    static func places(
        of work: WorkID, _ variant: StoredVariant, in connection: Connection
    ) throws(DatabaseError) -> [ListingKey] {
        var places: [ListingKey] = []
        try connection.rows(
            """
            SELECT DISTINCT l.key FROM entries e JOIN listings l ON l.id = e.listing WHERE e.work = ?
            ORDER BY l.key NOT LIKE ? LIMIT 16
            """,
            .integer(work.rawValue), .text("%\(TreePath.rankings.text)/%")
        ) { row in
            if let key = variant.key(row.text(0)) { places.append(key) }
        }
        return places
    }

    /// The authors of listed works with this name, at most two: more than one is as good as many.
    static func authors(named name: String, in connection: Connection) throws(DatabaseError) -> [UserID] {
        var authors: [UserID] = []
        try connection.rows(
            "SELECT DISTINCT author FROM works WHERE author_name = ? AND author > 0 LIMIT 2", .text(name)
        ) { row in
            authors.append(UserID(rawValue: row.int64(0)))
        }
        return authors
    }

    /// A work's newest record, whatever listed it.
    static func work(_ id: WorkID, in connection: Connection) throws(DatabaseError) -> Work? {
        try connection.first(
            """
            SELECT title, author, author_name, tags, kind, width, height, page_count, uploaded, views, ratings, picture,
                withheld, ai, origin
            FROM works WHERE id = ?
            """,
            .integer(id.rawValue)
        ) { row in
            Work(
                id: id, title: row.text(0), author: UserID(rawValue: row.int64(1)), authorName: row.text(2),
                tags: tags(row.text(3)), kind: WorkKind(rawValue: row.int(4)) ?? .illustration, width: row.int(5),
                height: row.int(6), pageCount: row.int(7), uploaded: row.int64(8),
                views: row.optionalInt64(9).map(Int.init), ratings: row.optionalInt64(10).map(Int.init),
                picture: row.text(11), withheld: row.optionalText(12), isAI: row.optionalInt64(13).map { $0 != 0 },
                origin: row.optionalText(14))
        }
    }
}
