import Rankings
import SQLite

/// Between values and rows: the statements of the catalog, each a plain function of a connection.
enum Rows {
    // MARK: - Listings

    static func write(_ listing: ListingWrite, to connection: Connection) throws(DatabaseError) {
        let header = listing.header
        if listing.replaces { try connection.run("DELETE FROM listings WHERE key = ?", .text(listing.key.text)) }
        // Pages that arrive together may be written in any order: the header that knows most entries stays.
        try connection.run(
            """
            INSERT INTO listings(key, complete, next_page, last_page, entry_count, fetched, remaining)
            VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT(key) DO UPDATE SET complete = ?2, next_page = ?3, last_page = ?4, entry_count = ?5, fetched = ?6,
                remaining = ?7
                WHERE ?5 >= entry_count AND ?2 >= complete
            """,
            .text(listing.key.text), .flag(header.isComplete), .integer(header.nextPage),
            .optional(header.lastPage.map(Int64.init)), .integer(header.entryCount), .integer(header.fetched),
            .blob(bytes(of: header.remaining)))
        guard let id = try identifier(of: listing.key, in: connection) else { return }
        for (offset, row) in listing.rows.enumerated() {
            let entry = row.entry
            try connection.run(
                "INSERT OR REPLACE INTO entries VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", .integer(id),
                .integer(listing.firstPosition + offset), .optional(entry.rank > 0 ? Int64(entry.rank) : nil),
                .optional(row.previousRank.map(Int64.init)), .integer(entry.picture.work.rawValue), .text(entry.name),
                .integer(entry.picture.uploaded), .text(entry.reference), .flag(entry.isWithheld))
            if let work = row.work { try write(work, to: connection) }
        }
    }

    static func listing(
        _ key: ListingKey, rendition: Rendition, in connection: Connection
    ) throws(DatabaseError) -> StoredListing? {
        let found = try connection.first(
            "SELECT id, complete, next_page, last_page, entry_count, fetched, remaining FROM listings WHERE key = ?",
            .text(key.text)
        ) { row in
            (
                id: row.int64(0),
                header: ListingHeader(
                    isComplete: row.int64(1) != 0, nextPage: max(1, row.int(2)),
                    lastPage: row.optionalInt64(3).map(Int.init), entryCount: row.int(4), fetched: row.int64(5),
                    remaining: works(in: row.blob(6)))
            )
        }
        guard let (id, header) = found else { return nil }
        var stored = StoredListing(header: header, entries: [], sizes: [])
        try connection.rows(
            """
            SELECT e.rank, e.work, e.name, e.uploaded, e.reference, e.withheld, s.size
            FROM entries e LEFT JOIN sizes s
                ON s.work = e.work AND s.page = 0 AND s.rendition = ?2 AND s.uploaded = e.uploaded
            WHERE e.listing = ?1 ORDER BY e.position
            """,
            .integer(id), .text(rendition.rawValue)
        ) { row in
            stored.entries.append(
                ListingEntry(
                    name: row.text(2), rank: Int32(clamping: row.int64(0)),
                    picture: PictureID(
                        work: WorkID(rawValue: row.int64(1)), page: 0, rendition: rendition, uploaded: row.int64(3)),
                    reference: row.text(4), isWithheld: row.int64(5) != 0))
            stored.sizes.append(row.int64(6))
        }
        guard stored.entries.count == header.entryCount else {
            // A page in the middle could not be written: ask the service again rather than show a hole.
            try connection.run("DELETE FROM listings WHERE id = ?", .integer(id))
            return nil
        }
        return stored
    }

    static func overview(of connection: Connection) throws(DatabaseError) -> StoredOverview {
        var overview = StoredOverview()
        try connection.rows("SELECT key FROM listings") { row in
            if let key = ListingKey(text: row.text(0)) { overview.keys.insert(key) }
        }
        try connection.rows("SELECT mode, day, asked FROM newest") { row in
            guard let mode = RankingMode(rawValue: row.text(0)) else { return }
            overview.newest[mode] = NewestDay(day: Day(ordinal: row.int(1)), asked: row.int64(2))
        }
        overview.sizes = try connection.first("SELECT count(*) FROM sizes") { $0.int(0) } ?? 0
        return overview
    }

    static func write(_ newest: NewestDay, of mode: RankingMode, to connection: Connection) throws(DatabaseError) {
        try connection.run(
            "INSERT OR REPLACE INTO newest VALUES(?, ?, ?)", .text(mode.rawValue), .integer(newest.day.ordinal),
            .integer(newest.asked))
    }

    private static func identifier(of key: ListingKey, in connection: Connection) throws(DatabaseError) -> Int64? {
        try connection.first("SELECT id FROM listings WHERE key = ?", .text(key.text)) { $0.int64(0) }
    }

    // MARK: - Sizes

    static func size(of picture: PictureID, in connection: Connection) throws(DatabaseError) -> Int64? {
        try connection.first(
            "SELECT size FROM sizes WHERE work = ? AND page = ? AND rendition = ? AND uploaded = ?",
            .integer(picture.work.rawValue), .integer(picture.page), .text(picture.rendition.rawValue),
            .integer(picture.uploaded)
        ) { $0.int64(0) }
    }

    /// Writes a size; 1 if the picture had none before, else 0.
    static func write(_ size: Int64, of picture: PictureID, to connection: Connection) throws(DatabaseError) -> Int {
        try connection.run(
            "INSERT OR IGNORE INTO sizes VALUES(?, ?, ?, ?, ?)", .integer(picture.work.rawValue),
            .integer(picture.page),
            .text(picture.rendition.rawValue), .integer(picture.uploaded), .integer(size))
        if connection.changes > 0 { return 1 }
        try connection.run(
            "UPDATE sizes SET size = ? WHERE work = ? AND page = ? AND rendition = ? AND uploaded = ?", .integer(size),
            .integer(picture.work.rawValue), .integer(picture.page), .text(picture.rendition.rawValue),
            .integer(picture.uploaded))
        return 0
    }

    /// Deletes a size; 1 if there was one, else 0.
    static func deleteSize(of picture: PictureID, in connection: Connection) throws(DatabaseError) -> Int {
        try connection.run(
            "DELETE FROM sizes WHERE work = ? AND page = ? AND rendition = ? AND uploaded = ?",
            .integer(picture.work.rawValue), .integer(picture.page), .text(picture.rendition.rawValue),
            .integer(picture.uploaded))
        return connection.changes
    }

    // MARK: - Lists of works as bytes

    static func bytes(of works: [WorkID]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(works.count * 8)
        for work in works {
            let bits = UInt64(bitPattern: work.rawValue)
            for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: bits >> shift)) }
        }
        return bytes
    }

    static func works(in bytes: [UInt8]) -> [WorkID] {
        stride(from: 0, to: bytes.count - 7, by: 8).map { start in
            let bits = bytes[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return WorkID(rawValue: Int64(bitPattern: bits))
        }
    }
}
