import Rankings

/// The entries of a listing with their sizes, found by name and by work.
struct EntryTable: Sendable {
    private(set) var entries: [ListingEntry] = []
    /// Bytes by position; 0 for unknown, since no picture has none.
    private(set) var sizes: [Int64] = []
    private var names = CompactIndex()
    private var works = CompactIndex()

    /// The largest rank so far; 0 without ranks.
    private(set) var lastRank: Int32 = 0

    init() {}

    /// A table of entries that were listed before.
    init(entries: [ListingEntry], sizes: [Int64]) {
        self.entries.reserveCapacity(entries.count)
        for (entry, size) in zip(entries, sizes) { append(entry, size: size) }
    }

    /// Makes entries of works and appends them, leaving out works that are listed already (a live ranking shifts between pages).
    @discardableResult
    mutating func append(_ listed: [ListedWork], rendition: Rendition) -> [ListingRow] {
        var rows: [ListingRow] = []
        rows.reserveCapacity(listed.count)
        for listedWork in listed where position(of: listedWork.work.id) == nil {
            let work = listedWork.work
            let entry = ListingEntry(
                name: freeName(for: listedWork), rank: Int32(clamping: listedWork.rank ?? 0),
                picture: PictureID(work: work.id, page: 0, rendition: rendition, uploaded: work.uploaded),
                reference: work.picture, isWithheld: work.withheld != nil)
            append(entry, size: 0)
            rows.append(ListingRow(entry: entry, previousRank: listedWork.previousRank, work: work))
        }
        return rows
    }

    /// The position of a name, compared by bytes.
    func position(of name: some Collection<UInt8>) -> Int? {
        names.first(hash: CompactIndex.hash(name)) { entries[$0].name.utf8.elementsEqual(name) }
    }

    /// The position of a work.
    func position(of work: WorkID) -> Int? {
        works.first(hash: CompactIndex.hash(work.rawValue)) { entries[$0].picture.work == work }
    }

    /// Sets a size in bytes, or forgets it with 0, if the picture is here.
    mutating func setSize(_ size: Int64, of picture: PictureID) {
        guard let position = position(of: picture.work), entries[position].picture == picture else { return }
        sizes[position] = size
    }

    /// Appends an entry that was listed before, with its size in bytes or 0.
    mutating func append(_ entry: ListingEntry, size: Int64) {
        let position = entries.count
        entries.append(entry)
        sizes.append(size)
        lastRank = max(lastRank, entry.rank)
        names.insert(position, hash: CompactIndex.hash(entry.name.utf8)) { [entries] in
            CompactIndex.hash(entries[$0].name.utf8)
        }
        works.insert(position, hash: CompactIndex.hash(entry.picture.work.rawValue)) { [entries] in
            CompactIndex.hash(entries[$0].picture.work.rawValue)
        }
    }

    /// The name of a work, with its number in front of the title should another entry have the same rank and title.
    private func freeName(for listed: ListedWork) -> String {
        let work = listed.work
        guard let rank = listed.rank else { return FileName.work(work.id, title: work.title, fileExtension: "jpg") }
        let name = FileName.ranked(rank, title: work.title, fileExtension: "jpg")
        guard position(of: name.utf8) != nil else { return name }
        return FileName.ranked(rank, title: "\(work.id.rawValue) \(work.title)", fileExtension: "jpg")
    }
}
