package import Rankings
internal import Synchronization

extension Listings {
    /// Whether a listing is to be compared with the service's before it is shown.
    func needsRefresh(_ listing: Listing) -> Bool {
        if case .ranking(let mode, _) = listing.key, told.days(of: mode).change == .never { return false }
        let fetched = listing.state.withLock { $0.fetched }
        let now = now
        return Freshness.needsRefresh(listing.key, fetched: fetched, days: told.days, now: now)
            && !unanswered.holds(listing.key, now: now) && !unfinished.holds(listing.key, now: now)
            && !rereading.withLock { $0.contains(listing.key) }
    }

    /// The listing with what is new in front: another object if there is anything, since positions never change.
    ///
    /// Works that vanished stay, as the pictures do: the service taking something back does not delete what was stored.
    func refreshed(_ listing: Listing) async throws(SourceError) -> Listing {
        switch listing.key {
        case .ranking: return try await settled(listing)
        case .author(let author): return try await refreshed(listing, of: author)
        default: return try await refreshedFirstPage(listing)
        }
    }

    /// Asks the service for a listing now, however fresh it is; a ranking is read anew from its first page.
    ///
    /// - Throws: What the service says; what is stored stays then.
    package func refresh(_ key: ListingKey) async throws(CatalogError) {
        refused.end(key)
        unanswered.end(key)
        unfinished.end(key)
        try await RequestSharing.$isRefused.withValue(true) { await result(ofRefreshing: key) }.get()
    }

    private func result(ofRefreshing key: ListingKey) async -> Result<Void, CatalogError> {
        do throws(CatalogError) { return .success(try await askAnew(key)) } catch { return .failure(error) }
    }

    private func askAnew(_ key: ListingKey) async throws(CatalogError) {
        guard let listing = await stored(key) else {
            _ = try await open(key)
            return
        }
        do throws(SourceError) {
            switch key {
            case .ranking:
                let pages = pageFactory.pages(of: key)
                let content = try await pages.page(1)
                _ = replace(
                    listing, front: content.pictures(in: view.rendition, of: source), old: EntryTable(), pages,
                    Paging(window: pages.window, next: 2, last: content.last))
            case .work(let work):
                context.outbox.add([.noText(.details(work))])
                _ = try await refreshed(listing)
            default: _ = try await refreshed(listing)
            }
        } catch { throw CatalogError(listing: error) }
    }

    /// Has a day read anew in the background; what is there is shown until all of it has come.
    private func settled(_ listing: Listing) async throws(SourceError) -> Listing {
        let content = try await pageFactory.pages(of: listing.key, isComparison: true).page(1)
        readAnew(listing, from: content)
        return listing
    }

    private func refreshed(_ listing: Listing, of author: UserID) async throws(SourceError) -> Listing {
        let works = try await source.authorWorks(author, deadline: context.shortTimeout.deadline).unique
        let (table, remaining) = listing.state.withLock { state in
            (state.table, listing.pages.remaining(from: state.paging.next))
        }
        let awaited = Set(remaining)
        let new = works.filter { table.position(of: $0) == nil && !awaited.contains($0) }
        guard !new.isEmpty else {
            touch(listing)
            return listing
        }
        // Of many new works the rest is asked for as it is read, and stored as it comes.
        let newPages = pageFactory.pages(of: listing.key, works: new, isComparison: true)
        let pictures = try await newPages.page(1).pictures(in: view.rendition, of: source)
        let present = Set(works)
        let rest = newPages.remaining(from: 2) + remaining.filter(present.contains)
        let pages = pageFactory.pages(of: listing.key, works: rest)
        let last = (rest.count + pages.window.perPage - 1) / pages.window.perPage
        return replace(listing, front: pictures, old: table, pages, Paging(window: pages.window, last: last))
    }

