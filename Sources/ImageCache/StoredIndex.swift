/// Which pictures are stored, which are pinned and when each was used last; in memory, about 85 bytes a picture.
///
/// ## Eviction
///
/// Least recently used first, never what is pinned or what the caller protects. The order is sorted once and then consumed: an entry that
/// was used since is skipped, and met again when the order is sorted anew.
struct StoredIndex: Sendable {
    struct Entry: Equatable, Sendable {
        let length: Int64
        let hash: UInt64
        /// Order of use: Unix seconds times 1024 and a running number; of pictures of earlier runs, small numbers in their order.
        var used: Int64
        /// Whether the whole file has been hashed since the start.
        var isVerified = false
        /// Downloaded ahead and not read yet.
        var isUnread = false
    }

    private(set) var entries: [FileKey: Entry] = [:]
    /// Bytes of all stored pictures.
    private(set) var bytes: Int64 = 0
    /// Pictures that are still to be converted from an older format: they count, but are not evicted.
    private(set) var older: [OlderName: OlderFormat.Row] = [:]
    /// Pictures that stay, or will as soon as they are stored.
    private(set) var pins: Set<FileKey> = []
    /// Those of them, and of those that are none any more, that have not been written down.
    private(set) var unwrittenPins: Set<FileKey> = []
    /// Which bytes files hold, once somebody has asked.
    private var versions: [FileKey: PictureVersion] = [:]
    private var newestUse: Int64 = 0
    private var order: [(used: Int64, key: FileKey)] = []
    private var nextVictim = 0

    init() {}

    /// Begins with what a directory holds.
    ///
    /// - Parameters:
    ///   - contents: What was found.
    ///   - surplus: Gets files of pictures that have another: a kill came between a new file and the removal of the old one.
    init(_ contents: PictureStore.Contents, surplus: inout [StoredPicture]) {
        pins = contents.pins
        older = contents.older
        bytes = older.values.reduce(0) { $0 + $1.length }
        entries.reserveCapacity(contents.pictures.count)
        for picture in contents.pictures {
            // What was stored after uses were last written is newer than all of them.
            let used = Int64(contents.uses[picture.hash] ?? contents.uses.count)
            if let entry = entries[picture.key] {
                guard entry.used < used else {
                    surplus.append(picture)
                    continue
                }
                remove(picture.key).map { surplus.append($0) }
            }
            add(picture, Entry(length: picture.length, hash: picture.hash, used: used))
        }
        newestUse = Int64(contents.uses.count)
    }

    /// What is known of a stored picture.
    subscript(key: FileKey) -> Entry? {
        entries[key] ?? olderRow(key).map { Entry(length: $0.length, hash: 0, used: $0.used) }
    }

    private func olderRow(_ key: FileKey) -> OlderFormat.Row? { older.isEmpty ? nil : older[OlderName(key)] }

    /// The file of a stored picture; nil if it is still to be converted.
    func picture(_ key: FileKey) -> StoredPicture? {
        entries[key].map { StoredPicture(key: key, length: $0.length, hash: $0.hash) }
    }

    /// How many pictures are stored.
    var count: Int { entries.count + older.count }

    /// Adds a picture that has just been stored; `now` is in Unix seconds.
    ///
    /// - Returns: The file that it replaces and that is to be removed.
    mutating func insert(
        _ picture: StoredPicture, version: PictureVersion? = nil, isUnread: Bool, now: Int64
    ) -> StoredPicture? {
        let replaced = remove(picture.key)
        add(
            picture,
            Entry(
                length: picture.length, hash: picture.hash, used: nextUse(now), isVerified: true, isUnread: isUnread))
        versions[picture.key] = version
        return replaced == picture ? nil : replaced
    }

    /// Adds a file that was found, unless the picture is known.
    mutating func adopt(_ picture: StoredPicture, used: Int64 = 0) -> Bool {
        guard entries[picture.key] == nil else { return false }
        add(picture, Entry(length: picture.length, hash: picture.hash, used: used))
        return true
    }

    private mutating func add(_ picture: StoredPicture, _ entry: Entry) {
        entries[picture.key] = entry
        bytes += entry.length
    }

