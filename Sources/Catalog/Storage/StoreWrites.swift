import Rankings
internal import Synchronization

/// A pending change of the database.
enum StoreWrite: Sendable {
    case listing(ListingWrite)
    /// A size found by a download.
    case size(Int64, PictureID)
    /// A size that the image host declared; it does not replace another one.
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
    /// Whether the rows stored before are deleted first.
    var replaces = false
    /// The position of the first of `rows`.
    let firstPosition: Int
    let rows: [ListingRow]
    let header: ListingHeader
}

/// An entry in its stored form.
struct ListingRow: Sendable {
    let entry: ListingEntry
    let previousRank: Int?
    /// The whole record; nil if it is already stored.
    let work: Work?
    /// The picture's size in bytes; 0 if unknown.
    var size: Int64 = 0
}

/// The progress of a listing.
struct ListingHeader: Hashable, Sendable {
    var isComplete: Bool
    var nextPage: Int
    var lastPage: Int?
    /// The number of rows.
    var entryCount: Int
    /// The time of the last request for the whole listing, in Unix seconds.
    var fetched: Int64
    /// An author's works that have not been requested yet, newest first.
    var remaining: [WorkID]
}

/// A listing as read from the database.
struct StoredListing: Sendable {
    var header: ListingHeader
    var rows: [StoredRow]
}

/// An entry as read from the database.
struct StoredRow: Sendable {
    var entry: ListingEntry
    /// The size in bytes; 0 if unknown.
    var size: Int64
    /// The number of pages of the work that are entries; 1 if only the first page is.
    var pageCount: Int
}

/// The data loaded when the catalog opens.
struct StoredOverview: Sendable {
    var keys: Set<ListingKey> = []
    var newest: [RankingMode: NewestDay] = [:]
    var sizes = 0
    /// The recent pictures, newest first.
    var recent: [RecentPicture] = []

    /// Removes rankings that a source does not have, or no longer has.
    mutating func keepRankings(of source: SourceDescription) {
        newest = newest.filter { source[$0.key] != nil }
        keys = keys.filter { key in key.mode.map { source[$0] != nil } ?? true }
    }
}

// MARK: - Stored contents

/// The known contents of the database, without a query: the listings that it has, and whether it has sizes.
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

    /// The stored listings, without those on their way to the database.
    var keys: Set<ListingKey> {
        state.withLock { $0.keys }
    }

    /// The number of stored sizes.
    var sizes: Int {
        state.withLock { $0.sizes }
    }

    func contains(_ key: ListingKey) -> Bool {
        state.withLock { $0.keys.contains(key) }
    }

    /// Removes a listing that is to be forgotten, or that turned out to be missing.
    ///
    /// - Returns: Whether it was stored.
    @discardableResult
    func remove(_ key: ListingKey) -> Bool {
        state.withLock { $0.keys.remove(key) != nil }
    }

    /// Records changes that were written.
    func wrote(_ writes: [StoreWrite], newSizes: Int) {
        state.withLock { state in
            state.sizes += newSizes
            for write in writes {
                switch write {
                case .listing(let listing): state.keys.insert(listing.key)
                // Rows of the listing may have been on their way when it was forgotten.
                case .forget(let key): state.keys.remove(key)
                default: break
                }
            }
        }
    }

    /// Clears everything, after the database was set aside and a new one begun.
    func clear() {
        state.withLock { $0 = State(keys: [], sizes: 0) }
    }
}
