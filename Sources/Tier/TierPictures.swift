import Digests
import HTTP
import ImageCache
import ObjectStore
import Rankings
import Synchronization

/// Pictures on the store, and who downloads those that are not there.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class TierPictures: PictureTier {
    /// For how long a machine has a picture to itself: more than most downloads take.
    static let leaseSeconds: Int64 = 10
    /// How long a reader waits for another machine's download, besides what its bytes take.
    static let patience = Duration.seconds(2)
    /// Bytes a second that another machine's download is taken to bring.
    static let pace: Double = 2_097_152
    /// No reader waits longer, however large the picture.
    static let longestPatience = Duration.seconds(8)
    /// How often those who wait look, at first and later.
    static let intervals = (Duration.milliseconds(50), Duration.milliseconds(200))
    /// How often they try to get the lease.
    static let claimInterval = Duration.seconds(1)

    private let store: TierStore
    private let leases: Leases
    private let service: String
    private let uploads: Uploads
    private let pace = TierPace()
    private let state = Mutex(State())

    private struct State {
        /// Leases of what is downloaded here.
        var held: [PictureID: Leases.Lease] = [:]
        /// What is downloaded here though it is on the store, from where it came too slowly.
        var slow: Set<PictureID> = []
    }

    init(_ store: TierStore, leases: Leases, service: String, uploads: Uploads) {
        self.store = store
        self.leases = leases
        self.service = service
        self.uploads = uploads
    }

    /// The key of a picture: another one for other bytes, spread so that no folder of a store has too many.
    func key(of picture: PictureID) -> ObjectKey? {
        ObjectKey(["pictures", service, ObjectKind.folder(of: picture.work), picture.key])
    }

    func fetch(
        _ picture: PictureID, length: Int64?, urgency: Urgency,
        write: @escaping @Sendable (_ bytes: UnsafeRawBufferPointer, _ offset: Int64) -> Bool
    ) async -> Int64? {
        guard let key = key(of: picture) else { return nil }
        var wait = Wait(length: length, now: store.time.now())
        while true {
            switch unsafe await take(picture, key, length: length, urgency: urgency, write: write) {
            case .whole(let length):
                giveUp(picture)
                store.count {
                    $0.hits += 1
                    if wait.hasWaited { $0.awaited += 1 }
                    $0.receivedBytes += length
                }
                return length
            case .useless: return nil
            case .absent: break
            }
            guard let pause = await claim(picture, key, urgency, &wait) else { break }
            do { try await store.time.sleep(pause) } catch { return nil }
        }
        store.count { $0.misses += 1 }
        return nil
    }

    private enum Taking {
        case whole(Int64)
        case absent
        /// The image host is to be asked.
        case useless
    }

    private func take(
        _ picture: PictureID, _ key: ObjectKey, length: Int64?, urgency: Urgency,
        write: @escaping @Sendable (_ bytes: UnsafeRawBufferPointer, _ offset: Int64) -> Bool
    ) async -> Taking {
        guard store.begin(.read) else { return .useless }
        switch unsafe await download(key, length: length, urgency: urgency, write: write) {
        case .whole(let length):
            store.ended(.read)
            store.isRight()
            return .whole(length)
        case .absent:
            store.ended(.read)
            return .absent
        case .wrong, .foreign:
            store.ended(.read)
            store.isWrong(key)
            return .useless
        case .slow(let isThere):
            if isThere {
                state.withLock { _ = $0.slow.insert(picture) }
                store.ended(.read)
            } else {
                store.failed(.read, .cancelled)
            }
            return .useless
        case .failed(let error):
            store.failed(.read, error)
            return .useless
        }
    }

    private func download(
        _ key: ObjectKey, length: Int64?, urgency: Urgency, isAgain: Bool = false,
        write: @escaping @Sendable (_ bytes: UnsafeRawBufferPointer, _ offset: Int64) -> Bool
    ) async -> TierDownload.Outcome {
        // What comes at all comes faster than this, if as many come as can; of what nobody knows the length, a second more is allowed
        // for each half megabyte.
        let most =
            Double(length ?? PictureLimits.largest) / Double(TierPace.slowest)
            * Double(store.store.transport.limits.bodies.all)
        let (request, signed) = store.store.request(
            for: key, limit: PictureLimits.largest, priority: urgency.priority,
            deadline: store.time.now() + Self.longestPatience + TierStore.patience + TierPace.grace + .seconds(most))
        let download = unsafe TierDownload(length: length, key: key, time: store.time, pace: pace, write: write)
        let outcome = await download.run(request, on: store.store, urgency: urgency)
        guard !isAgain, let status = download.status, store.store.refusesTime(status: status, signed: signed) else {
            return outcome
        }
        return unsafe await self.download(key, length: length, urgency: urgency, isAgain: true, write: write)
    }

    // MARK: - Leases

    /// For how long somebody has waited, and may.
    private struct Wait {
        let patience: Duration
        var now: ContinuousClock.Instant
        /// When somebody began to read the picture.
        var readSince: ContinuousClock.Instant?
        var claimed: ContinuousClock.Instant?
        /// When the other machine's lease ends at the latest.
        var ends: ContinuousClock.Instant?
        var hasWaited = false

        init(length: Int64?, now: ContinuousClock.Instant) {
            let bytes = Double(length ?? 1 << 20)
            patience = min(TierPictures.patience + .seconds(bytes / TierPictures.pace), TierPictures.longestPatience)
            self.now = now
        }
    }

    /// Decides about a picture that is not there: nil to download it here, otherwise when to look again.
    private func claim(
        _ picture: PictureID, _ key: ObjectKey, _ urgency: Urgency, _ wait: inout Wait
    ) async -> Duration? {
        let now = store.time.now()
        if urgency.priority == .reader { wait.readSince = wait.readSince ?? now }
        // It has been looked for once more since the lease was got.
        if state.withLock({ $0.held[picture] != nil }) { return nil }
        if let since = wait.readSince, wait.hasWaited, now - since >= wait.patience { return nil }
        if let claimed = wait.claimed, now - claimed < Self.claimInterval, now < wait.ends ?? now {
            return Self.intervals.1
        }
        wait.claimed = now
        switch await leases.claim(key, seconds: Self.leaseSeconds) {
        case .held(let lease):
            state.withLock { $0.held[picture] = lease }
            // Whoever had it before may have brought the picture since the last look.
            return .zero
        case .unknown: return nil
        case .taken(let left):
            defer { wait.hasWaited = true }
            wait.ends = now + left + .seconds(1)
            return wait.hasWaited ? Self.intervals.1 : Self.intervals.0
        }
    }

    func keep(_ picture: PictureID, at path: String, length: Int64, hash: UInt64) {
        guard let key = key(of: picture) else { return }
        let (lease, isThere) = state.withLock { state in
            (state.held.removeValue(forKey: picture), state.slow.remove(picture) != nil)
        }
        if isThere {
            if let lease { Task { [leases] in await leases.release(lease) } }
            return
        }
        uploads.add(Upload(key: key, path: path, length: length, hash: hash)) { [leases] in
            if let lease { await leases.release(lease) }
        }
    }

    func giveUp(_ picture: PictureID) {
        let lease = state.withLock { state in
            state.slow.remove(picture)
            return state.held.removeValue(forKey: picture)
        }
        guard let lease else { return }
        Task { [leases] in await leases.release(lease) }
    }
}