    /// A picture of an older format has been converted; nil if there is none any more.
    ///
    /// - Returns: Whether the picture was not known otherwise.
    mutating func convert(_ name: OlderName, to picture: StoredPicture?) -> Bool {
        guard let row = older.removeValue(forKey: name) else { return true }
        bytes -= row.length
        guard let picture else { return true }
        if row.isPinned { pins.insert(picture.key) }
        let used = (0...Self.latestUse).contains(row.used) ? row.used : 0
        newestUse = max(newestUse, used)
        return adopt(picture, used: used)
    }

    /// Takes out what is not among the files that are there, and has all pins written again.
    mutating func keep(only pictures: Set<StoredPicture>) {
        for (key, entry) in entries
        where !pictures.contains(StoredPicture(key: key, length: entry.length, hash: entry.hash)) {
            remove(key)
        }
        unwrittenPins = pins
    }

    @discardableResult
    mutating func remove(_ key: FileKey) -> StoredPicture? {
        guard let picture = picture(key) else { return nil }
        entries[key] = nil
        versions[key] = nil
        bytes -= picture.length
        return picture
    }

    // MARK: - Pins

    /// Keeps a picture from being evicted, now or once it is stored, or lets it go again.
    mutating func setPinned(_ isPinned: Bool, _ key: FileKey) {
        guard isPinned != pins.contains(key), !isPinned || entries[key] != nil || pins.count < Self.mostPins else {
            return
        }
        if isPinned { pins.insert(key) } else { pins.remove(key) }
        unwrittenPins.insert(key)
    }

    /// Whether a picture is pinned, or will be as soon as it is stored.
    func isPinned(_ key: FileKey) -> Bool { pins.contains(key) || olderRow(key)?.isPinned == true }

    /// A bound on memory, ten thousand days' worth of an hour's downloads: with so many no picture can be pinned before it is there.
    private static let mostPins = 100_000

    /// The pins to write down, which are then taken for written.
    mutating func takeUnwrittenPins() -> [FileKey: Bool] {
        defer { unwrittenPins = [] }
        return Dictionary(uniqueKeysWithValues: unwrittenPins.map { ($0, pins.contains($0)) })
    }

    /// Takes pins for unwritten again.
    mutating func keepUnwritten(_ pins: some Sequence<FileKey>) {
        unwrittenPins.formUnion(pins)
    }

    // MARK: - Versions

    /// Which bytes a file holds, if it has been said.
    func version(of key: FileKey) -> PictureVersion? { versions[key] }

    /// Names the bytes of a file that is stored.
    mutating func setVersion(_ version: PictureVersion, of key: FileKey) {
        if entries[key] != nil { versions[key] = version }
    }

    // MARK: - Uses

    /// Takes note of a read of a file that was found right.
    mutating func touch(_ key: FileKey, now: Int64) {
        guard entries[key] != nil else { return }
        let use = nextUse(now)
        entries[key]?.used = use
        entries[key]?.isVerified = true
        entries[key]?.isUnread = false
    }

    /// All stored files by their last use, in no order.
    var uses: [(used: Int64, hash: UInt64)] { entries.values.map { ($0.used, $0.hash) } }

    private mutating func nextUse(_ now: Int64) -> Int64 {
        newestUse = max(newestUse + 1, min(max(now, 0), Self.latestUse >> 10) << 10)
        return newestUse
    }

    /// The latest use that is believed in: later than any clock shows, and far from the end of the numbers.
    private static let latestUse: Int64 = 1 << 60

    // MARK: - Eviction

