internal import HTTP
internal import ImageCache
internal import ObjectStore
internal import Rankings
internal import Synchronization

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
