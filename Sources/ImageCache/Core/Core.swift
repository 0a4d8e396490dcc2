internal import HTTP
internal import ImageHost
internal import Rankings
internal import Synchronization

/// Everything that the cache knows, behind one lock: what is open, what is downloaded, what is stored and what is to be fetched.
///
/// Each of these keeps its own state and decides what concerns it alone; this has them act together. What is decided is
/// collected in `effects` and done outside, by `ImageCache.run`.
struct Core: Sendable {
    /// How long no preloads start after the network failed.
    static let preloadsRestFor: Duration = .seconds(10)
    /// Uses of stored pictures whose times are written together; also what a kill can cost the order of eviction.
    static let touchesTogether = 64

    let configuration: ImageCache.Configuration
    let store: PictureStore
    let spare = SpareMemory()
    var pictures = OpenPictures()
    var downloads = Downloads()
    var scheduler: DownloadScheduler
    var preload: PreloadPolicy
    var index: StoredIndex
    var budget: Budget
    var failures = Failures()
    var isClosed = false
    /// Uses of stored pictures since the index was last written.
    var touches = 0
    var receivedBytes: Int64 = 0
    var preloadedCount = 0
    private var nextID: UInt64 = 1
    /// What was decided and is not done yet, in order; empty whenever the lock is free.
    var effects: [Effect] = []

