import Rankings

/// The entries of a listing with their sizes, indexed by name and by picture.
///
/// A row is the stored unit: a work in a list of works, a page in a work. Where all pages are shown, the row of a work makes an
/// entry for each of its pages.
struct EntryTable: Sendable {
    /// The most pages of a work that are shown: five times the limit of services, whatever a damaged database contains.
    private static let mostPages = 1000

    private(set) var entries: [ListingEntry] = []
    /// The sizes in bytes by position; 0 for unknown, since no picture has 0 bytes.
    private(set) var sizes: [Int64] = []
    /// The number of rows from which the entries were made.
    private(set) var rowCount = 0
    /// The least digits of the ranks that begin names; those of names that are there stay as they are.
    private(set) var digits = FileName.digits
    private var names = CompactIndex()
    private var works = CompactIndex()

    init() {}

    /// Creates a table from stored rows.
    init(rows: [ListingRow]) {
        entries.reserveCapacity(rows.count)
        for row in rows { append(row) }
        let ranked = rows.lazy.filter { $0.entry.rank > 0 }
        digits = ranked.map { $0.entry.name.utf8.prefix(while: \.isDigit).count }.min() ?? digits
    }

    /// Lets names sort as their ranks do up to the last rank of the listing; of no effect once there are names.
    mutating func widen(to last: Int) {
        if rowCount == 0 { digits = max(digits, String(last).utf8.count) }
    }

    /// An empty table for new names of the same listing, with as many digits.
    func renewed() -> EntryTable {
        var table = EntryTable()
        table.digits = digits
        return table
    }

    /// Makes entries of pictures and appends them, without works that are already listed (a live ranking shifts between pages).
    ///
    /// - Returns: The rows to store, one for each appended picture.
    @discardableResult
    mutating func append(_ pictures: [ListedPicture], of key: ListingKey, view: ListingView) -> [ListingRow] {
        var rows: [ListingRow] = []
        rows.reserveCapacity(pictures.count)
        for picture in pictures {
            let work = picture.listed.work
            guard key.isWork ? position(of: picture.id) == nil : position(of: work.id) == nil else { continue }
            let entry = ListingEntry(
                name: picture.name ?? freeName(for: picture), rank: Int32(clamping: picture.listed.rank ?? 0),
                picture: picture.id, reference: picture.reference, isWithheld: work.withheld != nil,
                isHidden: !view.shows(work, in: key) || !view.shows(rank: Int32(clamping: picture.listed.rank ?? 0)))
            let row = ListingRow(
                entry: entry, size: picture.size,
                pageCount: view.allPages && !key.isSameInEveryView ? work.pageCount : 1,
                previousRank: picture.listed.previousRank, work: key.listsNames ? nil : work)
            append(row)
            rows.append(row)
        }
        return rows
    }

    /// The rows from which the entries were made, with their sizes.
    var rows: [ListingRow] {
        var rows: [ListingRow] = []
        rows.reserveCapacity(rowCount)
        for (entry, size) in zip(entries, sizes) {
            // Further pages follow their row's own entry.
            if entry.picture.page > 0, let last = rows.last, last.entry.picture.work == entry.picture.work,
                last.entry.ofPage(entry.picture.page).name == entry.name
            {
                rows[rows.count - 1].pageCount = entry.picture.page + 1
            } else {
                rows.append(ListingRow(entry: entry, size: size))
            }
        }
        return rows
    }

    /// The position of a name, compared by bytes.
    func position(of name: some Collection<UInt8>) -> Int? {
        names.first(hash: CompactIndex.hash(name)) { entries[$0].name.utf8.elementsEqual(name) }
    }

    /// The position of a work's first page.
    func position(of work: WorkID) -> Int? {
        works.first(hash: CompactIndex.hash(work.rawValue)) {
            entries[$0].picture.work == work && entries[$0].picture.page == 0
        }
    }

