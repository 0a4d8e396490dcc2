import HTTP
import Rankings
import Synchronization

/// The choice of the machine that does a piece of work: the one with the lease in the object store.
///
/// A lease holds for a declared time from the moment at which the store wrote it, by the store's own clock: clocks of other
/// machines do not matter. Leases are advisory: a machine that does not get one in time works without it, and writes the same
/// content.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for microseconds.
final class Leases: Sendable {
    /// A lease that this machine holds.
    struct Lease: Sendable {
        let key: ObjectKey
        /// The latest end of the lease.
        let ends: ContinuousClock.Instant
        /// Whether there was no lease before it.
        var isNew = false
    }

    /// The result of a request for a lease.
    enum Claim: Sendable {
        case held(Lease)
        /// Another machine holds the lease, for this time at most; what it brings may have to wait until others are brought.
        case taken(Duration, queue: Duration = .zero)
        /// This machine cannot hold the lease, and another one may be about to get it.
        case awaited
        /// The store did not answer.
        case unknown
    }

    /// The longest lease in seconds, whatever length it declares.
    static let longest: Int64 = 60
    /// The intervals at which pauses are read while answers are requested, and while pictures are.
    static let pauseIntervals = (answers: Duration.milliseconds(500), pictures: Duration.seconds(5))
    /// The time in which a machine that cannot hold a lease waits for another machine to get it.
    static let aboutTo = Duration.milliseconds(50)

    /// The time limit of a read that may be beside a write on the same line: longer than that of an answer, so that the store need not rest.
    static let besidePatience = TierStore.patience * 1.25

    private let store: TierStore
    /// Begins to read the pauses of the service's hosts, unless that was done within an interval; called before requests go to them.
    let readPauses: @Sendable (_ interval: Duration) -> Task<Void, Never>?
    /// The identifier of this run on this machine, which distinguishes it from all others.
    private let owner: String
    /// The times at which other machines' leases were first seen, for stores that declare no times.
    private let seen = Mutex<[ObjectKey: (etag: String?, first: ContinuousClock.Instant)]>([:])

    /// The number of the last lease that this run has requested.
    private let numbers = Atomic<Int64>(0)

    /// The number of leases above which ended ones are removed.
    private static let mostSeen = 256

    init(
        _ store: TierStore, owner: String,
        readPauses: @escaping @Sendable (_ interval: Duration) -> Task<Void, Never>? = { _ in nil }
    ) {
        self.store = store
        self.readPauses = readPauses
        self.owner = owner
    }

