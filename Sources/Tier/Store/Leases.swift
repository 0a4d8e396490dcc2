internal import HTTP
internal import ObjectStore
internal import Rankings

/// Says which machine does a piece of work: the one whose lease is on the store.
///
/// A lease names for how long it holds, from the moment at which the store wrote it and by the store's own clock: no clock of
/// another machine matters. It is advice: who does not get one in time works without it, and writes the same.
///
/// ## Concurrency
///
/// A value; any task may call.
struct Leases: Sendable {
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
        if text["owner"].text == owner {
            return .held(Lease(key: key, ends: store.time.now() + .seconds(length)))
        }
        // A store that tells no times is believed for as long as a lease can hold.
        let left = object.times.age.map { length - $0 } ?? length
        guard left < 0, let etag = object.etag else { return .taken(.seconds(max(0, left))) }
        switch await write(key, seconds: seconds, if: .isStill(etag)) {
        case .some(let lease?): return .held(lease)
        case .some(nil): return .taken(.seconds(seconds))
        case nil: return .unknown
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
