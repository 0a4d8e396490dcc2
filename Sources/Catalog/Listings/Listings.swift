import HTTP
package import Rankings
import System
internal import Synchronization

/// The listings of a catalog: in memory, stored, refused by the service, or still to be requested.
///
/// Opening a listing, and comparing one with the service's, are in extensions below.
///
/// ## Concurrency
///
/// Any thread may call. Methods that are not `async` never wait and never send a request.
package final class Listings: Sendable {
    let context: CatalogContext
    let memory: LoadedListings
    let told: ToldDays
    let sizes: Sizes
    let pageFactory: PageFactory
    let flights = SharedTasks<StoredKey, Listing>()
    /// Listings that the service does not have.
    let refused = Pauses<StoredKey>(seconds: Freshness.refusalSeconds)
    /// Listings that could not be requested, or compared with the service's, while something stored can be shown.
    let unanswered = Pauses<StoredKey>(seconds: Freshness.lateSeconds)
    /// Listings with an unfinished rereading, because the service stopped answering.
    let unfinished = Pauses<StoredKey>(seconds: Freshness.unfinishedSeconds)
    /// Ends of lists that contradict what is stored, each with the number of its pages and the time at which it was first found.
    let doubtedEnds = Mutex<[StoredKey: (pages: Int, since: Int64)]>([:])
    /// Works whose records were requested because their pictures are gone.
    let renewals = Pauses<WorkID>(seconds: Freshness.renewalSeconds)
    /// Listings that are being reread.
    let rereading = Mutex<Set<StoredKey>>([])
    /// The sign-in state when a listing was last chosen for the present viewer.
    private let viewer = Mutex(SignIn.signedOut)

    init(_ context: CatalogContext, memory: LoadedListings, told: ToldDays, sizes: Sizes, pages: PageFactory) {
        self.context = context
        self.memory = memory
        self.told = told
        self.sizes = sizes
        pageFactory = pages
    }

    /// The choice and form of the works that listings show.
    package var view: ListingView { context.view }

    /// The listing, if it is in memory and need not be compared with the service's.
    package func loaded(_ key: ListingKey) -> Listing? { loaded(current(key)) }

    /// The listing as `loaded` last found it, without a look at the session's file: the user may have signed in or out since.
    ///
    /// For names, of which programs look up one after the other; a name that is shown is the same picture for every viewer.
    package func shown(_ key: ListingKey) -> Listing? { loaded(lastShown(key)) }

    /// The listing, if it is in memory, however old.
    package func remembered(_ key: ListingKey) -> Listing? { memory[current(key)] }

    private func loaded(_ own: StoredKey) -> Listing? {
        if let listing = memory[own] { return needsRefresh(listing) ? nil : listing }
        guard unanswered.holds(own, now: context.now) else { return nil }
        return substitutes(for: own).lazy.compactMap { self.memory[$0] }.first
    }

    /// The key of a listing for the present viewer: what the service shows now; once a session has expired, what was stored for it.
    private func current(_ key: ListingKey) -> StoredKey {
        let signIn = source.signIn
        viewer.withLock { $0 = signIn }
        return current(key, signIn)
    }

    /// The key of a listing for the viewer of the last listing that was opened.
    private func lastShown(_ key: ListingKey) -> StoredKey { current(key, viewer.withLock { $0 }) }

    private func current(_ key: ListingKey, _ signIn: SignIn) -> StoredKey {
        let key = StoredKey(listing: key, audience: context.audience(of: key, signIn))
        guard case .expired(let user) = signIn else { return key }
        let own = StoredKey(listing: key.listing, audience: .user(user))
        return memory[own] != nil || context.stored.contains(own) ? own : key
    }

    /// The stored listings of other viewers, which are shown where the service shows nothing; what everybody sees comes first.
    private func substitutes(for key: StoredKey) -> [StoredKey] {
        // Rows of new listings are still on their way to the database.
        let loaded = memory.all.filter { $0.key == key.listing }.map(\.audience)
        return context.stored.audiences(of: key.listing).union(loaded).filter { $0 != key.audience }
            .sorted { one, _ in one == .everybody }
            .map { StoredKey(listing: key.listing, audience: $0) }
    }

    /// Whether a listing surely does not exist (bad day, remembered refusal), for a sign-in state if it has just been read.
    package func isKnownAbsent(_ key: ListingKey, for signIn: SignIn? = nil) -> Bool {
        // A listing that was once stored is served, whatever the clock or the service says now.
        if isStored(key) { return false }
        return Freshness.isImpossible(key, days: told.days, newest: told.newestPossible)
            || refused.holds(signIn.map { current(key, $0) } ?? current(key), now: context.now)
    }

    /// Whether a listing is loaded, stored or on its way to the database, so that it opens where the service does not answer.
    package func isStored(_ key: ListingKey) -> Bool {
        !context.stored.audiences(of: key).isEmpty || memory[lastShown(key)] != nil
    }

    /// The listings that are stored or loaded, of any kind.
    package var keys: Set<ListingKey> {
        // Rows of new listings are still on their way to the database.
        context.stored.listings.union(memory.all.map(\.key))
    }

    /// The time of the last change of the set of a kind's stored listings, in Unix seconds; nil without listings of the kind.
    package func changed(_ kind: ListingKind) -> Int64? { context.stored.changed(kind) }

    /// The listings that are stored, loaded or being requested: the listings that a directory shows.
    ///
    /// A directory is listed from the moment at which it is opened, not only after the service has answered: file managers
    /// compare the directory above meanwhile, and treat directories that are missing there as deleted.
    package var opened: Set<ListingKey> { keys.union(flights.keys.map(\.listing)) }

    /// The place of a picture in a stored directory; sends no request to the service.
    ///
    /// - Parameters:
    ///   - picture: The picture.
    ///   - accepts: Whether a place is acceptable; called without a lock.
    /// - Returns: Nil if no stored directory lists the picture at an acceptable place.
    package func place(
        of picture: PictureID, where accepts: @Sendable (Listing, Int) -> Bool
    ) async -> (listing: Listing, index: Int)? {
        for key in await listings(of: picture.work) {
            guard let listing = await stored(key) else { continue }
            guard let index = listing.index(of: picture) else { continue }
            if accepts(listing, index) { return (listing, index) }
        }
        return nil
    }

    /// The whole record of an entry, from the database.
    package func record(of entry: ListingEntry, in listing: Listing) async throws(Failure) -> ListedWork {
        await context.outbox.flush()
        if let record = context.outbox.unstoredRecord(of: entry, in: listing.stored) { return record }
        do throws(DatabaseError) {
            let found = try await context.store.read { [key = listing.stored, view] connection throws(DatabaseError) in
                try Rows.record(of: entry, in: key, StoredVariant(view), connection)
            }
            if let found { return found }
        } catch { throw .database(error.description) }
        throw .database("the record of work \(entry.picture.work.rawValue) is not stored; refresh the listing")
    }

    /// Drops a listing from memory and the database; the next access sends a request to the service.
    ///
    /// - Returns: Whether it was known.
    @discardableResult
    package func forget(_ key: ListingKey) -> Bool {
        let isKnown = isStored(key)
        let own = current(key)
        for key in [own] + substitutes(for: own) {
            endPauses(of: key)
            context.stored.forget(key, now: now)
            memory.remove(key)
            context.outbox.add([.forget(key)])
        }
        return isKnown
    }

    private func endPauses(of key: StoredKey) {
        refused.end(key)
        unanswered.end(key)
        unfinished.end(key)
    }

    /// Drops listings without references from memory, as requested by SIGHUP.
    package func drop() { memory.drop() }
}

