internal import HTTP
internal import Rankings
internal import Synchronization

/// The downloads under way, and who waits for what they bring.
///
/// A book: it finds and changes entries; what follows from a change is decided by `Core`.
struct Downloads: Sendable {
    /// A download and what belongs to it.
    struct Entry: Sendable {
        /// Grows with each download: their order.
        let number: UInt64
        var download: Download
        let picture: PictureRequest
        var file: PartialFile
        var transfers: [UInt64: Transfer] = [:]
        var priority: TransferPriority
        /// The directory whose walk wished for it; nil for one that a reader began.
        var walk: UInt64?
        /// Bytes written since the partial state was last noted.
        var unnoted: Int64 = 0
        /// What the tier is asked; nil once it has answered.
        var question: TierQuestion?
        /// Whether its bytes came from the tier.
        var isFromTier = false
        /// Whether other machines may wait for this one to download it.
        var isOurs = false
    }

    /// Somebody who waits, for bytes or, without an open picture, for the length.
    struct Waiter: Sendable {
        let key: FileKey
        let handle: UInt64?
        let range: Range<Int64>
        let deadline: ContinuousClock.Instant
        let wait: Wait
    }

    private(set) var entries: [FileKey: Entry] = [:]
    private var waiters: [UInt64: Waiter] = [:]
    /// Who wants to know when what a download was told is certain or void.
    private var settlers: [FileKey: [CheckedContinuation<Void, Never>]] = [:]

    var isEmpty: Bool { entries.isEmpty }

    var keys: Set<FileKey> { Set(entries.keys) }

    /// The download of a picture; nil while there is none.
    subscript(key: FileKey) -> Entry? {
        get { entries[key] }
        _modify { yield &entries[key] }
    }

    /// Has a download decide, in its place; nil while there is none.
    mutating func decide<Value>(_ key: FileKey, _ decide: (inout Download) -> Value) -> Value? {
        entries.index(forKey: key).map { decide(&entries.values[$0].download) }
    }

    /// Those that are not whole, in the order in which they began.
    var running: [Entry] {
        entries.values.filter { $0.download.phase != .complete }.sorted { $0.number < $1.number }
    }

    /// What was begun for a walk and nobody reads, the oldest first.
    func unread(ofWalk directory: UInt64) -> [FileKey] {
        entries.filter { _, entry in
            entry.walk == directory && entry.download.phase == .running && !entry.download.isRead
        }.sorted { $0.value.number < $1.value.number }.map(\.key)
    }

    /// Takes a download out.
    mutating func remove(_ key: FileKey) -> Entry? { entries.removeValue(forKey: key) }

    // MARK: - Waiters

    /// Lets somebody wait for what a download, which is there, brings.
    mutating func add(_ waiter: Waiter, as id: UInt64, for need: Need, now: ContinuousClock.Instant) {
        waiters[id] = waiter
        if entries[waiter.key]?.download.waiters.isEmpty == true {
            entries[waiter.key]?.download.lastProgress = now
        }
        entries[waiter.key]?.download.waiters[id] = need
    }

    /// Takes somebody out who waits no more; nil if that was done before.
    mutating func removeWaiter(_ id: UInt64) -> Waiter? {
        guard let waiter = waiters.removeValue(forKey: id) else { return nil }
        entries[waiter.key]?.download.waiters[id] = nil
        return waiter
    }

    /// Takes out everybody who is meant.
    mutating func removeWaiters(where isMeant: (Waiter) -> Bool) -> [Waiter] {
        waiters.filter { isMeant($0.value) }.keys.sorted().compactMap { removeWaiter($0) }
    }

    // MARK: - Settling

    /// Lets somebody wait until what a download was told is certain or void.
    ///
    /// - Returns: False if nothing is under way that is not certain.
    mutating func addSettler(_ continuation: CheckedContinuation<Void, Never>, of key: FileKey) -> Bool {
        guard let entry = entries[key], entry.download.phase != .complete else { return false }
        settlers[key, default: []].append(continuation)
        return true
    }

    /// Takes out who waited for that.
    mutating func removeSettlers(of key: FileKey) -> [CheckedContinuation<Void, Never>] {
        settlers.removeValue(forKey: key) ?? []
    }
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

/// Where somebody who waits gets an answer, whether it comes before or after the waiting begins.
///
/// ## Concurrency
///
/// Any thread may answer; one task waits, once.
final class Wait: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<WaitResult, Never>)
        case answered(WaitResult)
    }

    private let state = Mutex(State.open)

    /// Whether there is an answer.
    var isAnswered: Bool {
        state.withLock { state in
            if case .answered = state { true } else { false }
        }
    }

    /// Gives the answer; the first one counts.
    func answer(_ result: WaitResult) {
        let waiting = state.withLock { state -> CheckedContinuation<WaitResult, Never>? in
            switch state {
            case .open:
                state = .answered(result)
                return nil
            case .awaited(let continuation):
                state = .answered(result)
                return continuation
            case .answered: return nil
            }
        }
        waiting?.resume(returning: result)
    }

    /// Suspends until there is an answer.
    var result: WaitResult {
        get async {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> WaitResult? in
                    if case .answered(let result) = state { return result }
                    state = .awaited(continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        }
    }
}

/// Pictures that failed a moment ago, so that nobody asks for them again at once.
struct Failures: Sendable {
    private struct Failure {
        var error: ImageCacheError
        var until: ContinuousClock.Instant
    }

    /// How long a picture that the service does not have is not asked for again.
    static let goneFor: Duration = .seconds(600)
    /// How long a preload that failed is not tried again; readers try at once.
    static let preloadFor: Duration = .seconds(60)
    /// Remembered at most.
    private static let most = 4096

    private var failures: [FileKey: Failure] = [:]

    /// The failure of a picture that still counts.
    func failure(of key: FileKey, now: ContinuousClock.Instant) -> ImageCacheError? {
        guard let failure = failures[key], failure.until > now else { return nil }
        return failure.error
    }

    /// Keeps a failure for a while.
    mutating func remember(
        _ error: ImageCacheError, of key: FileKey, for duration: Duration, now: ContinuousClock.Instant
    ) {
        if failures.count >= Self.most { failures = failures.filter { $0.value.until > now } }
        // Still full of young ones: forgetting them costs a request each.
        if failures.count >= Self.most { failures = [:] }
        failures[key] = Failure(error: error, until: now + duration)
    }

    /// The picture came after all.
    mutating func forget(_ key: FileKey) { failures[key] = nil }
}
