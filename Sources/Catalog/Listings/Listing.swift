import HTTP
package import Rankings
internal import Synchronization

/// The entries of one directory: append-only, loaded page by page as it is read.
///
/// ## Concurrency
///
/// Any thread may call. `entries`, `isComplete`, `entry(at:)`, `index(named:)` and `size(at:)` only take a lock for
/// microseconds; they never wait. Waiters are resumed, and pages requested, outside the lock.
package final class Listing: Sendable {
    package let key: ListingKey
    /// The viewers to whom the service shows these entries.
    package let audience: AnswerAudience
    let pages: ListingPages
    let owner: any ListingOwner
    let state: Mutex<ListingState>
    /// The version of the program that could not decode some of the stored entries; nil if none is missing for that.
    private let unreadBy: String?

    init(
        _ key: StoredKey, pages: ListingPages, owner: any ListingOwner, state: sending ListingState,
        unreadBy: String? = nil
    ) {
        self.key = key.listing
        audience = key.audience
        self.pages = pages
        self.owner = owner
        self.state = Mutex(state)
        self.unreadBy = unreadBy
    }

    /// Whether another version of the program stored the listing and could not decode some entries, which this one may.
    var lacksEntries: Bool { unreadBy.map { $0 != owner.version } ?? false }

    /// The key in the catalog.
    var stored: StoredKey { StoredKey(listing: key, audience: audience) }

    /// The entries known now, in order; an index keeps its entry.
    package var entries: [ListingEntry] {
        state.withLock { $0.table.entries }
    }

    /// The number of entries known now.
    package var count: Int {
        state.withLock { $0.table.entries.count }
    }

    /// The entry at an index; nil if it is not known.
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
            key, isComplete: isComplete && !lacksEntries, change: owner.source.description.calendar.change,
            newest: owner.newestPossible)
    }

    /// The time of the last change of the content, in Unix seconds: the directory's modification time.
    ///
    /// A ranking changes when it is published, an author's works when a work is uploaded; reading further pages changes
    /// neither.
    package var modified: Int64 {
        if let (mode, day) = key.ranking { return owner.source.description.days(of: mode).published(day) }
        return state.withLock { state in
            key.listsNames ? state.fetched : state.table.entries.first?.picture.uploaded ?? state.fetched
        }
    }

    /// The index of a name among the known entries, compared by bytes.
    ///
    /// Never waits.
    package func index(named name: [UInt8]) -> Int? {
        state.withLock { $0.table.position(of: name) }
    }

    /// The index of a picture among the known entries.
    package func index(of picture: PictureID) -> Int? {
        state.withLock { $0.table.position(of: picture) }
    }

    /// The index of a work's page among the known entries, in whatever rendition and upload.
    func index(of work: WorkID, page: Int) -> Int? {
        state.withLock { state in
            state.table.entries.firstIndex { $0.picture.work == work && $0.picture.page == page }
        }
    }

    /// The size of an entry's picture in bytes; nil if it is not known.
    ///
    /// Never waits.
    package func size(at index: Int) -> Int64? {
        state.withLock { state in
            guard state.table.sizes.indices.contains(index), state.table.sizes[index] > 0 else { return nil }
            return state.table.sizes[index]
        }
    }
}

/// The services of a catalog that its listings need.
protocol ListingOwner: AnyObject, Sendable {
    var view: ListingView { get }

    var source: any RankingSource { get }

    /// The wall clock, in Unix seconds.
    var now: Int64 { get }

    /// The version of the program.
    var version: String { get }

    /// The newest day that a mode can have.
    func newestPossible(of mode: RankingMode) -> Day

    /// Requests a page in the background and passes the outcome to `Listing.arrived`.
    ///
    /// - Parameters:
    ///   - page: The number of the page.
    ///   - listing: The listing of the page.
    ///   - urgency: Raised when a reader waits for the page.
    func ask(page: Int, of listing: Listing, _ urgency: Urgency)

    /// Stores the appended rows and sets the known sizes of their entries.
    func appended(_ write: ListingWrite, entries: [ListingEntry], to listing: Listing)
}

/// A listing's content and the waiters for more of it.
struct ListingState: Sendable {
    typealias Outcome = Result<[ListingEntry], Failure>
    typealias Continuation = CheckedContinuation<Outcome, Never>

    /// A waiter for an entry: its index, and whether a user waits, and not a program in the background.
    typealias Waiter = (index: Int, isPerson: Bool, continuation: Continuation)