// MARK: - Opening

extension Listings {
    /// The listing from memory or the database, or a new one that requests its pages as it is read.
    ///
    /// Days that cannot exist throw `.absent` without a request; so do, for minutes, days that the service did not have.
    /// A new listing is returned only after its first page has arrived: an unknown author or an unpublished day throws.
    package func open(_ key: ListingKey) async throws(Failure) -> Listing {
        if let listing = loaded(key) { return listing }
        if isKnownAbsent(key) { throw .absent }
        let own = current(key)
        do throws(Failure) {
            return try await flights.value(for: own) { [self] in
                do throws(Failure) {
                    return .success(try await find(own))
                } catch {
                    if error == .absent { refused.begin(own, now: now) }
                    return .failure(error)
                }
            }
        } catch {
            // The session has turned out to be over: everybody's view is another listing.
            guard error == .needsSignIn, current(key) != own else { throw error }
            return try await open(key)
        }
    }

    /// The listing from memory or the database, however old it is, and shown to any viewer if the present one has none.
    ///
    /// Never sends a request to the service.
    package func stored(_ key: ListingKey) async -> Listing? {
        let own = current(key)
        if let listing = await stored(own) { return listing }
        return await substitute(for: own)
    }

    private func substitute(for key: StoredKey) async -> Listing? {
        for other in substitutes(for: key) {
            if let listing = await stored(other) { return listing }
        }
        return nil
    }

