internal import Synchronization
import Rankings

/// What is known of the database without asking it: which listings it has, and whether it has sizes.
///
/// ## Concurrency
///
/// Any thread may call; takes a lock for microseconds.
final class StoredContents: Sendable {
    private struct State {
        var keys: Set<ListingKey>
        var sizes: Int
    }

    private let state: Mutex<State>

    init(keys: Set<ListingKey>, sizes: Int) {
        state = Mutex(State(keys: keys, sizes: sizes))
    }

    /// The listings that are stored; of what is on its way to the database, nothing.
    var keys: Set<ListingKey> {
        state.withLock { $0.keys }
    }

    /// How many pictures' sizes are stored.
    var sizes: Int {
        state.withLock { $0.sizes }
    }

    func contains(_ key: ListingKey) -> Bool {
        state.withLock { $0.keys.contains(key) }
    }

    /// Takes a listing out that is to be forgotten, or turned out not to be there.
    ///
    /// - Returns: Whether it was stored.
    @discardableResult
    func remove(_ key: ListingKey) -> Bool {
        state.withLock { $0.keys.remove(key) != nil }
    }

    /// Takes in what was written.
    func wrote(_ writes: [StoreWrite], newSizes: Int) {
        state.withLock { state in
            state.sizes += newSizes
            for write in writes {
                switch write {
                case .listing(let listing): state.keys.insert(listing.key)
                // Its rows may have been on their way when it was forgotten.
                case .forget(let key): state.keys.remove(key)
                default: break
                }
            }
        }
    }

    /// The database was set aside, and a new one begun.
    func clear() {
        state.withLock { $0 = State(keys: [], sizes: 0) }
    }
}
