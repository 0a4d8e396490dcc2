internal import HTTP
internal import ImageHost
internal import Rankings
internal import Synchronization

/// What is done once the lock is free, in the order in which it was decided.
typealias Work = @Sendable (CoreLock) -> Void

/// Everything that the cache knows, behind one lock: what is open, what is downloaded, what is stored and what is to be fetched.
///
/// Each of these keeps its own state and decides what concerns it alone; this has them act together. Files, requests and
/// continuations are left for `later`, when the lock is free (`CoreLock.run`).
struct Core: Sendable {
    /// How long no preloads start after the network failed.
    static let preloadsRestFor: Duration = .seconds(10)
    /// Uses of stored pictures whose times are written together; also what a kill can cost the order of eviction.
    static let touchesTogether = 64

    let configuration: CacheConfiguration
    /// What guards this, and takes what requests bring.
    weak var lock: CoreLock?
    let store: PictureStore
    let spare = SpareMemory()
    /// The present instant; set whenever the lock is taken.
    var now: ContinuousClock.Instant
    var pictures = OpenPictures()
    var downloads = Downloads()
    var scheduler: DownloadScheduler
    var preload: PreloadPolicy
    var index: StoredIndex
    var budget: Budget
    var failures = Failures()
    var isClosed = false
    /// Uses of stored pictures that have not been written down.
    var touches = 0
    var preloadedCount = 0
    private var nextID: UInt64 = 1
    private var work: [Work] = []

    init(
        _ configuration: CacheConfiguration, slots: TransferSlots, store: PictureStore, index: StoredIndex,
        parked: [FileKey: Int64]
    ) {
        self.configuration = configuration
        now = configuration.monotonicNow()
        scheduler = DownloadScheduler(slots: slots)
        preload = PreloadPolicy(ordinary: configuration.preload, slots: slots)
        self.store = store
        self.index = index
        budget = Budget(limit: configuration.budget, freeFloor: configuration.freeFloor, parked: parked)
    }

    /// Whether anything waits for a deadline.
    var isBusy: Bool { !downloads.isEmpty }

    mutating func makeID() -> UInt64 {
        defer { nextID += 1 }
        return nextID
    }

    /// Has something done as soon as the lock is free.
    mutating func later(_ step: @escaping Work) { work.append(step) }

    /// What is to be done outside the lock now, which from here on counts as done.
    mutating func takeWork() -> [Work] {
        defer { work = [] }
        return work
    }

    mutating func report(_ event: ImageCacheEvent) { later { $0.report(event) } }

    // MARK: - Room

    /// Has the budget decide about what is stored; what is open or downloaded stays.
    @discardableResult
    mutating func account<Value>(
        _ decide: (inout Budget, inout StoredIndex, _ inUse: () -> Set<FileKey>) -> Value
    ) -> Value {
        let (pictures, downloads) = (pictures, downloads)
        let value = decide(&budget, &index) { pictures.keys.union(downloads.keys) }
        for step in budget.takeSteps() {
            switch step {
            case .remove(let pictures): later { $0.remove(pictures) }
            case .removePartial(let key): later { $0.store.removePartial(key) }
            case .report(let event): report(event)
            }
        }
        return value
    }

    /// Evicts what became free to go.
    mutating func trim() {
        account { budget, index, inUse in budget.trim(&index, inUse: inUse) }
    }

    /// The disk refused to take something.
    mutating func refused(_ reason: String) {
        account { budget, _, _ in budget.refused(reason) }
    }

    /// The disk takes pictures again.
    mutating func stores() {
        account { budget, _, _ in budget.stores() }
    }

    /// The disk has so many bytes free.
    mutating func diskHas(free: Int64) {
        let isEnough = account { budget, index, inUse in budget.diskHas(free: free, index: &index, inUse: inUse) }
        if !isEnough { scheduler.dropWishes() }
    }

    /// Lets the least recently used pictures go on a full disk, unless so many bytes would still find no room.
    ///
    /// - Returns: What is to be removed at once.
    mutating func giveWay(_ bytes: Int64, sparesUnread: Bool) -> [StoredPicture] {
        account { budget, index, inUse in
            budget.giveWay(bytes, sparesUnread: sparesUnread, in: &index, inUse: inUse)
        }
    }

    // MARK: - Requests

    /// Carries out what the scheduler orders until nothing is left to do.
    mutating func pump() {
        guard !isClosed else { return }
        reviewWishes()
        while true {
            let wishes = budget.isStoring ? scheduler.ready(now: now) : 0
            guard let order = scheduler.next(downloads.demands, wishes: wishes) else { return }
            switch order {
            case .request(let key, let piece): request(piece, of: key)
            case .giveUp(let key, let id): change(key) { $0.giveUp(id) }
            case .begin: beginWish()
            }
        }
    }

    private mutating func request(_ piece: Piece, of key: FileKey) {
        let id = makeID()
        guard let lock, let start = downloads[key]?.download.begin(piece, id: id), let entry = downloads[key] else {
            return
        }
        let segment = PictureSegment(
            location: entry.picture.location, range: start.asked, version: start.ifRange,
            priority: entry.priority, deadline: now + DownloadLimits.requestDeadline)
        let transfer = lock.host.transfer(
            of: segment, sink: SegmentSink(lock, key: key, segment: id, file: entry.file))
        downloads[key]?.transfers[id] = transfer
        later { $0.host.begin(transfer) }
    }