    private func stored(_ key: StoredKey) async -> Listing? {
        if let listing = memory[key] { return listing }
        // A listing with rows on their way to the database enters the set only after they are written.
        guard context.stored.contains(key) else { return nil }
        let found: StoredListing?
        do throws(DatabaseError) {
            found = try await context.store.read { [view] connection throws(DatabaseError) in
                try Rows.listing(key, view: view, in: connection)
            }
        } catch { return nil }
        guard let stored = found else {
            context.stored.remove(key, now: now)
            return nil
        }
        let header = stored.header
        let pages = pageFactory.pages(of: key.listing, works: header.remaining)
        // Pages of an indexed listing are renumbered over the works that remain.
        let (next, last): (Int, Int?) =
            key.listing.kind.facts.isIndexed
            ? (1, pages.pageCount)
            : (header.nextPage, header.isComplete ? header.nextPage - 1 : header.lastPage)
        let listing = Listing(
            key, pages: pages, owner: self,
            state: ListingState(
                table: EntryTable(rows: stored.rows),
                paging: pages.paging(from: next, last: last), fetched: header.fetched),
            unreadBy: header.unreadBy)
        let kept = memory.add(listing)
        // Rows contain the sizes of first pages only.
        let further = kept.entries.filter { $0.picture.page > 0 }
        if !key.listing.isWork, !further.isEmpty { await sizes.learnStored(of: further, in: kept) }
        return kept
    }

    /// Keeps the page that came with the newest day as that day's first page, so that it is not requested again.
    func adopt(_ page: ListingPage, of mode: RankingMode, _ day: Day) async {
        let key = current(.ranking(mode, day))
        refused.end(key)
        // The day may be opened meanwhile.
        guard !has(key), let (pages, first) = await pageFactory.pages(beginningWith: page, of: mode, day), !has(key)
        else { return }
        _ = begin(key, pages, first: first)
    }

    private func has(_ key: StoredKey) -> Bool { memory[key] != nil || context.stored.contains(key) }

    // MARK: -

    private func find(_ key: StoredKey) async throws(Failure) -> Listing {
        guard let listing = await stored(key) else {
            guard let other = await substitute(for: key) else { return try await begin(key) }
            if unanswered.holds(key, now: now) { return other }
            do throws(Failure) {
                return try await begin(key, isComparison: true)
            } catch {
                // The service has answered this reader: what an account saw is no substitute.
                let isAnswered =
                    switch error {
                    case .needsSignIn, .withheld, .absent: true
                    default: false
                    }
                if isAnswered, other.audience != .everybody { throw error }
                unanswered.begin(key, after: error, now: now)
                return other
            }
        }
        guard needsRefresh(listing) else { return listing }
        do throws(Failure) {
            // What other machines stored on the tier lacks the same entries.
            let renewal = listing.lacksEntries ? context.configuration.time.now() : nil
            return try await RequestUrgency.$renewal.withValue(renewal) {
                await Result { () async throws(Failure) in try await refreshed(listing) }
            }.get()
        } catch {
            // The stored listing serves for as long as the service does not answer or no longer has it.
            unanswered.begin(key, after: error, now: now)
            return listing
        }
    }