// MARK: - One download

/// Takes one picture from the store: its bytes are handed on as they come, and hashed, so that the end tells whether they are right.
///
/// One that crawls is given up, which tells nothing of the store: the line to it may be slow, or others have it.
///
/// ## Concurrency
///
/// The transport's thread brings bytes; the task that waits may be cancelled from any. The mutex guards all but the hash.
@safe final class TierDownload: ResponseSink {
    /// How a download ended.
    enum Outcome: Sendable {
        case whole(length: Int64)
        case absent
        /// Bytes came that nobody wrote.
        case wrong
        /// It has no description: somebody else wrote it.
        case foreign
        /// It would take too long; whether anything of it came.
        case slow(isThere: Bool)
        case failed(StoreError)
    }

    private struct State: Sendable {
        var head: HTTPAnswer?
        var description: ObjectDescription?
        var received: Int64 = 0
        /// Whether the request has left the transport's queue.
        var isSent = false
        /// Its share of the line, from its first byte on.
        var share: TierPace.Share?
        var isSlow = false
        /// Ends what waits for its turn, then for its first byte, too long.
        var watch: Task<Void, any Error>?
        var failure: StoreError?
        var isWrong = false
        var isForeign = false
        var transfer: Transfer?
        var continuation: CheckedContinuation<Outcome, Never>?
        var errorBody: [UInt8] = []
    }

