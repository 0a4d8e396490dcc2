import HTTP
package import Rankings

/// Figures for status displays.
package struct CatalogStatus: Sendable {
    package var storedListings: Int
    package var loadedListings: Int
    package var loadedEntries: Int
    package var knownSizes: Int
    /// Questions that showing originals cost since the start: to the image host, to the service.
    package var originalQuestions: (host: Int, service: Int)

    package init(
        storedListings: Int, loadedListings: Int, loadedEntries: Int, knownSizes: Int,
        originalQuestions: (host: Int, service: Int)
    ) {
        self.storedListings = storedListings
        self.loadedListings = loadedListings
        self.loadedEntries = loadedEntries
        self.knownSizes = knownSizes
        self.originalQuestions = originalQuestions
    }
}

/// Something worth a log line that no request reports.
package enum CatalogEvent: Hashable, Sendable {
    /// A corrupt or newer database was set aside under this path and a new one begun.
    case databaseSetAside(path: String, reason: String)
    /// Entries of a page could not be understood and are missing.
    case entriesUnreadable(count: Int, listing: ListingKey, page: Int)
    /// The database could not be written; answers are served from memory.
    case notStored(reason: String)
    /// A work's original cannot be had; another rendition stands in.
    case originalMissing(WorkID)
}

/// Why the catalog could not answer.
package enum CatalogError: Error, Hashable, Sendable {
    /// The service (or the calendar) says that it does not exist.
    case noSuchListing
    case needsSignIn
    /// The source could not answer and nothing is stored.
    case source(SourceError)
    /// The image host does not tell this picture's length; only downloading it will.
    case sizeNotTold
    /// The database cannot be used.
    case database(String)

    /// What a source's failure means for a listing as a whole.
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

/// How long an answer may take, and by which clock.
struct AnswerLimit: Sendable {
    let duration: Duration
    private let time: TimeSource

    init(_ duration: Duration, _ time: TimeSource) {
        self.duration = duration
        self.time = time
    }

    /// When to give up what is asked now.
    var deadline: ContinuousClock.Instant { time.now() + duration }
}
