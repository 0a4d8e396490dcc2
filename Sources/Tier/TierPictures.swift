import System
import HTTP
import ImageCache
import Rankings
import Synchronization

/// The pictures in the object store, and the choice of the machine that downloads a missing picture.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class TierPictures: PictureTier {
    /// The length of a picture's lease in seconds: more than most downloads take.
    static let leaseSeconds: Int64 = 10
    /// The time limit of a reader's wait for another machine's download, in addition to the time for its bytes.
    static let patience = Duration.seconds(2)
    /// The assumed bytes a second of another machine's download.
    static let pace: Double = 2_097_152
    /// The longest wait of a reader, for a picture of any size.
    static let longestPatience = Duration.seconds(8)
    /// The intervals at which a waiting machine reads the object store, at first and later.
    static let intervals = (Duration.milliseconds(50), Duration.milliseconds(200))
    /// The interval at which a waiting machine tries to get the lease.
    static let claimInterval = Duration.seconds(1)

    private let store: TierStore
    private let leases: Leases
    private let service: String
    private let uploads: Uploads
    private let pace = TierPace()
    private let state = Mutex(State())

    private struct State {
        /// The leases of this machine's downloads.
        var held: [PictureID: Leases.Lease] = [:]
        /// Pictures that are downloaded from the image host because the object store sends them too slowly.
        var slow: Set<PictureID> = []
    }

    init(_ store: TierStore, leases: Leases, service: String, uploads: Uploads) {
        self.store = store
        self.leases = leases
        self.service = service
        self.uploads = uploads
    }

    /// Returns the key of a picture: different for different bytes, and spread so that no folder of a store has too many.
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
        /// The picture must be requested from the image host.
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
        _ key: ObjectKey, length: Int64?, urgency: Urgency,
        write: @escaping @Sendable (_ bytes: UnsafeRawBufferPointer, _ offset: Int64) -> Bool
    ) async -> TierDownload.Outcome {
        // A picture that arrives at all arrives faster than this, even with as many downloads as possible. A picture of unknown
        // length gets a second more for each half megabyte of the limit.
        let most =
            Double(length ?? PictureLimits.largest) / Double(TierPace.slowest)
            * Double(store.store.transport.limits.bodies.all)
        let download = unsafe TierDownload(length: length, key: key, time: store.time, pace: pace, write: write)
        return await download.run(
            on: store.store, urgency: urgency,
            deadline: store.time.now() + Self.longestPatience + TierStore.patience + TierPace.grace + .seconds(most))
    }

    // MARK: - Leases

    /// The state of a wait for another machine's download.
    private struct Wait {
        let patience: Duration
        var now: ContinuousClock.Instant
        /// The time at which a reader began to read the picture.
        var readSince: ContinuousClock.Instant?
        var claimed: ContinuousClock.Instant?
        /// The latest end of the other machine's lease.
        var ends: ContinuousClock.Instant?
        var hasWaited = false

        init(length: Int64?, now: ContinuousClock.Instant) {
            let bytes = Double(length ?? 1 << 20)
            patience = min(TierPictures.patience + .seconds(bytes / TierPictures.pace), TierPictures.longestPatience)
            self.now = now
        }
    }

    /// Decides about a missing picture: nil to download it here, otherwise the time until the next read of the object store.
    private func claim(
        _ picture: PictureID, _ key: ObjectKey, _ urgency: Urgency, _ wait: inout Wait
    ) async -> Duration? {
        let now = store.time.now()
        if urgency.priority == .reader { wait.readSince = wait.readSince ?? now }
        // The object store has been read once more since the lease was granted.
        if state.withLock({ $0.held[picture] != nil }) { return nil }
        if let since = wait.readSince, wait.hasWaited, now - since >= wait.patience { return nil }
        if let claimed = wait.claimed, now - claimed < Self.claimInterval, now < wait.ends ?? now {
            return Self.intervals.1
        }
        wait.claimed = now
        switch await leases.claim(key, seconds: Self.leaseSeconds) {
        case .held(let lease):
            state.withLock { $0.held[picture] = lease }
            // The previous holder of the lease may have uploaded the picture since the last read.
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

/// A download of one picture from the object store, which passes its bytes on as they arrive and verifies their hash at the end.
///
/// A slow download is given up without a conclusion about the store: the line to it may be slow, or other downloads use it.
///
/// ## Concurrency
///
/// The transport's thread delivers bytes; the waiting task may be cancelled from any thread. The mutex guards all state but the
/// hash.
@safe final class TierDownload: BodyReceiver {
    /// The end of a download.
    enum Outcome: Sendable {
        case whole(length: Int64)
        case absent
        /// The bytes are not those that were written.
        case wrong
        /// The object has no description: another program wrote it.
        case foreign
        /// The download would take too long; `isThere` says whether any bytes came.
        case slow(isThere: Bool)
        case failed(Failure)
    }

    private struct State: Sendable {
        var description: ObjectDescription?
        var received: Int64 = 0
        /// Whether the request has left the transport's request queue.
        var isSent = false
        /// The download's share of the line, from its first byte on.
        var share: TierPace.Share?
        var isSlow = false
        /// Ends the download if it waits too long for its slot, then for its first byte.
        var watch: Task<Void, any Error>?
        var failure: Failure?
        var isWrong = false
        var isForeign = false
        var asking: Task<Result<Bool, Failure>, Never>?
    }

    private let state = Mutex(State())
    private let hash = XXH3()
    private let length: Int64?
    private let key: ObjectKey
    private let time: TimeSource
    private let pace: TierPace?
    private let write: @Sendable (UnsafeRawBufferPointer, Int64) -> Bool

    /// - Parameters:
    ///   - length: The required number of bytes; nil if it is unknown.
    ///   - key: The key that the object must have been written under.
    ///   - time: The clock of waits and of the pace.
    ///   - pace: The common pace of downloads; nil for a download limited by the deadline alone.
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

    /// Downloads the picture.
    ///
    /// - Parameters:
    ///   - store: The object store.
    ///   - urgency: Reports whether a reader waits; nil if one does.
    ///   - deadline: The time at which the download is given up.
    /// - Returns: The end of the download.
    func run(on store: ObjectStore, urgency: Urgency? = nil, deadline: ContinuousClock.Instant) async -> Outcome {
        if pace != nil { watch(TierPictures.longestPatience) { $0.giveUpWaiting() } }
        let asking = Task { () async -> Result<Bool, Failure> in
            do throws(Failure) {
                return .success(
                    try await store.get(
                        key, into: self, limit: PictureLimits.largest, urgency: urgency, deadline: deadline))
            } catch { return .failure(error) }
        }
        state.withLock { $0.asking = asking }
        let result = await withTaskCancellationHandler {
            await asking.value
        } onCancel: {
            end { $0.failure = $0.failure ?? .cancelled }
        }
        let ended = state.withLock { state in
            defer { state.asking = nil }
            return state
        }
        ended.watch?.cancel()
        if ended.share != nil { pace?.end(now: time.now()) }
        return outcome(ended, result)
    }

    /// Schedules an action after a time, in place of the one scheduled before.
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

    /// Ends a download that is still queued: the wait is longer than any reader's, and other downloads use the line.
    private func giveUpWaiting() {
        if state.withLock({ !$0.isSent }) { end { $0.isSlow = true } }
    }

    /// Ends a download without a first byte, which has a time limit of its own; libcurl's limit covers the whole transfer.
    private func giveUpSilent() {
        if state.withLock({ $0.received == 0 }) { end { $0.failure = $0.failure ?? .timedOut } }
    }

    private func end(_ reason: (inout State) -> Void) {
        let asking = state.withLock { state in
            reason(&state)
            return state.asking
        }
        asking?.cancel()
    }

    // MARK: - Arriving bytes

    func begun() {
        let isFirst = state.withLock { state in
            defer { state.isSent = true }
            return !state.isSent
        }
        if isFirst, pace != nil { watch(TierStore.patience) { $0.giveUpSilent() } }
    }

    func head(_ head: HTTPAnswer) -> Bool {
        state.withLock { state in
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
        guard let offset = take(Int64(bytes.count), time.now()) else { return false }
        unsafe hash.add(bytes)
        return unsafe write(bytes, offset)
    }

    /// Counts bytes; returns their offset, or nil if they arrive too slowly.
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

    private func outcome(_ state: State, _ result: Result<Bool, Failure>) -> Outcome {
        if state.isForeign { return .foreign }
        if state.isWrong { return .wrong }
        if let failure = state.failure { return .failed(failure) }
        if state.isSlow { return .slow(isThere: state.received > 0) }
        switch result {
        // The download stood still, or used up its time.
        case .failure(.timedOut) where pace != nil && state.received > 0: return .slow(isThere: true)
        case .failure(let error): return .failed(error)
        case .success(false): return .absent
        case .success(true): break
        }
        guard let description = state.description, description.length == state.received, description.hash == hash.hex
        else { return .wrong }
        return .whole(length: state.received)
    }
}

// MARK: - Pace

/// The least pace of all downloads from the object store together.
///
/// A slow disk reads faster, and below this pace the image host is the better source. A single download must keep to its share:
/// the bytes that the line delivers, divided by the number of downloads at each moment.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class TierPace: Sendable {
    /// The least bytes a second, measured from the first byte on.
    static let slowest: Int64 = 512 << 10
    /// The time at the start of a download in which the pace is not checked.
    static let grace = Duration.seconds(1)

    /// The required pace of a download.
    struct Share: Sendable {
        fileprivate let began: ContinuousClock.Instant
        fileprivate let credit: Double
    }

    private struct State {
        var running = 0
        /// The bytes that a download present from the beginning on must have received.
        var credit: Double = 0
        var at: ContinuousClock.Instant?

        mutating func pass(_ now: ContinuousClock.Instant) {
            defer { at = now }
            guard let at, running > 0 else { return }
            credit += max(0, (now - at) / Duration.seconds(1)) * Double(TierPace.slowest) / Double(running)
        }
    }

    private let state = Mutex(State())

    /// Begins a download at its first byte.
    func begin(now: ContinuousClock.Instant) -> Share {
        state.withLock { state in
            state.pass(now)
            state.running += 1
            return Share(began: now, credit: state.credit)
        }
    }

    /// Ends a download that has begun.
    func end(now: ContinuousClock.Instant) {
        state.withLock { state in
            state.pass(now)
            state.running = max(0, state.running - 1)
        }
    }

    /// Returns the bytes that must have arrived by now.
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
