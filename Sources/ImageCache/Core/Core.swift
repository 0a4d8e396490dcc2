internal import HTTP
internal import Rankings

/// Everything that the cache knows, behind one lock: what is open, what is downloaded, what is stored and what is to be fetched.
///
/// Each of these keeps its own state and decides what concerns it alone; this has them act together. What is decided is
/// collected in `effects` and done outside, by `ImageCache.run`.
struct Core: Sendable {
    /// How long no preloads start after the network failed.
    static let preloadsRestFor: Duration = .seconds(10)
    /// Assumed for a picture whose length nobody asked.
    static let assumedLength: Int64 = 1 << 20
    /// Uses of stored pictures whose times are written together; also what a kill can cost the order of eviction.
    static let touchesTogether = 64

    let configuration: ImageCache.Configuration
    let store: PictureStore
    let spare = SpareMemory()
    var pictures = OpenPictures()
    var downloads = Downloads()
    var others = OtherRequests()
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
    var isBusy: Bool { !downloads.isEmpty || others.isWaiting }

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
}
