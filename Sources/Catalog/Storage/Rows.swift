import Rankings
import System

/// Conversions between values and rows: the statements of the catalog, each a plain function of a connection.
enum Rows {
    // MARK: - Listings

    /// Writes a listing; returns the number of new sizes.
    static func write(
        _ listing: ListingWrite, _ variant: StoredVariant, to connection: Connection
    ) throws(DatabaseError) -> Int {
        let header = listing.header
        if listing.replaces { try delete(listing.key, variant, in: connection) }
        // Pages that arrive together may be written in any order: the header with the most entries stays.
        try connection.run(
            """
            INSERT INTO listings(key, complete, next_page, last_page, entry_count, fetched, remaining, unread_by)
            VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            ON CONFLICT(key) DO UPDATE SET complete = ?2, next_page = ?3, last_page = ?4, entry_count = ?5, fetched = ?6,
                remaining = ?7, unread_by = ?8
                WHERE ?5 >= entry_count AND ?2 >= complete
            """,
            .text(variant.text(of: listing.key)), .flag(header.isComplete), .integer(header.nextPage),
            .optional(header.lastPage.map(Int64.init)), .integer(header.entryCount), .integer(header.fetched),
            .blob(bytes(of: header.remaining)), .optional(header.unreadBy))
        let key = variant.text(of: listing.key)
        guard let id = try connection.first("SELECT id FROM listings WHERE key = ?", .text(key), read: { $0.int64(0) })
        else { return 0 }
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

    /// The rendition of an entry that has it in every mount; nil for an entry in the mount's rendition.
    private static func storedRendition(of picture: PictureID) -> String? {
        switch picture.rendition {
        case .regular, .small: nil
        case .original, .archive, .webp, .gif, .matroska, .avatar, .normalThumbnail, .largeThumbnail:
            picture.rendition.rawValue
        }
    }

    static func delete(
        _ key: StoredKey, _ variant: StoredVariant, in connection: Connection
    ) throws(DatabaseError) {
        try connection.run("DELETE FROM listings WHERE key = ?", .text(variant.text(of: key)))
    }

    static func listing(
        _ key: StoredKey, view: ListingView, in connection: Connection
    ) throws(DatabaseError) -> StoredListing? {
        let found = try connection.first(
            """
            SELECT id, complete, next_page, last_page, entry_count, fetched, remaining, unread_by FROM listings WHERE key = ?
            """,
            .text(StoredVariant(view).text(of: key))
        ) { row in
            (
                id: row.int64(0),
                header: ListingHeader(
                    isComplete: row.int64(1) != 0, nextPage: max(1, row.int(2)),
                    lastPage: row.optionalInt64(3).map(Int.init), entryCount: row.int(4), fetched: row.int64(5),
                    remaining: works(in: row.blob(6)), unreadBy: row.optionalText(7))
            )
        }
        guard let (id, header) = found else { return nil }
        var stored: StoredListing = (header, [])
        // An entry without a rendition of its own is listed in the mount's; for originals, in the rendition that stands in for
        // them.
        let listing = key.listing
        let standard = view.rendition == .original || listing.isWork ? .regular : view.rendition
        try connection.rows(
            rowsSQL(withRecords: view.needsRecords(of: listing)), .integer(id), .text(standard.rawValue)
        ) {
            row in
            let picture = PictureID(
                work: WorkID(rawValue: row.int64(1)), page: row.int(7),
                rendition: row.optionalText(8).flatMap(Rendition.init(rawValue:)) ?? standard, uploaded: row.int64(3))
            let work = view.needsRecords(of: listing) ? judged(row, picture) : nil
            stored.rows.append(
                ListingRow(
                    entry: ListingEntry(
                        name: row.text(2), rank: Int32(clamping: row.int64(0)), picture: picture,
                        reference: row.text(4), isWithheld: row.int64(5) != 0,
                        isHidden: !view.shows(rank: Int32(clamping: row.int64(0)))
                            || work.map { !view.shows($0, in: listing) } ?? false),
                    size: row.int64(6), pageCount: view.allPages ? work?.pageCount ?? 1 : 1))
        }
        guard stored.rows.count == header.entryCount else {
            // A page in the middle could not be written: a new request to the service is better than a gap.
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

    /// The part of a work's record that filters need.
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
        try connection.rows("SELECT key, fetched FROM listings") { row in
            let stored = row.text(0)
            guard let key = variant.key(stored) else { return }
            overview.keys.insert(key)
            let kind = key.listing.kind
            overview.asked[kind] = max(overview.asked[kind] ?? .min, row.int64(1))
            let text = variant.text(of: key)
            if !stored.utf8.elementsEqual(text.utf8) { spellings.append((stored, text)) }
        }
        // Earlier versions stored each typed spelling separately.
        for (stored, key) in spellings {
            try connection.run("UPDATE OR IGNORE listings SET key = ? WHERE key = ?", .text(key), .text(stored))
            try connection.run("DELETE FROM listings WHERE key = ?", .text(stored))
        }
        try connection.rows("SELECT mode, day, asked FROM newest") { row in
            guard let mode = RankingMode(rawValue: row.text(0)) else { return }
            overview.newest[mode] = NewestDay(day: Day(ordinal: row.int(1)), asked: row.int64(2))
        }
        overview.sizes = try connection.first("SELECT count(*) FROM sizes") { $0.int(0) } ?? 0
        try connection.rows("SELECT path, opened, work, page FROM recent ORDER BY place DESC") { row in
            let page = row.optionalInt64(2).map { (work: WorkID(rawValue: $0), page: row.int(3)) }
            overview.recent.append(RecentPicture(path: row.text(0), opened: row.int64(1), of: page))
        }
        return overview
    }

    static func write(_ newest: NewestDay, of mode: RankingMode, to connection: Connection) throws(DatabaseError) {
        try connection.run(
            "INSERT OR REPLACE INTO newest VALUES(?, ?, ?)", .text(mode.rawValue), .integer(newest.day.ordinal),
            .integer(newest.asked))
    }

    // MARK: - Lists of works as bytes

    static func bytes(of works: [WorkID]) -> [UInt8] {
        works.flatMap { work in (0..<8).map { UInt8(truncatingIfNeeded: work.rawValue >> (8 * $0)) } }
    }

    static func works(in bytes: [UInt8]) -> [WorkID] {
        stride(from: 0, to: bytes.count - 7, by: 8).map { start in
            let bits = bytes[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return WorkID(rawValue: Int64(bitPattern: bits))
        }
    }
}

// MARK: - Works

extension Rows {
    /// Writes the newest record of a work.
    ///
    /// The record of a withheld work, such as one that its author deleted, consists of placeholders: only its reason replaces
    /// anything, and stored days keep their names, pages and attributes.
    static func write(_ work: Work, to connection: Connection) throws(DatabaseError) {
        if let reason = work.withheld {
            try connection.run(
                "UPDATE works SET withheld = ? WHERE id = ?", .text(reason), .integer(work.id.rawValue))
            if connection.changes > 0 { return }
        }
        let separator = String(Schema.tagSeparator)
        let tags = work.tags.map { tag in tag.filter { $0 != Schema.tagSeparator } }.filter { !$0.isEmpty }
        try connection.run(
            // A listing without counts, or the making, source or series of a work, leaves the values of another listing.
            """
            INSERT INTO works VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
            ON CONFLICT(id) DO UPDATE SET title = ?2, author = ?3, author_name = ?4, tags = ?5, kind = ?6, width = ?7,
                height = ?8, page_count = ?9, uploaded = ?10, views = ifnull(?11, views), ratings = ifnull(?12, ratings),
                picture = ?13, withheld = ?14, ai = ifnull(?15, ai), origin = ifnull(?16, origin),
                series = ifnull(?17, series)
            """,
            .integer(work.id.rawValue), .text(work.title), .integer(work.author.rawValue), .text(work.authorName),
            .text(tags.joined(separator: separator)), .integer(work.kind.rawValue), .integer(work.width),
            .integer(work.height), .integer(work.pageCount), .integer(work.uploaded),
            .optional(work.views.map(Int64.init)), .optional(work.ratings.map(Int64.init)), .text(work.picture),
            .optional(work.withheld), .optional(work.isAI.map { $0 ? 1 : 0 }),
            .optional(work.origin), .optional(work.series))
    }

    /// The record of an entry: the newest record of the work, with the picture under which the entry was listed.
    ///
    /// It outlives the listing, which is replaced or forgotten while files of it are in use.
    static func record(
        of entry: ListingEntry, in key: StoredKey, _ variant: StoredVariant, _ connection: Connection
    ) throws(DatabaseError) -> ListedWork? {
        try connection.first(
            """
            SELECT w.title, w.author, w.author_name, w.tags, w.kind, w.width, w.height, w.page_count,
                ifnull(e.uploaded, ?3), w.views, w.ratings, ifnull(e.reference, ?4), w.withheld, w.ai, w.origin, w.series,
                ifnull(e.rank, ?5), e.previous_rank
            FROM works w LEFT JOIN entries e ON e.work = w.id AND e.listing = (SELECT id FROM listings WHERE key = ?1)
            WHERE w.id = ?2 LIMIT 1
            """,
            .text(variant.text(of: key)), .integer(entry.picture.work.rawValue), .integer(entry.picture.uploaded),
            .text(entry.reference), .optional(entry.rank > 0 ? Int64(entry.rank) : nil)
        ) { row in
            ListedWork(
                rank: row.optionalInt64(16).map(Int.init), previousRank: row.optionalInt64(17).map(Int.init),
                work: work(entry.picture.work, row)
            )
        }
    }

    static func tags(_ text: String) -> [String] {
        text.split(separator: Schema.tagSeparator).map(String.init)
    }
}

// MARK: - Sizes

extension Rows {
    static func size(of picture: PictureID, in connection: Connection) throws(DatabaseError) -> Int64? {
        try connection.first(
            "SELECT size FROM sizes WHERE work = ? AND page = ? AND rendition = ? AND uploaded = ?",
            .integer(picture.work.rawValue), .integer(picture.page), .text(picture.rendition.rawValue),
            .integer(picture.uploaded)
        ) { $0.int64(0) }
    }

    /// Writes a size unless the picture has one; 1 if it had none, else 0.
    static func writeTold(
        _ size: Int64, of picture: PictureID, to connection: Connection
    ) throws(DatabaseError) -> Int {
        try connection.run(
            "INSERT OR IGNORE INTO sizes VALUES(?, ?, ?, ?, ?)", .integer(picture.work.rawValue),
            .integer(picture.page),
            .text(picture.rendition.rawValue), .integer(picture.uploaded), .integer(size))
        return connection.changes > 0 ? 1 : 0
    }

    /// Writes a size in place of any other; 1 if the picture had none before, else 0.
    static func write(_ size: Int64, of picture: PictureID, to connection: Connection) throws(DatabaseError) -> Int {
        if try writeTold(size, of: picture, to: connection) > 0 { return 1 }
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
}

// MARK: - Texts

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
            "INSERT OR REPLACE INTO recent(path, opened, work, page) VALUES(?, ?, ?, ?)", .text(picture.path),
            .integer(picture.opened), .optional(picture.work?.rawValue), .integer(picture.page))
        try connection.run(
            """
            DELETE FROM recent WHERE place NOT IN (SELECT place FROM recent ORDER BY place DESC LIMIT ?)
            """,
            .integer(RecentPicture.bound))
    }

    // MARK: - Where a work is listed

    /// The listings of this variant that contain a work: at most 16, rankings first, since they never need the network.
    static func places(
        of work: WorkID, _ variant: StoredVariant, in connection: Connection
    ) throws(DatabaseError) -> [StoredKey] {
        var places: [StoredKey] = []
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

    /// The reference of the entry with a name; nil if the listing has none.
    static func reference(
        of name: String, in key: StoredKey, _ variant: StoredVariant, _ connection: Connection
    ) throws(DatabaseError) -> String? {
        try connection.first(
            "SELECT e.reference FROM entries e JOIN listings l ON l.id = e.listing WHERE l.key = ? AND e.name = ?",
            .text(variant.text(of: key)), .text(name)
        ) { $0.text(0) }
    }

    /// The authors of listed works with this name, at most two: two are enough to show that the name is ambiguous.
    static func authors(named name: String, in connection: Connection) throws(DatabaseError) -> [UserID] {
        var authors: [UserID] = []
        try connection.rows(
            "SELECT DISTINCT author FROM works WHERE author_name = ? AND author > 0 LIMIT 2", .text(name)
        ) { row in
            authors.append(UserID(rawValue: row.int64(0)))
        }
        return authors
    }

    /// The newest record of a work from any listing.
    static func work(_ id: WorkID, in connection: Connection) throws(DatabaseError) -> Work? {
        try connection.first(
            """
            SELECT title, author, author_name, tags, kind, width, height, page_count, uploaded, views, ratings, picture,
                withheld, ai, origin, series
            FROM works WHERE id = ?
            """,
            .integer(id.rawValue)
        ) { row in work(id, row) }
    }

    /// The record of a work from the columns of the two queries for it.
    private static func work(_ id: WorkID, _ row: Statement) -> Work {
        Work(
            id: id, title: row.text(0), author: UserID(rawValue: row.int64(1)), authorName: row.text(2),
            tags: tags(row.text(3)), kind: WorkKind(rawValue: row.int(4)) ?? .illustration, width: row.int(5),
            height: row.int(6), pageCount: row.int(7), uploaded: row.int64(8),
            views: row.optionalInt64(9).map(Int.init), ratings: row.optionalInt64(10).map(Int.init),
            picture: row.text(11), withheld: row.optionalText(12), isAI: row.optionalInt64(13).map { $0 != 0 },
            origin: row.optionalText(14), series: row.optionalInt64(15))
    }
}