    /// The result of a page, to be handed on outside the lock: the change to store, nil for none, its entries, and the finished waiters
    /// with their outcomes.
    typealias Handover = (write: ListingWrite?, entries: [ListingEntry], resumed: [(Continuation, Outcome)])

    var table: EntryTable
    var paging: Paging
    /// The time of the last request for the whole listing, in Unix seconds.
    var fetched: Int64
    var waiters: [UInt64: Waiter] = [:]
    var lastWaiter: UInt64 = 0
    /// The results still to be handed on, in order.
    var handovers: [Handover] = []
    private var isHandingOver = false
    /// The time of the last step of a walk over all sizes, in Unix seconds; nil for never.
    var walked: Int64?
    /// The number of entries with sizes that the walk has requested.
    var walkedCount = 0
    /// Whether the walk has gone beyond its first step.
    var goesOn = false
    /// The time of the last request for one size that was no step of a walk, in Unix seconds.
    var glimpsed: Int64?
    /// The urgency of all background requests for sizes until a user opens the listing; nil if there were none since.
    fileprivate var unhurried: Urgency?
    /// The urgencies of the pages under way.
    var urgencies: [Int: Urgency] = [:]
    /// The reason why the service does not show the rest of a work or of an author, and the time of that answer, in Unix seconds: it is
    /// not requested again for a while.
    var unanswered: (failure: Failure, since: Int64)?
    /// The orders of a number of first entries; nil before they were first needed.
    var orders: BrowsingOrders?

    init(table: EntryTable, paging: Paging, fetched: Int64) {
        self.table = table
        self.paging = paging
        self.fetched = fetched
    }

    /// The urgency that is raised when a user opens the listing.
    mutating func untilOpened() -> Urgency {
        let urgency = unhurried ?? Urgency()
        unhurried = urgency
        return urgency
    }

    /// The urgency of the page that a program waits for, since pages are read in order, and the priority of the waiter.
    var awaited: (urgency: Urgency, priority: TransferPriority)? {
        guard !waiters.isEmpty, let urgency = urgencies[paging.next] else { return nil }
        return (urgency, waiters.values.contains(where: \.isPerson) ? .reader : .walk)
    }

    /// Takes the next result to hand on.
    ///
    /// - Parameter isOurs: Whether the caller has just handed on the previous result.
    /// - Returns: Nil if there is none, or if another thread is handing results on and will take it.
    mutating func takeHandover(isOurs: Bool) -> Handover? {
        guard isOurs || !isHandingOver else { return nil }
        isHandingOver = !handovers.isEmpty
        return isHandingOver ? handovers.removeFirst() : nil
    }
}

// MARK: - Reading

extension Listing {
    /// Records that a user opens the listing: waiting background requests for pages and sizes get a user's priority.
    package func hurry() {
        let (sizes, pages) = state.withLock { ($0.unhurried.take(), Array($0.urgencies.values)) }
        sizes?.raise()
        for urgency in pages { urgency.raise(to: .shown) }
    }

