import Rankings
internal import Synchronization

extension Listings {
    /// Records that a listing was compared with the service's just now and has no new entries.
    func touch(_ listing: Listing) -> Listing {
        let now = now
        let (header, count) = listing.state.withLock { state in
            state.fetched = now
            return (Listing.header(state, pages: listing.pages), state.table.rowCount)
        }
        let write = ListingWrite(key: listing.stored, firstPosition: count, rows: [], header: header)
        memory.ifCurrent(listing) { context.outbox.add([.listing(write)]) }
        return listing
    }

    /// Replaces a listing by one with new pictures before old ones, and uncovered ones in the places of withheld ones.
    func replace(
        _ listing: Listing, front: [ListedPicture], old: EntryTable, uncovered: [WorkID: ListedPicture] = [:],
        _ pages: ListingPages, _ paging: Paging<PageContent>
    ) -> Listing {
        var table = listing.state.withLock { $0.table.renewed() }
        var rows = table.append(front, of: listing.key, view: view)
        for row in old.rows {
            if let picture = uncovered[row.entry.picture.work] {
                rows += table.append([picture], of: listing.key, view: view)
                continue
            }
            guard let row = table.appendOlder(row) else { continue }
            rows.append(ListingRow(entry: row.entry, previousRank: nil, work: nil))
        }
        // Rows contain the sizes of first pages only.
        for (entry, size) in zip(old.entries, old.sizes) where size > 0 && entry.picture.page > 0 {
            table.setSize(size, of: entry.picture)
        }
        let state = ListingState(table: table, paging: paging, fetched: now)
        let header = Listing.header(state, pages: pages)
        let fresh = Listing(listing.stored, pages: pages, owner: self, state: state)
        let write = ListingWrite(key: listing.stored, replaces: true, firstPosition: 0, rows: rows, header: header)
        // The user has signed in or out since, or the listing was forgotten or replaced: the answer is not of what is shown now.
        guard listing.audience == context.audience(of: listing.key),
            let present = memory.replace(listing, with: fresh, { context.outbox.add([.listing(write)]) })
        else { return listing }
        if present === fresh { sizes.learn(of: fresh.entries, in: fresh) }
        return present
    }
}
