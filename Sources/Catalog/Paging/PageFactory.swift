import HTTP
import Sourcing
import Rankings

/// The origin of the pages of listings.
struct PageFactory: Sendable {
    let context: CatalogContext
    let originals: Originals
    let records: Records

    /// The pages of a listing.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - works: The works of an indexed listing that are still to be requested.
    ///   - records: The records of such works that came with their numbers.
    ///   - isComparison: Whether something stored can be shown instead, so that the time limit is shorter.
    /// - Returns: Pages of the pictures that the mount shows.
    func pages(
        of key: ListingKey, works: [WorkID] = [], records: [WorkID: ListedWork] = [:], isComparison: Bool = false
    ) -> any ListingPages {
        let timeout = isComparison ? context.shortTimeout : context.timeout
        let facts = key.kind.facts
        let pages: any ListingPages
        if let (mode, day) = key.ranking {
            pages = rankingPages(mode, day, timeout)
        } else if facts.contents == .pages {
            // A listed record of a work may itself be stale: a comparison requests the record again.
            pages = workPages(key.work, timeout, usesListed: !isComparison)
        } else if facts.isIndexed {
            pages = IndexedPages(
                key: key, works: works, records: records, source: context.source, timeout: timeout)
        } else {
            pages = NumberedPages(key: key, source: context.source, timeout: timeout)
        }
        guard context.view.rendition == .original, !key.isSameInEveryView else { return pages }
        return OriginalPages(base: pages, resolver: originals.resolver)
    }

    /// The pages of a day with the first one, which came with the newest day.
    ///
    /// - Parameters:
    ///   - page: The answer of the service to the request for its newest day.
    ///   - mode: The ranking of that request.
    ///   - day: The newest day.
    /// - Returns: Nil if the page cannot be used, or if its pictures need requests, which are not sent for a directory that is
    ///   not open.
    func pages(
        beginningWith page: ListingPage, of mode: RankingMode, _ day: Day
    ) async -> (pages: any ListingPages, first: PageContent)? {
        let pages = rankingPages(mode, day, context.timeout)
        guard var first = try? pages.content(of: page, number: 1) else { return nil }
        guard context.view.rendition == .original else { return (pages, first) }
        // Where listings report sizes, originals need no request.
        guard context.source.description.tellsSizes,
            let pictures = try? await originals.resolver.originals(of: first.works)
        else { return nil }
        first.pictures = pictures
        return (OriginalPages(base: pages, resolver: originals.resolver), first)
    }

    private func rankingPages(_ mode: RankingMode, _ day: Day, _ timeout: AnswerLimit) -> RankingPages {
        RankingPages(
            mode: mode, day: day, top: context.view.top, source: context.source, timeout: timeout)
    }

    private func workPages(_ work: WorkID, _ timeout: AnswerLimit, usesListed: Bool) -> WorkPages {
        WorkPages(
            work: work, resolver: originals.resolver, source: context.source, timeout: timeout,
            summary: { [records] in usesListed ? await records.listedWork(work) : nil },
            learntDetails: { [records] details, names in records.keep(details, of: work, pages: names) },
            learntAnimation: { [records] animation in records.keep(animation, of: work) })
    }
}
