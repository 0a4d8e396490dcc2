import Rankings

/// The entries of a listing with their sizes, found by name and by picture.
///
/// A row is what is stored: a work in a list of works, a page in a work. A row of a work makes an entry for each of its pages
/// where all pages are shown.
struct EntryTable: Sendable {
    /// Pages of a work that are shown: five times what services allow, whatever a damaged database says.
    private static let mostPages = 1000

    private(set) var entries: [ListingEntry] = []
    /// Bytes by position; 0 for unknown, since no picture has none.
    private(set) var sizes: [Int64] = []
    /// How many rows the entries were made of.
    private(set) var rowCount = 0
    private var names = CompactIndex()
    private var works = CompactIndex()

    init() {}

    /// A table of rows that were listed before.
    init(rows: [StoredRow]) {
        entries.reserveCapacity(rows.count)
        for row in rows { append(row) }
    }

    /// Makes entries of pictures and appends them, leaving out works that are listed already (a live ranking shifts between pages).
    ///
    /// - Returns: The rows to store, one a picture that was appended.
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
            append(
                StoredRow(
                    entry: entry, size: picture.size,
                    pageCount: view.allPages && !key.isSameInEveryView ? work.pageCount : 1))
            rows.append(
                ListingRow(
                    entry: entry, previousRank: picture.listed.previousRank, work: key.listsAuthors ? nil : work,
                    size: picture.size))
        }
        return rows
    }

    /// The rows that the entries were made of, with their sizes.
    var rows: [StoredRow] {
        var rows: [StoredRow] = []
        rows.reserveCapacity(rowCount)
        for (entry, size) in zip(entries, sizes) {
            // Further pages stand behind their row's own entry.
            if entry.picture.page > 0, let last = rows.last, last.entry.picture.work == entry.picture.work,
                last.entry.ofPage(entry.picture.page).name == entry.name
            {
                rows[rows.count - 1].pageCount = entry.picture.page + 1
            } else {
                rows.append(StoredRow(entry: entry, size: size, pageCount: 1))
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

    /// The position of a picture.
    func position(of picture: PictureID) -> Int? {
        works.first(hash: CompactIndex.hash(picture.work.rawValue &+ Int64(picture.page))) {
            entries[$0].picture == picture
        }
    }

    /// Sets a size in bytes, or forgets it with 0, if the picture is here.
    mutating func setSize(_ size: Int64, of picture: PictureID) {
        guard let position = position(of: picture) else { return }
        sizes[position] = size
    }

    /// Appends a row that was listed before.
    mutating func append(_ row: StoredRow) {
        rowCount += 1
        add(row.entry, size: row.size)
        guard row.pageCount > 1, !row.entry.isWithheld else { return }
        for page in 1..<min(row.pageCount, Self.mostPages) { add(row.entry.ofPage(page), size: 0) }
    }

    /// Appends a row of an older listing behind those of the newer one, under another name should its own be taken: works that
    /// have vanished leave their ranks to others, and those may have the same title.
    ///
    /// - Returns: The row as it was appended; nil if that name is taken as well.
    mutating func appendOlder(_ row: StoredRow) -> StoredRow? {
        var row = row
        if position(of: row.entry.name.utf8) != nil { row.entry = row.entry.withNumber }
        guard position(of: row.entry.name.utf8) == nil else { return nil }
        append(row)
        return row
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

    /// The name of a work, with its number in front of the title should another entry have the same rank and title.
    private func freeName(for picture: ListedPicture) -> String {
        let work = picture.listed.work
        let fileExtension = picture.fileExtension
        guard let rank = picture.listed.rank else {
            return FileName.work(work.id, title: work.title, fileExtension: fileExtension)
        }
        let name = FileName.ranked(rank, title: work.title, fileExtension: fileExtension)
        guard position(of: name.utf8) != nil else { return name }
        return FileName.ranked(rank, title: "\(work.id.rawValue) \(work.title)", fileExtension: fileExtension)
    }
}