    /// The number of rows before that of a work; nil if it is not in the table.
    func row(of work: WorkID) -> Int? {
        position(of: work).map { entries.count == rowCount ? $0 : entries[..<$0].count { $0.picture.page == 0 } }
    }

    /// The position of a picture.
    func position(of picture: PictureID) -> Int? {
        works.first(hash: CompactIndex.hash(picture.work.rawValue &+ Int64(picture.page))) {
            entries[$0].picture == picture
        }
    }

    /// Whether a work is listed as withheld.
    func withholds(_ work: WorkID) -> Bool { position(of: work).map { entries[$0].isWithheld } ?? false }

    /// The pictures, by work, of works that are listed as withheld and are no longer, or that are renewed.
    func uncovered(by pictures: [ListedPicture]) -> [WorkID: ListedPicture] {
        let uncovered = pictures.filter {
            $0.isRenewed || $0.listed.work.withheld == nil && withholds($0.listed.work.id)
        }
        return Dictionary(uncovered.map { ($0.listed.work.id, $0) }) { first, _ in first }
    }

    /// The pictures of a newer answer with the names that they have here at the same ranks, without works that are shown here and are
    /// withheld now.
    func kept(_ pictures: [ListedPicture]) -> [ListedPicture] {
        pictures.compactMap { picture in
            guard let entry = position(of: picture.listed.work.id).map({ entries[$0] }), !entry.isWithheld else {
                return picture
            }
            guard picture.listed.work.withheld == nil else { return nil }
            var picture = picture
            if Int(entry.rank) == picture.listed.rank, entry.name.hasSuffix(".\(picture.fileExtension)") {
                picture.name = entry.name
            }
            return picture
        }
    }

    /// Whether pictures have other ranks than here, or new ones come before one that is here.
    func isRenumbered(by pictures: [ListedPicture]) -> Bool {
        let last = entries.map(\.rank).max() ?? 0
        return pictures.contains { picture in
            let rank = Int32(clamping: picture.listed.rank ?? 0)
            return position(of: picture.listed.work.id).map { entries[$0].rank != rank } ?? (rank <= last)
        }
    }

    /// Sets a size in bytes, or forgets it with 0, if the picture is in the table; returns whether it is.
    @discardableResult
    mutating func setSize(_ size: Int64, of picture: PictureID) -> Bool {
        guard let position = position(of: picture) else { return false }
        sizes[position] = size
        return true
    }

    /// Appends a stored row.
    mutating func append(_ row: ListingRow) {
        rowCount += 1
        add(row.entry, size: row.size)
        guard row.pageCount > 1, !row.entry.isWithheld else { return }
        for page in 1..<min(row.pageCount, Self.mostPages) { add(row.entry.ofPage(page), size: 0) }
    }

    /// Appends a row of an older listing after those of the newer one, under another name if its own is taken.
    ///
    /// Vanished works leave their ranks to other works, and those may have the same title.
    ///
    /// - Returns: The appended row; nil if the other name is taken as well.
    mutating func appendOlder(_ row: ListingRow) -> ListingRow? {
        var row = row
        if position(of: row.entry.name.utf8) != nil { row.entry = row.entry.withNumber }
        guard position(of: row.entry.name.utf8) == nil else { return nil }
        append(row)
        return row
    }

