internal import HTTP
internal import Rankings

/// Everything that the cache knows, behind one lock.
///
/// It decides; what it decides is collected in `effects` and done outside, by `ImageCache.run`.
struct Core: Sendable {
    /// A download and what belongs to it.
    struct Download {
        /// Grows with each download: their order.
        let number: UInt64
        var flight: Flight
        let picture: PictureRequest
        var file: FlightFile
        var transfers: [UInt64: any Transfer] = [:]
        var priority: TransferPriority
        /// The directory whose walk wished for it; nil for one that a reader began.
        var walk: UInt64?
        /// Bytes written since the partial state was last noted.
        var unnoted: Int64 = 0
        /// Bytes counted against the budget; 0 for one that cannot be kept.
        var reserved: Int64 = 0
    }

    /// A picture that somebody has open.
    struct Handle {
        let key: FileKey
        let picture: PictureRequest
        let neighbours: Neighbours?
        let onRead: (@Sendable () -> Void)?
        let opened: ContinuousClock.Instant
        let wasThere: Bool
        /// The whole picture, once it is whole.
        var file: StoredFile?
        var length: Int64?
        /// Keeps memory accounted for while it is read.
        var source: FlightFile?
        /// The version that it has bytes of, and what the source calls that; another one must not follow.
        var version: PictureVersion?
        var validator: String?
        /// Whether the stored file could not be opened, so that the picture comes from the network.
        var avoidsStore = false
        var failure: ImageCacheError?
        var measure = ReadMeasure()
    }

    struct Waiter {
        let key: FileKey
        let handle: UInt64?
        let range: Range<Int64>
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<WaitResult, Never>
    }

    /// A failure that is remembered.
    struct Failure {
        var error: ImageCacheError
        var until: ContinuousClock.Instant
    }

    /// How long a picture that the service does not have is not asked for again.
    static let goneFor: Duration = .seconds(600)
    /// How long a preload that failed is not tried again; readers try at once.
    static let failedPreloadFor: Duration = .seconds(60)
    /// How long no preloads start after the network failed.
    static let preloadsRestFor: Duration = .seconds(10)
    /// Failures remembered at most.
    static let mostFailures = 4096
    /// Assumed for a preload whose length nobody asked.
    static let assumedLength: Int64 = 1 << 20
    /// Uses of stored pictures whose times are written together; also what a kill can cost the order of eviction.
    static let touchesTogether = 64
    /// Unfinished downloads kept for resuming.
    static let mostPartials = 256

    let configuration: ImageCache.Configuration
    let scheduler: DownloadScheduler
    let store: Store
    let spare = SpareMemory()
    var index: StoredIndex
    var downloads: [FileKey: Download] = [:]
    var handles: [UInt64: Handle] = [:]
    var openCounts: [FileKey: Int] = [:]
    var waiters: [UInt64: Waiter] = [:]
    /// Who wants to know when what a download was told is certain or void.
    var settlers: [FileKey: [CheckedContinuation<Void, Never>]] = [:]
    var failures: [FileKey: Failure] = [:]
    /// Partial files on disk that no download uses, with their bytes.
    var parked: [FileKey: Int64] = [:]
    var preload: PreloadPolicy
    /// Pictures to preload, the first one next.
    var wishes: [(directory: UInt64, picture: PictureRequest)] = []
    var preloadsRestUntil: ContinuousClock.Instant?
    var isStoring = true
    /// Bytes that the disk lacks to its floor and that eviction could not free.
    var diskLack: Int64 = 0
    var isClosed = false
    /// Uses of stored pictures since the index was last written.
    var touches = 0
    var receivedBytes: Int64 = 0
    var preloadedCount = 0
    var evictedCount = 0
    var nextID: UInt64 = 1
    /// What was decided and is not done yet, in order; empty whenever the lock is free.
    var effects: [Effect] = []

    init(
        _ configuration: ImageCache.Configuration, slots: TransferSlots, store: Store, index: StoredIndex,
        parked: [FileKey: Int64]
    ) {
        self.configuration = configuration
        scheduler = DownloadScheduler(slots: slots)
        self.store = store
        self.index = index
        self.parked = parked
        preload = PreloadPolicy(ordinary: configuration.preload, slots: slots)
    }

    mutating func makeID() -> UInt64 {
        defer { nextID += 1 }
        return nextID
    }

    /// What is to be done outside the lock now, which from here on counts as done.
    mutating func takeEffects() -> [Effect] {
        defer { effects = [] }
        return effects
    }

    func isOpen(_ key: FileKey) -> Bool {
        openCounts[key] != nil || downloads[key] != nil
    }

    /// The failure of a picture that still counts.
    func failure(of key: FileKey, now: ContinuousClock.Instant) -> ImageCacheError? {
        guard let failure = failures[key], failure.until > now else { return nil }
        return failure.error
    }

    mutating func remember(
        _ error: ImageCacheError, of key: FileKey, for duration: Duration, now: ContinuousClock.Instant
    ) {
        if failures.count >= Self.mostFailures { failures = failures.filter { $0.value.until > now } }
        // Still full of young ones: forgetting them costs a request each.
        if failures.count >= Self.mostFailures { failures = [:] }
        failures[key] = Failure(error: error, until: now + duration)
    }
}
