package import System
internal import Rankings

/// The stored pictures, the pins and the last uses; in memory, about 85 bytes a picture.
///
/// ## Eviction
///
/// Least recently used pictures go first, never pinned ones or those that the caller protects. The order is sorted once and
/// then consumed: an entry that was used since is skipped, and met again when the order is sorted anew.
struct StoredIndex: Sendable {
    struct Entry: Equatable, Sendable {
        let length: Int64
        let hash: UInt64
        /// Order of use: Unix seconds times 1024 and a running number; of pictures of earlier runs, small numbers in their order.
        var used: Int64
        /// Whether the whole file has been hashed since the start.
        var isVerified = false
        /// Whether it was preloaded and not read yet.
        var isUnread = false
    }

    private(set) var entries: [PictureID: Entry] = [:]
    /// Bytes of all stored pictures.
    private(set) var bytes: Int64 = 0
    /// Pictures that are still to be converted from an older format: they count, but are not evicted.
    private(set) var older: [OlderName: OlderFormat.Row] = [:]
    /// The pinned pictures, stored or not.
    private(set) var pins: Set<PictureID> = []
    /// The pins and removed pins that have not been saved.
    private(set) var unwrittenPins: Set<PictureID> = []
    /// The versions of the bytes that downloads of this run brought.
    private var versions: [PictureID: PictureVersion] = [:]
    private var newestUse: Int64 = 0
    private var order: [(used: Int64, key: PictureID)] = []
    private var nextVictim = 0

    init() {}