    /// Tells the transport who waits for a download's requests.
    mutating func updatePriority(_ key: FileKey) {
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

    /// Carries out what the preload policy decided.
    mutating func follow(_ decision: PreloadPolicy.Decision, _ neighbours: Neighbours) {
        switch decision {
        case .nothing: break
        case .drop: scheduler.dropWishes(of: neighbours.directory)
        case .plan(let places): later { $0.wish(places.compactMap(neighbours.picture), of: neighbours.directory) }
        }
    }

    /// Takes pictures to download ahead, in order, in place of what was wished for that directory.
    ///
    /// - Returns: Those of them that are stored: the disk may read them ahead.
    mutating func wish(_ pictures: [PictureRequest], directory: UInt64) -> [StoredPicture] {
        scheduler.wish(pictures, directory: directory)
        pump()
        return pictures.compactMap { index.picture(FileKey($0.id)) }
    }

    /// Forgets wishes that are void: pictures that are here, that failed a moment ago, or that nobody may download ahead now.
    private mutating func reviewWishes() {
        guard !scheduler.wishes.isEmpty else { return }
        guard configuration.mayPreload() else { return scheduler.dropWishes() }
        let (index, downloads, failures, now) = (index, downloads, failures, now)
        scheduler.dropWishes { wish in
            let key = FileKey(wish.picture.id)
            return index[key] != nil || downloads[key] != nil || failures.failure(of: key, now: now) != nil
        }
    }

    /// Begins a download for the first wish, unless there is no room for it.
    private mutating func beginWish() {
        // Another directory may have wished for the same one.
        guard let wish = scheduler.takeWish(), downloads[FileKey(wish.picture.id)] == nil else { return }
        let bytes = wish.picture.size ?? DownloadLimits.assumedLength
        let hasRoom = account { budget, index, inUse in
            budget.makeRoom(for: bytes, isPreload: true, in: &index, inUse: inUse)
        }
        if hasRoom { _ = begin(wish.picture, walk: wish.directory) }
    }

    // MARK: - Time

    /// Ends waits whose time is over, goes on with downloads whose pause is, and ends walks that nobody goes on with.
    mutating func tick() {
        for waiter in downloads.removeWaiters(where: { [now] in $0.deadline <= now }) {
            end(waiter, .failed(.timedOut))
            release(waiter.key)
        }
        for (key, entry) in downloads.entries where !entry.download.waiters.isEmpty || entry.download.retryAt != nil {
            let silence = now - entry.download.lastProgress
            switch entry.download.phase {
            case .running where !entry.download.waiters.isEmpty && silence >= configuration.networkTimeout:
                fail(key, .timedOut, keepsPartial: true)
            case .running where downloads[key]?.download.wake(now: now) == true: release(key)
            // The image host may have what the tier brings too slowly.
            case .asking
            where !entry.download.waiters.isEmpty && silence >= configuration.networkTimeout / Self.tiersShare:
                if let question = entry.question { later { _ in question.cancel() } }
            default: break
            }
        }
        for directory in preload.rested(now: now) { endWalk(directory) }
        pump()
    }

    /// What of a network's time the tier may take before the image host is asked after all.
    private static let tiersShare = 2

    /// Asks for nothing more ahead of a walk, but for as much as an ordinary reader has ahead.
    ///
    /// What is under way comes: the reader may come back, and what a cancelled request has on the wire would be sent twice.
    private mutating func endWalk(_ directory: UInt64) {
        scheduler.dropWishes(of: directory)
        for key in downloads.unread(ofWalk: directory).dropFirst(preload.ordinary) {
            downloads[key]?.download.isPreload = false
            if downloads[key]?.download.segments.isEmpty == true { release(key) }
        }
    }

    /// Ends everything; what came so far is kept for resuming.
    mutating func shutDown() {
        isClosed = true
        scheduler.dropWishes()
        for waiter in downloads.removeWaiters(where: { _ in true }) { end(waiter, .failed(.cancelled)) }
        for key in downloads.keys {
            downloads[key]?.download.handles = []
            downloads[key]?.download.isPreload = false
            release(key)
        }
    }

    // MARK: - Displays

    /// What displays show, without paths.
    func status() -> (ImageCacheStatus, Paths) {
        let running = downloads.running
        let status = ImageCacheStatus(
            storedPictures: index.count, storedBytes: index.bytes, budget: budget.limit,
            openPictures: pictures.count,
            downloads: running.map {
                .init(
                    picture: $0.picture.id, received: $0.download.received, total: $0.download.total,
                    isRead: $0.download.isRead, isQueued: $0.download.isQueued)
            },
            queued: scheduler.wishes.map { .init(picture: $0.picture.id) },
            receivedBytes: lock?.received.load(ordering: .relaxed) ?? 0, preloaded: preloadedCount,
            evicted: budget.evicted,
            isStoring: budget.isStoring)
        return (status, Paths(downloads: running.map(\.picture.path), queued: scheduler.wishes.map(\.picture.path)))
    }

    /// How to ask for the paths of downloads and of queued preloads: closures from outside are not called under the lock.
    struct Paths {
        var downloads: [(@Sendable () -> String)?]
        var queued: [(@Sendable () -> String)?]
    }
}
