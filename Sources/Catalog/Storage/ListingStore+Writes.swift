import Rankings

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
