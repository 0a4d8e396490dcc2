import HTTP
import Rankings

extension Listings: ListingOwner {
    var now: Int64 { context.now }

    var version: String { context.configuration.version }

    var source: any RankingSource { context.source }

    func newestPossible(of mode: RankingMode) -> Day { told.newestPossible(of: mode) }

    func ask(page: Int, of listing: Listing, _ urgency: Urgency) {
        let isAsked = context.background.run { [self] in
            let outcome = await Urgency.$current.withValue(urgency) {
                // Typed errors do not pass through.
                await Result { () async throws(Failure) in try await listing.pages.page(page) }
            }
            if case .success(let content) = outcome { reportUnreadable(content.unreadable, listing.key, page: page) }
            listing.arrived(page, outcome)
        }
        // Without this outcome the remaining waiters would wait for ever.
        if !isAsked { listing.arrived(page, .failure(.cancelled)) }
    }

    func appended(_ write: ListingWrite, entries: [ListingEntry], to listing: Listing) {
        // The user has signed in or out since: the answer is for other viewers, and is not kept.
        guard listing.audience == context.audience(of: listing.key) else { return }
        // If a refreshed listing has replaced this one, the rows of the refreshed one are kept.
        memory.ifCurrent(listing) { context.outbox.add([.listing(write)]) }
        if !entries.isEmpty { sizes.learn(of: entries, in: listing) }
    }

    func reportUnreadable(_ count: Int, _ key: ListingKey, page: Int) {
        if count > 0 { context.report(.entriesUnreadable(count: count, listing: key, page: page)) }
    }
}
