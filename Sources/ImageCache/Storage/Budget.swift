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