    private let state = Mutex(State())
    private let hash = XXH3()
    private let length: Int64?
    private let key: ObjectKey
    private let time: TimeSource
    private let pace: TierPace?
    private let write: @Sendable (UnsafeRawBufferPointer, Int64) -> Bool

    /// - Parameters:
    ///   - length: Bytes that it must have; nil if nobody knows.
    ///   - key: What it must have been written as.
    ///   - time: Measures waits and the pace.
    ///   - pace: What downloads must keep to together; nil for one that has all the time that its request has.
    ///   - write: Takes the bytes.
    init(
        length: Int64?, key: ObjectKey, time: TimeSource, pace: TierPace?,
        write: @escaping @Sendable (UnsafeRawBufferPointer, Int64) -> Bool
    ) {
        self.length = length
        self.key = key
        self.time = time
        self.pace = pace
        unsafe self.write = unsafe write
    }

    /// Sends the request and waits for its end.
    ///
    /// - Parameters:
    ///   - request: Made by the store.
    ///   - store: Where to.
    ///   - urgency: Tells when somebody waits.
    /// - Returns: How it ended.
    func run(_ request: HTTPRequest, on store: ObjectStore, urgency: Urgency) async -> Outcome {
        if pace != nil { watch(TierPictures.longestPatience) { $0.giveUpWaiting() } }
        defer {
            state.withLock { $0.watch }?.cancel()
            if let head = state.withLock({ $0.head }) { store.heard(head) }
        }
        let transfer = Transfer(request, sink: self)
        state.withLock { $0.transfer = transfer }
        return await urgency.whileFollowed(by: { transfer.setPriority(.reader) }) {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    state.withLock { $0.continuation = continuation }
                    store.transport.begin(transfer)
                }
            } onCancel: {
                end { $0.failure = $0.failure ?? .cancelled }
            }
        }
    }

    /// What the store answered, once it has.
    var status: Int? { state.withLock { $0.head?.status } }

    /// Does something after a while, in place of what was to be done before.
    private func watch(_ duration: Duration, _ then: @escaping @Sendable (TierDownload) -> Void) {
        let watch = Task { [time] in
            try await time.sleep(duration)
            then(self)
        }
        state.withLock { state in
            state.watch?.cancel()
            state.watch = watch
        }
    }

    /// The queue is longer than anybody waits: others have the line.
    private func giveUpWaiting() {
        if state.withLock({ !$0.isSent }) { end { $0.isSlow = true } }
    }

    /// The first byte has a deadline of its own; libcurl's is the end of the whole.
    private func giveUpSilent() {
        if state.withLock({ $0.received == 0 }) { end { $0.failure = $0.failure ?? .timedOut } }
    }

    private func end(_ reason: (inout State) -> Void) {
        let transfer = state.withLock { state in
            reason(&state)
            return state.transfer
        }
        transfer?.cancel()
    }

    // MARK: - What comes

    func begun() {
        let isFirst = state.withLock { state in
            defer { state.isSent = true }
            return !state.isSent
        }
        if isFirst, pace != nil { watch(TierStore.patience) { $0.giveUpSilent() } }
    }

    func head(_ head: HTTPAnswer) -> Bool {
        state.withLock { state in
            state.head = head
            guard head.status == 200 else { return true }
            guard let description = ObjectDescription(head) else {
                state.isForeign = true
                return false
            }
            state.description = description
            state.isWrong = description.length != length ?? description.length || description.key != key.text
            return !state.isWrong
        }
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (now, count) = (time.now(), Int64(bytes.count))
        let isPicture = state.withLock { $0.head?.status == 200 }
        guard isPicture else {
            let text = unsafe Array(bytes.prefix(4096))
            state.withLock { $0.errorBody = text }
            return true
        }
        guard let offset = take(count, now) else { return false }
        unsafe hash.add(bytes)
        return unsafe write(bytes, offset)
    }

    /// Counts bytes; returns where they go, or nil if they come too slowly.
    private func take(_ count: Int64, _ now: ContinuousClock.Instant) -> Int64? {
        state.withLock { state in
            if let share = state.share, let pace, state.received < pace.due(share, now: now) {
                state.isSlow = true
                return nil
            }
            state.share = state.share ?? pace?.begin(now: now)
            let offset = state.received
            state.received += count
            return offset
        }
    }

    func finish(_ result: Result<Void, HTTPError>) {
        let ended = state.withLock { state in
            let ended = state
            state.continuation = nil
            state.transfer = nil
            state.watch = nil
            return ended
        }
        ended.watch?.cancel()
        if ended.share != nil { pace?.end(now: time.now()) }
        ended.continuation?.resume(returning: outcome(ended, result))
    }

    private func outcome(_ state: State, _ result: Result<Void, HTTPError>) -> Outcome {
        if state.isForeign { return .foreign }
        if state.isWrong { return .wrong }
        if let failure = state.failure { return .failed(failure) }
        if state.isSlow { return .slow(isThere: state.received > 0) }
        // It stood still, or took all of its time.
        if pace != nil, state.received > 0, case .failure(.timedOut) = result { return .slow(isThere: true) }
        if case .failure(let error) = result { return .failed(StoreError(error)) }
        guard let head = state.head else { return .failed(.unreachable("it did not answer")) }
        guard head.status == 200 else {
            let error = StoreError(status: head.status, body: state.errorBody)
            return head.status == 404 && error != .noBucket ? .absent : .failed(error)
        }
        guard let description = state.description, description.length == state.received, description.hash == hash.hex
        else { return .wrong }
        return .whole(length: state.received)
    }
}

