import Rankings
internal import Synchronization

extension Catalog {
    /// How long the service may take to say what is new where something stored can be shown instead.
    static let refreshPatience: Duration = .seconds(5)

    /// Whether a listing is to be compared with the service's before it is shown.
    func needsRefresh(_ listing: Listing) -> Bool {
        guard case .author = listing.key else { return false }
        let fetched = listing.state.withLock { $0.fetched }
        let now = now
        guard Freshness.needsRefresh(listing.key, fetched: fetched, now: now) else { return false }
        return known.withLock { known in
            guard let failed = known.refreshFailed[listing.key] else { return true }
            return !Freshness.holds(since: failed, seconds: Freshness.lateSeconds, now: now)
        }
    }

    /// The listing with an author's new works in front: another object if there are any, since positions never change.
    ///
    /// Works that vanished stay, as the pictures do: the service taking something back does not delete what was stored.
    func refreshed(_ listing: Listing) async throws(SourceError) -> Listing {
        guard case .author(let author) = listing.key else { return listing }
        let patience = min(configuration.timeout, Self.refreshPatience)
        let works = unique(try await source.authorWorks(author, deadline: ContinuousClock.now + patience))
        let (table, remaining) = listing.state.withLock { state in
            (state.table, listing.pages.remaining(from: state.paging.next))
        }
        let awaited = Set(remaining)
        let new = works.filter { table.position(of: $0) == nil && !awaited.contains($0) }
        guard !new.isEmpty else {
            touch(listing)
            return listing
        }
        var combined = EntryTable()
        var rows: [ListingRow] = []
        let newPages = AuthorPages(author: author, works: new, source: source, timeout: patience)
        for number in 1...newPages.pageCount {
            rows += combined.append(try await newPages.page(number).works, rendition: rendition)
        }
        for (entry, size) in zip(table.entries, table.sizes) {
            combined.append(entry, size: size)
            rows.append(ListingRow(entry: entry, previousRank: nil, work: nil))
        }
        let present = Set(works)
        return replace(listing, author, combined, rows, remaining: remaining.filter(present.contains))
    }

    /// Notes that a listing was compared with the service's just now and has nothing new.
    private func touch(_ listing: Listing) {
        let now = now
        let (header, count) = listing.state.withLock { state in
            state.fetched = now
            return (Listing.header(state, pages: listing.pages), state.table.entries.count)
        }
        outbox.add([.listing(ListingWrite(key: listing.key, firstPosition: count, rows: [], header: header))])
    }

    private func replace(
        _ listing: Listing, _ author: UserID, _ table: EntryTable, _ rows: [ListingRow], remaining: [WorkID]
    ) -> Listing {
        let pages = AuthorPages(author: author, works: remaining, source: source, timeout: configuration.timeout)
        let state = ListingState(
            table: table, paging: Paging(window: pages.window, last: pages.pageCount), fetched: now)
        let header = Listing.header(state, pages: pages)
        let fresh = Listing(key: listing.key, pages: pages, owner: self, state: state)
        let write = ListingWrite(key: listing.key, replaces: true, firstPosition: 0, rows: rows, header: header)
        loaded.replace(with: fresh) { outbox.add([.listing(write)]) }
        learnSizes(of: rows.map(\.entry), in: fresh)
        return fresh
    }
}
