import HTTP
package import Rankings
internal import Synchronization

/// The entries of one directory: append-only, paged in as it is read.
///
/// ## Concurrency
///
/// Any thread may call. `entries`, `isComplete`, `entry(at:)`, `index(named:)` and `size(at:)` only take a lock for microseconds;
/// they never wait. Waiters are resumed, and pages asked for, outside the lock.
package final class Listing: Sendable {
    package let key: ListingKey
    let pages: any ListingPages
    let owner: any ListingOwner
    let state: Mutex<ListingState>

    init(key: ListingKey, pages: any ListingPages, owner: any ListingOwner, state: sending ListingState) {
        self.key = key
        self.pages = pages
        self.owner = owner
        self.state = Mutex(state)
    }

    /// The entries known now, in order; an index once given keeps its entry.
    package var entries: [ListingEntry] {
        state.withLock { $0.table.entries }
    }

    /// How many entries are known now.
    package var count: Int {
        state.withLock { $0.table.entries.count }
    }

    /// The entry at an index, if known.
    package func entry(at index: Int) -> ListingEntry? {
        state.withLock { $0.table.entries.indices.contains(index) ? $0.table.entries[index] : nil }
    }

    /// Whether no further entry will come.
    package var isComplete: Bool {
        state.withLock { $0.paging.isComplete }
    }

    /// Whether this listing can never change again (a past day, complete): kernel and clients may cache it.
    package var isFrozen: Bool {
        Freshness.isFrozen(
            key, isComplete: isComplete, change: owner.source.description.calendar.change, newest: owner.newestPossible)
    }

    /// When its content last changed, in Unix seconds: the directory's modification time.
    ///
    /// A ranking changes when it is published, an author's works when one is uploaded; reading further pages changes neither.
    package var modified: Int64 {
        switch key {
        case .ranking(let mode, let day): owner.source.description.days(of: mode).published(day)
        case _ where key.listsAuthors: state.withLock { $0.fetched }
        default: state.withLock { $0.table.entries.first?.picture.uploaded ?? $0.fetched }
        }
    }

    /// The index of a name among the known entries, compared by bytes.
    ///
    /// Never waits.
    package func index(named name: [UInt8]) -> Int? {
        state.withLock { $0.table.position(of: name) }
    }

    /// The place of a picture, if it is among the known entries.
    package func index(of picture: PictureID) -> Int? {
        state.withLock { $0.table.position(of: picture) }
    }

    /// The size of an entry's picture in bytes, if known.
    ///
    /// Never waits.
    package func size(at index: Int) -> Int64? {
        state.withLock { state in
            guard state.table.sizes.indices.contains(index), state.table.sizes[index] > 0 else { return nil }
            return state.table.sizes[index]
        }
    }

    /// Finds out an entry's size: from the database, by HEAD, by a one-byte range; coalesced.
    ///
    /// - Parameters:
    ///   - index: The entry.
    ///   - wholeListing: A walk was recognised: ask for every entry's size at once.
    /// - Returns: The size in bytes.
    /// - Throws: `.sizeNotTold` if the host tells no length.
    package func resolveSize(at index: Int, wholeListing: Bool) async throws(CatalogError) -> Int64 {
        try await owner.resolveSize(in: self, at: index, wholeListing: wholeListing)
    }
}

/// What a listing needs from the catalog it belongs to.
protocol ListingOwner: AnyObject, Sendable {
    var view: ListingView { get }

    var source: any RankingSource { get }

    /// The newest day that a mode can have.
    func newestPossible(of mode: RankingMode) -> Day

    /// Asks for a page in the background and hands the outcome to `Listing.arrived`.
    ///
    /// - Parameters:
    ///   - page: Its number.
    ///   - listing: Whose.
    ///   - urgency: Tells when a person waits for it; nil if one does.
    func ask(page: Int, of listing: Listing, _ urgency: Urgency?)

    /// Stores what was appended, and learns the sizes of it that are known.
    func appended(_ write: ListingWrite, entries: [ListingEntry], to listing: Listing)

    func resolveSize(in listing: Listing, at index: Int, wholeListing: Bool) async throws(CatalogError) -> Int64
}

/// A listing's content and who waits for more of it.
struct ListingState: Sendable {
    struct Waiter: Sendable {
        /// The entry waited for.
        let index: Int
        /// Whether it is a person.
        let isPerson: Bool
        let continuation: CheckedContinuation<Result<[ListingEntry], CatalogError>, Never>
    }

    /// A waiter that waits no longer.
    struct Resumption: Sendable {
        let continuation: CheckedContinuation<Result<[ListingEntry], CatalogError>, Never>
        let outcome: Result<[ListingEntry], CatalogError>
    }

    /// What a page brought, to be handed on outside the lock.
    struct Handover: Sendable {
        /// Nil if there is nothing new to store.
        let write: ListingWrite?
        let entries: [ListingEntry]
        let resumptions: [Resumption]
    }

    var table: EntryTable
    var paging: Paging<PageContent>
    /// When the whole of it was last asked for, in Unix seconds.
    var fetched: Int64
    var waiters: [UInt64: Waiter] = [:]
    var lastWaiter: UInt64 = 0
    /// What is still to be handed on, in order.
    var handovers: [Handover] = []
    private var isHandingOver = false
    /// When a walk over all sizes was last seen, in Unix seconds; nil for never.
    var walked: Int64?
    /// How many entries the walk has asked the sizes of.
    var walkedCount = 0
    /// Of all that is asked for on nobody's behalf, until a person opens the listing; nil where nothing was since.
    private var unhurried: Urgency?
    /// The orders of the first so many entries; nil before anybody opened one.
    var orders: BrowsingOrders?

    init(table: EntryTable, paging: Paging<PageContent>, fetched: Int64) {
        self.table = table
        self.paging = paging
        self.fetched = fetched
    }

    /// What is raised when a person opens the listing.
    mutating func untilOpened() -> Urgency {
        let urgency = unhurried ?? Urgency()
        unhurried = urgency
        return urgency
    }

    /// A person opens the listing: what is to be raised.
    mutating func open() -> Urgency? {
        defer { unhurried = nil }
        return unhurried
    }

    /// Takes the next thing to hand on.
    ///
    /// - Parameter isOurs: Whether the caller has just handed on the one before.
    /// - Returns: Nil if there is none, or another thread is at it and will do it.
    mutating func takeHandover(isOurs: Bool) -> Handover? {
        guard isOurs || !isHandingOver else { return nil }
        isHandingOver = !handovers.isEmpty
        return isHandingOver ? handovers.removeFirst() : nil
    }
}
