internal import Dispatch
internal import Glibc
internal import HTTP
internal import Rankings
internal import Sourcing
internal import Synchronization
internal import System

/// A step that runs once the lock is free, in the order in which it was decided.
typealias Work = @Sendable (CoreLock) -> Void

/// The state of the cache, behind one lock: open pictures, downloads, stored pictures and pictures to fetch.
///
/// Each part keeps its own state and decides for itself alone; this type makes them act together. Files, requests and
/// continuations are left for `later`, when the lock is free (`CoreLock.run`).
struct Core: Sendable {
    /// The time without new preloads after the network failed.
    static let preloadsRestFor: Duration = .seconds(10)
    /// The number of uses of stored pictures that are written together; also the cost of a kill to the order of eviction.
    static let touchesTogether = 64

    let configuration: CacheConfiguration
    /// The lock that guards this state and takes the results of requests.
    weak var lock: CoreLock?
    let store: PictureStore
    let spare = SpareMemory()
    /// The present instant; set whenever the lock is taken.
    var now: ContinuousClock.Instant
    var pictures = OpenPictures()
    var downloads: [PictureID: PictureDownload] = [:]
    var scheduler: DownloadScheduler
    var preload: PreloadPolicy
    var budget: Budget
    var failures = Failures()
    var isClosed = false
    /// The number of uses of stored pictures that have not been saved.
    var touches = 0
    var preloadedCount = 0
    private var isTicking = false
    private var nextID: UInt64 = 1
    private var work: [Work] = []

    init(
        _ configuration: CacheConfiguration, slots: TransferSlots, store: PictureStore, index: StoredIndex,
        parked: [PictureID: Int64]
    ) {
        self.configuration = configuration
        now = configuration.monotonicNow()
        scheduler = DownloadScheduler(slots: slots)
        preload = PreloadPolicy(ordinary: configuration.preload, slots: slots)
        self.store = store
        budget = Budget(
            limit: configuration.budget, freeFloor: configuration.freeFloor, index: index, parked: parked,
            now: now)
    }

    /// Whether the timer of deadlines is to be started because it does not run.
    mutating func startsTicking() -> Bool {
        guard configuration.hasTimer, !isTicking else { return false }
        return goesOnTicking()
    }

    /// Whether the timer of deadlines goes on.
    mutating func goesOnTicking() -> Bool {
        isTicking = !downloads.isEmpty
        return isTicking
    }

    mutating func makeID() -> UInt64 {
        defer { nextID += 1 }
        return nextID
    }

    /// Runs a step as soon as the lock is free.
    mutating func later(_ step: @escaping Work) { work.append(step) }

    /// Returns the steps to run outside the lock now, which count as done from here on.
    mutating func takeWork() -> [Work] {
        for step in budget.takeSteps() {
            switch step {
            case .remove(let pictures): later { $0.remove(pictures) }
            case .removePartial(let key): later { $0.store.removePartial(key) }
            case .report(let event): report(event)
            }
        }
        defer { work = [] }
        return work
    }

    mutating func report(_ event: ImageCacheEvent) { later { $0.report(event) } }

    // MARK: - Stored pictures

    var index: StoredIndex {
        get { budget.index }
        _modify { yield &budget.index }
    }

    /// The pictures that eviction spares: open pictures and downloads as they are now.
    var inUse: Budget.InUse {
        let (pictures, downloads) = (pictures, downloads)
        return { pictures.keys.union(downloads.keys) }
    }

    /// Evicts pictures that have become free to go.
    mutating func trim() { budget.trim(inUse) }

    // MARK: - Requests

    /// Carries out the scheduler's orders until nothing is left to do.
    mutating func pump() {
        guard !isClosed else { return }
        reviewWishes()
        while true {
            let wishes = budget.isStoring ? scheduler.ready(now: now) : 0
            let demands = downloads.map { $0.value.download.demand($0.key, number: $0.value.number) }
            guard let order = scheduler.next(demands, wishes: wishes) else { return }
            switch order {
            case .request(let key, let piece): request(piece, of: key)
            case .giveUp(let key, let id): change(key) { $0.giveUp(id) }
            case .begin: beginWish()
            }
        }
    }

    /// Updates the priority of a download's requests in the transport.
    mutating func updatePriority(_ key: PictureID) {
        guard let entry = downloads[key] else { return }
        let priority: TransferPriority = entry.download.isRead ? .reader : .preload
        guard priority != entry.priority else { return }
        downloads[key]?.priority = priority
        later { _ in
            for transfer in entry.transfers.values { transfer.setPriority(priority) }
            if priority == .reader { entry.question?.urgency.raise() }
        }
    }