    /// Removes the least recently used pictures until `goal` bytes are free, or nothing more may go.
    ///
    /// - Parameters:
    ///   - goal: Bytes to free.
    ///   - sparesUnread: Whether preloaded pictures that nobody read stay (room for another preload is not worth one).
    ///   - isProtected: Whether a picture is open.
    /// - Returns: What was removed, oldest first.
    mutating func evict(
        bytes goal: Int64, sparesUnread: Bool, isProtected: (FileKey) -> Bool
    ) -> [StoredPicture] {
        var victims: [StoredPicture] = []
        var freed: Int64 = 0
        var hasSorted = false
        while freed < goal {
            if nextVictim >= order.count {
                guard !hasSorted else { break }
                hasSorted = true
                order = entries.map { ($0.value.used, $0.key) }.sorted { $0.used < $1.used }
                nextVictim = 0
                guard !order.isEmpty else { break }
            }
            let candidate = order[nextVictim]
            nextVictim += 1
            guard let entry = entries[candidate.key], entry.used == candidate.used, !pins.contains(candidate.key),
                !(sparesUnread && entry.isUnread), !isProtected(candidate.key)
            else { continue }
            remove(candidate.key).map { victims.append($0) }
            freed += entry.length
        }
        return victims
    }

    /// Bytes that eviction could free.
    func evictableBytes(sparesUnread: Bool, protected: Set<FileKey>) -> Int64 {
        let kept = pins.union(protected)
        if sparesUnread {
            return entries.reduce(0) { sum, item in
                item.value.isUnread || kept.contains(item.key) ? sum : sum + item.value.length
            }
        }
        return bytes - kept.reduce(0) { $0 + (entries[$1]?.length ?? 0) } - older.values.reduce(0) { $0 + $1.length }
    }
}

// MARK: - The budget

/// The account of bytes on the disk: what is stored, what downloads will take, what is unfinished, and who has to go for it.
///
/// Decides by numbers alone; what is to be done about it is collected as steps, which the caller takes after each change.
struct Budget: Sendable {
    /// What is to be done outside.
    enum Step: Sendable {
        /// Remove stored files.
        case remove([StoredPicture])
        case removePartial(FileKey)
        case report(ImageCacheEvent)
    }

    /// What a new picture's directory takes beside it, in bytes.
    private static let roomBeside: Int64 = 256 << 10
    /// Unfinished downloads kept for resuming.
    private static let mostPartials = 256

    /// Bytes of pictures at most.
    let limit: Int64
    /// Bytes of free disk that stay free.
    let freeFloor: Int64
    /// Partial files on disk that no download uses, with their bytes.
    private var parked: [FileKey: Int64]
    /// What downloads take or will take; one that cannot be kept has no entry.
    private var reserved: [FileKey: Int64] = [:]
    /// Bytes that the disk lacks to its floor and that eviction could not free.
    private(set) var diskLack: Int64 = 0
    /// Whether the disk takes pictures.
    private(set) var isStoring = true
    /// Pictures evicted since the start.
    private(set) var evicted = 0
    private var steps: [Step] = []

    /// An account with the partial files that an earlier run left.
    init(limit: Int64, freeFloor: Int64, parked: [FileKey: Int64]) {
        self.limit = limit
        self.freeFloor = freeFloor
        self.parked = parked
    }

    /// What is to be done after the last change.
    mutating func takeSteps() -> [Step] {
        defer { steps = [] }
        return steps
    }

    // MARK: - Room

    /// Makes room under the limit: unfinished downloads first, then the least recently used pictures.
    ///
    /// - Parameters:
    ///   - bytes: What is to come.
    ///   - isPreload: Whether nobody waits for it.
    ///   - index: What is stored.
    ///   - inUse: Pictures that are open or downloaded.
    /// - Returns: Whether so many bytes more fit now. Readers go on regardless: what is open may exceed the limit.
    @discardableResult
    mutating func makeRoom(
        for bytes: Int64, isPreload: Bool, in index: inout StoredIndex, inUse: () -> Set<FileKey>
    ) -> Bool {
        while parked.count > Self.mostPartials { dropPartial() }
        var excess = committed(index) + bytes - limit
        if excess <= 0 { return true }
        // What cannot be kept must not push out what is, nor a preload what another preload just brought.
        if bytes > 0,
            index.evictableBytes(sparesUnread: isPreload, protected: inUse()) + parked.values.reduce(0, +) < excess
        {
            return false
        }
        while excess > 0, !parked.isEmpty {
            dropPartial()
            excess = committed(index) + bytes - limit
        }
        evict(excess, sparesUnread: isPreload, from: &index, inUse)
        return committed(index) + bytes <= limit
    }

