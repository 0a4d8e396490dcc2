import HTTP
package import Rankings

/// Figures for status displays.
///
/// `originalQuestions` are the requests for showing originals since the start: to the image host, and to the service.
package typealias CatalogStatus = (
    storedListings: Int, loadedListings: Int, loadedEntries: Int, knownSizes: Int,
    originalQuestions: (host: Int, service: Int)
)

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

extension Failure {
    /// The failure of a listing as a whole, where the failed part was its first page.
    var ofListing: Failure {
        switch self {
        case .notPublished, .pastTheEnd, .notFound: .absent
        default: self
        }
    }

    /// The failure of a page to which the list itself has led: such a page is no name that does not exist.
    func ofPage(_ number: Int) -> Failure {
        switch self {
        case .absent, .notPublished, .notFound, .gone:
            .unreadable("page \(number) is not there although the list goes on")
        default: self
        }
    }
}