    // MARK: - Wishes

    /// Carries out a decision of the preload policy.
    mutating func follow(_ decision: PreloadPolicy.Decision, _ neighbours: Neighbours) {
        switch decision {
        case .nothing: break
        case .drop: scheduler.dropWishes { $0.directory == neighbours.directory }
        case .plan(let places):
            later {
                $0.wish(
                    places.compactMap(neighbours.picture), of: neighbours.directory, forCopy: neighbours.isBulk)
            }
        }
    }

    /// Takes pictures to preload, in order, in place of the directory's earlier wishes.
    ///
    /// - Returns: The stored pictures among them, which the disk may read ahead.
    mutating func wish(
        _ pictures: [PictureRequest], directory: UInt64, forCopy: Bool = false
    ) -> [StoredPicture] {
        scheduler.wish(pictures, directory: directory, forCopy: forCopy)
        pump()
        return pictures.compactMap { index.picture($0.id) }
    }

    /// Drops void wishes: pictures that are present, that failed recently, or that may not be preloaded now.
    private mutating func reviewWishes() {
        guard !scheduler.wishes.isEmpty else { return }
        guard configuration.mayPreload() else { return scheduler.dropWishes() }
        let (index, downloads, failures, now) = (index, downloads, failures, now)
        scheduler.dropWishes { wish in
            let key = wish.picture.id
            return index[key] != nil || downloads[key] != nil || failures.failure(of: key, now: now) != nil
        }
    }

    /// Begins a download for the first wish, unless there is no room for it.
    private mutating func beginWish() {
        // Another directory may have wished for the same picture.
        guard let wish = scheduler.takeWish(), downloads[wish.picture.id] == nil else { return }
        let bytes = wish.picture.size ?? Download.assumedLength
        if budget.makeRoom(for: bytes, isPreload: true, inUse) { _ = begin(wish.picture, wish) }
    }

    // MARK: - Time

    /// Ends waits past their deadline, resumes downloads after their pause, and ends walks that have stopped.
    mutating func tick() {
        for key in Array(downloads.keys) {
            let isLate = endWaits(for: key, .failed(.timedOut)) { [now] in $0.deadline <= now }
            if isLate { release(key) }
        }
        for (key, entry) in downloads where !entry.download.waiters.isEmpty || entry.download.retryAt != nil {
            let silence = now - entry.download.lastProgress
            switch entry.download.phase {
            case .running where !entry.download.waiters.isEmpty && silence >= configuration.networkTimeout:
                fail(key, .timedOut, keepsPartial: true)
            case .running where downloads[key]?.download.wake(now: now) == true: release(key)
            // The image host may bring the picture sooner than a slow tier.
            case .asking
            where !entry.download.waiters.isEmpty && silence >= configuration.networkTimeout / Self.tiersShare:
                entry.question?.task.cancel()
            default: break
            }
        }
        for directory in preload.rested(now: now) { endWalk(directory) }
        pump()
    }

    /// The tier may take the network's time limit divided by this before the image host is queried after all.
    private static let tiersShare = 2

    /// Ends the preloads of a walk beyond those of an ordinary reader.
    ///
    /// Requests under way go on: the reader may come back, and bytes of a cancelled request that are on the wire would be sent
    /// twice.
    private mutating func endWalk(_ directory: UInt64) {
        scheduler.dropWishes { $0.directory == directory }
        for key in downloads.unread(ofWalk: directory).dropFirst(preload.ordinary) {
            downloads[key]?.download.isPreload = false
            if downloads[key]?.download.segments.isEmpty == true { release(key) }
        }
    }

    /// Ends everything; received bytes are kept for resuming.
    mutating func shutDown() {
        isClosed = true
        scheduler.dropWishes()
        for key in Array(downloads.keys) {
            endWaits(for: key, .failed(.cancelled)) { _ in true }
            downloads[key]?.download.handles = []
            downloads[key]?.download.isPreload = false
            release(key)
        }
    }

    // MARK: - Displays

