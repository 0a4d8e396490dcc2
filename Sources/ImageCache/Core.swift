internal import HTTP
internal import Rankings

/// Something to do outside the lock, in order.
enum Action: Sendable {
    /// Make a request for a part of a picture.
    case start(FileKey, SegmentStart, HTTPRequest)
    case cancel(any Transfer)
    case setPriority(any Transfer, TransferPriority)
    case resume(CheckedContinuation<WaitResult, Never>, WaitResult)
    /// Look at the partial file of an earlier download.
    case reopen(FileKey, FlightFile)
    /// Keep a partial file for later.
    case park(FlightFile, total: Int64?, validator: String?, present: RangeSet)
    case discard(FlightFile)
    /// Write what changed in the index: now, or with what else changes in the next seconds.
    case writeIndex
    case writeIndexLater
    /// Keep the bytes only for those who have them open.
    case unlink(FlightFile)
    case removePartial(FileKey)
    /// A download has ended, or what it was told is void.
    case settled([CheckedContinuation<Void, Never>])
    /// Move a whole picture to its place.
    case commit(FileKey, FlightFile, length: Int64)
    /// Compare the free disk with its floor.
    case checkDisk
    /// Remove stored files and their rows.
    case remove([FileKey])
    /// Ask the neighbours for the pictures at these places and queue them.
    case planPreloads(Neighbours, [Int])
    case report(ImageCacheEvent)
}

/// What a waiter is told.
enum WaitResult: Sendable {
    case bytes(PictureBytes)
    case length(Int64)
    /// Things changed: look again.
    case again
    case failed(ImageCacheError)
}

/// Everything that the cache knows, behind one lock.
///
/// It decides; what it decides is done outside.
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
        /// Bytes read so far; tells sniffing from reading.
        var readBytes: Int64 = 0
        var hasPassed = false
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

    /// Reads up to here are sniffing: a file manager looks at the beginning.
    static let sniffedBytes: Int64 = 128 << 10
    /// How long a picture that the service does not have is not asked for again.
    static let goneFor: Duration = .seconds(600)
    /// How long a preload that failed is not tried again; readers try at once.
    static let failedPreloadFor: Duration = .seconds(60)
    /// How long no preloads start after the network failed.
    static let preloadsRestFor: Duration = .seconds(10)
    /// Connections that large preloads leave idle, for the reader who comes next; the transport keeps one from all preloads.
    static let connectionsForReaders = 1
    /// Failures remembered at most.
    static let mostFailures = 4096
    /// Assumed for a preload whose length nobody asked.
    static let assumedLength: Int64 = 1 << 20
    /// Uses of stored pictures whose times are written together; also what a kill can cost the order of eviction.
    static let touchesTogether = 64
    /// Unfinished downloads kept for resuming.
    static let mostPartials = 256

    let configuration: ImageCache.Configuration
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
    var queued: [(directory: UInt64, picture: PictureRequest)] = []
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

    init(_ configuration: ImageCache.Configuration, store: Store, index: StoredIndex, parked: [FileKey: Int64]) {
        self.configuration = configuration
        self.store = store
        self.index = index
        self.parked = parked
        preload = PreloadPolicy(ordinary: configuration.preload)
    }

    mutating func makeID() -> UInt64 {
        defer { nextID += 1 }
        return nextID
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
