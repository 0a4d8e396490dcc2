package import Rankings
import SQLite
internal import Synchronization

extension Listings {
    /// The listing from memory or the database, or a new one that asks as it is read.
    ///
    /// Days that cannot exist throw `.noSuchListing` without a request; so do, for minutes, days that the service did not have.
    /// A new listing is returned only once its first page is there: an unknown author or an unpublished day throws.
    package func open(_ key: ListingKey) async throws(CatalogError) -> Listing {
        if let listing = loaded(key) { return listing }
        if isKnownAbsent(key) { throw .noSuchListing }
        return try await flights.value(for: key) { [self] in
            do throws(CatalogError) {
                return .success(try await find(key))
            } catch {
                if error == .noSuchListing { refused.begin(key, now: now) }
                return .failure(error)
            }
        }
    }

    /// The listing from memory or the database, however old it is.
    ///
    /// Never asks the service.
    package func stored(_ key: ListingKey) async -> Listing? {
        if let listing = memory[key] { return listing }
        // A listing whose rows are still on their way is in the set only once they are there.
        guard context.stored.contains(key) else { return nil }
        let found: StoredListing?
        do throws(DatabaseError) { found = try await context.store.listing(key) } catch { return nil }
        guard let stored = found else {
            context.stored.remove(key)
            return nil
        }
        let header = stored.header
        let pages = pageFactory.pages(of: key, works: header.remaining)
        // An author's pages are counted anew over the works that remain.
        let (next, last): (Int, Int?) =
            switch key {
            case .author: (1, (header.remaining.count + pages.window.perPage - 1) / pages.window.perPage)
            default: (header.nextPage, header.isComplete ? header.nextPage - 1 : header.lastPage)
            }
        let listing = Listing(
            key: key, pages: pages, owner: self,
            state: ListingState(
                table: EntryTable(rows: stored.rows),
                paging: Paging(window: pages.window, next: next, last: last), fetched: header.fetched))
        let kept = memory.add(listing)
        // Rows tell the sizes of first pages only.
        let further = kept.entries.filter { $0.picture.page > 0 }
        if !key.isWork, !further.isEmpty { await sizes.learnStored(of: further, in: kept) }
        return kept
    }

    /// Keeps the page that came with the newest day as that day's first, so that it is not asked for again.
    func adopt(_ page: RankingPage, of mode: RankingMode) async {
        let key = ListingKey.ranking(mode, page.day)
        refused.end(key)
        // Somebody may open the day meanwhile.
        guard !isStored(key), let (pages, first) = await pageFactory.pages(beginningWith: page, of: mode),
            !isStored(key)
        else { return }
        _ = begin(key, pages, first: first, last: nil)
    }

    // MARK: -

    private func find(_ key: ListingKey) async throws(CatalogError) -> Listing {
        guard let listing = await stored(key) else { return try await begin(key) }
        guard needsRefresh(listing) else { return listing }
        do throws(SourceError) {
            return try await refreshed(listing)
        } catch {
            // What is stored serves for as long as the service does not answer or no longer has it.
            unanswered.begin(key, now: now)
            return listing
        }
    }

    /// Asks the service for the first page of a listing that is nowhere yet.
    private func begin(_ key: ListingKey) async throws(CatalogError) -> Listing {
        do throws(SourceError) {
            switch key {
            case .ranking(let mode, _):
                guard source.has(mode) else {
                    if source.description.needsSignIn(mode) { throw .needsSignIn }
                    throw .notFound
                }
                let pages = pageFactory.pages(of: key)
                return begin(key, pages, first: try await pages.page(1), last: nil)
            case .author(let author):
                let works = try await source.authorWorks(author, deadline: context.timeout.deadline).unique
                let pages = pageFactory.pages(of: key, works: works)
                let first = works.isEmpty ? nil : try await pages.page(1)
                return begin(key, pages, first: first, last: works.isEmpty ? 0 : first?.last)
            default:
                let pages = pageFactory.pages(of: key)
                let first = try await pages.page(1)
                let isEmpty = first.works.isEmpty && first.last == 1
                return begin(key, pages, first: isEmpty ? nil : first, last: isEmpty ? 0 : nil)
            }
        } catch { throw CatalogError(listing: error) }
    }

    /// Makes a listing of its first page.
    private func begin(_ key: ListingKey, _ pages: any ListingPages, first: PageContent?, last: Int?) -> Listing {
        let listing = Listing(
            key: key, pages: pages, owner: self,
            state: ListingState(
                table: EntryTable(), paging: Paging(window: pages.window, last: last), fetched: now))
        let kept = memory.add(listing)
        guard kept === listing else { return kept }
        if let first {
            reportUnreadable(first, key, page: 1)
            listing.arrived(1, .success(first))
        } else {
            let header = listing.state.withLock { Listing.header($0, pages: pages) }
            context.outbox.add([.listing(ListingWrite(key: key, firstPosition: 0, rows: [], header: header))])
        }
        return listing
    }
}

extension [WorkID] {
    /// Each once, in the same order.
    var unique: [WorkID] {
        var seen: Set<WorkID> = []
        return filter { seen.insert($0).inserted }
    }
}