    /// The figures for displays, which evaluate the paths once the lock is free.
    var status: ImageCacheStatus {
        ImageCacheStatus(
            storedPictures: index.count, storedBytes: index.bytes, pinned: index.pinned, budget: budget.limit,
            openPictures: pictures.count,
            downloads: downloads.running.map {
                .init(
                    picture: $0.picture.id, pathNow: $0.picture.path, received: $0.download.received,
                    total: $0.download.total, isRead: $0.download.isRead, isQueued: $0.download.isQueued)
            },
            queued: scheduler.wishes.map(\.picture),
            receivedBytes: lock?.received.load(ordering: .relaxed) ?? 0, preloaded: preloadedCount,
            evicted: budget.evicted,
            isStoring: budget.isStoring)
    }
}

// MARK: - The lock

/// The one lock for the cache's decisions, and the actions that follow once it is free.
///
/// ## Concurrency
///
/// Any thread may call; code that runs under the lock may not take it again, wait, or call code outside the cache.
final class CoreLock: Sendable {
    /// The interval of the checks of deadlines while downloads are under way, in milliseconds; their precision.
    private static let tickInterval = 100
    /// The time for which a picture's last use may stay unwritten, in seconds: the cost of a kill to the order of eviction.
    ///
    /// Long enough that a person viewing one picture after another does not cause a write for each.
    private static let touchDelay = 10

    let configuration: CacheConfiguration
    let host: ImageHost
    let store: PictureStore
    let report: @Sendable (ImageCacheEvent) -> Void
    /// Commits, pins and last uses; waits for the disk's syncs.
    let disk = DispatchQueue(label: "rankfs.cache.disk")
    /// Deadlines, and proofs of whole pictures: readers wait for them, however long the disk takes for a sync.
    let prompt = DispatchQueue(label: "rankfs.cache.prompt", attributes: .concurrent)
    /// The queue of read-ahead calls, which wait while the disk has much to do.
    private let ahead = DispatchQueue(label: "rankfs.cache.ahead")
    private let core: Mutex<Core>
    private let lastWait = Atomic<UInt64>(0)
    /// Bytes of bodies since the start, including overlaps and bytes without a further use.
    let received = Atomic<Int64>(0)
    /// The pictures that are out of the index, with files that are still to be removed.
    private let leaving = Mutex<[StoredPicture]>([])
    /// Held while a picture is converted from an older format: other threads find it in the one state or the other.
    private let converting = Mutex(())

    init(
        _ configuration: CacheConfiguration, host: ImageHost, store: PictureStore, index: StoredIndex,
        report: @escaping @Sendable (ImageCacheEvent) -> Void
    ) {
        self.configuration = configuration
        self.host = host
        self.store = store
        self.report = report
        core = Mutex(Core(configuration, slots: host.slots, store: store, index: index, parked: store.partials()))
        core.withLock { $0.lock = self }
    }

    /// Runs a decision without consequences outside.
    func withLock<Result: Sendable>(_ decide: (inout Core) -> Result) -> Result {
        let now = configuration.monotonicNow()
        return core.withLock { core in
            (core.now, core.budget.now) = (now, now)
            return decide(&core)
        }
    }

    /// Runs a decision under the lock, then the decided steps outside it.
    @discardableResult
    func run<Value: Sendable>(_ decide: (inout Core) -> Value) -> Value {
        let (value, work, startsTicking) = withLock { core in
            let value = decide(&core)
            return (value, core.takeWork(), core.startsTicking())
        }
        for step in work { step(self) }
        if startsTicking { scheduleTick() }
        return value
    }

    // MARK: - Waiting

    /// Creates a wait for the results of a picture's download.
    func makeWait(for picture: PictureID) -> Wait {
        Wait(id: lastWait.add(1, ordering: .relaxed).newValue, key: picture)
    }

    /// Suspends until a wait is answered; a cancelled task gives it up.
    func result(of wait: Wait) async -> WaitResult {
        await withTaskCancellationHandler {
            await wait.result
        } onCancel: {
            leave(wait)
        }
    }

    /// Ends a wait; has no effect on a wait that is over.
    func leave(_ wait: Wait) { run { core in core.leave(wait) } }

    // MARK: - Deadlines

    private func scheduleTick() {
        prompt.asyncAfter(deadline: .now() + .milliseconds(Self.tickInterval)) { [self] in
            run { $0.tick() }
            if withLock({ $0.goesOnTicking() }) { scheduleTick() }
        }
    }

    // MARK: - Ahead

