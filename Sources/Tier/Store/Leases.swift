internal import HTTP
internal import ObjectStore
internal import Rankings
internal import Synchronization

/// Says which machine does a piece of work: the one whose lease is on the store.
///
/// A lease names for how long it holds, from the moment at which the store wrote it and by the store's own clock: no clock of
/// another machine matters. It is advice: who does not get one in time works without it, and writes the same.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for microseconds.
final class Leases: Sendable {
    /// A lease that this machine has.
    struct Lease: Sendable {
        let key: ObjectKey
        /// Until when it holds, at the most.
        let ends: ContinuousClock.Instant
    }

    /// What came of asking for one.
    enum Claim: Sendable {
        case held(Lease)
        /// Another machine has it for so long at most.
        case taken(Duration)
        /// The store cannot tell.
        case unknown
    }

    /// No lease holds longer, whatever it says of itself.
    static let longest: Int64 = 60

    private let store: TierStore
    /// Tells this run of this machine from all others.
    private let owner: String
    /// When others' leases were first seen here, which counts where the store tells no times.
    private let seen = Mutex<[ObjectKey: Sight]>([:])

    private struct Sight {
        let etag: String?
        let first: ContinuousClock.Instant
    }

    /// More are cleared of those that have ended.
    private static let mostSeen = 256

    init(_ store: TierStore, owner: String) {
        self.store = store
        self.owner = owner
    }

    /// Tries to get the lease of a piece of work.
    ///
    /// - Parameters:
    ///   - work: What it is about.
    ///   - seconds: For how long; who is not done by then does the rest without it.
    /// - Returns: Who has it.
    func claim(_ work: ObjectKey, seconds: Int64) async -> Claim {
        guard let key = ObjectKey("leases/\(work.text)") else { return .unknown }
        switch await write(key, seconds: seconds, if: .isNew) {
        case .some(let lease?): return .held(lease)
        case nil: return .unknown
        case .some(nil): break
        }
        guard let found = await store.get(key) else { return .unknown }
        // It ended meanwhile; the next look will tell who is next.
        guard case .object(let object) = found else { return .taken(.zero) }
        let text = (try? JSONReader.read(object.bytes)) ?? .null
        let length = min(max(text["seconds"].number ?? 0, 0), Self.longest)
        let left = length - (object.age ?? age(key, object.etag))
        if left > 0, text["owner"].text == owner {
            return .held(Lease(key: key, ends: store.time.now() + .seconds(left)))
        }
        guard left < 0 || text["owner"].text == owner, let etag = object.etag else {
            return .taken(.seconds(max(0, left)))
        }
        switch await write(key, seconds: seconds, if: .isStill(etag)) {
        case .some(let lease?): return .held(lease)
        case .some(nil): return .taken(.seconds(seconds))
        case nil: return .unknown
        }
    }

    /// For how many seconds a lease has been there, as far as was seen here.
    private func age(_ key: ObjectKey, _ etag: String?) -> Int64 {
        let now = store.time.now()
        return seen.withLock { seen in
            if let sight = seen[key], sight.etag == etag { return (now - sight.first).components.seconds }
            if seen.count >= Self.mostSeen {
                seen = seen.filter { now - $0.value.first <= .seconds(Self.longest) }
                // As many at one moment are nobody's leases.
                if seen.count >= Self.mostSeen { seen = [:] }
            }
            seen[key] = Sight(etag: etag, first: now)
            return 0
        }
    }

    /// Gives a lease back; one that has ended may be another machine's by now.
    func release(_ lease: Lease) async {
        if store.time.now() < lease.ends { await store.delete(lease.key) }
    }

    /// Nil if the store did not answer, an empty answer if the condition does not hold.
    private func write(_ key: ObjectKey, seconds: Int64, if condition: ObjectStore.Condition) async -> Lease?? {
        let ends = store.time.now() + .seconds(seconds)
        let text = JSONText.object([("owner", .text(owner)), ("seconds", .integer(seconds))]).line
        switch await store.put(key, Array(text.utf8), if: condition, insists: true) {
        case .done: return .some(Lease(key: key, ends: ends))
        case .declined: return .some(nil)
        case .notTaken, .failed, .unasked: return nil
        }
    }
}
