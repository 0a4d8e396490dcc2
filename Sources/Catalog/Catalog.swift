package import HTTP
package import ImageHost
package import Rankings
import SQLite
internal import Synchronization

/// Which entries each listing has, and how large each picture is: asked once, stored, served offline.
///
/// ## Concurrency
///
/// Any thread may call. What does not say `async` takes a lock for microseconds and never waits for the database or the network.
package final class Catalog: Sendable {
    /// The limits and places a catalog works with.
    package struct Configuration: Sendable {
        /// The directory of the database; must exist.
        package var directory: String
        /// How many recent days a mode lists besides the stored ones.
        package var days: Int
        /// What listings show.
        package var view: ListingView
        /// The bound of one waiting operation.
        package var timeout: Duration
        /// Wall clock in Unix seconds.
        package var now: @Sendable () -> Int64
        /// The clock of deadlines.
        package var time = TimeSource.system

        package init(
            directory: String, days: Int, view: ListingView, timeout: Duration, now: @escaping @Sendable () -> Int64
        ) {
            self.directory = directory
            self.days = days
            self.view = view
            self.timeout = timeout
            self.now = now
        }
    }

    /// Entries kept in memory for listings that nobody holds: two hundred full rankings, about 25 MB.
    static let loadedBound = 100_000

    /// Refusals remembered at most; a program that tries names by the thousand only asks again sooner.
    static let refusalBound = 4096

    /// Doubted sizes remembered at most; a host that lies about more pictures is believed about some of them again.
    static let doubtBound = 4096

    /// Works without originals remembered at most; beyond, one is told of again.
    static let missingBound = 4096

    let configuration: Configuration
    let source: any RankingSource
    /// Where sizes are asked for.
    let host: ImageHost
    /// Connections for the pictures of a day that somebody lists.
    let warm: WarmConnections?
    let report: @Sendable (CatalogEvent) -> Void
    let store: ListingStore
    let loaded = LoadedListings(bound: Catalog.loadedBound)
    let listingFlights = SharedTasks<ListingKey, Listing>()
    let newestFlights = SharedTasks<RankingMode, Day>()
    let sizeFlights = SharedTasks<PictureID, Int64>()
    let textFlights = SharedTasks<TextKey, StoredText>()
    /// Pages and batches: nobody waits for these, they are only ended at the close.
    private let background = SharedTasks<UInt64, Void>()
    let outbox: Outbox
    let known: SharedKnown

    /// Opens (or makes) the database; a corrupt one is set aside under another name and reported.
    package init(
        _ configuration: Configuration, source: any RankingSource, host: ImageHost,
        report: @escaping @Sendable (CatalogEvent) -> Void
    ) throws(CatalogError) {
        let path = configuration.directory + "/catalog.sqlite"
        var configuration = configuration
        configuration.view.learn(source.description)
        let opened: OpenedDatabase
        var overview: StoredOverview
        do throws(DatabaseError) {
            opened = try Connection.openOrSetAside(path: path, migrations: Schema.migrations, inMemoryIfFull: true)
            overview = try Rows.overview(of: opened.connection, variant: StoredVariant(configuration.view))
        } catch {
            throw .database("\(path) cannot be used: \(error); check the directory's owner and free space")
        }
        overview.keepRankings(of: source.description)
        if opened.isInMemory {
            report(.notStored(reason: "the disk has no room for \(path); make room and mount again"))
        }
        if let aside = opened.setAside { report(.databaseSetAside(path: aside.path, reason: aside.reason)) }
        let known = SharedKnown(
            Known(
                stored: overview.keys, newest: overview.newest, sizes: overview.sizes,
                recent: RecentPictures(overview.recent)))
        let store = ListingStore(opened.connection, path: path, view: configuration.view) { aside in
            known.withLock { known in
                known.stored = []
                known.sizes = 0
            }
            report(.databaseSetAside(path: aside.path, reason: aside.reason))
        }
        self.configuration = configuration
        self.source = source
        self.report = report
        self.store = store
        self.known = known
        self.host = host
        warm = source.imageHost.map { host.connections(to: $0) }
        outbox = Outbox(
            store: store,
            onStored: { writes, newSizes in
                known.withLock { known in
                    known.sizes += newSizes
                    for write in writes {
                        switch write {
                        case .listing(let listing): known.stored.insert(listing.key)
                        // Its rows may have been on their way when it was forgotten.
                        case .forget(let key): known.stored.remove(key)
                        default: break
                        }
                    }
                }
            }, report: report)
    }

    /// Drops listings from memory that nothing refers to, as SIGHUP asks.
    package func dropListings() {
        loaded.drop()
    }

    /// Figures for status displays.
    package func status() -> CatalogStatus {
        let listings = loaded.all
        return known.withLock { known in
            CatalogStatus(
                storedListings: known.stored.count, loadedListings: listings.count,
                loadedEntries: listings.reduce(0) { $0 + $1.count }, knownSizes: known.sizes,
                originalQuestions: known.originalQuestions)
        }
    }

    /// Runs something that nobody waits for, until the catalog is closed.
    func inBackground(_ body: @escaping @Sendable () async -> Void) {
        background.start(known.withLock { $0.nextErrand() }) {
            await body()
            return .success(())
        }
    }

    /// Ends background work and closes the database.
    package func close() async {
        listingFlights.close()
        newestFlights.close()
        sizeFlights.close()
        textFlights.close()
        background.close()
        await outbox.close()
        await store.close()
        loaded.drop()
    }
}