    /// Appends pictures in their order, and the rows of an older listing in their places among these.
    ///
    /// A work that both have keeps its row, unless it was listed as withheld and is no longer. What is in the older listing alone stays
    /// before what followed it there.
    ///
    /// - Returns: The rows to store.
    mutating func merge(
        _ pictures: [ListedPicture], with old: EntryTable, of key: ListingKey, view: ListingView
    ) -> [ListingRow] {
        let (older, uncovered) = (old.rows, old.uncovered(by: pictures))
        let places = Dictionary(older.enumerated().map { ($1.entry.picture.work, $0) }) { first, _ in first }
        let present = Set(pictures.map(\.listed.work.id))
        var (rows, next): ([ListingRow], Int) = ([], 0)
        func take(_ row: ListingRow) {
            guard position(of: row.entry.picture.work) == nil else { return }
            if let picture = uncovered[row.entry.picture.work] {
                rows += append([picture], of: key, view: view)
            } else if let row = appendOlder(row) {
                rows.append(ListingRow(entry: row.entry))
            }
        }
        for picture in pictures {
            guard let place = places[picture.listed.work.id] else {
                rows += append([picture], of: key, view: view)
                continue
            }
            while next < place {
                if !present.contains(older[next].entry.picture.work) { take(older[next]) }
                next += 1
            }
            take(older[place])
        }
        for row in older.dropFirst(next) { take(row) }
        return rows
    }

    private mutating func add(_ entry: ListingEntry, size: Int64) {
        let position = entries.count
        entries.append(entry)
        sizes.append(size)
        names.insert(position, hash: CompactIndex.hash(entry.name.utf8)) { [entries] in
            CompactIndex.hash(entries[$0].name.utf8)
        }
        works.insert(position, hash: Self.hash(entry.picture)) { [entries] in Self.hash(entries[$0].picture) }
    }

    private static func hash(_ picture: PictureID) -> Int {
        CompactIndex.hash(picture.work.rawValue &+ Int64(picture.page))
    }

    /// The name of a work's entry, with its number before the title if another entry has the same rank and title.
    private func freeName(for picture: ListedPicture) -> String {
        let work = picture.listed.work
        let fileExtension = picture.fileExtension
        guard let rank = picture.listed.rank else {
            return FileName.work(work.id, title: work.title, fileExtension: fileExtension)
        }
        let name = FileName.ranked(rank, digits: digits, title: work.title, fileExtension: fileExtension)
        guard position(of: name.utf8) != nil else { return name }
        return FileName.ranked(
            rank, digits: digits, title: "\(work.id.rawValue) \(work.title)", fileExtension: fileExtension)
    }
}

// MARK: - Compact index

/// An index of positions by hash: four bytes a slot for any keys, because the keys stay in the table.
///
/// A dictionary of names would double the memory of a listing. Open addressing with linear probing, at most three quarters full.
struct CompactIndex: Sendable {
    private static let empty = UInt32.max
    private static let smallest = 16

    private var slots: [UInt32] = []
    private(set) var count = 0

    /// The first position under this hash for which `matches` returns true.
    func first(hash: Int, where matches: (Int) -> Bool) -> Int? {
        guard !slots.isEmpty else { return nil }
        var slot = hash & (slots.count - 1)
        while slots[slot] != Self.empty {
            let position = Int(slots[slot])
            if matches(position) { return position }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Adds a position; `hashOf` returns the hash of any position added so far, for the growth of the index.
    mutating func insert(_ position: Int, hash: Int, hashOf: (Int) -> Int) {
        if (count + 1) * 4 > slots.count * 3 { grow(hashOf) }
        place(UInt32(position), hash: hash)
        count += 1
    }

    private mutating func place(_ position: UInt32, hash: Int) {
        var slot = hash & (slots.count - 1)
        while slots[slot] != Self.empty { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = position
    }

    private mutating func grow(_ hashOf: (Int) -> Int) {
        let old = slots
        slots = Array(repeating: Self.empty, count: max(Self.smallest, old.count * 2))
        for position in old where position != Self.empty { place(position, hash: hashOf(Int(position))) }
    }

    /// FNV-1a of bytes: names of one listing are not chosen to collide, and a collision only costs a comparison.
    static func hash(_ bytes: some Sequence<UInt8>) -> Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return Int(truncatingIfNeeded: hash ^ (hash >> 32))
    }

    /// A number's hash: the multiplication spreads neighbouring work numbers.
    static func hash(_ number: Int64) -> Int {
        let spread = UInt64(bitPattern: number) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: spread >> 20)
    }
}