    /// Creates an index from the contents of a directory.
    ///
    /// - Parameters:
    ///   - contents: The contents found.
    ///   - surplus: Takes files of pictures that have another: a kill came between a new file and the removal of the old one.
    init(_ contents: PictureStore.Contents, surplus: inout [StoredPicture]) {
        pins = contents.pins
        older = contents.older
        bytes = older.values.reduce(0) { $0 + $1.length }
        entries.reserveCapacity(contents.pictures.count)
        for picture in contents.pictures {
            // A picture stored after the uses were last written is newer than all of them.
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

    /// The record of a stored picture.
    subscript(key: PictureID) -> Entry? {
        entries[key] ?? olderRow(key).map { Entry(length: $0.length, hash: 0, used: $0.used) }
    }

    private func olderRow(_ key: PictureID) -> OlderFormat.Row? { older.isEmpty ? nil : older[OlderName(key)] }

    /// The file of a stored picture; nil if it is still to be converted.
    func picture(_ key: PictureID) -> StoredPicture? {
        entries[key].map { StoredPicture(key: key, length: $0.length, hash: $0.hash) }
    }

    /// The number of stored pictures.
    var count: Int { entries.count + older.count }

    /// Adds a picture that has just been stored; `now` is in Unix seconds.
    ///
    /// - Returns: The replaced file, which is to be removed.
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

    /// Takes the result of converting a picture of an older format; nil if it does not exist any more.
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

    /// Removes pictures that are not among the existing files, and has all pins written again.
    mutating func keep(only pictures: Set<StoredPicture>) {
        for (key, entry) in entries
        where !pictures.contains(StoredPicture(key: key, length: entry.length, hash: entry.hash)) {
            remove(key)
        }
        unwrittenPins = pins
    }

    @discardableResult
    mutating func remove(_ key: PictureID) -> StoredPicture? {
        guard let picture = picture(key) else { return nil }
        entries[key] = nil
        versions[key] = nil
        bytes -= picture.length
        return picture
    }

    // MARK: - Pins

    /// Pins a picture, now or once it is stored, or unpins it.
    mutating func setPinned(_ isPinned: Bool, _ key: PictureID) {
        guard isPinned != pins.contains(key), !isPinned || entries[key] != nil || pins.count < Self.mostPins else {
            return
        }
        if isPinned { pins.insert(key) } else { pins.remove(key) }
        unwrittenPins.insert(key)
    }

    /// Whether a picture is pinned, or will be as soon as it is stored.
    func isPinned(_ key: PictureID) -> Bool { pins.contains(key) || olderRow(key)?.isPinned == true }

    /// The stored pictures that are pinned, and their bytes.
    var pinned: (pictures: Int, bytes: Int64) {
        pins.reduce(into: (0, 0)) { sum, key in
            guard let entry = entries[key] else { return }
            sum.0 += 1
            sum.1 += entry.length
        }
    }

    /// The number of pins from which on only stored pictures can be pinned: a bound on memory.
    ///
    /// It is ten thousand days' worth of an hour's downloads.
    private static let mostPins = 100_000

    /// Returns the pins to save, which then count as saved.
    mutating func takeUnwrittenPins() -> [PictureID: Bool] {
        defer { unwrittenPins = [] }
        return Dictionary(uniqueKeysWithValues: unwrittenPins.map { ($0, pins.contains($0)) })
    }

    /// Marks pins as unsaved again.
    mutating func keepUnwritten(_ pins: some Sequence<PictureID>) {
        unwrittenPins.formUnion(pins)
    }

    /// The version of a file's bytes; nil if there is none, or if it is still to be converted.
    func version(of key: PictureID) -> PictureVersion? {
        entries[key].map { versions[key] ?? PictureVersion(token: $0.hash) }
    }

    // MARK: - Uses

    /// Takes note of a read of a file that was found right.
    mutating func touch(_ key: PictureID, now: Int64) {
        guard entries[key] != nil else { return }
        let use = nextUse(now)
        entries[key]?.used = use
        entries[key]?.isVerified = true
        entries[key]?.isUnread = false
    }

    /// All stored files with their last use, in no order.
    var uses: [(used: Int64, hash: UInt64)] { entries.values.map { ($0.used, $0.hash) } }

    private mutating func nextUse(_ now: Int64) -> Int64 {
        newestUse = max(newestUse + 1, min(max(now, 0), Self.latestUse >> 10) << 10)
        return newestUse
    }

    /// The latest accepted use: later than any clock shows, and far from the end of the numbers.
    private static let latestUse: Int64 = 1 << 60

    // MARK: - Eviction

    /// Removes the least recently used pictures until `goal` bytes are free, or nothing more may go.
    ///
    /// - Parameters:
    ///   - goal: The bytes to free.
    ///   - sparesUnread: Whether unread preloads stay (room for another preload is not worth one).
    ///   - isProtected: Whether a picture is open.
    /// - Returns: The removed pictures, oldest first.
    mutating func evict(
        bytes goal: Int64, sparesUnread: Bool, isProtected: (PictureID) -> Bool
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
    func evictableBytes(sparesUnread: Bool, protected: Set<PictureID>) -> Int64 {
        let kept = pins.union(protected)
        if sparesUnread {
            return entries.reduce(0) { sum, item in
                item.value.isUnread || kept.contains(item.key) ? sum : sum + item.value.length
            }
        }
        return bytes - kept.reduce(0) { $0 + (entries[$1]?.length ?? 0) } - older.values.reduce(0) { $0 + $1.length }
    }
}

// MARK: - Versions

/// Bytes that can be handed out without copying, or the end of the picture.
package enum PictureBytes: Sendable {
    /// `count` bytes at `offset` of the file, and the version of the picture that they belong to.
    case file(StoredFile, offset: Int64, count: Int, of: PictureVersion)
    /// The end of the picture: no bytes.
    case end
}

/// The version of the bytes held of a picture that may change at the source.
///
/// Only provable equality counts: the same download, the same hash of stored bytes, or the same version name (ETag,
/// Last-Modified: RFC 9110 section 8.8) at the same length. Versions are known in this process only, as are the kernel's pages.
package struct PictureVersion: Sendable {
    /// Identifies the download that brought the bytes; the hash of bytes that were stored otherwise, or of what a file is made of.
    let token: UInt64
    /// A hash of validator and length; 0 if the source names no versions.
    var tag: UInt64

    init(token: UInt64, tag: UInt64 = 0) {
        self.token = token
        self.tag = tag
    }

    /// The version of a file that is made of parts.
    package init(of parts: some Hashable) {
        self.init(token: UInt64(bitPattern: Int64(parts.hashValue)))
    }

    /// Whether bytes of both versions may be combined.
    package func isSame(as other: PictureVersion) -> Bool {
        token == other.token || tag != 0 && tag == other.tag
    }

    static func tag(_ validator: String, length: Int64) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(length)
        hasher.combine(validator)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}

// MARK: - The budget

/// The account of bytes on the disk: stored pictures, downloads, unfinished ones, and the evictions for them.
///
/// Decides by numbers alone; the resulting actions are collected as steps, which the caller takes after its changes.
struct Budget: Sendable {
    /// Returns the open or downloaded pictures, which stay; called only when something has to go.
    typealias InUse = () -> Set<PictureID>

    /// An action to take outside.
    enum Step: Sendable {
        /// Remove stored files.
        case remove([StoredPicture])
        case removePartial(PictureID)
        case report(ImageCacheEvent)
    }

    /// The bytes that a new picture's directory takes beside it.
    private static let roomBeside: Int64 = 256 << 10
    /// The largest number of unfinished downloads kept for resuming.
    private static let mostPartials = 256

    /// The limit of the bytes of pictures.
    let limit: Int64
    /// Bytes of disk space that stay free.
    let freeFloor: Int64
    /// Partial files on disk that no download uses, with their bytes.
    private var parked: [PictureID: Int64]
    /// The bytes that downloads take or will take; a download that cannot be kept has no entry.
    private var reserved: [PictureID: Int64] = [:]
    /// Bytes that the disk lacks to its floor and that eviction could not free.
    private(set) var diskLack: Int64 = 0
    /// Whether the disk accepts pictures.
    private(set) var isStoring = true
    /// The present instant; set whenever the lock is taken.
    var now: ContinuousClock.Instant
    /// The time of the last refusal since one was reported; nil if none is reported.
    private var refusedAt: ContinuousClock.Instant?
    /// Pictures evicted since the start.
    private(set) var evicted = 0
    /// The index of the stored pictures.
    var index: StoredIndex
    private var steps: [Step] = []

    /// Creates an account of the pictures and unfinished downloads of earlier runs.
    init(
        limit: Int64, freeFloor: Int64, index: StoredIndex, parked: [PictureID: Int64], now: ContinuousClock.Instant
    ) {
        self.now = now
        self.limit = limit
        self.freeFloor = freeFloor
        self.index = index
        self.parked = parked
    }

    /// Returns the steps to take after the last changes.
    mutating func takeSteps() -> [Step] {
        defer { steps = [] }
        return steps
    }

    // MARK: - Room

    /// Makes room under the limit: unfinished downloads first, then the least recently used pictures.
    ///
    /// - Parameters:
    ///   - bytes: The number of bytes to come.
    ///   - isPreload: Whether no reader waits for them.
    ///   - inUse: The pictures that stay.
    /// - Returns: Whether so many bytes more fit now. Readers go on regardless: open pictures may exceed the limit.
    @discardableResult
    mutating func makeRoom(for bytes: Int64, isPreload: Bool, _ inUse: InUse) -> Bool {
        while parked.count > Self.mostPartials { dropPartial() }
        var excess = committed + bytes - limit
        if excess <= 0 { return true }
        // A picture that cannot be kept must not push out stored ones, nor a preload those that another preload just brought.
        if bytes > 0,
            index.evictableBytes(sparesUnread: isPreload, protected: inUse()) + parked.values.reduce(0, +) < excess
        {
            return false
        }
        while excess > 0, !parked.isEmpty {
            dropPartial()
            excess = committed + bytes - limit
        }
        evict(excess, sparesUnread: isPreload, inUse)
        return committed + bytes <= limit
    }

    /// Counts the bytes that a download will take; one that cannot be kept takes nothing, and is served all the same.
    mutating func reserve(_ bytes: Int64, for key: PictureID, isPreload: Bool, _ inUse: InUse) {
        reserved[key] = nil
        if diskLack <= 0, makeRoom(for: bytes, isPreload: isPreload, inUse) { reserved[key] = bytes }
    }

    /// Bytes counted for a download; 0 for one that cannot be kept.
    func reserved(for key: PictureID) -> Int64 { reserved[key] ?? 0 }

    /// Ends the count of bytes for a download.
    mutating func release(_ key: PictureID) { reserved[key] = nil }

    /// Evicts the least recently used pictures on a full disk, unless the given bytes would still find no room.
    ///
    /// - Returns: The pictures to remove at once.
    mutating func giveWay(_ bytes: Int64, sparesUnread: Bool, _ inUse: InUse) -> [StoredPicture] {
        let wanted = bytes + Self.roomBeside
        guard index.evictableBytes(sparesUnread: sparesUnread, protected: inUse()) >= wanted else { return [] }
        return evict(wanted, sparesUnread: sparesUnread, inUse)
    }

    /// Takes the free bytes of the disk, and evicts down to the floor.
    ///
    /// - Returns: Whether the disk has its floor free.
    mutating func diskHas(free: Int64, _ inUse: InUse) -> Bool {
        let wasLow = diskLack > 0
        diskLack = freeFloor - free
        evictToFloor(inUse)
        if diskLack > 0 {
            refused("the disk has less than \(SizeText.text(freeFloor)) free")
        } else if wasLow {
            stores()
        }
        return diskLack == 0
    }

    /// Evicts pictures that became free to go when a reader left.
    mutating func trim(_ inUse: InUse) {
        makeRoom(for: 0, isPreload: false, inUse)
        evictToFloor(inUse)
    }

    private mutating func evictToFloor(_ inUse: InUse) {
        let freed = evict(diskLack, sparesUnread: false, inUse).reduce(0) { $0 + $1.length }
        diskLack = max(0, diskLack - freed)
    }

    /// Bytes that stored pictures, downloads and unfinished ones take or will take.
    private var committed: Int64 {
        index.bytes + reserved.values.reduce(0, +) + parked.values.reduce(0, +)
    }

    @discardableResult
    private mutating func evict(_ bytes: Int64, sparesUnread: Bool, _ inUse: InUse) -> [StoredPicture] {
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
    mutating func park(_ key: PictureID, bytes: Int64) { parked[key] = bytes }

    /// Takes a partial file back for a download; false if there is none.
    mutating func unpark(_ key: PictureID) -> Bool { parked.removeValue(forKey: key) != nil }

    private mutating func dropPartial() {
        guard let key = parked.keys.first else { return }
        parked[key] = nil
        steps.append(.removePartial(key))
    }

    // MARK: - The disk

    /// Takes note that the disk refuses pictures; reported once until it has accepted them for a while.
    mutating func refused(_ reason: String) {
        if refusedAt == nil { steps.append(.report(.notStoring(reason: reason))) }
        (isStoring, refusedAt) = (false, now)
    }

    /// Takes note that the disk accepts pictures.
    mutating func stores() {
        isStoring = true
        guard let refused = refusedAt, now - refused >= Self.calm else { return }
        refusedAt = nil
        steps.append(.report(.storingAgain))
    }

    /// The time without a refusal after which a disk is reported to accept pictures again: a full one refuses some of them.
    private static let calm = Duration.seconds(30)
}
