package import Rankings
import SQLite
internal import Synchronization

/// Which listings there are: in memory, stored, refused by the service, or to be asked for.
///
/// Opening one is in `Listings+Opening.swift`, comparing one with the service's in `Listings+Refresh.swift`.
///
/// ## Concurrency
///
/// Any thread may call. What does not say `async` never waits and never asks.
package final class Listings: Sendable {
    let context: CatalogContext
    let memory: LoadedListings
    let told: ToldDays
    let sizes: Sizes
    let pageFactory: PageFactory
    let flights = SharedTasks<ListingKey, Listing>()
    /// What the service does not have.
    let refused = Pauses<ListingKey>(seconds: Freshness.refusalSeconds)
    /// What is stored and could not be compared with the service's.
    let unanswered = Pauses<ListingKey>(seconds: Freshness.lateSeconds)
    /// What was being read anew when the service did not go on answering.
    let unfinished = Pauses<ListingKey>(seconds: Freshness.unfinishedSeconds)
    /// What is being read anew.
    let rereading = Mutex<Set<ListingKey>>([])

    init(
        _ context: CatalogContext, memory: LoadedListings, told: ToldDays, sizes: Sizes, pages: PageFactory
    ) {
        self.context = context
        self.memory = memory
        self.told = told
        self.sizes = sizes
        pageFactory = pages
    }

    /// What of its works a listing shows.
    package var view: ListingView { context.view }

    /// The listing if it is in memory and need not be compared with the service's.
    package func loaded(_ key: ListingKey) -> Listing? {
        guard let listing = memory[key], !needsRefresh(listing) else { return nil }
        return listing
    }

    /// What can be said of a key without waiting: whether it surely does not exist (bad day, remembered refusal).
    package func isKnownAbsent(_ key: ListingKey) -> Bool {
        // What was stored once is served, whatever the clock or the service say now.
        if isStored(key) { return false }
        return Freshness.isImpossible(key, days: told.days, newest: told.newestPossible)
            || refused.holds(key, now: context.now)
    }

    /// Whether a listing is there, stored or on its way to the database: it opens without the service.
    package func isStored(_ key: ListingKey) -> Bool {
        memory[key] != nil || context.stored.contains(key)
    }

    /// The listings that are stored or loaded, of any kind.
    package var keys: Set<ListingKey> {
        // Rows of what was just listed are still on their way to the database.
        context.stored.keys.union(memory.all.map(\.key))
    }

    /// The listings that are stored, loaded or just being asked for: those of which a directory tells.
    ///
    /// A directory is listed from the moment at which it is opened, not only when the service has answered: file
    /// managers compare the directory above meanwhile, and take what they do not find there for gone.
    package var opened: Set<ListingKey> { keys.union(flights.keys) }

    /// Where a picture is listed, in a directory that is stored: asks the service nothing.
    ///
    /// - Parameters:
    ///   - picture: The picture.
    ///   - accepts: Whether a place will do; called without a lock.
    /// - Returns: Nil if no stored directory lists it at a place that will do.
    package func place(
        of picture: PictureID, where accepts: @Sendable (Listing, Int) -> Bool
    ) async -> (listing: Listing, index: Int)? {
        let variant = StoredVariant(view)
        let keys = try? await context.read { connection throws(DatabaseError) in
            try Rows.places(of: picture.work, variant, in: connection)
        }
        for key in keys ?? [] {
            guard let listing = await stored(key) else { continue }
            guard let index = listing.index(of: picture) else { continue }
            if accepts(listing, index) { return (listing, index) }
        }
        return nil
    }

    /// Drops a listing from memory and the database; the next look asks the service.
    ///
    /// - Returns: Whether it was known.
    @discardableResult
    package func forget(_ key: ListingKey) -> Bool {
        let isLoaded = memory[key] != nil
        refused.end(key)
        unanswered.end(key)
        unfinished.end(key)
        let isStored = context.stored.remove(key)
        memory.remove(key)
        context.outbox.add([.forget(key)])
        return isLoaded || isStored
    }

    /// Drops listings from memory that nothing refers to, as SIGHUP asks.
    package func drop() {
        memory.drop()
    }

    /// Ends what is asked.
    func close() {
        flights.close()
    }
}
