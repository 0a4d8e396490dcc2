import Rankings
internal import Synchronization

extension Listings {
    /// Whether another answer for a list ends where it cannot be joined to what is stored, or as a shorter list, and nothing but a
    /// missing page shows that end.
    func isDoubtful(_ front: FirstPages, of listing: Listing) -> Bool {
        let facts = listing.key.kind.facts
        guard front.paging.isOver, listing.key.mode == nil, !facts.isSnapshot, !listing.key.listsNames else {
            return false
        }
        return listing.state.withLock { state in
            guard state.table.rowCount > 0 else { return false }
            return [.ranked, .lastFirst].contains(facts.order)
                ? front.pictures.count < state.table.rowCount : !front.reaches(state.table)
        }
    }

    /// Throws for a doubtful end, which is believed once it has come again after an hour.
    func confirmEnd(of front: FirstPages, _ listing: Listing) throws(Failure) {
        let isDoubtful = isDoubtful(front, of: listing)
        let now = now
        let isBelieved = doubtedEnds.withLock { doubted in
            let known = doubted[listing.stored].flatMap { $0.pages == front.count ? $0 : nil }
            let end = known ?? (pages: front.count, since: now)
            let isOld = !Freshness.holds(since: end.since, seconds: Freshness.doubtSeconds, now: now)
            doubted[listing.stored] = isDoubtful && !isOld ? end : nil
            return !isDoubtful || isOld
        }
        if !isBelieved { throw .missing(front.count + 1) }
    }
}
