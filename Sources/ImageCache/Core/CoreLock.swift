internal import Dispatch
internal import HTTP
internal import ImageHost
internal import SQLite
internal import Synchronization

/// The one lock that the cache's decisions are made under, and what is done with them once it is free.
///
/// ## Concurrency
///
/// Any thread may call; nothing that is called under the lock may take it again, wait, or call what is outside the cache.
final class CoreLock: Sendable {
    /// How often deadlines are looked at while downloads are under way, in milliseconds; their precision.
    private static let tickInterval = 100
    /// How long a picture's last use may stay unwritten, in seconds: what a kill costs the order of eviction.
    ///
    /// Long enough that a person who looks at one picture after another does not cause a write for each.
    private static let touchDelay = 10

    let configuration: CacheConfiguration
    let host: ImageHost
    let store: PictureStore
    let index: IndexFile?
    let report: @Sendable (ImageCacheEvent) -> Void
    /// Commits, the index and deadlines; may wait for the disk.
    let disk = DispatchQueue(label: "rankfs.cache.disk")
    /// Where the disk is asked to read ahead, which waits while it has much to do.
    private let ahead = DispatchQueue(label: "rankfs.cache.ahead")
    private let core: Mutex<Core>
    private let isTicking = Mutex(false)
    private let lastWaiter = Atomic<UInt64>(0)
    /// Removed rows that the next write of the index deletes.
    private let removedRows = Mutex<[FileKey]>([])
    #if DEBUG
    /// How often it was taken, for tests: whoever reads waits for everybody who decides something.
    let taken = Atomic(0)
    #endif

    init(
        _ configuration: CacheConfiguration, host: ImageHost, store: PictureStore, file: IndexFile?,
        index: StoredIndex, report: @escaping @Sendable (ImageCacheEvent) -> Void
    ) {
        self.configuration = configuration
        self.host = host
        self.store = store
        self.index = file
        self.report = report
        let parked = Dictionary(store.partialNames().map { ($0.name, $0.bytes) }) { first, _ in first }
        core = Mutex(Core(configuration, slots: host.slots, store: store, index: index, parked: parked))
        core.withLock { $0.lock = self }
    }

    /// Decides something of which nothing follows outside.
    func withLock<Result: Sendable>(_ decide: (inout Core) -> Result) -> Result {
        #if DEBUG
        taken.add(1, ordering: .relaxed)
        #endif
        let now = configuration.monotonicNow()
        return core.withLock { core in
            core.now = now
            return decide(&core)
        }
    }

    /// Decides under the lock, then does what was decided outside it.
    @discardableResult
    func run<Value: Sendable>(_ decide: (inout Core) -> Value) -> Value {
        let (value, work, isBusy) = withLock { core in
            let value = decide(&core)
            return (value, core.takeWork(), core.isBusy)
        }
        for step in work { step(self) }
        if isBusy { startTicking() }
        return value
    }

    // MARK: - Waiting

    /// A number for somebody who waits.
    func makeWaiter() -> UInt64 { lastWaiter.add(1, ordering: .relaxed).newValue }

    /// Suspends until a wait is answered, which its waiter has been registered for; a cancelled task gives it up.
    func result(of wait: Wait, _ waiter: UInt64) async -> WaitResult {
        await withTaskCancellationHandler {
            await wait.result
        } onCancel: {
            leave(waiter)
        }
    }

    /// Ends a wait; one that is over already is nothing.
    func leave(_ waiter: UInt64) { run { core in core.leave(waiter) } }

    // MARK: - Deadlines

    private func startTicking() {
        guard configuration.hasTimer,
            isTicking.withLock({ isTicking in
                defer { isTicking = true }
                return !isTicking
            })
        else { return }
        scheduleTick()
    }

    private func scheduleTick() {
        disk.asyncAfter(deadline: .now() + .milliseconds(Self.tickInterval)) { [self] in
            run { $0.tick() }
            let isBusy = withLock { $0.isBusy }
            if isBusy { return scheduleTick() }
            isTicking.withLock { $0 = false }
            // Something may have begun between the two; it saw the timer running.
            if withLock({ $0.isBusy }) { startTicking() }
        }
    }

    // MARK: - Ahead

    /// Puts a directory's pictures among those to be downloaded ahead; the disk reads ahead those that are stored.
    func wish(_ pictures: [PictureRequest], of directory: UInt64) {
        let stored = run { $0.wish(pictures, directory: directory) }
        guard !stored.isEmpty else { return }
        ahead.async { [store] in for key in stored { store.readAhead(key) } }
    }

    /// Asks the tier for a picture, whose bytes go to the file as they come.
    func askTier(_ key: FileKey, _ file: PartialFile, _ picture: PictureRequest, _ question: TierQuestion) {
        guard let tier = configuration.tier else { return }
        let room = picture.size ?? DownloadLimits.largestUnknown
        question.ask { [self] in
            let length = unsafe await tier.fetch(picture.id, length: picture.size, urgency: question.urgency) {
                [self] bytes, offset in
                do throws(FileError) {
                    let refusal = unsafe try file.write(
                        bytes, at: offset, total: room, giveWay: { giveWay(to: key) })
                    if let refusal { run { core in core.refused(refusal.text) } }
                    return true
                } catch { return false }
            }
            run { core in core.tierAnswered(key, file, picture, length: length) }
        }
    }