    /// Compares the first page: what is new goes in front, and a page that knows nothing of the old ones begins the list anew.
    private func refreshedFirstPage(_ listing: Listing) async throws(SourceError) -> Listing {
        let content = try await pageFactory.pages(of: listing.key, isComparison: true).page(1)
        reportUnreadable(content, listing.key, page: 1)
        let pictures = content.pictures(in: view.rendition, of: source)
        let (table, paging) = listing.state.withLock { ($0.table, $0.paging) }
        let isWork = listing.key.isWork
        // A work that was uploaded anew keeps its entry, as in an author's listing; two would have the same name.
        let new = pictures.filter { picture in
            isWork ? table.position(of: picture.id) == nil : table.position(of: picture.listed.work.id) == nil
        }
        if listing.key.listsAuthors, paging.hasEverything, let total = content.total,
            table.entries.count + new.count > total
        {
            readAnew(listing, from: content)
        }
        guard !new.isEmpty else {
            touch(listing)
            return listing
        }
        let pages = pageFactory.pages(of: listing.key)
        if isWork || new.count == pictures.count {
            return replace(
                listing, front: pictures, old: EntryTable(), pages,
                Paging(window: pages.window, next: 2, last: content.last))
        }
        let last = paging.isComplete ? paging.next - 1 : paging.last
        return replace(
            listing, front: new, old: table, pages, Paging(window: pages.window, next: paging.next, last: last))
    }

    /// Reads a list anew as far as it was read before, and shows it in the place of the old one once all of that is there.
    ///
    /// Authors who vanished are not followed any more; works that vanished from a day stay, behind the others.
    private func readAnew(_ listing: Listing, from first: PageContent) {
        guard rereading.withLock({ $0.insert(listing.key).inserted }) else { return }
        context.background.run { [self] in
            // Nobody waits for it: a long one leaves the service to those who do.
            await RequestUrgency.$isBackground.withValue(true) { await readOn(listing, from: first) }
            rereading.withLock { _ = $0.remove(listing.key) }
        }
    }

    private func readOn(_ listing: Listing, from first: PageContent) async {
        let pages = pageFactory.pages(of: listing.key)
        let rows = listing.state.withLock { $0.paging.hasEverything ? .max : $0.table.rowCount }
        var pictures = first.pictures(in: view.rendition, of: source)
        var (number, last) = (1, first.last)
        while pictures.count < rows, number < min(last ?? .max, pages.window.lastPage, pages.window.shownPages) {
            do throws(SourceError) {
                let content = try await pages.page(number + 1)
                pictures += content.pictures(in: view.rendition, of: source)
                last = content.last
                number += 1
            } catch .pastTheEnd {
                last = number
            } catch {
                // It would begin with the first page again. Of followed authors what is new was shown already.
                if !listing.key.listsAuthors { unfinished.begin(listing.key, now: now) }
                return
            }
        }
        var vanished = EntryTable()
        if !listing.key.listsAuthors {
            let present = Set(pictures.map(\.listed.work.id))
            let rows = listing.state.withLock { $0.table.rows }
            if rows.prefix(pictures.count).map(\.entry.picture) == pictures.map(\.id) { return touch(listing) }
            for row in rows where !present.contains(row.entry.picture.work) { vanished.append(row) }
        }
        _ = replace(
            listing, front: pictures, old: vanished, pages,
            Paging(window: pages.window, next: number + 1, last: last))
    }

    /// Notes that a listing was compared with the service's just now and has nothing new.
    private func touch(_ listing: Listing) {
        let now = now
        let (header, count) = listing.state.withLock { state in
            state.fetched = now
            return (Listing.header(state, pages: listing.pages), state.table.rowCount)
        }
        context.outbox.add([.listing(ListingWrite(key: listing.key, firstPosition: count, rows: [], header: header))])
    }

    /// Puts a listing with new pictures in front of old ones in the place of another.
    private func replace(
        _ listing: Listing, front: [ListedPicture], old: EntryTable, _ pages: any ListingPages,
        _ paging: Paging<PageContent>
    ) -> Listing {
        var table = EntryTable()
        var rows = table.append(front, of: listing.key, view: view)
        for row in old.rows {
            guard let row = table.appendOlder(row) else { continue }
            rows.append(ListingRow(entry: row.entry, previousRank: nil, work: nil))
        }
        // Rows tell the sizes of first pages only.
        for (entry, size) in zip(old.entries, old.sizes) where size > 0 && entry.picture.page > 0 {
            table.setSize(size, of: entry.picture)
        }
        let state = ListingState(table: table, paging: paging, fetched: now)
        let header = Listing.header(state, pages: pages)
        let fresh = Listing(key: listing.key, pages: pages, owner: self, state: state)
        let write = ListingWrite(key: listing.key, replaces: true, firstPosition: 0, rows: rows, header: header)
        memory.replace(with: fresh) { context.outbox.add([.listing(write)]) }
        sizes.learn(of: fresh.entries, in: fresh)
        return fresh
    }
}