    /// Tries to get the lease of a piece of work.
    ///
    /// A machine that cannot hold it waits for one that does, as others do, and a moment for one that is about to.
    ///
    /// - Parameters:
    ///   - work: The key of the work's object.
    ///   - seconds: The length of the lease in seconds; longer work continues without it.
    ///   - queue: The time for which the result waits for others to be stored; the lease is longer by it.
    ///   - mayHold: Whether this machine would store the work's result.
    /// - Returns: The lease, the remaining time of its present holder, or `unknown`.
    func claim(
        _ work: ObjectKey, seconds: Int64, queue: Duration = .zero, mayHold: Bool = true
    ) async -> Claim {
        let queued = min(max(queue.components.seconds, 0), Self.longest)
        let seconds = min(seconds + queued, Self.longest)
        guard let key = ObjectKey("leases/\(work.text)") else { return .unknown }
        var holds = mayHold && store.takesLeases
        if holds {
            let ends = store.time.now() + .seconds(seconds)
            let number = numbers.wrappingAdd(1, ordering: .relaxed).newValue
            let writing = Task { await write(key, seconds: seconds, queue: queued, number: number, if: .isNew) }
            // A store may decline only after seconds what another machine has written at the same moment: then the lease is there.
            while await writing.value(until: store.time.now() + store.lateAnswer, store.time) == nil {
                var other = Claim.unknown
                if !Task.isCancelled {
                    other = await claim(work, seconds: seconds, mayHold: false)
                    guard case .taken = other else { continue }
                }
                writing.cancel()
                withdraw(key, number)
                return other
            }
            switch await writing.value {
            case .done: return .held(Lease(key: key, ends: ends, isNew: true))
            // The store does not let this machine write.
            case .notTaken, .failed(.refused), .failed(.full), .unasked: holds = false
            case .failed(let error):
                if error == .timedOut { withdraw(key, number) }
                return .unknown
            // With too many requests already, none is worth knowing for how long.
            case .declined where store.isBusy: return .taken(.zero)
            case .declined: break
            }
        }
        let patience = holds ? TierStore.patience : Self.besidePatience
        guard store.hasConditions, let found = await store.get(key, within: patience) else { return .unknown }
        guard case .object(let object) = found else {
            let absence = sight(of: key, nil)
            // The lease ended meanwhile; the next request decides about the next holder. A store that declines it again is wrong.
            if holds { return absence == .zero ? .taken(.zero) : .unknown }
            return absence < Self.aboutTo ? .awaited : .unknown
        }
        let seen = sight(of: key, object.head.etag)
        let text = (try? JSONReader.read(object.body)) ?? .null
        let length = min(max(text["seconds"].number ?? 0, 0), Self.longest)
        let left = length - (object.head.age ?? seen.components.seconds)
        let queue = Duration.seconds(min(max(text["queue"].number ?? 0, 0), Self.longest))
        let isOwn = text["owner"].text == owner
        guard holds else { return left > 0 && !isOwn ? .taken(.seconds(left), queue: queue) : .unknown }
        // One's own is written anew as well, without the number by which it may be about to be withdrawn.
        guard left < 0 || isOwn, let etag = object.head.etag else {
            return .taken(.seconds(max(0, left)), queue: queue)
        }
        let ends = store.time.now() + .seconds(seconds)
        return switch await write(key, seconds: seconds, queue: queued, if: .isStill(etag)) {
        case .done: .held(Lease(key: key, ends: ends))
        case .declined: .taken(.seconds(seconds))
        case .notTaken, .failed, .unasked: .unknown
        }
    }

    /// Returns the time for which this machine has seen a lease, or the absence of one.
    private func sight(of key: ObjectKey, _ etag: String?) -> Duration {
        let now = store.time.now()
        return seen.withLock { seen in
            if let sight = seen[key], sight.etag == etag, now - sight.first <= .seconds(Self.longest) {
                return now - sight.first
            }
            if seen.count >= Self.mostSeen {
                seen = seen.filter { now - $0.value.first <= .seconds(Self.longest) }
                // So many at one moment cannot be real leases.
                if seen.count >= Self.mostSeen { seen = [:] }
            }
            seen[key] = (etag, now)
            return .zero
        }
    }

    /// Gives a lease back unless it has ended, when another machine may hold it.
    func release(_ lease: Lease) async {
        if store.time.now() < lease.ends { await store.delete(lease.key) }
    }

    /// Removes a lease that the store has granted after its time, for which others would wait; one that this machine holds by then has
    /// another number.
    private func withdraw(_ key: ObjectKey, _ number: Int64) {
        Task { [store, owner] in
            try await store.time.sleep(TierStore.patience)
            guard case .object(let object)? = await store.get(key),
                let text = try? JSONReader.read(object.body), text["owner"].text == owner,
                text["number"].number == number
            else { return }
            await store.delete(key)
        }
    }

    private func write(
        _ key: ObjectKey, seconds: Int64, queue: Int64, number: Int64 = 0, if condition: ObjectStore.Condition
    ) async -> TierStore.Writing {
        let text = JSON.members([
            ("owner", .string(owner)), ("seconds", .integer(seconds)), ("queue", .integer(queue)),
            ("number", .integer(number)),
        ]).line
        return await store.put(key, Array(text.utf8), if: condition, insists: true, within: TierStore.patience)
    }
}
