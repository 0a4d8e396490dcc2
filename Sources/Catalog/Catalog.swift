package import HTTP
package import Rankings

/// Which entries each listing has, and how large each picture is: asked once, stored, served offline.
package final class Catalog: Sendable {
    /// The limits and places a catalog works with.
    package struct Configuration: Sendable {
        /// The directory of the database; must exist.
        package var directory: String
        /// How many recent days a mode lists besides the stored ones.
        package var days: Int
        /// Which rendition listings show.
        package var rendition: Rendition
        /// The bound of one waiting operation.
        package var timeout: Duration
        /// Wall clock in Unix seconds.
        package var now: @Sendable () -> Int64

        package init(
            directory: String, days: Int, rendition: Rendition, timeout: Duration, now: @escaping @Sendable () -> Int64
        ) {
            self.directory = directory
            self.days = days
            self.rendition = rendition
            self.timeout = timeout
            self.now = now
        }
    }

    /// Opens (or makes) the database; a corrupt one is set aside under another name and reported.
    package init(
        _ configuration: Configuration, source: any RankingSource, transport: any Transport,
        report: @escaping @Sendable (CatalogEvent) -> Void
    ) throws(CatalogError) {
        fatalError("written by the owner of Catalog: \(configuration)")
    }

    /// The listing if it is in memory; never waits.
    package func loadedListing(_ key: ListingKey) -> Listing? {
        fatalError("written by the owner of Catalog: \(key)")
    }

    /// The listing from memory or the database, or a new one that asks as it is read.
    ///
    /// Days that cannot exist throw `.noSuchListing` without a request; so do, for minutes, days that the service did not have.
    /// A new listing is returned only once its first page is there: an unknown author or an unpublished day throws.
    package func listing(_ key: ListingKey) async throws(CatalogError) -> Listing {
        fatalError("written by the owner of Catalog: \(key)")
    }

    /// What can be said of a key without waiting: whether it surely does not exist (bad day, remembered refusal).
    package func isKnownAbsent(_ key: ListingKey) -> Bool {
        fatalError("written by the owner of Catalog: \(key)")
    }

    /// The newest published day of a mode: from memory, or asked once after each noon JST; offline the newest stored.
    package func newestDay(of mode: RankingMode) async throws(CatalogError) -> Day {
        fatalError("written by the owner of Catalog: \(mode)")
    }

    /// The days that a mode's directory shows, oldest first: the recent ones and the stored ones. Never waits, never asks.
    package func listedDays(of mode: RankingMode) -> [Day] {
        fatalError("written by the owner of Catalog: \(mode)")
    }

    /// The authors with a stored listing. Never waits, never asks.
    package func listedAuthors() -> [UserID] {
        fatalError("written by the owner of Catalog")
    }

    /// The whole record of an entry, from the database.
    package func record(of entry: ListingEntry, in listing: Listing) async throws(CatalogError) -> ListedWork {
        fatalError("written by the owner of Catalog: \(entry) \(listing)")
    }

    /// Keeps a size that was learnt by downloading.
    package func setSize(_ size: Int64, of picture: PictureID) {
        fatalError("written by the owner of Catalog: \(size) \(picture)")
    }

    /// Forgets a size that turned out wrong, so that it is asked again.
    package func forgetSize(of picture: PictureID) {
        fatalError("written by the owner of Catalog: \(picture)")
    }

    /// Drops listings from memory that nothing refers to, as SIGHUP asks.
    package func dropListings() {
        fatalError("written by the owner of Catalog")
    }

    package func status() -> CatalogStatus {
        fatalError("written by the owner of Catalog")
    }

    /// Ends background work and closes the database.
    package func close() async {
        fatalError("written by the owner of Catalog")
    }
}

/// Figures for status displays.
package struct CatalogStatus: Sendable {
    package var storedListings: Int
    package var loadedListings: Int
    package var loadedEntries: Int
    package var knownSizes: Int

    package init(storedListings: Int, loadedListings: Int, loadedEntries: Int, knownSizes: Int) {
        self.storedListings = storedListings
        self.loadedListings = loadedListings
        self.loadedEntries = loadedEntries
        self.knownSizes = knownSizes
    }
}

/// Something worth a log line that no request reports.
package enum CatalogEvent: Sendable {
    /// A corrupt or newer database was set aside under this path and a new one begun.
    case databaseSetAside(path: String, reason: String)
    /// Entries of a page could not be understood and are missing.
    case entriesUnreadable(count: Int, listing: ListingKey, page: Int)
    /// The database could not be written; answers are served from memory.
    case notStored(reason: String)
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
}
