import HTTP
package import Sourcing
package import Rankings
internal import Synchronization
package import System

/// The entries of each listing and the sizes of pictures: requested once, stored, and served offline.
///
/// Each part has its own state; they share the source, the clocks and the database.
///
/// ## Concurrency
///
/// Any thread may call. Methods that are not `async` take a lock for microseconds and never wait for the database or the
/// network.
package final class Catalog: Sendable {
    /// The existing listings and their entries.
    package let listings: Listings
    /// The existing days of a ranking.
    package let days: Days
    /// The sizes of pictures.
    package let sizes: Sizes
    /// Full records, profiles and animations.
    package let records: Records
    /// The pictures read last.
    package let recents: Recents

    let context: CatalogContext
    private let originals: Originals
    private let connections: WarmConnections?

    /// Opens (or creates) the database; a corrupt one is set aside under another name and reported.
    package init(
        _ configuration: CatalogConfiguration, source: any RankingSource, host: ImageHost,
        sharedSizes: (any SharedSizes)? = nil,
        report: @escaping @Sendable (CatalogEvent) -> Void
    ) throws(Failure) {
        var configuration = configuration
        configuration.view.learn(source.description)
        let overview: StoredOverview
        (context, overview) = try Self.open(configuration, source, report)
        let memory = LoadedListings()
        let told = ToldDays(overview.newest, context)
        sizes = Sizes(context, host: host, shared: sharedSizes, memory: memory)
        records = Records(context)
        originals = Originals(context, host: host)
        let pages = PageFactory(context: context, originals: originals, records: records)
        connections = source.imageHost.map { host.connections(to: $0) }
        listings = Listings(context, memory: memory, told: told, sizes: sizes, pages: pages)
        days = Days(context, told: told, listings: listings)
        recents = Recents(context, overview.recent, listings: listings, records: records)
    }

    /// Opens connections to the image host while a listing is fetched in which a reader named a picture.
    ///
    /// A reader that only lists a directory reads no picture.
    package func expectPictures() {
        connections?.make()
    }

    private static func open(
        _ configuration: CatalogConfiguration, _ source: any RankingSource,
        _ report: @escaping @Sendable (CatalogEvent) -> Void
    ) throws(Failure) -> (CatalogContext, StoredOverview) {
        let path = configuration.directory + "/catalog.sqlite"
        let opened: OpenedDatabase
        var overview: StoredOverview
        do throws(DatabaseError) {
            opened = try Connection.openOrSetAside(path: path, migrations: Schema.migrations, inMemoryIfFull: true)
            overview = try Rows.overview(of: opened.connection, variant: StoredVariant(configuration.view))
        } catch {
            let remedy =
                error.code == .newerSchema
                ? ", or name another directory with cache_dir" : "; check the directory's owner and free space"
            throw .database("\(path) cannot be used: \(error)\(remedy)")
        }
        overview.keepRankings(of: source.description)
        if opened.isInMemory {
            report(.notStored(reason: "the disk has no room for \(path); make room and mount again"))
        }
        if let aside = opened.setAside { report(.databaseSetAside(path: aside.path, reason: aside.reason)) }
        let stored = StoredContents(overview)
        let store = ListingStore(opened.connection, path: path, view: configuration.view) { aside in
            stored.clear()
            report(.databaseSetAside(path: aside.path, reason: aside.reason))
        }
        let outbox = Outbox(store: store, onStored: { stored.wrote($0, newSizes: $1) }, report: report)
        let context = CatalogContext(
            configuration: configuration, source: source, store: store, stored: stored, outbox: outbox, report: report)
        return (context, overview)
    }

    /// Checks the schema and the pages of a database without writing, so that a mount may continue to use it.
    ///
    /// - Returns: The damage that SQLite's quick check found; nil for none.
    package static func check(database path: String) -> Result<String?, DatabaseError> {
        let wasClosed = fileStatus(link: path + "-wal") == nil
        let found = checked(path)
        // A mount that has opened it meanwhile writes to what was read as a file that does not change.
        return wasClosed && fileStatus(link: path + "-wal") != nil ? checked(path) : found
    }

    private static func checked(_ path: String) -> Result<String?, DatabaseError> {
        Result { () throws(DatabaseError) in
            let connection = try Connection(path: path, isReadOnly: true)
            defer { connection.close() }
            if let damage = try connection.finding(of: "quick_check") { return damage }
            do throws(DatabaseError) { _ = try connection.missing(of: Schema.migrations) } catch {
                // A database that was just made has no steps.
                if error.code == .newerSchema { throw error }
            }
            return nil
        }
    }

    /// Figures for status displays.
    package func status() -> CatalogStatus {
        let loaded = listings.memory.all
        return (
            context.stored.listings.count, loaded.count, loaded.reduce(0) { $0 + $1.count }, context.stored.sizes,
            originals.asked.withLock { $0 }
        )
    }

    /// Ends background work and closes the database.
    package func close() async {
        listings.flights.close()
        days.flights.close()
        sizes.flights.close()
        records.flights.close()
        context.background.close()
        await context.outbox.close()
        await context.store.close()
        listings.drop()
    }
}
