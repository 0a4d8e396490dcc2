package import Rankings
import SQLite
internal import Synchronization

extension Catalog {
    /// The listing if it is in memory and need not be compared with the service's; never waits.
    package func loadedListing(_ key: ListingKey) -> Listing? {
        guard let listing = loaded[key], !needsRefresh(listing) else { return nil }
        return listing
    }

    /// The listing from memory or the database, or a new one that asks as it is read.
    ///
    /// Days that cannot exist throw `.noSuchListing` without a request; so do, for minutes, days that the service did not have.
    /// A new listing is returned only once its first page is there: an unknown author or an unpublished day throws.
    package func listing(_ key: ListingKey) async throws(CatalogError) -> Listing {
        if let listing = loadedListing(key) { return listing }
        if isKnownAbsent(key) { throw .noSuchListing }
        return try await listingFlights.value(for: key) { [self] in
            do throws(CatalogError) {
                return .success(try await open(key))
            } catch {
                if error == .noSuchListing { refuse(key) }
                return .failure(error)
            }
        }
    }

    /// What can be said of a key without waiting: whether it surely does not exist (bad day, remembered refusal).
    package func isKnownAbsent(_ key: ListingKey) -> Bool {
        let now = now
        let isThere = loaded[key] != nil
        return known.withLock { known in
            // What was stored once is served, whatever the clock or the service say now.
            if isThere || known.stored.contains(key) { return false }
            if Freshness.isImpossible(key, days: days, newest: { known.newestPossible(of: $0, days(of: $0), now: now) })
            {
                return true
            }
            guard let refused = known.refused[key] else { return false }
            if Freshness.holds(since: refused, seconds: Freshness.refusalSeconds, now: now) { return true }
            known.refused[key] = nil
            return false
        }
    }

    /// Whether a listing is there, stored or on its way to the database: it opens without the service.
    ///
    /// Never waits.
    package func isStored(_ key: ListingKey) -> Bool {
        loaded[key] != nil || known.withLock { $0.stored.contains(key) }
    }

    /// The authors with a stored listing, by number.
    ///
    /// Never waits, never asks.
    package func listedAuthors() -> [UserID] {
        known.withLock { known in
            known.stored.compactMap { key -> UserID? in
                guard case .author(let author) = key else { return nil }
                return author
            }
        }.sorted()
    }

    /// The whole record of an entry, from the database.
    package func record(of entry: ListingEntry, in listing: Listing) async throws(CatalogError) -> ListedWork {
        await outbox.flush()
        if let record = outbox.unstoredRecord(of: entry, in: listing.key) { return record }
        do throws(DatabaseError) {
            if let record = try await store.record(of: entry, in: listing.key) { return record }
        } catch { throw .database(error.description) }
        throw .database("the record of work \(entry.picture.work.rawValue) is not stored; refresh the listing")
    }

    // MARK: - Opening

    private func open(_ key: ListingKey) async throws(CatalogError) -> Listing {
        guard let listing = await storedListing(key) else { return try await begin(key) }
        guard needsRefresh(listing) else { return listing }
        do throws(SourceError) {
            return try await refreshed(listing)
        } catch {
            // What is stored serves for as long as the service does not answer or no longer has it.
            known.withLock { [now] in $0.refreshFailed[key] = now }
            return listing
        }
    }

    /// The listing from memory or the database, however old it is.
    ///
    /// Never asks the service.
    package func storedListing(_ key: ListingKey) async -> Listing? {
        if let listing = loaded[key] { return listing }
        // A listing whose rows are still on their way is in the set only once they are there.
        guard known.withLock({ $0.stored.contains(key) }) else { return nil }
        let found: StoredListing?
        do throws(DatabaseError) { found = try await store.listing(key) } catch { return nil }
        guard let stored = found else {
            known.withLock { _ = $0.stored.remove(key) }
            return nil
        }
        let header = stored.header
        let pages = pages(of: key, works: header.remaining)
        // An author's pages are counted anew over the works that remain.
        let (next, last): (Int, Int?) =
            switch key {
            case .ranking, .work, .search, .bookmarks, .following:
                (header.nextPage, header.isComplete ? header.nextPage - 1 : header.lastPage)
            case .author: (1, (header.remaining.count + pages.window.perPage - 1) / pages.window.perPage)
            }
        let listing = Listing(
            key: key, pages: pages, owner: self,
            state: ListingState(
                table: EntryTable(rows: stored.rows),
                paging: Paging(window: pages.window, next: next, last: last), fetched: header.fetched))
        let kept = loaded.add(listing)
        // Rows tell the sizes of first pages only.
        let further = kept.entries.filter { $0.picture.page > 0 }
        if !key.isWork, !further.isEmpty { await learnStoredSizes(of: further, in: kept) }
        return kept
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
                let pages = pages(of: key, works: [])
                return begin(key, pages, first: try await pages.page(1), last: nil)
            case .author(let author):
                let deadline = limit(configuration.timeout).deadline
                let works = unique(try await source.authorWorks(author, deadline: deadline))
                let pages = pages(of: key, works: works)
                let first = works.isEmpty ? nil : try await pages.page(1)
                return begin(key, pages, first: first, last: works.isEmpty ? 0 : first?.last)
            case .work, .search, .bookmarks, .following:
                let pages = pages(of: key, works: [])
                let first = try await pages.page(1)
                let isEmpty = first.works.isEmpty && first.last == 1
                return begin(key, pages, first: isEmpty ? nil : first, last: isEmpty ? 0 : nil)
            }
        } catch { throw CatalogError(listing: error) }
    }

    /// Makes a listing of its first page.
    func begin(_ key: ListingKey, _ pages: any ListingPages, first: PageContent?, last: Int?) -> Listing {
        let listing = Listing(
            key: key, pages: pages, owner: self,
            state: ListingState(
                table: EntryTable(), paging: Paging(window: pages.window, last: last), fetched: now))
        let kept = loaded.add(listing)
        guard kept === listing else { return kept }
        if let first {
            reportUnreadable(first, key, page: 1)
            listing.arrived(1, .success(first))
        } else {
            let header = listing.state.withLock { Listing.header($0, pages: pages) }
            outbox.add([.listing(ListingWrite(key: key, firstPosition: 0, rows: [], header: header))])
        }
        return listing
    }

    private func refuse(_ key: ListingKey) {
        let now = now
        known.withLock { known in
            if known.refused.count >= Self.refusalBound {
                known.refused = known.refused.filter {
                    Freshness.holds(since: $0.value, seconds: Freshness.refusalSeconds, now: now)
                }
                if known.refused.count >= Self.refusalBound { known.refused = [:] }
            }
            known.refused[key] = now
        }
    }

    func unique(_ works: [WorkID]) -> [WorkID] {
        var seen: Set<WorkID> = []
        return works.filter { seen.insert($0).inserted }
    }
}
