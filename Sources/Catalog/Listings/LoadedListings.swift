internal import Synchronization
import Rankings

/// The listings in memory: every listing with a reference elsewhere, and the last used ones up to a number of entries.
///
/// ## Concurrency
///
/// Any thread may call; takes a lock for microseconds, and a listing's lock inside it, never the other way round.
final class LoadedListings: Sendable {
    private struct Slot {
        /// The listing, for as long as anything refers to it: one object a key, so that all readers see the same pages.
        weak var alive: Listing?
        /// The same, while it is one of the last used ones.
        var kept: Listing?
        var used: UInt64 = 0
    }

    private struct State {
        var slots: [StoredKey: Slot] = [:]
        var clock: UInt64 = 0

        mutating func keep(_ listing: Listing) {
            clock += 1
            slots[listing.stored] = Slot(alive: listing, kept: listing, used: clock)
        }
    }

    /// The weight of a listing by itself, in entries: works have a page or two each.
    private static let ownWeight = 8

    /// The entries kept in memory for listings without another reference: two hundred full rankings, about 25 MB.
    static let usualBound = 100_000

    private let bound: Int
    private let state = Mutex(State())

    /// - Parameter bound: Entries kept for listings without another reference; each listing itself counts as some entries.
    init(bound: Int = usualBound) {
        self.bound = bound
    }

    /// The listing under a key, if it is alive.
    subscript(key: StoredKey) -> Listing? {
        state.withLock { state in
            guard let listing = state.slots[key]?.alive else { return nil }
            state.keep(listing)
            return listing
        }
    }

    /// Adds a listing unless its key has one; returns the present listing of the key.
    func add(_ listing: Listing) -> Listing {
        let (kept, dropped) = state.withLock { state -> (Listing, [Listing]) in
            if let alive = state.slots[listing.stored]?.alive {
                state.keep(alive)
                return (alive, [])
            }
            return (listing, put(listing, &state))
        }
        // Dropped listings are released here, outside the lock.
        _ = dropped
        return kept
    }

    /// Replaces a listing if it is the present one of its key, and runs `body` before any other thread can read the key.
    ///
    /// - Returns: The present listing of the key afterwards; nil if there is none.
    func replace(_ old: Listing, with listing: Listing, _ body: () -> Void) -> Listing? {
        let (present, dropped) = state.withLock { state -> (Listing?, [Listing]) in
            let present = state.slots[old.stored]?.alive
            guard present === old else { return (present, []) }
            body()
            return (listing, put(listing, &state))
        }
        // Dropped listings are released here, outside the lock.
        _ = dropped
        return present
    }

    /// Runs `body` if the object is the present listing of its key, and keeps it so meanwhile.
    func ifCurrent(_ listing: Listing, _ body: () -> Void) {
        state.withLock { state in
            if state.slots[listing.stored]?.alive === listing { body() }
        }
    }

    /// Releases a listing, so that the next access to its key yields another object.
    func remove(_ key: StoredKey) {
        let dropped = state.withLock { $0.slots.removeValue(forKey: key) }
        _ = dropped
    }

    /// Every listing alive.
    var all: [Listing] {
        state.withLock { state in state.slots.values.compactMap(\.alive) }
    }

    /// Releases the listings without another reference.
    func drop() {
        let dropped = state.withLock { state in
            defer { for key in state.slots.keys { state.slots[key]?.kept = nil } }
            return state.slots
        }
        _ = dropped
        state.withLock { state in state.slots = state.slots.filter { $0.value.alive != nil } }
    }

    private func put(_ listing: Listing, _ state: inout State) -> [Listing] {
        state.keep(listing)
        var kept = state.slots.compactMapValues { slot in slot.kept.map { (listing: $0, used: slot.used) } }
        var total = kept.values.reduce(0) { $0 + $1.listing.count + Self.ownWeight }
        var dropped: [Listing] = []
        while total > bound, kept.count > 1, let oldest = kept.min(by: { $0.value.used < $1.value.used }) {
            total -= oldest.value.listing.count + Self.ownWeight
            dropped.append(oldest.value.listing)
            kept[oldest.key] = nil
            state.slots[oldest.key]?.kept = nil
        }
        // Slots of released listings are removed when they are the majority.
        if state.slots.count > 2 * kept.count + 64 { state.slots = state.slots.filter { $0.value.alive != nil } }
        return dropped
    }
}
