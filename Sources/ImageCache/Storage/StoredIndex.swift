/// Which pictures are stored, how long they are and when each was used last; in memory, about 50 bytes a picture.
///
/// ## Eviction
///
/// Least recently used first, never what the caller protects. The order is sorted once and then consumed: an entry that
/// was used since is skipped, and met again when the order is sorted anew.
struct StoredIndex: Sendable {
    struct Entry: Equatable, Sendable {
        var length: Int64
        /// Order of use: Unix seconds times 1024 and a running number.
        var used: Int64
        var isPinned = false
        /// Whether the whole file has been hashed since the start.
        var isVerified = false
        /// Downloaded ahead and not read yet.
        var isUnread = false
        /// Which bytes the file holds; nil until somebody asks after a start.
        var version: PictureVersion?

        /// All but the version, which is not written down.
        static func == (left: Entry, right: Entry) -> Bool {
            left.length == right.length && left.used == right.used && left.isPinned == right.isPinned
                && left.isVerified == right.isVerified && left.isUnread == right.isUnread
        }

        /// Bytes that it takes on disk.
        var cost: Int64 { length + Int64(Footer.size) }
    }

    private(set) var entries: [FileKey: Entry] = [:]
    /// Bytes of all stored files.
    private(set) var bytes: Int64 = 0
    /// Bytes of those that are pinned.
    private(set) var pinnedBytes: Int64 = 0
    /// Entries whose last use has not been written to the database.
    private(set) var unwritten: Set<FileKey> = []
    /// Pictures to pin as soon as they are stored; they do not outlive the mount.
    private(set) var wantedPins: Set<FileKey> = []
    private var newestUse: Int64 = 0
    private var order: [(used: Int64, key: FileKey)] = []
    private var nextVictim = 0

    init() {}

    init(_ entries: [FileKey: Entry]) {
        // Numbers from a file: nonsense in one must not spoil the sums.
        self.entries = entries.filter { (0...Self.longest).contains($0.value.length) }
        for (key, entry) in self.entries {
            bytes += entry.cost
            if entry.isPinned { pinnedBytes += entry.cost }
            if (0...Self.latestUse).contains(entry.used) {
                newestUse = max(newestUse, entry.used)
            } else {
                self.entries[key]?.used = 0
            }
        }
    }

    /// The longest file that is believed in, in bytes: millions of them can be added up.
    private static let longest: Int64 = 1 << 40
    /// The latest use that is believed in: later than any clock shows, and far from the end of the numbers.
    private static let latestUse: Int64 = 1 << 60

    subscript(key: FileKey) -> Entry? { entries[key] }

    /// Adds a stored picture, or replaces what was known of it; `now` is in Unix seconds.
    mutating func insert(
        _ key: FileKey, length: Int64, version: PictureVersion? = nil, isUnread: Bool, now: Int64
    ) {
        let wasPinned = entries[key]?.isPinned ?? (wantedPins.remove(key) != nil)
        remove(key)
        entries[key] = Entry(
            length: length, used: nextUse(now), isPinned: wasPinned, isVerified: true, isUnread: isUnread,
            version: version)
        bytes += length + Int64(Footer.size)
        if wasPinned { pinnedBytes += length + Int64(Footer.size) }
        unwritten.insert(key)
    }

    /// Keeps a picture from being evicted, now or once it is stored, or lets it go again.
    mutating func setPinned(_ isPinned: Bool, _ key: FileKey) {
        if let entry = entries[key] {
            guard entry.isPinned != isPinned else { return }
            entries[key]?.isPinned = isPinned
            pinnedBytes += isPinned ? entry.cost : -entry.cost
            unwritten.insert(key)
        } else if !isPinned {
            wantedPins.remove(key)
        } else if wantedPins.count < Self.mostWantedPins {
            wantedPins.insert(key)
        }
    }

    /// Whether a picture is pinned, or will be as soon as it is stored.
    func isPinned(_ key: FileKey) -> Bool { entries[key]?.isPinned ?? wantedPins.contains(key) }

    /// A bound on memory: pictures that are pinned before they are there, ten thousand days' worth of an hour's downloads.
    private static let mostWantedPins = 100_000

    /// Adds what a scan found on disk, unless it is known.
    mutating func adopt(_ key: FileKey, length: Int64) -> Bool {
        guard entries[key] == nil, (0...Self.longest).contains(length) else { return false }
        entries[key] = Entry(length: length, used: 0)
        bytes += length + Int64(Footer.size)
        unwritten.insert(key)
        return true
    }

    /// Names the bytes of a file.
    mutating func setVersion(_ version: PictureVersion, of key: FileKey) {
        entries[key]?.version = version
    }

    /// Takes note of a read of a file that was found right.
    mutating func touch(_ key: FileKey, now: Int64) {
        guard entries[key] != nil else { return }
        let use = nextUse(now)
        entries[key]?.used = use
        entries[key]?.isVerified = true
        entries[key]?.isUnread = false
        unwritten.insert(key)
    }

    @discardableResult
    mutating func remove(_ key: FileKey) -> Entry? {
        guard let entry = entries.removeValue(forKey: key) else { return nil }
        bytes -= entry.cost
        if entry.isPinned { pinnedBytes -= entry.cost }
        unwritten.remove(key)
        return entry
    }

    /// The entries to write to the database, which are then taken for written.
    mutating func takeUnwritten() -> [FileKey: Entry] {
        defer { unwritten = [] }
        return Dictionary(uniqueKeysWithValues: unwritten.compactMap { key in entries[key].map { (key, $0) } })
    }

    /// Takes entries for unwritten again, unless they are gone meanwhile.
    mutating func keepUnwritten(_ keys: some Sequence<FileKey>) {
        unwritten.formUnion(keys.filter { entries[$0] != nil })
    }

    /// Removes the least recently used pictures until `goal` bytes are free, or nothing more may go.
    ///
    /// - Parameters:
    ///   - goal: Bytes to free.
    ///   - sparesUnread: Whether preloaded pictures that nobody read stay (room for another preload is not worth one).
    ///   - isProtected: Whether a picture is open.
    /// - Returns: What was removed, oldest first.
    mutating func evict(
        bytes goal: Int64, sparesUnread: Bool, isProtected: (FileKey) -> Bool
    ) -> [(key: FileKey, entry: Entry)] {
        var victims: [(key: FileKey, entry: Entry)] = []
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
            guard let entry = entries[candidate.key], entry.used == candidate.used, !entry.isPinned,
                !(sparesUnread && entry.isUnread), !isProtected(candidate.key)
            else { continue }
            remove(candidate.key)
            victims.append((candidate.key, entry))
            freed += entry.cost
        }
        return victims
    }

    /// Bytes that eviction could free.
    func evictableBytes(sparesUnread: Bool, isProtected: (FileKey) -> Bool) -> Int64 {
        var sum: Int64 = 0
        for (key, entry) in entries where !entry.isPinned && !(sparesUnread && entry.isUnread) && !isProtected(key) {
            sum += entry.cost
        }
        return sum
    }

    private mutating func nextUse(_ now: Int64) -> Int64 {
        newestUse = max(newestUse + 1, min(max(now, 0), Self.latestUse >> 10) << 10)
        return newestUse
    }
}