    // MARK: - Disk

    /// Looks whether all bytes of a picture prove what is left to prove, and tells it.
    func check(_ key: FileKey, _ file: PartialFile, _ proof: Proof, length: Int64) {
        disk.async { [self] in
            let isProven = Result { () throws(FileError) in
                try file.current?.use { proof.holds(for: $0, length: length) } ?? false
            }
            run { core in core.checked(key, file, isProven: isProven) }
        }
    }

    /// Moves a whole picture to its place.
    func commit(_ key: FileKey, _ file: PartialFile, length: Int64) {
        disk.async { [self] in
            let result = Result { () throws(FileError) in
                guard let data = file.current else { throw FileError("storing", 2) }
                return try CacheFiles.write(giveWay: { giveWay(to: key) }) { () throws(FileError) in
                    try store.commit(data, as: key, key: file.key, length: length)
                }
            }
            // Deleted under us: the next picture finds a directory again.
            if case .failure = result { try? store.reopen() }
            run { core in core.committed(key, file, result) }
            let isWritten = writeIndex()
            if case .success = result, isWritten { run { core in core.stores() } }
            lookAtDisk()
        }
    }

    /// Removes the least recently used pictures from a full disk at once, so that a new one can be kept.
    ///
    /// - Returns: Whether anything went.
    func giveWay(to key: FileKey) -> Bool {
        removeNow(run { core in core.giveWay(to: key) })
    }

    /// Removes pictures that are off the books.
    ///
    /// - Returns: Whether there were any.
    func removeNow(_ keys: [FileKey]) -> Bool {
        for key in keys { store.remove(key) }
        return !keys.isEmpty
    }

    /// Removes the files of pictures that are off the books, and their rows.
    func remove(_ keys: [FileKey]) {
        removedRows.withLock { $0 += keys }
        disk.async { [self] in
            for key in keys
            where withLock({ $0.index[key] == nil && $0.downloads[key]?.download.phase != .complete }) {
                store.remove(key)
            }
            _ = writeIndex()
        }
    }

    /// Compares the free disk with its floor.
    func checkDisk() { disk.async { [self] in lookAtDisk() } }

    private func lookAtDisk() {
        guard let free = store.freeBytes else { return }
        run { core in core.diskHas(free: free) }
    }

    // MARK: - The index

    /// Writes what changed in the index: now, or with what else changes in the next seconds.
    func writeIndexSoon(isFull: Bool) {
        if isFull { return disk.async { [self] in _ = writeIndex() } }
        guard configuration.hasTimer else { return }
        disk.asyncAfter(deadline: .now() + .seconds(Self.touchDelay)) { [weak self] in _ = self?.writeIndex() }
    }

    /// Writes what changed in the index; runs on the disk queue.
    ///
    /// - Returns: False if the disk refused; what could not be written is written with what changes next.
    func writeIndex() -> Bool {
        let removed = removedRows.withLock { rows in
            defer { rows = [] }
            return rows
        }
        let (changed, gone) = withLock { core in
            core.touches = 0
            return (core.index.takeUnwritten(), removed.filter { core.index[$0] == nil })
        }
        guard let index else { return true }
        do throws(DatabaseError) {
            let isAstray = index.isAstray
            if isAstray {
                // Its lock first.
                try? store.reopen()
                try index.restore()
            }
            try index.write(changed, removed: gone)
            // The pictures went with it, or some of them.
            if isAstray { reconcile() }
            return true
        } catch {
            removedRows.withLock { $0 += gone }
            run { core in
                core.index.keepUnwritten(changed.keys)
                core.refused("the index cannot be written (\(error.description))")
            }
            return false
        }
    }

    /// Compares index and files after an unclean end, by names; runs on the disk queue.
    func reconcile() {
        let known = withLock { Set($0.index.entries.keys) }
        let names = Set(store.storedNames())
        var adopted = 0
        for name in names.subtracting(known) {
            guard let footer = store.footer(of: name) else {
                // Neither a footer nor a row: nothing can be made of it. A commit finishes before its row is written.
                if withLock({ $0.index[name] == nil && $0.downloads[name] == nil }) { store.remove(name) }
                continue
            }
            let isNew = withLock { $0.index.adopt(name, length: footer.length) }
            if isNew { adopted += 1 }
        }
        for name in known.subtracting(names) where !store.exists(name) {
            withLock { _ = $0.index.remove(name) }
            removedRows.withLock { $0.append(name) }
        }
        if adopted > 0 { report(.indexRebuilt(pictures: adopted, reason: "the last run did not end cleanly")) }
        _ = writeIndex()
    }
}