// MARK: - Pace

/// How fast pictures must come from the store, all that are on their way together: a slow disk brings more, and less is worth asking
/// the image host instead.
///
/// A single one has to keep to its share: what the line brings is divided by how many are on it, at each moment.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class TierPace: Sendable {
    /// Bytes a second that must have come, measured from the first one on.
    static let slowest: Int64 = 512 << 10
    /// How long that is not looked at.
    static let grace = Duration.seconds(1)

    /// What a download has to keep to.
    struct Share: Sendable {
        fileprivate let began: ContinuousClock.Instant
        fileprivate let credit: Double
    }

    private struct State {
        var running = 0
        /// Bytes that a download must have brought that was there from the beginning on.
        var credit: Double = 0
        var at: ContinuousClock.Instant?

        mutating func pass(_ now: ContinuousClock.Instant) {
            defer { at = now }
            guard let at, running > 0 else { return }
            credit += max(0, (now - at) / Duration.seconds(1)) * Double(TierPace.slowest) / Double(running)
        }
    }

    private let state = Mutex(State())

    /// The first byte of a download has come.
    func begin(now: ContinuousClock.Instant) -> Share {
        state.withLock { state in
            state.pass(now)
            state.running += 1
            return Share(began: now, credit: state.credit)
        }
    }

    /// A download that has begun is over.
    func end(now: ContinuousClock.Instant) {
        state.withLock { state in
            state.pass(now)
            state.running = max(0, state.running - 1)
        }
    }

    /// Bytes that must have come by now.
    func due(_ share: Share, now: ContinuousClock.Instant) -> Int64 {
        let passed = now - share.began
        guard passed > Self.grace else { return 0 }
        let credit = state.withLock { state in
            state.pass(now)
            return state.credit - share.credit
        }
        return Int64(min(credit * ((passed - Self.grace) / passed), Double(Int32.max) * 1024))
    }
}
