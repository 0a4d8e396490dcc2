internal import Dispatch
internal import HTTP
package import ImageHost
package import Rankings
internal import SQLite
internal import Synchronization

/// Where the bytes of pictures are: stored files, shared downloads, preloading, eviction.
///
/// Decisions are made by `Core` under one lock and carried out outside it; requests run on the transport, commits and the
/// index on a serial queue of its own.
///
/// ## Concurrency
///
/// Any thread may call any method.
package final class ImageCache: Sendable {
    /// The limits and places a cache works with.
    package struct Configuration: Sendable {
        /// The cache's own directory, made with mode 0700 and marked so that backups skip it.
        package var directory: String
        /// Byte budget of stored pictures.
        package var budget: Int64
        /// Bytes of free disk that stay free.
        package var freeFloor: Int64
        /// Pictures preloaded ahead of a reader; 0 turns preloading off.
        package var preload: Int
        /// The bound of one waiting read.
        package var timeout: Duration
        /// How long a network that does not answer is given before a read fails.
        package var networkTimeout: Duration
        /// Wall clock in Unix seconds.
        package var now: @Sendable () -> Int64
        /// The monotonic clock that deadlines and pauses are measured by.
        package var monotonicNow: @Sendable () -> ContinuousClock.Instant = TimeSource.system.now
        /// A number below a bound, for choices by chance.
        package var chance: @Sendable (_ bound: Int) -> Int = { Int.random(in: 0..<max(1, $0)) }
        /// Whether pictures may be downloaded that nobody reads yet; asked often, from any thread, so it must not wait.
        package var mayPreload: @Sendable () -> Bool = { true }
        /// Whether the last part of a picture's address is that of something that stands in for one that the service withholds.
        package var isPlaceholder: @Sendable (_ name: Substring) -> Bool = { _ in false }
        /// Where pictures are shared with other machines; nil for nowhere.
        package var tier: (any PictureTier)?
        /// Whether deadlines are looked after by a timer; tests call `tick` themselves.
        package var hasTimer = true

        package init(
            directory: String, budget: Int64, freeFloor: Int64, preload: Int, timeout: Duration,
            networkTimeout: Duration, now: @escaping @Sendable () -> Int64
        ) {
            self.directory = directory
            self.budget = budget
            self.freeFloor = freeFloor
            self.preload = preload
            self.timeout = timeout
            self.networkTimeout = networkTimeout
            self.now = now
        }
    }

    /// How often deadlines are looked at while downloads are under way, in milliseconds; their precision.
    static let tickInterval = 100
    /// How long a picture's last use may stay unwritten, in seconds: what a kill costs the order of eviction.
    ///
    /// Long enough that a person who looks at one picture after another does not cause a write for each.
    static let touchDelay = 10

    let configuration: Configuration
    let host: ImageHost
    let report: @Sendable (ImageCacheEvent) -> Void
    let store: PictureStore
    let index: IndexFile?
    let core: CoreLock
    /// Commits, the index and deadlines; may wait for the disk.
    let disk = DispatchQueue(label: "rankfs.cache.disk")
    /// Where the disk is asked to read ahead, which waits while it has much to do.
    let ahead = DispatchQueue(label: "rankfs.cache.ahead")
    let isTicking = Mutex(false)
    /// Numbers those who wait.
    let lastWaiter = Atomic<UInt64>(0)
    /// Removed rows that the next write of the index deletes.
    let removedRows = Mutex<[FileKey]>([])

    /// Opens the cache: locks it against a second daemon, marks it, removes what is broken, loads the index.
    package init(
        _ configuration: Configuration, host: ImageHost, report: @escaping @Sendable (ImageCacheEvent) -> Void
    ) throws(ImageCacheError) {
        self.configuration = configuration
        self.host = host
        self.report = report
        store = try PictureStore(directory: configuration.directory, report: report)
        var stored = StoredIndex()
        var suspicion: String? = "the index cannot be opened"
        do throws(DatabaseError) {
            let file = try IndexFile(path: "\(configuration.directory)/\(PictureStore.indexName)")
            let loaded = try file.load()
            stored = StoredIndex(loaded.entries)
            suspicion = loaded.suspicion
            index = file
        } catch {
            // The files tell everything; without a database a start only takes longer.
            index = nil
            report(.indexUnusable(reason: error.description))
        }
        let isEmpty = stored.entries.isEmpty
        if suspicion != nil, isEmpty { Self.rebuild(&stored, from: store, reason: suspicion ?? "", report) }
        let parked = Dictionary(store.partialNames().map { ($0.name, $0.bytes) }) { first, _ in first }
        core = CoreLock(Core(configuration, slots: host.slots, store: store, index: stored, parked: parked))
        run { core in core.trim() }
        if suspicion != nil, !isEmpty { disk.async { [self] in reconcile() } }
        disk.async { [self] in checkDisk() }
    }

    // MARK: - Questions

    /// What is known of a picture now.
    ///
    /// Never waits.
    package func state(of picture: PictureID) -> PictureState {
        let key = FileKey(picture)
        let now = configuration.monotonicNow()
        return core.withLock { core in
            if let download = core.downloads[key]?.download {
                if download.phase == .complete, let total = download.total { return .stored(length: total) }
                if download.isQueued { return .queued }
                return .downloading(received: download.received, total: download.total)
            }
            if let entry = core.index[key] { return .stored(length: entry.length) }
            if core.scheduler.wishes.contains(where: { $0.picture.id == picture }) { return .queued }
            return core.failures.failure(of: key, now: now).map { .failed(reason: $0.text) } ?? .absent
        }
    }

    /// The length of a picture that is stored.
    ///
    /// Never waits.
    package func storedSize(of picture: PictureID) -> Int64? {
        let key = FileKey(picture)
        return core.withLock { $0.index[key]?.length }
    }

    /// Returns once no download of a picture is under way whose length is only announced.
    package func announcementEnded(of picture: PictureID) async {
        let key = FileKey(picture)
        await withCheckedContinuation { continuation in
            let isUnderWay = core.withLock { $0.downloads.addSettler(continuation, of: key) }
            if !isUnderWay { continuation.resume() }
        }
    }

    /// Keeps a picture from being evicted, now or once it is stored, or lets it go again.
    package func setPinned(_ isPinned: Bool, _ picture: PictureID) {
        run { core in
            core.index.setPinned(isPinned, FileKey(picture))
            core.effects.append(.writeIndexLater)
        }
    }

    /// Whether a picture is pinned, or will be as soon as it is stored.
    ///
    /// Never waits.
    package func isPinned(_ picture: PictureID) -> Bool {
        let key = FileKey(picture)
        return core.withLock { $0.index.isPinned(key) }
    }

    /// Drops a stored picture, pinned or not.
    ///
    /// - Parameters:
    ///   - picture: What to drop.
    ///   - openers: How many have it open to say so, and do not count.
    /// - Returns: Whether it was stored and nobody else has it open.
    package func evict(_ picture: PictureID, openers: Int) -> Bool {
        let key = FileKey(picture)
        return run { core in
            guard core.pictures.openers(of: key) <= openers, core.downloads[key] == nil, core.index.remove(key) != nil
            else {
                return false
            }
            core.effects.append(.remove([key]))
            return true
        }
    }

    /// Figures for status displays.
    ///
    /// Never waits.
    package func status() -> ImageCacheStatus {
        let now = configuration.monotonicNow()
        let (status, paths) = core.withLock { $0.status(now: now) }
        return status.named(by: paths)
    }

    // MARK: - Reading

    /// Opens a picture for reading; asks nothing of the network before the first read.
    ///
    /// - Parameters:
    ///   - picture: What to read; its `size` is the one that `stat` showed and that the download must have.
    ///   - neighbours: The pictures around it for preloading, or nil.
    ///   - onRead: Told once, when more of it is read than a look takes, and before those bytes are given out.
    /// - Returns: The open picture, which its owner closes.
    /// - Throws: `.gone` if the service said so within the last ten minutes.
    package func open(
        _ picture: PictureRequest, neighbours: Neighbours?, onRead: (@Sendable () -> Void)? = nil
    ) throws(ImageCacheError) -> OpenPicture {
        let now = configuration.monotonicNow()
        let opened = run { core in
            core.open(picture, neighbours: neighbours, onRead: onRead, now: now)
        }
        let (id, version) = try opened.get()
        return OpenPicture(cache: self, id: id, picture, versionAtOpen: version)
    }

    /// Downloads a whole picture whose length no header tells, and returns that length.
    package func learnSize(of picture: PictureRequest) async throws(ImageCacheError) -> Int64 {
        let (waiter, wait) = (makeWaiter(), Wait())
        let now = configuration.monotonicNow()
        run { core in core.waitForLength(of: picture, waiter: waiter, wait, now: now) }
        switch await result(of: wait, waiter) {
        case .length(let length): return length
        case .failed(let error): throw error
        case .bytes, .again: throw .cancelled
        }
    }

    // MARK: - End

    /// Cancels every download, keeps partial ones for resuming, writes the index and unlocks.
    package func close() async {
        let now = configuration.monotonicNow()
        run { core in core.shutDown(now: now) }
        await withCheckedContinuation { continuation in
            disk.async { [self] in
                // Rows that could not be written are found by the next start, if it knows to look.
                if writeIndex(), core.withLock({ $0.downloads.isEmpty }) { try? index?.setClean(true) }
                index?.close()
                store.unlock()
                continuation.resume()
            }
        }
    }
}