    /// Requests the first page of a listing that is neither loaded nor stored; with a shorter time limit (`isComparison`) where
    /// something stored for other viewers can be shown instead.
    private func begin(_ key: StoredKey, isComparison: Bool = false) async throws(Failure) -> Listing {
        let listing = key.listing
        do throws(Failure) {
            if let mode = listing.mode, !source.has(mode) {
                throw source.description.needsSignIn(mode) ? .needsSignIn : .notFound
            }
            let isIndexed = listing.kind.facts.isIndexed
            var pages = try await pages(of: listing, isComparison: isComparison)
            var first: PageContent?
            if !isIndexed || !pages.works.isEmpty { first = try await pages.page(1) }
            if let page = first, !isIndexed, page.works.isEmpty, page.last == 1 { first = nil }
            pages.isComparison = false
            return begin(key, pages, first: first)
        } catch {
            // What another listing names has works, of which this reader is shown none.
            guard error == .absent, let (outer, name) = listing.outer,
                await stored(outer)?.index(named: Array(name.utf8)) != nil
            else { throw error.ofListing }
            throw .withheld("none is shown")
        }
    }

    /// The pages of a listing; of an indexed one, those of the works that the first answer names, each once.
    private func pages(of key: ListingKey, isComparison: Bool) async throws(Failure) -> ListingPages {
        var pages = pageFactory.pages(of: key, isComparison: isComparison)
        guard key.kind.facts.isIndexed else { return pages }
        let page = try await source.page(of: key, 1, deadline: context.deadline(isComparison: isComparison))
        reportUnreadable(page.unreadable, key, page: 1)
        pages.works = (page.works.map(\.id) + (page.further ?? [])).uniqued(by: \.self)
        pages.known = Dictionary(page.entries.map { ($0.work.id, $0) }) { first, _ in first }
        return pages
    }

    /// Creates a listing from its first page; from none if it is empty.
    private func begin(_ key: StoredKey, _ pages: ListingPages, first: PageContent?) -> Listing {
        let listing = Listing(
            key, pages: pages, owner: self,
            state: ListingState(
                table: EntryTable(), paging: pages.paging(last: first == nil ? 0 : nil), fetched: now))
        let kept = memory.add(listing)
        guard kept === listing else { return kept }
        if let first {
            reportUnreadable(first.unreadable, key.listing, page: 1)
            listing.arrived(1, .success(first))
        } else {
            let write = listing.state.withLock { listing.write(of: [], in: $0) }
            context.outbox.add([.listing(write)])
        }
        return listing
    }
}

// MARK: - Refresh

extension Listings {
    /// Whether a listing is to be compared with the service's before it is shown.
    func needsRefresh(_ listing: Listing) -> Bool {
        let lacksEntries = listing.lacksEntries
        if !lacksEntries, let mode = listing.key.mode, told.days(of: mode).change == .never { return false }
        let (fetched, isEmpty) = listing.state.withLock { ($0.fetched, $0.table.rowCount == 0) }
        let now = now
        let isStale =
            lacksEntries
            || Freshness.needsRefresh(listing.key, isEmpty: isEmpty, fetched: fetched, days: told.days, now: now)
        return isStale && !unanswered.holds(listing.stored, now: now) && !unfinished.holds(listing.stored, now: now)
            && !rereading.withLock { $0.contains(listing.stored) }
            // Answers for other viewers would be mixed with it.
            && listing.audience == context.audience(of: listing.key)
    }