    /// Adds a directory's pictures to the wishes; the disk reads ahead those that are stored.
    func wish(_ pictures: [PictureRequest], of directory: UInt64, forCopy: Bool) {
        let stored = run { $0.wish(pictures, directory: directory, forCopy: forCopy) }
        guard !stored.isEmpty else { return }
        ahead.async { [store] in for picture in stored { store.readAhead(picture) } }
    }

    /// Queries the tier for a picture; its bytes go to the file as they come, and to readers as they are proven.
    func ask(
        _ tier: any PictureTier, for picture: PictureRequest, _ file: PartialFile, _ urgency: Urgency
    ) async {
        let room = picture.size ?? Download.largestUnknown
        let edges = Mutex(PictureEdges())
        let sink = unsafe PictureSink { [self] bytes, offset in
            do throws(SystemError) {
                unsafe try write(bytes, to: file, at: offset, room: room)
            } catch { return false }
            edges.withLock { unsafe $0.note(bytes, at: offset, total: picture.size) }
            return true
        } proven: { [self] end, length in
            let edges = edges.withLock { $0 }
            return run { $0.tierProved(file.picture, file, upTo: end, of: length, edges) }
        }
        let isWhole = await tier.fetch(picture.id, length: picture.size, urgency: urgency, into: sink)
        run { $0.tierAnswered(file.picture, file, picture, isWhole: isWhole) }
    }

    // MARK: - Disk