    init(
        _ configuration: ImageCache.Configuration, slots: TransferSlots, store: PictureStore, index: StoredIndex,
        parked: [FileKey: Int64]
    ) {
        self.configuration = configuration
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

    /// What is to be done outside the lock now, which from here on counts as done.
    mutating func takeEffects() -> [Effect] {
        defer { effects = [] }
        return effects
    }

    /// Has the budget decide about what is stored; what is open or downloaded stays.
    @discardableResult
    mutating func account<Value>(
        _ decide: (inout Budget, inout StoredIndex, _ inUse: () -> Set<FileKey>) -> Value
    ) -> Value {
        let (pictures, downloads) = (pictures, downloads)
        let value = decide(&budget, &index) { pictures.keys.union(downloads.keys) }
        effects += budget.takeEffects()
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

    // MARK: - What is asked for

    /// Carries out what the scheduler orders until nothing is left to do.
    mutating func pump(now: ContinuousClock.Instant) {
        guard !isClosed else { return }
        reviewWishes(now: now)
        while true {
            let wishes = budget.isStoring ? scheduler.ready(now: now) : 0
            guard let order = scheduler.next(downloads.demands, wishes: wishes) else { return }
            switch order {
            case .request(let key, let piece): request(piece, of: key, now: now)
            case .giveUp(let key, let id): apply(downloads[key]?.download.giveUp(id), to: key, now: now)
            case .begin: beginWish(now: now)
            }
        }
    }

    private mutating func request(_ piece: Piece, of key: FileKey, now: ContinuousClock.Instant) {
        let id = makeID()
        guard let start = downloads[key]?.download.begin(piece, id: id), let entry = downloads[key] else { return }
        let transfer = StartedTransfer(entry.priority)
        downloads[key]?.transfers[start.id] = transfer
        effects.append(
            .start(
                key, start.id,
                PictureSegment(
                    location: entry.picture.location, range: start.asked, version: start.ifRange,
                    priority: entry.priority, deadline: now + DownloadLimits.requestDeadline),
                transfer, entry.file))
    }

    /// Tells the transport who waits for a download's requests.
    mutating func updatePriority(_ key: FileKey) {
        guard let entry = downloads[key] else { return }
        let priority: TransferPriority = entry.download.isRead ? .reader : .preload
        guard priority != entry.priority else { return }
        downloads[key]?.priority = priority
        for transfer in entry.transfers.values { effects.append(.setPriority(transfer, priority)) }
        if priority == .reader, let question = entry.question { effects.append(.hurry(question)) }
    }

    // MARK: - Wishes

    /// Carries out what the preload policy decided.
    mutating func follow(_ decision: PreloadPolicy.Decision, _ neighbours: Neighbours) {
        switch decision {
        case .nothing: break
        case .drop: scheduler.dropWishes(of: neighbours.directory)
        case .plan(let places): effects.append(.planPreloads(neighbours, places))
        }
    }

    /// Takes pictures to download ahead, in order, in place of what was wished for that directory.
    ///
    /// - Returns: Those of them that are stored: the disk may read them ahead.
    @discardableResult
    mutating func wish(
        _ pictures: [PictureRequest], directory: UInt64, now: ContinuousClock.Instant
    ) -> [FileKey] {
        scheduler.wish(pictures, directory: directory)
        pump(now: now)
        return pictures.map { FileKey($0.id) }.filter { index[$0] != nil }
    }

    /// Forgets wishes that are void: pictures that are here, that failed a moment ago, or that nobody may download ahead now.
    private mutating func reviewWishes(now: ContinuousClock.Instant) {
        guard !scheduler.wishes.isEmpty else { return }
        guard configuration.mayPreload() else { return scheduler.dropWishes() }
        let (index, downloads, failures) = (index, downloads, failures)
        scheduler.dropWishes { wish in
            let key = FileKey(wish.picture.id)
            return index[key] != nil || downloads[key] != nil || failures.failure(of: key, now: now) != nil
        }
    }

    /// Begins a download for the first wish, unless there is no room for it.
    private mutating func beginWish(now: ContinuousClock.Instant) {
        // Another directory may have wished for the same one.
        guard let wish = scheduler.takeWish(), downloads[FileKey(wish.picture.id)] == nil else { return }
        let bytes = wish.picture.size ?? DownloadLimits.assumedLength
        let hasRoom = account { budget, index, inUse in
            budget.makeRoom(for: bytes, isPreload: true, in: &index, inUse: inUse)
        }
        if hasRoom { _ = begin(wish.picture, walk: wish.directory, now: now) }
    }
}

/// Something to do outside the lock, in order.
enum Effect: Sendable {
    /// Make a request for a part of a picture.
    case start(FileKey, UInt64, PictureSegment, StartedTransfer, PartialFile)
    case cancel(StartedTransfer)
    case setPriority(StartedTransfer, TransferPriority)
    case resume(Wait, WaitResult)
    /// Look at the partial file of an earlier download.
    case reopen(FileKey, PartialFile)
    /// Ask the tier for a picture, tell it that somebody waits, or ask no longer.
    case askTier(FileKey, PartialFile, PictureRequest, TierQuestion)
    case hurry(TierQuestion)
    case withdraw(TierQuestion)
    /// Tell the tier that a picture is stored, or that it will not be.
    case keep(FileKey, PictureRequest, length: Int64, hash: UInt64)
    case giveUp(PictureRequest)
    /// Keep a partial file for later.
    case park(PartialFile, total: Int64?, validator: String?, present: RangeSet)
    case discard(PartialFile)
    /// Write what changed in the index: now, or with what else changes in the next seconds.
    case writeIndex
    case writeIndexLater
    /// Keep the bytes only for those who have them open.
    case unlink(PartialFile)
    case removePartial(FileKey)
    /// A download has ended, or what it was told is void.
    case settled([CheckedContinuation<Void, Never>])
    /// Look whether all bytes prove what is left to prove, and tell it.
    case check(FileKey, PartialFile, Proof, length: Int64)
    /// Move a whole picture to its place.
    case commit(FileKey, PartialFile, length: Int64)
    /// Compare the free disk with its floor.
    case checkDisk
    /// Remove stored files and their rows.
    case remove([FileKey])
    /// Ask the neighbours for the pictures at these places and queue them.
    case planPreloads(Neighbours, [Int])
    case report(ImageCacheEvent)
    /// A picture is really read; its opener wants to know.
    case tell(@Sendable () -> Void)
}

/// What a waiter is told.
enum WaitResult: Sendable {
    /// What was read, and the version that the reader has from now on.
    case bytes(PictureBytes, PictureVersion?)
    case length(Int64)
    /// Things changed: look again.
    case again
    case failed(ImageCacheError)
}

/// The one lock that the cache's decisions are made under.
///
/// ## Concurrency
///
/// Any thread may call; nothing that is called under it may take it again, wait, or call what is outside the cache.
final class CoreLock: Sendable {
    private let core: Mutex<Core>
    #if DEBUG
    /// How often it was taken, for tests: whoever reads waits for everybody who decides something.
    let taken = Atomic(0)
    #endif

    init(_ core: consuming sending Core) {
        self.core = Mutex(core)
    }

    /// Decides something.
    func withLock<Result: Sendable>(_ decide: (inout Core) -> Result) -> Result {
        #if DEBUG
        taken.add(1, ordering: .relaxed)
        #endif
        return core.withLock { decide(&$0) }
    }
}
