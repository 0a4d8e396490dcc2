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

// MARK: - Reading

extension Listing {
    /// A person opens it: the pages and sizes that programs asked for, and that wait for their turn, go in a person's order.
    package func hurry() {
        state.withLock { $0.open() }?.raise()
    }

    /// Waits until the entry at `index` is there or the end is known, then returns all entries known.
    ///
    /// Asks for one page ahead; a reader that goes on behind the first page gets all remaining pages asked at once.
    package func entries(reaching index: Int) async throws(CatalogError) -> [ListingEntry] {
        let (entries, pages) = state.withLock { state -> ([ListingEntry]?, [Int]) in
            let known = state.table.entries.count
            let pages = state.paging.ask(reaching: index, known: known)
            return (index < known || state.paging.isComplete ? state.table.entries : nil, pages)
        }
        ask(pages)
        if !RequestUrgency.isBackground { hurry() }
        if let entries { return entries }
        let waiter = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                wait(for: index, as: waiter, continuation)
                // Cancelled before it waited: the handler below found nothing to remove.
                if Task.isCancelled { leave(waiter) }
            }
        } onCancel: {
            leave(waiter)
        }.get()
    }

    /// Asks for every page that the window allows, as for a reader behind the first: whoever walks over sizes wants all entries.
    func askAllPages() {
        ask(
            state.withLock { state in
                let known = state.table.entries.count
                return state.paging.ask(reaching: max(known, state.paging.window.perPage), known: known)
            })
    }

    /// The index of a name; asks for further pages while the name may still come (a rank behind the known ones).
    package func find(named name: [UInt8]) async throws(CatalogError) -> Int? {
        guard let number = Self.leadingNumber(of: name) else { return index(named: name) }
        while true {
            let (found, known, last, isComplete) = state.withLock { state in
                (
                    state.table.position(of: name), state.table.entries.count, state.table.entries.last,
                    state.paging.isComplete
                )
            }
            if let found { return found }
            guard !isComplete, pages.mayHold(number, after: last) else { return nil }
            _ = try await entries(reaching: known)
        }
    }

    /// The number that a name of an entry begins with, as in `001-Title.jpg`; nil for other names (`.hidden`, `desktop.ini`).
    static func leadingNumber(of name: [UInt8]) -> Int64? {
        let digits = name.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard !digits.isEmpty, name.dropFirst(digits.count).first == UInt8(ascii: "-") else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    // MARK: - Pages

    /// The outcome of a page that was asked for; `.noSuchListing` means that it lies behind the last one.
    func arrived(_ page: Int, _ outcome: Result<PageContent, CatalogError>) {
        let pages = state.withLock { state -> [Int] in
            let first = state.table.entries.count
            let (next, hadEverything) = (state.paging.next, state.paging.hasEverything)
            switch outcome {
            case .success(let content): state.paging.arrive(page, content, last: content.last)
            case .failure(.noSuchListing): state.paging.arrivePastTheEnd(page)
            case .failure(let error): state.paging.fail(page, error)
            }
            let rows = appendWhatCame(&state)
            // An end that is told by a page behind it is to be kept, too: else the listing ends nowhere after the next mount.
            let isNew = state.paging.next != next || state.paging.hasEverything != hadEverything
            state.handovers.append(
                ListingState.Handover(
                    write: isNew ? listingWrite(of: rows, in: state) : nil,
                    entries: Array(state.table.entries[first...]), resumptions: satisfied(&state)))
            return askForRest(&state)
        }
        handOver()
        ask(pages)
    }

    /// Hands on what pages brought, in the order in which they were appended, whichever thread is first.
    ///
    /// The header of an earlier page, written after that of the last one, would leave the stored listing without its end.
    private func handOver() {
        var isOurs = false
        while let handover = state.withLock({ $0.takeHandover(isOurs: isOurs) }) {
            isOurs = true
            // The rows are on their way to the database before anyone sees the entries, so that their records can be asked for.
            if let write = handover.write { owner.appended(write, entries: handover.entries, to: self) }
            for resumption in handover.resumptions { resumption.continuation.resume(returning: resumption.outcome) }
        }
    }

    /// The header as it is to be stored now.
    static func header(_ state: ListingState, pages: any ListingPages) -> ListingHeader {
        ListingHeader(
            isComplete: state.paging.hasEverything, nextPage: state.paging.next, lastPage: state.paging.last,
            entryCount: state.table.rowCount, fetched: state.fetched,
            remaining: pages.remaining(from: state.paging.next))
    }

    /// Appends the pages whose turn it is.
    private func appendWhatCame(_ state: inout ListingState) -> [ListingRow] {
        var rows: [ListingRow] = []
        while let (_, content) = state.paging.takeNext() {
            rows += state.table.append(
                content.pictures(in: owner.view.rendition, of: owner.source), of: key, view: owner.view)
        }
        return rows
    }

    /// The last rows, and what is known of the listing now, as they are to be stored.
    private func listingWrite(of rows: [ListingRow], in state: ListingState) -> ListingWrite {
        ListingWrite(
            key: key, firstPosition: state.table.rowCount - rows.count, rows: rows,
            header: Self.header(state, pages: pages))
    }

    /// The waiters that need wait no longer: their entry is there, the end is known, or the next page failed.
    private func satisfied(_ state: inout ListingState) -> [ListingState.Resumption] {
        let failure = state.paging.takeFailure()
        let (known, isComplete, entries) = (state.table.entries.count, state.paging.isComplete, state.table.entries)
        var resumptions: [ListingState.Resumption] = []
        for (id, waiter) in state.waiters {
            if waiter.index < known || isComplete {
                resumptions.append(.init(continuation: waiter.continuation, outcome: .success(entries)))
            } else if let failure {
                resumptions.append(.init(continuation: waiter.continuation, outcome: .failure(failure)))
            } else {
                continue
            }
            state.waiters[id] = nil
        }
        return resumptions
    }

    /// What those who still wait need beyond the pages under way.
    private func askForRest(_ state: inout ListingState) -> [Int] {
        guard let index = state.waiters.values.map(\.index).max() else { return [] }
        return state.paging.ask(reaching: index, known: state.table.entries.count)
    }

    /// Asks for pages: on a person's behalf if one waits for them, whoever it is whose page led to them.
    private func ask(_ pages: [Int]) {
        guard !pages.isEmpty else { return }
        let urgency = state.withLock { state in
            let isPersons = !RequestUrgency.isBackground || state.waiters.values.contains(where: \.isPerson)
            return isPersons ? nil : state.untilOpened()
        }
        RequestUrgency.$isBackground.withValue(urgency != nil) {
            for page in pages { owner.ask(page: page, of: self, urgency) }
        }
    }

    // MARK: - Waiters

    private func wait(
        for index: Int, as waiter: UInt64,
        _ continuation: CheckedContinuation<Result<[ListingEntry], CatalogError>, Never>
    ) {
        let (entries, pages) = state.withLock { state -> ([ListingEntry]?, [Int]) in
            let known = state.table.entries.count
            // The page may have come, or failed, since the first look.
            if index < known || state.paging.isComplete { return (state.table.entries, []) }
            state.waiters[waiter] = ListingState.Waiter(
                index: index, isPerson: !RequestUrgency.isBackground, continuation: continuation)
            return (nil, state.paging.ask(reaching: index, known: known))
        }
        if let entries { continuation.resume(returning: .success(entries)) }
        ask(pages)
        // A program may have asked for them since.
        if !RequestUrgency.isBackground { hurry() }
    }

    private func leave(_ waiter: UInt64) {
        let removed = state.withLock { $0.waiters.removeValue(forKey: waiter) }
        removed?.continuation.resume(returning: .failure(.cancelled))
    }
}