    /// The listing with new entries at the front: another object if there are any, since positions never change.
    ///
    /// Vanished works stay, as the pictures do: a withdrawal by the service does not delete stored data.
    ///
    /// - Parameters:
    ///   - listing: The present listing.
    ///   - isRequested: Whether a user requested this and waits for all of it.
    /// - Returns: The listing to show.
    /// - Throws: The error of the service.
    func refreshed(_ listing: Listing, isRequested: Bool = false) async throws(Failure) -> Listing {
        let facts = listing.key.kind.facts
        if !facts.isReplaced {
            if facts.isIndexed { return try await refreshedIndex(listing, isRequested) }
            if !isRequested || listing.key.isWork { return try await refreshedFirstPage(listing) }
        }
        var front = FirstPages(of: try await pages(of: listing.key, isComparison: !isRequested))
        reportUnreadable(try await front.readOn(), listing.key, page: 1)
        front.source.isComparison = false
        return try await readAnew(listing, front, isRequested)
    }

    /// Requests a listing from the service now, however fresh it is, as far as it was read; of an author, what is not listed.
    ///
    /// - Throws: The error of the service; the stored listing stays in that case.
    package func refresh(_ key: ListingKey) async throws(Failure) {
        endPauses(of: current(key))
        let began = context.configuration.time.now()
        try await RequestUrgency.$renewal.withValue(began) {
            await Result { () async throws(Failure) in try await askAnew(key) }
        }.get()
    }

    private func askAnew(_ key: ListingKey) async throws(Failure) {
        guard let listing = await stored(current(key)) else {
            _ = try await open(key)
            return
        }
        // What an expired session was shown stays as it is until the user signs in again.
        guard listing.audience == context.audience(of: key) else { throw .needsSignIn }
        if key.isWork { context.outbox.add([.noText(.details(key.work))]) }
        do throws(Failure) { _ = try await refreshed(listing, isRequested: true) } catch { throw error.ofListing }
    }

    private func refreshedIndex(_ listing: Listing, _ isRequested: Bool) async throws(Failure) -> Listing {
        var newPages = try await pages(of: listing.key, isComparison: true)
        let works = newPages.works
        let (table, awaited) = listing.state.withLock { state in
            (state.table, Set(listing.pages.remaining(from: state.paging.next)))
        }
        let new = works.filter { table.position(of: $0) == nil && !awaited.contains($0) }
        // Only its record shows whether a withheld work is shown by now: one request is sent for them, and for new works.
        newPages.works = new + works.filter(table.withholds).prefix(max(0, newPages.window.perPage - new.count))
        guard newPages.pageCount > 1 else {
            return try await joined(listing, newPages, hasNew: !new.isEmpty, present: works)
        }
        newPages.isComparison = false
        return try await anew(listing, isRequested) { [self, newPages] () async throws(Failure) in
            try await joined(listing, newPages, hasNew: true, present: works)
        }
    }

    /// An author's works with all of these pages before them, and uncovered works in their places.
    private func joined(
        _ listing: Listing, _ newPages: ListingPages, hasNew: Bool, present: [WorkID]
    ) async throws(Failure) -> Listing {
        var pictures: [ListedPicture] = []
        for page in 1..<newPages.pageCount + 1 { pictures += try await newPages.page(page).pictures }
        let (table, remaining) = listing.state.withLock { state in
            (state.table, listing.pages.remaining(from: state.paging.next))
        }
        guard hasNew || !table.uncovered(by: pictures).isEmpty else { return touch(listing) }
        let pages = pageFactory.pages(of: listing.key, works: remaining.filter(Set(present).contains))
        return replace(listing, pictures, before: table, pages, pages.paging(last: pages.pageCount))
    }

