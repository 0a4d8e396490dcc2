import Rankings
internal import Synchronization

/// The key of a listing in the catalog: the listing, and the viewers to whom the service shows it so.
///
/// The service returns more to signed-in users in every answer. A listing that only signed-in users can see is stored once, for
/// everybody: its own key names the user where it matters.
struct StoredKey: Hashable, Sendable {
    let listing: ListingKey
    var audience = AnswerAudience.everybody
}

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
    case forget(StoredKey)
}

/// Rows to append to a stored listing, with its new header.
struct ListingWrite: Sendable {
    let key: StoredKey
    /// Whether the rows stored before are deleted first.
    var replaces = false
    /// The position of the first of `rows`.
    let firstPosition: Int
    let rows: [ListingRow]
    let header: ListingHeader
}

/// An entry in its stored form.
struct ListingRow: Sendable {
    var entry: ListingEntry
    /// The picture's size in bytes; 0 if unknown.
    var size: Int64 = 0
    /// The number of pages of the work that are entries; 1 if only the first page is.
    var pageCount = 1
    var previousRank: Int?
    /// The whole record; nil if it is already stored.
    var work: Work?

    /// The whole record with the entry's ranks; nil if it is already stored.
    var record: ListedWork? {
        work.map { ListedWork(rank: entry.rank > 0 ? Int(entry.rank) : nil, previousRank: previousRank, work: $0) }
    }
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
    /// The version of the program that could not decode some entries of the ranking; nil if none is missing for that.
    var unreadBy: String?
}

/// A listing as read from the database.
typealias StoredListing = (header: ListingHeader, rows: [ListingRow])

/// The data loaded when the catalog opens.
struct StoredOverview: Sendable {
    var keys: Set<StoredKey> = []
    /// The time of the last request for a listing of each kind, in Unix seconds.
    var asked: [ListingKind: Int64] = [:]
    var newest: [RankingMode: NewestDay] = [:]
    var sizes = 0
    /// The recent pictures, newest first.
    var recent: [RecentPicture] = []

    /// Removes rankings that a source does not have, or no longer has.
    mutating func keepRankings(of source: SourceDescription) {
        newest = newest.filter { source[$0.key] != nil }
        keys = keys.filter { key in key.listing.mode.map { source[$0] != nil } ?? true }
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
        /// The viewers for whom each listing is stored.
        var audiences: [ListingKey: Set<AnswerAudience>] = [:]
        var sizes: Int
        /// The time of the last request for a listing of each kind, or of the last removal, in Unix seconds.
        var changed: [ListingKind: Int64]
        /// The removals of each listing on their way to the database: rows that are written before them do not bring it back.
        var leaving: [StoredKey: Int] = [:]

        /// Adds a listing; false if it is there.
        @discardableResult
        mutating func insert(_ key: StoredKey) -> Bool {
            audiences[key.listing, default: []].insert(key.audience).inserted
        }

        mutating func remove(_ key: StoredKey, now: Int64) {
            audiences[key.listing]?.remove(key.audience)
            if audiences[key.listing]?.isEmpty == true { audiences[key.listing] = nil }
            changed[key.listing.kind] = now
        }
    }

    private let state: Mutex<State>

    init(_ overview: StoredOverview) {
        var state = State(sizes: overview.sizes, changed: overview.asked)
        for key in overview.keys { state.insert(key) }
        self.state = Mutex(state)
    }

    /// The stored listings, without those on their way to the database.
    var listings: Set<ListingKey> {
        state.withLock { Set($0.audiences.keys) }
    }

    /// The viewers for whom a listing is stored.
    func audiences(of listing: ListingKey) -> Set<AnswerAudience> {
        state.withLock { $0.audiences[listing] ?? [] }
    }

    /// The number of stored sizes.
    var sizes: Int {
        state.withLock { $0.sizes }
    }

    func contains(_ key: StoredKey) -> Bool {
        state.withLock { $0.audiences[key.listing]?.contains(key.audience) ?? false }
    }

    /// The time of the last change of the set of a kind's listings, in Unix seconds; nil without listings of the kind.
    ///
    /// That of the last request for one of them: a new listing is the newest one, and the time is the same after another mount.
    func changed(_ kind: ListingKind) -> Int64? {
        state.withLock { $0.changed[kind] }
    }

    /// Removes a listing of which a removal is on its way to the database, at a time in Unix seconds.
    func forget(_ key: StoredKey, now: Int64) {
        state.withLock { state in
            state.remove(key, now: now)
            state.leaving[key, default: 0] += 1
        }
    }

    /// Removes a listing that turned out to be missing, at a time in Unix seconds.
    func remove(_ key: StoredKey, now: Int64) { state.withLock { $0.remove(key, now: now) } }

    /// Records changes that were written.
    func wrote(_ writes: [StoreWrite], newSizes: Int) {
        state.withLock { state in
            state.sizes += newSizes
            for write in writes {
                switch write {
                case .listing(let listing):
                    let (kind, fetched) = (listing.key.listing.kind, listing.header.fetched)
                    // A new name changes the time, also where that is of a clock that has been set back since.
                    let isNew = state.leaving[listing.key] == nil && state.insert(listing.key)
                    state.changed[kind] = isNew ? fetched : max(state.changed[kind] ?? .min, fetched)
                case .forget(let key):
                    let left = (state.leaving[key] ?? 1) - 1
                    state.leaving[key] = left > 0 ? left : nil
                default: break
                }
            }
        }
    }

    /// Clears everything, after the database was set aside and a new one begun.
    func clear() {
        state.withLock { $0 = State(sizes: 0, changed: [:]) }
    }
}
