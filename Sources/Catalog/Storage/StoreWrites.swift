import Rankings
internal import Synchronization

/// A change on its way to the database.
enum StoreWrite: Sendable {
    case listing(ListingWrite)
    /// A size that was learnt by downloading.
    case size(Int64, PictureID)
    /// One that the image host told: it does not replace another one.
    case toldSize(Int64, PictureID)
    case noSize(PictureID)
    case newest(RankingMode, NewestDay)
    case text(TextKey, StoredText)
    case noText(TextKey)
    case recent(RecentPicture)
    case forget(ListingKey)
}

/// Rows to append to a stored listing, with its new header.
struct ListingWrite: Sendable {
    let key: ListingKey
    /// Whether rows stored before go first.
    var replaces = false
    /// The position of the first of `rows`.
    let firstPosition: Int
    let rows: [ListingRow]
    let header: ListingHeader
}

/// An entry as it is stored.
struct ListingRow: Sendable {
    let entry: ListingEntry
    let previousRank: Int?
    /// The whole record; nil if it is stored already.
    let work: Work?
    /// The picture's bytes if they are known; 0 else.
    var size: Int64 = 0
}

/// How far a listing has come.
struct ListingHeader: Hashable, Sendable {
    var isComplete: Bool
    var nextPage: Int
    var lastPage: Int?
    /// How many rows there are.
    var entryCount: Int
    /// When the service was last asked for the whole of it, in Unix seconds.
    var fetched: Int64
    /// An author's works that were not asked for yet, newest first.
    var remaining: [WorkID]
}

/// A listing as it comes from the database.
struct StoredListing: Sendable {
    var header: ListingHeader
    var rows: [StoredRow]
}

/// An entry as it comes from the database.
struct StoredRow: Sendable {
    var entry: ListingEntry
    /// Bytes; 0 for unknown.
    var size: Int64
    /// How many pages of the work are entries; 1 where only the first one is.
    var pageCount: Int
}

/// What is loaded when the catalog opens.
struct StoredOverview: Sendable {
    var keys: Set<ListingKey> = []
    var newest: [RankingMode: NewestDay] = [:]
    var sizes = 0
    /// Newest first.
    var recent: [RecentPicture] = []

    /// Leaves out rankings that a source does not have, or has no longer.
    mutating func keepRankings(of source: SourceDescription) {
        newest = newest.filter { source[$0.key] != nil }
        keys = keys.filter { key in
            guard case .ranking(let mode, _) = key else { return true }
            return source[mode] != nil
        }
    }
}

// MARK: - Stored contents

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