    /// Compares pages up to the first known entry, and puts new entries in front.
    ///
    /// A list whose numbers in a series have changed, or with more new pages than a visitor can wait for, is reread.
    private func refreshedFirstPage(_ listing: Listing) async throws(Failure) -> Listing {
        let (table, paging) = listing.state.withLock { ($0.table, $0.paging) }
        var front = FirstPages(of: pageFactory.pages(of: listing.key, isComparison: true))
        let deadline = context.deadline(isComparison: true)
        repeat {
            do throws(Failure) {
                let unreadable = try await front.readOn()
                reportUnreadable(unreadable, listing.key, page: front.count)
            } catch {
                // What has come is read on in the background.
                guard front.count > 0, error != .cancelled else { throw error }
                break
            }
        } while front.count < FirstPages.mostAwaited && !front.paging.hasEverything && table.rowCount > 0
            && !front.reaches(table) && context.configuration.time.now() < deadline
        front.source.isComparison = false
        if listing.key.isWork {
            // A work that was uploaded again keeps its entry, as in an author's listing; two entries would have the same name.
            let isNew = front.pictures.contains { table.position(of: $0.id) == nil }
            guard isNew || !table.uncovered(by: front.pictures).isEmpty else { return touch(listing) }
            return replace(listing, front.pictures, before: EntryTable(), front.source, front.paging)
        }
        let new = front.pictures.count { table.position(of: $0.listed.work.id) == nil }
        let isRenumbered = listing.key.kind.facts.order == .lastFirst && table.isRenumbered(by: front.pictures)
        let isFar = !front.reaches(table) && table.rowCount > 0 && !front.paging.hasEverything
        if isRenumbered || isFar { return try await readAnew(listing, front, false) }
        try confirmEnd(of: front, listing)
        let hasNew = new > 0 || !table.uncovered(by: front.pictures).isEmpty
        let shown = hasNew ? joined(listing, front) : touch(listing)
        let hasLost = listing.key.listsNames && paging.hasEverything && table.entries.count + new > front.total ?? .max
        return hasLost ? try await readAnew(shown, front, false) : shown
    }

    /// The list with what is new before what it has, and uncovered works in their places.
    private func joined(_ listing: Listing, _ front: FirstPages) -> Listing {
        let (table, paging) = listing.state.withLock { ($0.table, $0.paging) }
        var after = front.paging
        if front.reaches(table) {
            let new = front.pictures.count { table.position(of: $0.listed.work.id) == nil }
            after = front.source.paging(
                from: paging.next + (paging.isComplete ? 0 : front.shift(by: new)),
                last: paging.isComplete ? paging.next - 1 : after.last)
        }
        return replace(listing, front.pictures, before: table, front.source, after)
    }

    /// Rereads a list as far as it was read before, in the background unless a user waits for it, and replaces the old list once all
    /// of that has arrived.
    ///
    /// Vanished authors are no longer followed, a snapshot is another one, and numbers in a pool or a series are given to other
    /// works; works that vanished from a day stay, after the others. Of other lists all works stay, and only what is new is read,
    /// unless a user waits.
    ///
    /// - Returns: The present list; the new one if a user waited for it.
    private func readAnew(
        _ listing: Listing, _ front: FirstPages, _ isRequested: Bool
    ) async throws(Failure) -> Listing {
        try await anew(listing, isRequested) { [self] () async throws(Failure) in
            try await readOn(listing, front, isRequested: isRequested)
        }
    }

    /// Reads a new list, in the background unless a user waits for it.
    private func anew(
        _ listing: Listing, _ isRequested: Bool, _ read: @escaping @Sendable () async throws(Failure) -> Listing
    ) async throws(Failure) -> Listing {
        if isRequested { return try await read() }
        guard rereading.withLock({ $0.insert(listing.stored).inserted }) else { return listing }
        context.background.run { [self] in
            // A rereading has no waiter: a long one must leave the service to requests with waiters.
            await RequestUrgency.$isBackground.withValue(true) {
                do throws(Failure) { _ = try await read() } catch {
                    let facts = listing.key.kind.facts
                    let isWhole = facts.isReplaced && facts.freshness != .minutes || facts.order == .lastFirst
                    // Another rereading would begin with the first of many pages again.
                    if isWhole {
                        unfinished.begin(listing.stored, after: error, now: now)
                    } else {
                        unanswered.begin(listing.stored, after: error, now: now)
                    }
                }
            }
            rereading.withLock { _ = $0.remove(listing.stored) }
        }
        return listing
    }

