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
    /// The longest wait for a picture without readers.
    static let longestUnread = Duration.seconds(60)
    /// The intervals at which a waiting machine reads the object store: at first, with readers, and without.
    static let intervals = (Duration.milliseconds(50), Duration.milliseconds(200), Duration.seconds(1))
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
        /// The requests for leases in progress, and whether the image host is asked for the picture meanwhile.
        var claims: [PictureID: Bool] = [:]
        /// Pictures that the object store has or another machine brings there, and that come from the image host because that is
        /// quicker: they are not uploaded.
        var elsewhere: Set<PictureID> = []
        /// Pictures whose object is not used; once the image host has brought them, they take its place.
        var wrong: Set<PictureID> = []
        /// The removals of wrong objects in progress.
        var removals: [PictureID: Task<Void, Never>] = [:]
        /// The time at which a reader's wait for another machine's picture last ended without it; nil once one was worth it.
        var waitedInVainAt: ContinuousClock.Instant?
        /// The last preload that waited for another machine all the same.
        var trial: (picture: PictureID, began: ContinuousClock.Instant)?
        /// The downloads that wait for their turn.
        var downloads: [ObjectIdentifier: TierDownload] = [:]
    }

    init(_ store: TierStore, leases: Leases, service: String, uploads: Uploads) {
        self.store = store
        self.leases = leases
        self.service = service
        self.uploads = uploads
    }

    /// Returns the key of a picture: different for different bytes, and spread so that no folder of a store has too many.
    func key(of picture: PictureID) -> ObjectKey? {
        ObjectKind.key(of: picture, service: service)
    }

    func fetch(_ picture: PictureID, length: Int64?, urgency: Urgency, into sink: PictureSink) async -> Bool {
        guard let key = key(of: picture), !state.withLock({ $0.wrong.contains(picture) }) else { return false }
        let now = store.time.now()
        if pace.isShunned(now: now) {
            store.count { $0.slow += 1 }
            return false
        }
        // Pictures without readers still come from a distant store.
        if urgency.priority == .reader, pace.isFar(now: now) { return false }
        var wait = Wait(length: length, now: now)
        while true {
            if let isWhole = await take(picture, key, length: length, urgency: urgency, into: sink) {
                guard isWhole else { return false }
                giveUp(picture)
                store.count {
                    $0.hits += 1
                    if wait.hasWaited { $0.awaited += 1 }
                }
                if wait.hasWaited, store.time.now() - wait.began < wait.patience {
                    state.withLock { $0.waitedInVainAt = nil }
                }
                return true
            }
            guard let pause = await claim(picture, key, urgency, &wait) else { break }
            // The pause of a preload ends when a reader comes.
            let rest = { @Sendable [time = store.time] in _ = try? await time.sleep(pause) }
            if urgency.priority == .reader { await rest() } else { await untilRead(urgency, rest) }
            if Task.isCancelled { return false }
            if urgency.priority == .reader, areWaitsVain {
                state.withLock { _ = $0.elsewhere.insert(picture) }
                break
            }
        }
        store.count { $0.misses += 1 }
        return false
    }

    /// Takes a picture from the object store.
    ///
    /// - Returns: Whether it came; nil if the store does not have it, false if it must be requested from the image host.
    private func take(
        _ picture: PictureID, _ key: ObjectKey, length: Int64?, urgency: Urgency, into sink: PictureSink
    ) async -> Bool? {
        guard store.begin(.picture) else { return false }
        let wasWrong = state.withLock { $0.wrong.contains(picture) }
        switch await download(key, length: length, urgency: urgency, into: sink) {
        case .whole(let length, let isQuick):
            store.ended(.picture)
            store.isRight()
            if isQuick { store.wasQuick() }
            // Another machine has replaced it since, unless these bytes have just been found wrong.
            if wasWrong { state.withLock { _ = $0.wrong.remove(picture) } }
            store.count { $0.receivedBytes += length }
            return true
        case .absent:
            store.ended(.picture)
            return nil
        case .unproven:
            store.ended(.picture)
            store.count { $0.unproven += 1 }
            replaceLater(picture)
            return nil
        case .ofOtherLength(let age):
            store.ended(.picture)
            // Machines that disagree about a length replace each other's object once in this time.
            if age.map({ $0 >= AnswerAge.changing }) ?? true { replaceLater(picture) }
            return false
        case .wrong, .foreign:
            store.ended(.picture)
            distrust(picture)
            return false
        case .slow(let isThere):
            if isThere { state.withLock { _ = $0.elsewhere.insert(picture) } }
            store.wasSlow()
            withdrawWaiting()
            if pace.isShunned(now: store.time.now()) { for download in underWay { download.leave() } }
            return false
        case .withdrawn:
            store.failed(.picture, .cancelled)
            return false
        case .failed(let error):
            if error.isOfObject { replaceLater(picture) }
            store.failed(.picture, error)
            withdrawWaiting()
            return false
        }
    }

    /// Runs a wait, which ends when a reader comes.
    private func untilRead<Value: Sendable>(
        _ urgency: Urgency, _ wait: @escaping @Sendable () async -> Value
    ) async -> Value {
        let waiting = Task { await wait() }
        return await withTaskCancellationHandler {
            await urgency.whileFollowed(by: { if $0 == .reader { waiting.cancel() } }) { await waiting.value }
        } onCancel: {
            waiting.cancel()
        }
    }

    private func replaceLater(_ picture: PictureID) {
        if store.mayWrite { state.withLock { _ = $0.wrong.insert(picture) } }
    }

    /// Ends the downloads that wait for their turn at a store that rests.
    private func withdrawWaiting() {
        guard store.rests(.picture) != nil else { return }
        for download in underWay { download.withdraw() }
    }

    private var underWay: [TierDownload] { state.withLock { Array($0.downloads.values) } }

    private func download(
        _ key: ObjectKey, length: Int64?, urgency: Urgency, into sink: PictureSink
    ) async -> TierDownload.Outcome {
        // A picture that arrives at all arrives faster than this, even with as many downloads as possible. A picture of unknown
        // length gets a second more for each half megabyte of the limit.
        let most =
            Double(length ?? PictureLimits.largest) / Double(TierPace.slowest)
            * Double(store.store.transport.limits.bodies.all)
        let deadline =
            store.time.now() + TierPace.longestPatience + TierStore.patience + TierPace.grace + .seconds(most)
        let began = store.time.now()
        do throws(Failure) {
            // A reader may join at any time.
            return try await store.repeated(
                .picture, until: began + (urgency.priority == .reader ? pace.firstByte : TierStore.patience)
            ) {
                () async throws(Failure) -> TierDownload.Outcome in
                // The deadline of a download is far longer than a key may take.
                _ = try await store.store.keys.current(by: store.time.now() + TierStore.patience)
                let download = TierDownload(
                    length: length, key: key, secret: store.store.secret, time: store.time, pace: pace, sink: sink)
                state.withLock { $0.downloads[ObjectIdentifier(download)] = download }
                let outcome = await urgency.whileFollowed(by: { if $0 == .reader { download.joined() } }) { [store] in
                    await download.run(on: store.store, urgency: urgency, deadline: deadline)
                }
                state.withLock { _ = $0.downloads.removeValue(forKey: ObjectIdentifier(download)) }
                if case .failed(let error) = outcome { throw error }
                if case .whole = outcome, let old = download.old {
                    Task { [store] in await store.renew(key, old.description, if: old.etag) }
                }
                return outcome
            }
        } catch { return .failed(error) }
    }

    func hostBrought(_ bytes: Int64, firstAfter: Duration, in duration: Duration) {
        pace.learn(bytes, firstAfter: firstAfter, in: duration)
    }

    // MARK: - Leases

    /// The state of a wait for another machine's download.
    private struct Wait {
        let patience: Duration
        let began: ContinuousClock.Instant
        /// The time at which a reader began to read the picture.
        var readSince: ContinuousClock.Instant?
        var claimed: ContinuousClock.Instant?
        /// The latest end of the other machine's lease.
        var ends: ContinuousClock.Instant?
        var hasWaited = false

        init(length: Int64?, now: ContinuousClock.Instant) {
            let bytes = Double(length ?? 1 << 20)
            patience = min(TierPictures.patience + .seconds(bytes / TierPace.assumed), TierPace.longestPatience)
            began = now
        }

        /// The time until which a request for the lease is waited for with a reader: no longer for a picture that is not there than for
        /// the first byte of one that is.
        func claimEnds(_ firstByte: Duration) -> ContinuousClock.Instant {
            if let readSince, hasWaited { return readSince + patience }
            return began + firstByte
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
        if let since = wait.readSince, wait.hasWaited, now - since >= wait.patience {
            state.withLock { state in
                state.elsewhere.insert(picture)
                state.waitedInVainAt = now
            }
            return nil
        }
        guard now - wait.began < Self.longestUnread else { return nil }
        let interval = wait.readSince == nil ? Self.intervals.2 : Self.intervals.1
        if let claimed = wait.claimed, now - claimed < Self.claimInterval, now < wait.ends ?? now { return interval }
        wait.claimed = now
        _ = leases.readPauses(Leases.pauseIntervals.pictures)
        // No machine waits for such a line: the lease decides only which machine uploads.
        if uploads.delay >= wait.patience || isVain(picture, urgency) {
            _ = request(picture, key, isLate: true)
            return nil
        }
        let (asked, soon) = (request(picture, key), wait.claimEnds(pace.firstByte))
        let end = wait.readSince == nil ? now + Self.longestUnread : soon
        var answer = await asked.value(until: soon, store.time)
        if answer == nil, urgency.priority != .reader {
            answer = await untilRead(urgency) { [time = store.time] in await asked.value(until: end, time) }
            // A reader has come before the lease: preloads from such a store come late.
            let now = store.time.now()
            if answer == nil, urgency.priority == .reader, pace.isFar(now: now) {
                pace.came(after: now - wait.began, isGivenUp: true, now: now)
            }
        }
        guard let claim = answer else {
            // It ends beside the image host's answer.
            state.withLock { if $0.claims[picture] != nil { $0.claims[picture] = true } }
            return nil
        }
        switch claim {
        // The previous holder of the lease may have uploaded the picture since the last read.
        case .held(let lease): return lease.isNew && !wait.hasWaited ? nil : .zero
        case .unknown: return nil
        case .awaited:
            wait.claimed = nil
            return store.time.now() + Self.intervals.0 < end ? Self.intervals.0 : nil
        // Nobody waits for another machine's line.
        case .taken(_, let queue) where queue >= wait.patience || isVain(picture, urgency):
            state.withLock { _ = $0.elsewhere.insert(picture) }
            return nil
        case .taken(let left, _):
            defer { wait.hasWaited = true }
            wait.ends = now + left + .seconds(1)
            return wait.hasWaited ? interval : Self.intervals.0
        }
    }

    /// Whether a reader's wait for another machine's picture has lately ended without it.
    var areWaitsVain: Bool {
        let now = store.time.now()
        return state.withLock { $0.waitedInVainAt.map { now - $0 < TierHealth.longestRest } ?? false }
    }

    /// Whether to go without a wait for another machine's picture, as the last one was vain; now and then a preload tries one.
    private func isVain(_ picture: PictureID, _ urgency: Urgency) -> Bool {
        guard areWaitsVain else { return false }
        if urgency.priority == .reader { return true }
        let now = store.time.now()
        return state.withLock { state in
            if let trial = state.trial, now - trial.began < TierPace.shuns { return trial.picture != picture }
            state.trial = (picture, now)
            return false
        }
    }

    /// Requests the lease of a picture; one that comes when the picture is no longer to be downloaded here is given back.
    private func request(
        _ picture: PictureID, _ key: ObjectKey, isLate: Bool = false
    ) -> Task<Leases.Claim, Never> {
        state.withLock { $0.claims[picture] = isLate }
        // A machine whose uploads may not use the network would keep the others waiting.
        let (queue, mayHold) = (uploads.delay, uploads.areWelcome)
        return Task {
            let claim = await leases.claim(key, seconds: Self.leaseSeconds, queue: queue, mayHold: mayHold)
            let stray = state.withLock { state -> Leases.Lease? in
                let isLate = state.claims.removeValue(forKey: picture)
                switch claim {
                case .held(let lease) where isLate == nil: return lease
                case .held(let lease): state.held[picture] = lease
                // The other machine brings it.
                case .taken(let left, _) where isLate == true && left > .zero: state.elsewhere.insert(picture)
                case .taken, .awaited, .unknown: break
                }
                return nil
            }
            if let stray { await leases.release(stray) }
            return claim
        }
    }

    func keep(_ picture: PictureID, at path: String, length: Int64, hash: UInt64) {
        guard let key = key(of: picture) else { return }
        let (lease, isThere, replaces, removal) = state.withLock { state in
            state.claims[picture] = nil
            return (
                state.held.removeValue(forKey: picture), state.elsewhere.remove(picture) != nil,
                state.wrong.contains(picture), state.removals[picture]
            )
        }
        let release = lease.map { lease in { @Sendable [leases] in await leases.release(lease) } }
        if isThere || !store.mayWrite {
            if let release { Task { await release() } }
            return
        }
        // A wrong object stays until the right one takes its place, whenever that is.
        let upload = Upload(key: key, path: path, length: length, hash: hash, replaces: replaces)
        guard replaces else { return uploads.add(upload, then: release) }
        Task { [uploads] in
            // A removal that comes later would take the right object.
            await removal?.value
            uploads.add(upload, then: release) { [weak self] in
                self?.state.withLock { _ = $0.wrong.remove(picture) }
            }
        }
    }

    func distrust(_ picture: PictureID) {
        guard let key = key(of: picture), state.withLock({ $0.wrong.insert(picture).inserted }) else { return }
        store.isWrong(key)
        state.withLock { state in
            state.removals[picture] = Task {
                await store.delete(key)
                self.state.withLock { $0.removals[picture] = nil }
            }
        }
    }

    func giveUp(_ picture: PictureID) {
        let lease = state.withLock { state in
            state.elsewhere.remove(picture)
            state.claims[picture] = nil
            return state.held.removeValue(forKey: picture)
        }
        guard let lease else { return }
        Task { [leases] in await leases.release(lease) }
    }
}
