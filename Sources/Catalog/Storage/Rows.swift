import Rankings
import SQLite

/// Between values and rows: the statements of the catalog, each a plain function of a connection.
enum Rows {
    // MARK: - Listings

    /// Writes a listing; returns how many sizes are new.
    static func write(
        _ listing: ListingWrite, _ variant: StoredVariant, to connection: Connection
    ) throws(DatabaseError) -> Int {
        let header = listing.header
        if listing.replaces { try delete(listing.key, variant, in: connection) }
        // Pages that arrive together may be written in any order: the header that knows most entries stays.
        try connection.run(
            """
            INSERT INTO listings(key, complete, next_page, last_page, entry_count, fetched, remaining)
            VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT(key) DO UPDATE SET complete = ?2, next_page = ?3, last_page = ?4, entry_count = ?5, fetched = ?6,
                remaining = ?7
                WHERE ?5 >= entry_count AND ?2 >= complete
            """,
            .text(variant.text(of: listing.key)), .flag(header.isComplete), .integer(header.nextPage),
            .optional(header.lastPage.map(Int64.init)), .integer(header.entryCount), .integer(header.fetched),
            .blob(bytes(of: header.remaining)))
        guard let id = try identifier(of: listing.key, variant, in: connection) else { return 0 }
        var newSizes = 0
        for (offset, row) in listing.rows.enumerated() {
            let entry = row.entry
            let picture = entry.picture
            try connection.run(
                "INSERT OR REPLACE INTO entries VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", .integer(id),
                .integer(listing.firstPosition + offset), .optional(entry.rank > 0 ? Int64(entry.rank) : nil),
                .optional(row.previousRank.map(Int64.init)), .integer(picture.work.rawValue), .text(entry.name),
                .integer(picture.uploaded), .text(entry.reference), .flag(entry.isWithheld), .integer(picture.page),
                .optional(storedRendition(of: picture)))
            if let work = row.work { try write(work, to: connection) }
            if row.size > 0 { newSizes += try writeTold(row.size, of: picture, to: connection) }
        }
        return newSizes
    }

    /// The rendition of an entry that always has it; nil for one whose rendition is the mount's.
    private static func storedRendition(of picture: PictureID) -> String? {
        switch picture.rendition {
        case .regular, .small: nil
        case .original, .archive, .webp, .gif, .matroska, .avatar, .normalThumbnail, .largeThumbnail:
            picture.rendition.rawValue
        }
    }

    static func delete(
        _ key: ListingKey, _ variant: StoredVariant, in connection: Connection
    ) throws(DatabaseError) {
        try connection.run("DELETE FROM listings WHERE key = ?", .text(variant.text(of: key)))
    }

    static func listing(
        _ key: ListingKey, view: ListingView, in connection: Connection
    ) throws(DatabaseError) -> StoredListing? {
        let found = try connection.first(
            "SELECT id, complete, next_page, last_page, entry_count, fetched, remaining FROM listings WHERE key = ?",
            .text(StoredVariant(view).text(of: key))
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
        var stored = StoredListing(header: header, rows: [])
        // What has no rendition of its own is listed in the mount's; for originals that is the one they fell back to.
        let standard = view.rendition == .original || key.isWork ? .regular : view.rendition
        try connection.rows(rowsSQL(withRecords: view.needsRecords(of: key)), .integer(id), .text(standard.rawValue)) {
            row in
            let picture = PictureID(
                work: WorkID(rawValue: row.int64(1)), page: row.int(7),
                rendition: row.optionalText(8).flatMap(Rendition.init(rawValue:)) ?? standard, uploaded: row.int64(3))
            let work = view.needsRecords(of: key) ? judged(row, picture) : nil
            stored.rows.append(
                StoredRow(
                    entry: ListingEntry(
                        name: row.text(2), rank: Int32(clamping: row.int64(0)), picture: picture,
                        reference: row.text(4), isWithheld: row.int64(5) != 0,
                        isHidden: !view.shows(rank: Int32(clamping: row.int64(0)))
                            || work.map { !view.shows($0, in: key) } ?? false),
                    size: row.int64(6), pageCount: view.allPages ? work?.pageCount ?? 1 : 1))
        }
        guard stored.rows.count == header.entryCount else {
            // A page in the middle could not be written: ask the service again rather than show a hole.
            try connection.run("DELETE FROM listings WHERE id = ?", .integer(id))
            return nil
        }
        return stored
    }

    private static func rowsSQL(withRecords: Bool) -> String {
        """
        SELECT e.rank, e.work, e.name, e.uploaded, e.reference, e.withheld, s.size, e.page, e.rendition
            \(withRecords ? ", w.tags, w.width, w.height, w.page_count, w.ai" : "")
        FROM entries e LEFT JOIN sizes s
            ON s.work = e.work AND s.page = e.page AND s.rendition = ifnull(e.rendition, ?2) AND s.uploaded = e.uploaded
            \(withRecords ? "LEFT JOIN works w ON w.id = e.work" : "")
        WHERE e.listing = ?1 ORDER BY e.position
        """
    }

    /// As much of a work's record as filters ask for.
    private static func judged(_ row: Statement, _ picture: PictureID) -> Work {
        Work(
            id: picture.work, title: "", author: UserID(rawValue: 0), authorName: "", tags: tags(row.text(9)),
            kind: .illustration, width: row.int(10), height: row.int(11), pageCount: max(1, row.int(12)),
            uploaded: picture.uploaded, views: nil, ratings: nil, picture: "", withheld: nil,
            isAI: row.optionalInt64(13).map { $0 != 0 })
    }

    static func overview(
        of connection: Connection, variant: StoredVariant
    ) throws(DatabaseError) -> StoredOverview {
        var overview = StoredOverview()
        var spellings: [(stored: String, key: String)] = []
        try connection.rows("SELECT key FROM listings") { row in
            let stored = row.text(0)
            guard let key = variant.key(stored) else { return }
            overview.keys.insert(key)
            let text = variant.text(of: key)
            if !stored.utf8.elementsEqual(text.utf8) { spellings.append((stored, text)) }
        }
        // Earlier versions stored what was typed in each spelling.
        for (stored, key) in spellings {
            try connection.run("UPDATE OR IGNORE listings SET key = ? WHERE key = ?", .text(key), .text(stored))
            try connection.run("DELETE FROM listings WHERE key = ?", .text(stored))
        }
        try connection.rows("SELECT mode, day, asked FROM newest") { row in
            guard let mode = RankingMode(rawValue: row.text(0)) else { return }
            overview.newest[mode] = NewestDay(day: Day(ordinal: row.int(1)), asked: row.int64(2))
        }
        overview.sizes = try connection.first("SELECT count(*) FROM sizes") { $0.int(0) } ?? 0
        overview.recent = try recentPictures(connection)
        return overview
    }

    static func write(_ newest: NewestDay, of mode: RankingMode, to connection: Connection) throws(DatabaseError) {
        try connection.run(
            "INSERT OR REPLACE INTO newest VALUES(?, ?, ?)", .text(mode.rawValue), .integer(newest.day.ordinal),
            .integer(newest.asked))
    }

    private static func identifier(
        of key: ListingKey, _ variant: StoredVariant, in connection: Connection
    ) throws(DatabaseError) -> Int64? {
        try connection.first("SELECT id FROM listings WHERE key = ?", .text(variant.text(of: key))) { $0.int64(0) }
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