    private func readOn(
        _ listing: Listing, _ front: FirstPages, isRequested: Bool
    ) async throws(Failure) -> Listing {
        let facts = listing.key.kind.facts
        let (table, hasEverything) = listing.state.withLock { ($0.table, $0.paging.hasEverything) }
        let isJoined = !facts.isReplaced && !listing.key.listsNames && facts.order != .lastFirst
        let isNewAlone = isJoined && !isRequested
        let rows = isNewAlone || hasEverything ? .max : table.rowCount
        var front = front
        while front.pictures.count < rows, !(isNewAlone && front.reaches(table)), !front.paging.isComplete {
            reportUnreadable(try await front.readOn(), listing.key, page: front.count)
        }
        try confirmEnd(of: front, listing)
        if isNewAlone { return joined(listing, front) }
        if isJoined {
            let table = listing.state.withLock { $0.table }
            let isSame = front.pictures.allSatisfy { table.position(of: $0.listed.work.id) != nil }
            if isSame, hasEverything, table.uncovered(by: front.pictures).isEmpty { return touch(listing) }
            return replace(listing, front.pictures, before: table, front.source, front.paging)
        }
        let isRanking = listing.key.mode != nil
        let pictures = isRanking ? listing.state.withLock { $0.table.kept(front.pictures) } : front.pictures
        var vanished = EntryTable()
        if !listing.key.listsNames, !facts.isSnapshot {
            let rows = listing.state.withLock { $0.table.rows }
            let (compared, present) = (rows.prefix(pictures.count), Set(pictures.map(\.listed.work.id)))
            let isSame = !listing.lacksEntries && compared.elementsEqual(pictures) { $0.entry.shows($1) }
            let kept = rows.filter { isRanking && !present.contains($0.entry.picture.work) }
            if isSame, !isRequested, compared.count + kept.count == rows.count { return touch(listing) }
            for row in kept { vanished.append(row) }
        }
        return replace(listing, pictures, before: vanished, front.source, front.paging)
    }

    /// Records that a listing was compared with the service's just now and has no new entries.
    private func touch(_ listing: Listing) -> Listing {
        let now = now
        let write = listing.state.withLock { state in
            (state.fetched, state.unanswered) = (now, nil)
            return listing.write(of: [], in: state)
        }
        memory.ifCurrent(listing) { context.outbox.add([.listing(write)]) }
        return listing
    }

    /// Replaces a listing by one with pictures and the rows of an older one (`EntryTable.merge`).
    func replace(
        _ listing: Listing, _ pictures: [ListedPicture], before old: EntryTable, _ pages: ListingPages,
        _ paging: Paging
    ) -> Listing {
        var table = listing.state.withLock { $0.table.renewed() }
        let rows = table.merge(pictures, with: old, of: listing.key, view: view)
        // Rows contain the sizes of first pages only.
        for (entry, size) in zip(old.entries, old.sizes) where size > 0 && entry.picture.page > 0 {
            table.setSize(size, of: entry.picture)
        }
        let state = ListingState(table: table, paging: paging, fetched: now)
        let fresh = Listing(listing.stored, pages: pages, owner: self, state: state)
        let write = fresh.write(of: rows, replaces: true, in: state)
        // The user has signed in or out since, or the listing was forgotten or replaced: the answer is not of what is shown now.
        guard listing.audience == context.audience(of: listing.key),
            let present = memory.replace(listing, with: fresh, { context.outbox.add([.listing(write)]) })
        else { return listing }
        if present === fresh { sizes.learn(of: fresh.entries, in: fresh) }
        return present
    }
}