// MARK: - Sizes

extension Listing {
    /// How long after its last question a walk over all sizes is taken to go on, in seconds.
    static let walkSeconds: Int64 = 10

    /// Sets a size in bytes, or forgets it with 0, if the picture is here.
    func setSize(_ size: Int64, of picture: PictureID) {
        state.withLock { $0.table.setSize(size, of: picture) }
    }

    /// Sets a size in bytes that the image host told, unless one is known.
    ///
    /// - Returns: The size that holds.
    func learnSize(_ told: Int64, of picture: PictureID) -> Int64 {
        state.withLock { state in
            if let position = state.table.position(of: picture), state.table.sizes[position] > 0 {
                return state.table.sizes[position]
            }
            state.table.setSize(told, of: picture)
            return told
        }
    }

    /// Notes that somebody asks for size after size; returns the entries to ask for that the walk has not asked for yet.
    func continueWalk(now: Int64) -> [ListingEntry] {
        state.withLock { state in
            let goesOn = state.walked.map { Freshness.holds(since: $0, seconds: Self.walkSeconds, now: now) } ?? false
            if !goesOn { state.walkedCount = 0 }
            state.walked = now
            return Self.takeUnasked(&state)
        }
    }

    /// The entries that came since, if a walk is going on.
    func entriesForWalk(now: Int64) -> [ListingEntry] {
        state.withLock { state in
            guard let walked = state.walked, Freshness.holds(since: walked, seconds: Self.walkSeconds, now: now)
            else { return [] }
            return Self.takeUnasked(&state)
        }
    }

    private static func takeUnasked(_ state: inout ListingState) -> [ListingEntry] {
        let start = state.walkedCount
        state.walkedCount = state.table.entries.count
        return (start..<state.walkedCount).compactMap { position in
            let entry = state.table.entries[position]
            return state.table.sizes[position] == 0 && !entry.isWithheld && !entry.isHidden ? entry : nil
        }
    }
}