    /// Waits until the entry at `index` or the end is known, then returns all known entries.
    ///
    /// Requests one page ahead; for a reader that continues after the first page, requests several pages at once, as the window
    /// allows.
    package func entries(reaching index: Int) async throws(Failure) -> [ListingEntry] {
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

    /// Requests every page that the window allows, as for a reader after the first page: a walk over sizes needs all entries.
    func askAllPages() {
        ask(state.withLock { wanted(reaching: max($0.table.entries.count, $0.paging.window.perPage), &$0) })
    }

    /// The index of a name; requests further pages while the name may still come (a rank after the known ones).
    package func find(named name: [UInt8]) async throws(Failure) -> Int? {
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

    /// The number at the beginning of an entry's name, as in `001-Title.jpg`; nil for other names (`.hidden`, `desktop.ini`).
    static func leadingNumber(of name: [UInt8]) -> Int64? {
        let digits = name.prefix(while: \.isDigit)
        guard !digits.isEmpty, name.dropFirst(digits.count).first == UInt8(ascii: "-") else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    // MARK: - Pages

    /// Takes the outcome of a requested page; a day that disappears keeps its listed entries.
    func arrived(_ page: Int, _ outcome: Result<PageContent, Failure>) {
        let pages = state.withLock { state -> [Int] in
            let first = state.table.entries.count
            state.urgencies[page] = nil
            let (next, hadEverything) = (state.paging.next, state.paging.hasEverything)
            state.paging.arrive(page, outcome)
            let rows = appendWhatCame(&state)
            // An end reported by a page after it must be stored, too; otherwise the listing has no end after the next mount.
            let isNew = state.paging.next != next || state.paging.hasEverything != hadEverything
            state.handovers.append(
                (
                    isNew ? write(of: rows, in: state) : nil, Array(state.table.entries[first...]), satisfied(&state)
                ))
            // The remaining waiters may need more than what is under way.
            guard let index = state.waiters.values.map(\.index).max() else { return [] }
            return wanted(reaching: index, &state)
        }
        handOver()
        ask(pages)
    }

    /// Hands on the results of pages in the order in which they were appended, on the first thread that gets to it.
    ///
    /// The header of an earlier page, written after that of the last one, would leave the stored listing without its end.
    private func handOver() {
        var isOurs = false
        while let handover = state.withLock({ $0.takeHandover(isOurs: isOurs) }) {
            isOurs = true
            // The rows are on their way to the database before any reader sees the entries, so that their records can be read.
            if let write = handover.write { owner.appended(write, entries: handover.entries, to: self) }
            for (waiter, outcome) in handover.resumed { waiter.resume(returning: outcome) }
        }
    }

    /// Appends the arrived pages that are next in order.
    private func appendWhatCame(_ state: inout ListingState) -> [ListingRow] {
        var rows: [ListingRow] = []
        while let content = state.paging.takeNext(isEmpty: state.table.rowCount == 0, row: state.table.row) {
            if key.ranking == nil {
                let most = state.paging.window.perPage * state.paging.window.lastPage
                state.table.widen(to: max(min(content.total ?? 0, most), content.works.first?.rank ?? 0))
            }
            rows += state.table.append(content.pictures, of: key, view: owner.view)
        }
        return rows
    }

    /// The last rows and the present header of the listing, as a change of the database.
    ///
    /// - Parameters:
    ///   - rows: The rows; none for a header alone.
    ///   - replaces: Whether the rows stored before are deleted first.
    ///   - state: The state of the listing.
    /// - Returns: The change.
    func write(of rows: [ListingRow], replaces: Bool = false, in state: ListingState) -> ListingWrite {
        // An end that contradicts the pages before is not kept: the next mount asks for the next one once more.
        let (next, isDoubtful) = (state.paging.next, state.paging.isDoubtful)
        let header = ListingHeader(
            isComplete: state.paging.hasEverything && !isDoubtful, nextPage: next,
            lastPage: isDoubtful ? next : state.paging.last, entryCount: state.table.rowCount, fetched: state.fetched,
            remaining: pages.remaining(from: next),
            unreadBy: unreadBy ?? (key.ranking != nil && state.paging.lacksEntries ? owner.version : nil))
        return ListingWrite(
            key: stored, replaces: replaces, firstPosition: state.table.rowCount - rows.count, rows: rows,
            header: header)
    }

    /// The waiters that are finished: their entry is there, the end is known, or the next page failed.
    private func satisfied(_ state: inout ListingState) -> [(ListingState.Continuation, ListingState.Outcome)] {
        let failure = state.paging.takeFailure()
        if let failure, pages.lackRecords(failure) { state.unanswered = (failure, owner.now) }
        let (known, isComplete, entries) = (state.table.entries.count, state.paging.isComplete, state.table.entries)
        var resumed: [(ListingState.Continuation, ListingState.Outcome)] = []
        for (id, waiter) in state.waiters {
            if waiter.index < known || isComplete {
                resumed.append((waiter.continuation, .success(entries)))
            } else if let failure {
                resumed.append((waiter.continuation, .failure(failure)))
            } else {
                continue
            }
            state.waiters[id] = nil
        }
        return resumed
    }

    /// The pages to request for an entry, marked as requested.
    private func wanted(reaching index: Int, _ state: inout ListingState) -> [Int] {
        pause(of: state) == nil ? state.paging.ask(reaching: index, known: state.table.entries.count) : []
    }

    /// The reason why no page is requested now; nil without one.
    private func pause(of state: ListingState) -> Failure? {
        state.unanswered.flatMap { unanswered in
            Freshness.holds(since: unanswered.since, seconds: Freshness.failedSeconds, now: owner.now)
                ? unanswered.failure : nil
        }
    }

    /// Requests pages: for a user if one waits for them, even where a background page led to the request.
    ///
    /// The next page gets the priority of its waiter.
    private func ask(_ pages: [Int]) {
        let (isPersons, urgencies) = state.withLock { state in
            let isPersons = !RequestUrgency.isBackground || state.waiters.values.contains(where: \.isPerson)
            let urgencies = pages.map { _ in Urgency(isPersons ? .shown : .preload) }
            for (page, urgency) in zip(pages, urgencies) { state.urgencies[page] = urgency }
            return (isPersons, urgencies)
        }
        RequestUrgency.$isBackground.withValue(!isPersons) {
            for (page, urgency) in zip(pages, urgencies) { owner.ask(page: page, of: self, urgency) }
        }
        if let (urgency, priority) = state.withLock({ $0.awaited }) { urgency.raise(to: priority) }
    }

    // MARK: - Waiters

    private func wait(
        for index: Int, as waiter: UInt64, _ continuation: ListingState.Continuation
    ) {
        let (outcome, pages) = state.withLock { state -> (ListingState.Outcome?, [Int]) in
            let pages = wanted(reaching: index, &state)
            if index < state.table.entries.count || state.paging.isComplete {
                return (.success(state.table.entries), pages)
            }
            if let failure = pause(of: state) { return (.failure(failure), []) }
            state.waiters[waiter] = (index, !RequestUrgency.isBackground, continuation)
            return (nil, pages)
        }
        if let outcome { continuation.resume(returning: outcome) }
        ask(pages)
        // A program may have requested the pages in the background since.
        if !RequestUrgency.isBackground { hurry() }
    }

    private func leave(_ waiter: UInt64) {
        let removed = state.withLock { $0.waiters.removeValue(forKey: waiter) }
        removed?.continuation.resume(returning: .failure(.cancelled))
    }
}

// MARK: - Sizes

extension Listing {
    /// The seconds after its last request for which a walk over all sizes is assumed to continue.
    static let walkSeconds: Int64 = 10
    /// The entries of which the first step of a walk requests the sizes: as many as begin a burst at a host.
    static let walkBeginning = 4

    /// Sets a size in bytes, or forgets it with 0, if the picture is here; returns whether it is.
    @discardableResult
    func setSize(_ size: Int64, of picture: PictureID) -> Bool {
        state.withLock { $0.table.setSize(size, of: picture) }
    }

    /// Sets a size in bytes that the image host declared, unless another size is known.
    ///
    /// - Returns: The valid size.
    func learnSize(_ told: Int64, of picture: PictureID) -> Int64 {
        state.withLock { state in
            if let position = state.table.position(of: picture), state.table.sizes[position] > 0 {
                return state.table.sizes[position]
            }
            state.table.setSize(told, of: picture)
            return told
        }
    }

    /// Records a step of a walk over sizes; returns the entries with sizes that the walk has not requested yet.
    ///
    /// The first step returns a few: a copy opens the first picture once it has its size, which ends the walk. A step right after
    /// another request for a size is not the first one.
    func continueWalk(now: Int64) -> [ListingEntry] {
        state.withLock { state in
            func isRecent(_ time: Int64?) -> Bool {
                time.map { Freshness.holds(since: $0, seconds: Self.walkSeconds, now: now) } ?? false
            }
            if !isRecent(state.walked) { state.walkedCount = 0 }
            state.goesOn = isRecent(state.walked) || isRecent(state.glimpsed)
            state.walked = now
            return Self.takeUnasked(&state)
        }
    }

    /// The entries that arrived since, if a walk is under way.
    func entriesForWalk(now: Int64) -> [ListingEntry] {
        state.withLock { state in
            guard let walked = state.walked, Freshness.holds(since: walked, seconds: Self.walkSeconds, now: now)
            else { return [] }
            return Self.takeUnasked(&state)
        }
    }

    /// Whether a walk over sizes has begun and was not ended.
    var isWalked: Bool { state.withLock { $0.walked != nil } }

    /// Records the end of a walk; returns the entries with sizes that it has requested and that are still unknown.
    func endedWalk() -> [ListingEntry] {
        state.withLock { state in
            guard state.walked != nil else { return [] }
            state.walked = nil
            return Self.unknown(0..<state.walkedCount, in: state.table)
        }
    }

    private static func takeUnasked(_ state: inout ListingState) -> [ListingEntry] {
        let start = state.walkedCount
        let count = state.table.entries.count
        state.walkedCount = state.goesOn ? count : min(count, max(start, Self.walkBeginning))
        return unknown(start..<state.walkedCount, in: state.table)
    }

    private static func unknown(_ positions: Range<Int>, in table: EntryTable) -> [ListingEntry] {
        positions.compactMap { position in
            let entry = table.entries[position]
            return table.sizes[position] == 0 && !entry.isWithheld && !entry.isHidden ? entry : nil
        }
    }
}
