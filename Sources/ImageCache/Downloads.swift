internal import HTTP
internal import Posix
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

// MARK: - Waiting

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

// MARK: - Failures

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

// MARK: - Open pictures

/// What is open, and which version of its picture each has bytes of: no other one may follow.
struct OpenPictures: Sendable {
    /// A picture that somebody has open.
    struct Handle: Sendable {
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
        var source: PartialFile?
        /// The version that it has bytes of, and what the source calls that.
        var version: PictureVersion?
        var validator: String?
        /// Whether the stored file could not be opened, so that the picture comes from the network.
        var avoidsStore = false
        var failure: ImageCacheError?
        var measure = ReadMeasure()

        /// Why it must not get bytes of a version.
        func mismatch(with version: PictureVersion?) -> ImageCacheError? {
            guard let held = self.version, let version, !held.isSame(as: version) else { return nil }
            return .damaged("the picture changed at the source while it was open")
        }

        /// The whole file, once so much was read that further reads, but the last, decide nothing.
        var settled: WholePicture? {
            guard measure.isThrough, failure == nil, let file, let length, let version else { return nil }
            return WholePicture(file: file, length: length, version: version)
        }
    }

    private var handles: [UInt64: Handle] = [:]
    private var openers: [FileKey: Int] = [:]

    /// How many are open.
    var count: Int { handles.count }

    /// Pictures that somebody has open.
    var keys: Set<FileKey> { Set(openers.keys) }

    /// How many have a picture open.
    func openers(of key: FileKey) -> Int { openers[key] ?? 0 }

    /// One that is open; nil once it is closed.
    subscript(id: UInt64) -> Handle? {
        get { handles[id] }
        _modify { yield &handles[id] }
    }

    mutating func open(_ handle: Handle, as id: UInt64) {
        handles[id] = handle
        openers[handle.key, default: 0] += 1
    }

    /// Closes one; nil if that was done before.
    mutating func close(_ id: UInt64) -> Handle? {
        guard let handle = handles.removeValue(forKey: id) else { return nil }
        let left = openers(of: handle.key) - 1
        openers[handle.key] = left > 0 ? left : nil
        return handle
    }

    // MARK: - Versions

    /// Ties one to the version of the first bytes that it gets.
    mutating func bind(_ id: UInt64, to download: Download) {
        guard handles[id]?.version == nil else { return }
        handles[id]?.version = download.version
        handles[id]?.validator = download.validator
    }

    /// Gives one the whole file that a download brought.
    mutating func hand(_ file: PartialFile, of download: Download, to id: UInt64) {
        guard let data = file.current else { return }
        handles[id]?.file = data
        handles[id]?.length = download.total
        handles[id]?.source = file
        bind(id, to: download)
    }

    /// Gives one the file that another one of the same picture keeps: what is open has one version.
    mutating func share(_ id: UInt64) -> Bool {
        guard let handle = handles[id],
            let other = handles.values.first(where: { $0.key == handle.key && $0.file != nil }),
            handle.picture.size == nil || handle.picture.size == other.length,
            handle.mismatch(with: other.version) == nil
        else { return false }
        handles[id]?.file = other.file
        handles[id]?.length = other.length
        handles[id]?.source = other.source
        handles[id]?.version = other.version
        handles[id]?.validator = other.validator
        return true
    }

    /// The version that somebody keeps the file of.
    func keptVersion(of key: FileKey) -> PictureVersion? {
        handles.values.first { $0.key == key && $0.file != nil }?.version
    }

    /// Whoever has seen bytes of a version that was not right must not be given another one.
    mutating func fail(_ ids: Set<UInt64>, _ error: ImageCacheError) {
        for id in ids where handles[id]?.version != nil { handles[id]?.failure = error }
    }
}

/// Tells reading from looking, for one open picture: the one place that does.
///
/// Type sniffers and previewers look at the beginning, some at the end; only who goes further reads. What is really read is
/// listed in `recent/` and begins a walk for the preloads; of what is gone through, by its bytes, the rest is fetched as well.
struct ReadMeasure: Sendable {
    /// Reads up to here are a look at the beginning, in pictures of more than twice the size.
    static let beginning: Int64 = 128 << 10
    /// Reads from here to the end are a look at the end.
    static let end: Int64 = 64 << 10

    /// Bytes read so far.
    private(set) var bytes: Int64 = 0
    /// Whether it is really read.
    private(set) var isReal = false
    /// Whether so much of it was read that its reader goes through all of it.
    private(set) var isThrough = false

    /// Takes note of a read.
    ///
    /// - Parameters:
    ///   - range: Bytes of the picture, at least one.
    ///   - length: Of the whole picture.
    mutating func note(_ range: Range<Int64>, of length: Int64) {
        bytes += Int64(range.count)
        // The kernel reads on behind a look; half of a small picture may be no more than that.
        let beginning = min(Self.beginning, max(length / 2, DownloadLimits.look))
        if bytes > beginning || bytes >= length { isThrough = true }
        let isLookAtEnd = range.lowerBound >= length - Self.end && range.lowerBound > 0
        if isThrough || range.upperBound > beginning && !isLookAtEnd { isReal = true }
    }
}

extension Download {
    /// What its bytes are, once an answer has told.
    var version: PictureVersion {
        var version = PictureVersion(token: token)
        if let validator, let total { version.tag = PictureVersion.tag(validator, length: total) }
        return version
    }
}