    /// Counts what a download will take; one that cannot be kept takes nothing, and is served all the same.
    mutating func reserve(
        _ bytes: Int64, for key: FileKey, isPreload: Bool, in index: inout StoredIndex, inUse: () -> Set<FileKey>
    ) {
        reserved[key] = nil
        if diskLack <= 0, makeRoom(for: bytes, isPreload: isPreload, in: &index, inUse: inUse) {
            reserved[key] = bytes
        }
    }

    /// Bytes counted for a download; 0 for one that cannot be kept.
    func reserved(for key: FileKey) -> Int64 { reserved[key] ?? 0 }

    /// Counts nothing more for a download.
    mutating func release(_ key: FileKey) { reserved[key] = nil }

    /// Lets the least recently used pictures go on a full disk, unless so many bytes would still find no room.
    ///
    /// - Returns: What is to be removed at once.
    mutating func giveWay(
        _ bytes: Int64, sparesUnread: Bool, in index: inout StoredIndex, inUse: () -> Set<FileKey>
    ) -> [StoredPicture] {
        let wanted = bytes + Self.roomBeside
        guard index.evictableBytes(sparesUnread: sparesUnread, protected: inUse()) >= wanted else { return [] }
        return evict(wanted, sparesUnread: sparesUnread, from: &index, inUse)
    }

    /// The disk has so many bytes free: evicts down to the floor.
    ///
    /// - Returns: Whether the disk has what it shall have.
    mutating func diskHas(free: Int64, index: inout StoredIndex, inUse: () -> Set<FileKey>) -> Bool {
        let lacking = freeFloor - free
        let before = index.bytes
        evict(lacking, sparesUnread: false, from: &index, inUse)
        let wasLow = diskLack > 0
        diskLack = max(0, lacking - (before - index.bytes))
        if diskLack > 0 {
            refused("the disk has less than \(freeFloor) bytes free")
        } else if wasLow {
            stores()
        }
        return diskLack == 0
    }

    /// Evicts what became free to go when a reader left.
    mutating func trim(_ index: inout StoredIndex, inUse: () -> Set<FileKey>) {
        makeRoom(for: 0, isPreload: false, in: &index, inUse: inUse)
        let before = index.bytes
        evict(diskLack, sparesUnread: false, from: &index, inUse)
        diskLack = max(0, diskLack - (before - index.bytes))
    }

    /// Bytes that stored pictures, downloads and unfinished ones take or will take.
    private func committed(_ index: StoredIndex) -> Int64 {
        index.bytes + reserved.values.reduce(0, +) + parked.values.reduce(0, +)
    }

    @discardableResult
    private mutating func evict(
        _ bytes: Int64, sparesUnread: Bool, from index: inout StoredIndex, _ inUse: () -> Set<FileKey>
    ) -> [StoredPicture] {
        guard bytes > 0 else { return [] }
        let kept = inUse()
        let victims = index.evict(bytes: bytes, sparesUnread: sparesUnread) { kept.contains($0) }
        guard !victims.isEmpty else { return [] }
        evicted += victims.count
        steps.append(.remove(victims))
        steps.append(.report(.evicted(count: victims.count, bytes: victims.reduce(0) { $0 + $1.length })))
        return victims
    }

    // MARK: - Unfinished downloads

    /// Counts a partial file that is kept for another try.
    mutating func park(_ key: FileKey, bytes: Int64) { parked[key] = bytes }

    /// Takes a partial file back; false if there is none.
    mutating func unpark(_ key: FileKey) -> Bool { parked.removeValue(forKey: key) != nil }

    private mutating func dropPartial() {
        guard let key = parked.keys.first else { return }
        parked[key] = nil
        steps.append(.removePartial(key))
    }

    // MARK: - The disk

    /// The disk refused; told once until it takes pictures again.
    mutating func refused(_ reason: String) {
        guard isStoring else { return }
        isStoring = false
        steps.append(.report(.notStoring(reason: reason)))
    }

    /// The disk takes pictures.
    mutating func stores() {
        guard !isStoring else { return }
        isStoring = true
        steps.append(.report(.storingAgain))
    }
}
