import HTTP
import Rankings

extension Listings: ListingOwner {
    var now: Int64 { context.now }

    var source: any RankingSource { context.source }

    func newestPossible(of mode: RankingMode) -> Day { told.newestPossible(of: mode) }

    func ask(page: Int, of listing: Listing, _ urgency: Urgency?) {
        let isAsked = context.background.run { [self] in
            let outcome: Result<PageContent, CatalogError>
            do throws(SourceError) {
                let content = try await Urgency.$current.withValue(urgency) {
                    // Typed errors do not pass through.
                    do throws(SourceError) {
                        return Result<PageContent, SourceError>.success(try await listing.pages.page(page))
                    } catch { return .failure(error) }
                }.get()
                reportUnreadable(content, listing.key, page: page)
                outcome = .success(content)
            } catch { outcome = .failure(Self.pageError(error)) }
            listing.arrived(page, outcome)
        }
        // Whoever still waits would wait for ever.
        if !isAsked { listing.arrived(page, .failure(.source(.cancelled))) }
    }

    func appended(_ write: ListingWrite, entries: [ListingEntry], to listing: Listing) {
        // If a refreshed listing has taken this one's place, its rows are the ones to keep.
        memory.ifCurrent(listing) { context.outbox.add([.listing(write)]) }
        if !entries.isEmpty { sizes.learn(of: entries, in: listing) }
    }

    func resolveSize(in listing: Listing, at index: Int, wholeListing: Bool) async throws(CatalogError) -> Int64 {
        try await sizes.resolve(in: listing, at: index, wholeListing: wholeListing)
    }

    func reportUnreadable(_ content: PageContent, _ key: ListingKey, page: Int) {
        guard content.unreadable > 0 else { return }
        context.report(.entriesUnreadable(count: content.unreadable, listing: key, page: page))
    }

    /// What a failed page means: only "past the end" ends a listing; that a day is gone does not take back what was listed.
    private static func pageError(_ error: SourceError) -> CatalogError {
        switch error {
        case .pastTheEnd: .noSuchListing
        case .needsSignIn: .needsSignIn
        default: .source(error)
        }
    }
}
