import HTTP
package import Rankings

/// Figures for status displays.
package struct CatalogStatus: Sendable {
    package var storedListings: Int
    package var loadedListings: Int
    package var loadedEntries: Int
    package var knownSizes: Int
    /// Requests for showing originals since the start: to the image host, and to the service.
    package var originalQuestions: (host: Int, service: Int)
}

/// An event worth a line of the log that no request reports.
package enum CatalogEvent: Hashable, Sendable {
    /// A corrupt or newer database was set aside under this path, and a new one was begun.
    case databaseSetAside(path: String, reason: String)
    /// Entries of a page could not be decoded and are missing.
    case entriesUnreadable(count: Int, listing: ListingKey, page: Int)
    /// The database could not be written; answers are served from memory.
    case notStored(reason: String)
    /// A work's original is not available; another rendition stands in.
    case originalMissing(WorkID)
}

/// The reasons for which the catalog cannot answer.
package enum CatalogError: Error, Hashable, Sendable {
    /// The service (or the calendar) reports that the listing does not exist.
    case noSuchListing
    case needsSignIn
    /// The request to the source failed and nothing is stored.
    case source(SourceError)
    /// The image host does not declare this picture's length; only a download finds it.
    case sizeNotTold
    /// The database cannot be used.
    case database(String)

    /// The meaning of a source's failure for a listing as a whole.
    init(listing error: SourceError) {
        switch error {
        case .notPublished, .pastTheEnd, .notFound: self = .noSuchListing
        case .needsSignIn: self = .needsSignIn
        default: self = .source(error)
        }
    }

    static let cancelled = CatalogError.source(.cancelled)
}

// MARK: - Answer limit

/// The time limit of an answer, and the clock that measures it.
struct AnswerLimit: Sendable {
    let duration: Duration
    private let time: TimeSource

    init(_ duration: Duration, _ time: TimeSource) {
        self.duration = duration
        self.time = time
    }

    /// The moment at which a request that begins now is given up.
    var deadline: ContinuousClock.Instant { time.now() + duration }
}
