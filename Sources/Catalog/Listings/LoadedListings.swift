internal import Synchronization
import Rankings

/// The listings in memory: every one that somebody holds, and the latest used besides, up to a number of entries.
///
/// ## Concurrency
///
/// Any thread may call; takes a lock for microseconds, and a listing's lock inside it, never the other way round.
final class LoadedListings: Sendable {
    private struct WeakListing {
        weak var listing: Listing?
    }

    private struct Recent {
        let listing: Listing
        var used: UInt64
    }

    private struct State {
        /// All that are alive: one object a key, so that everybody sees the same pages.
        var alive: [ListingKey: WeakListing] = [:]
        var recent: [ListingKey: Recent] = [:]
        var clock: UInt64 = 0

        mutating func keep(_ listing: Listing) {
            clock += 1
            recent[listing.key] = Recent(listing: listing, used: clock)
        }
    }

    /// What a listing takes by itself, as so many entries: works have a page or two each.
    private static let ownWeight = 8

    /// Entries kept in memory for listings that nobody holds: two hundred full rankings, about 25 MB.
    static let usualBound = 100_000

    private let bound: Int
    private let state = Mutex(State())

    /// - Parameter bound: Entries kept for listings that nobody holds, each listing counting as some.
    init(bound: Int = usualBound) {
        self.bound = bound
    }

    /// The listing under a key, if it is alive.
    subscript(key: ListingKey) -> Listing? {
        state.withLock { state in
            if let recent = state.recent[key] {
                state.clock += 1
                state.recent[key]?.used = state.clock
                return recent.listing
            }
            guard let listing = state.alive[key]?.listing else { return nil }
            state.keep(listing)
            return listing
        }
    }

    /// Adds a listing unless there is one of its key; returns the one that is there now.
    func add(_ listing: Listing) -> Listing {
        let (kept, dropped) = state.withLock { state -> (Listing, [Listing]) in
            if let alive = state.alive[listing.key]?.listing {
                state.keep(alive)
                return (alive, [])
            }
            return (listing, put(listing, &state))
        }
        // Listings end here, outside the lock.
        _ = dropped
        return kept
    }

    /// Puts a listing in the place of the one of its key, and runs `body` before anybody else can look.
    func replace(with listing: Listing, _ body: () -> Void) {
        let dropped = state.withLock { state in
            body()
            return put(listing, &state)
        }
        _ = dropped
    }

    /// Runs `body` if this very object is the one that its key means, and keeps it so meanwhile.
    func ifCurrent(_ listing: Listing, _ body: () -> Void) {
        state.withLock { state in
            if state.alive[listing.key]?.listing === listing { body() }
        }
    }

    /// Lets go of a listing, so that the next one who asks for its key gets another object.
    func remove(_ key: ListingKey) {
        let dropped = state.withLock { state in
            state.alive[key] = nil
            return state.recent.removeValue(forKey: key)
        }
        _ = dropped
    }

    /// Every listing alive.
    var all: [Listing] {
        state.withLock { state in state.alive.values.compactMap(\.listing) }
    }

    /// Lets go of the listings that nobody else holds.
    func drop() {
        let dropped = state.withLock { state in
            defer { state.recent = [:] }
            return state.recent
        }
        _ = dropped
        state.withLock { state in state.alive = state.alive.filter { $0.value.listing != nil } }
    }

    private func put(_ listing: Listing, _ state: inout State) -> [Listing] {
        state.alive[listing.key] = WeakListing(listing: listing)
        state.keep(listing)
        var total = state.recent.values.reduce(0) { $0 + $1.listing.count + Self.ownWeight }
        var dropped: [Listing] = []
        while total > bound, state.recent.count > 1,
            let oldest = state.recent.min(by: { $0.value.used < $1.value.used })
        {
            total -= oldest.value.listing.count + Self.ownWeight
            dropped.append(oldest.value.listing)
            state.recent[oldest.key] = nil
        }
        // Boxes of listings that are gone: swept when they are the majority.
        if state.alive.count > 2 * state.recent.count + 64 {
            state.alive = state.alive.filter { $0.value.listing != nil }
        }
        return dropped
    }
}