    /// Waits for the disk queue, and runs a function on it.
    func onDisk<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in disk.async { continuation.resume(returning: work()) } }
    }

    /// Checks whether all bytes of a picture give the missing proof, and reports the result.
    func check(_ key: PictureID, _ file: PartialFile, _ proof: Proof, length: Int64) {
        prompt.async { [self] in
            let isProven = Result { () throws(SystemError) in
                try file.current?.use { proof.holds(for: $0, length: length) } ?? false
            }
            run { core in core.checked(key, file, isProven: isProven) }
        }
    }

    /// Moves a whole picture to its place.
    func commit(_ key: PictureID, _ file: PartialFile, length: Int64) {
        disk.async { [self] in
            let result = Result { () throws(SystemError) in
                guard let data = file.current else { throw SystemError("storing", code: ENOENT) }
                return try makingRoom({ $0.giveWay(to: key) }) { () throws(SystemError) in
                    try store.commit(data, as: key, length: length)
                }
            }
            // Deleted during operation: the next picture finds a directory again.
            let isFailure = if case .failure = result { true } else { false }
            if isFailure || store.hasLostLock { try? store.reopen() }
            run { core in core.committed(key, file, result) }
            lookAgain()
            if case .success = result { run { core in core.budget.stores() } }
            lookAtDisk()
        }
    }

    /// Removes the files of pictures that are out of the index, unless they have been stored again.
    func remove(_ pictures: [StoredPicture]) {
        leaving.withLock { $0 += pictures }
        disk.async { [self] in removeLeaving() }
    }

    private func removeLeaving() {
        let pictures = leaving.withLock { leaving in
            defer { leaving = [] }
            return leaving
        }
        for picture in pictures where withLock({ $0.index.picture(picture.key) != picture }) { store.remove(picture) }
    }

    /// Compares the free disk with its floor.
    func checkDisk() { disk.async { [self] in lookAtDisk() } }

    /// Evicts down to the floor; the files go before anything else looks at the disk, which would find the same lack again.
    private func lookAtDisk() {
        removeLeaving()
        guard let free = store.freeBytes else { return }
        run { core in
            if !core.budget.diskHas(free: free, core.inUse) { core.scheduler.dropWishes() }
        }
        removeLeaving()
    }

    /// Forgets pictures lost with a directory removed during operation, and writes all pins again; runs on the disk queue.
    private func lookAgain() {
        guard store.takeRemade() else { return }
        let pictures = Set(store.contents().pictures)
        withLock { $0.index.keep(only: pictures) }
        writePins()
    }

    // MARK: - A disk without room

    /// The largest number of attempts at a full disk: other programs may take the space that became free.
    private static let mostTries = 4

    /// Runs a write, again as long as the disk is full and stored pictures give way to it.
    ///
    /// - Parameters:
    ///   - giveWay: Takes pictures out of the index, which are then removed at once; none if they would not make enough room.
    ///   - write: The write.
    /// - Returns: The result of the write.
    /// - Throws: The disk's last error.
    func makingRoom<Value>(
        _ giveWay: (inout Core) -> [StoredPicture], _ write: () throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        var triesLeft = Self.mostTries
        while true {
            do throws(SystemError) { return try write() } catch {
                triesLeft -= 1
                guard error.code == ENOSPC || error.code == EDQUOT, triesLeft > 0 else { throw error }
                let victims = run(giveWay)
                guard !victims.isEmpty else { throw error }
                for picture in victims { store.remove(picture) }
            }
        }
    }

    /// Writes bytes of a download; bytes that the disk refuses, and all before them, move to memory.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - file: The file for the download's bytes.
    ///   - offset: Their offset in the picture.
    ///   - room: The number of bytes that the whole picture may take.
    /// - Throws: If memory is used up as well.
    func write(
        _ bytes: UnsafeRawBufferPointer, to file: PartialFile, at offset: Int64, room: Int64
    ) throws(SystemError) {
        do throws(SystemError) {
            try makingRoom({ $0.giveWay(to: file.picture) }) { () throws(SystemError) in
                unsafe try file.write(bytes, at: offset)
            }
        } catch {
            let refusal = error
            guard refusal.code != ECANCELED, refusal.lackOfDescriptors == nil, try file.moveToMemory(total: room)
            else { throw refusal }
            unsafe try file.write(bytes, at: offset)
            run { core in core.budget.refused(refusal.text) }
        }
    }

    // MARK: - Pins and last uses

    /// Saves the pins, for which stored pictures give way on a full disk; runs on the disk queue.
    ///
    /// - Returns: The disk's error; the pins are then saved with the next ones.
    @discardableResult
    func writePins() -> SystemError? {
        let pins = withLock { $0.index.takeUnwrittenPins() }
        guard !pins.isEmpty else { return nil }
        do throws(SystemError) {
            try makingRoom({ $0.budget.giveWay(0, sparesUnread: false, $0.inUse) }) { () throws(SystemError) in
                try store.write(pins: pins)
            }
            return nil
        } catch {
            withLock { $0.index.keepUnwritten(pins.keys) }
            // Deleted during operation.
            if error.code == ENOENT, (try? store.reopen()) != nil {
                lookAgain()
                return withLock { $0.index.unwrittenPins.isEmpty } ? nil : error
            }
            run { core in core.budget.refused("a pin cannot be kept (\(error.text))") }
            return error
        }
    }

    /// Saves last uses: now, or with those of the next seconds.
    func writeUsesSoon(isFull: Bool) {
        if isFull { return disk.async { [self] in writeUses() } }
        guard configuration.hasTimer else { return }
        disk.asyncAfter(deadline: .now() + .seconds(Self.touchDelay)) { [weak self] in self?.writeUses() }
    }

    /// Saves last uses if there are new ones; runs on the disk queue.
    func writeUses() {
        let uses = withLock { core in
            defer { core.touches = 0 }
            return core.touches > 0 ? core.index.uses : []
        }
        // A disk that refuses costs the order of eviction.
        if !uses.isEmpty { try? store.write(uses: uses.sorted { $0.used < $1.used }.map(\.hash)) }
    }

    // MARK: - Pictures of an older format

    /// Converts a picture that is still to be converted; has no effect on another one.
    ///
    /// - Returns: The disk's error; the picture is then unchanged, and the next request for it, or the next start, tries again.
    @discardableResult
    func bring(_ name: OlderName) -> SystemError? {
        converting.withLock { _ in
            guard let row = withLock({ $0.isClosed ? nil : $0.index.older[name] }) else { return nil }
            do throws(SystemError) {
                let picture = try OlderFormat.convert(name, isPinned: row.isPinned, store)
                let isNew = run { core in
                    core.noteUse()
                    return core.index.convert(name, to: picture)
                }
                // It has been downloaded meanwhile.
                if !isNew, let picture { remove([picture]) }
                return nil
            } catch { return error }
        }
    }

    /// Converts pictures, the first ones now and the others after other work for the disk had its turn.
    func bring(_ names: ArraySlice<OlderName>) {
        disk.async { [self] in
            for name in names.prefix(Self.broughtTogether) { bring(name) }
            run { core in core.trim() }
            let rest = names.dropFirst(Self.broughtTogether)
            if !rest.isEmpty { return bring(rest) }
            writeUses()
            if withLock({ $0.index.older.isEmpty }) { OlderFormat.removeIndex(in: store.root.top) }
        }
    }

    /// Pictures converted at a time: some milliseconds of the disk.
    private static let broughtTogether = 32
}
