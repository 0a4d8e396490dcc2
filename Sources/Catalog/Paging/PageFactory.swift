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
    ///   - works: An author's works that are still to be requested.
    ///   - isComparison: Whether something stored can be shown instead, so that the time limit is shorter.
    /// - Returns: Pages of the pictures that the mount shows.
    func pages(of key: ListingKey, works: [WorkID] = [], isComparison: Bool = false) -> any ListingPages {
        let timeout = isComparison ? context.shortTimeout : context.timeout
        let source = context.source
        let pages: any ListingPages =
            switch key {
            case .ranking(let mode, let day): rankingPages(mode, day, timeout)
            case .author(let author): AuthorPages(author: author, works: works, source: source, timeout: timeout)
            case .artist(let name):
                NewestFirstPages(perPage: source.worksPerArtistPage, isOfAName: true) {
                    page async throws(SourceError) in
                    try await source.artistPage(name.text, page: page, deadline: timeout.deadline)
                }
            case .search(let words):
                NewestFirstPages(perPage: source.worksPerSearchPage) { page async throws(SourceError) in
                    try await source.searchPage(words.text, page: page, deadline: timeout.deadline)
                }
            case .following(let user): FollowingPages(user: user, source: source, timeout: timeout)
            case .bookmarks(let user): BookmarkPages(user: user, source: source, timeout: timeout)
            // A listed record of a work may itself be stale: a comparison requests the record again.
            case .work(let work): workPages(work, timeout, usesListed: !isComparison)
            }
        guard context.view.rendition == .original, !key.isSameInEveryView else { return pages }
        return OriginalPages(base: pages, resolver: originals.resolver)
    }

    /// The pages of a day with the first one, which came with the newest day.
    ///
    /// - Parameters:
    ///   - page: The answer of the service to the request for its newest day.
    ///   - mode: The ranking of that request.
    /// - Returns: Nil if the page cannot be used, or if its pictures need requests, which are not sent for a directory that is
    ///   not open.
    func pages(
        beginningWith page: RankingPage, of mode: RankingMode
    ) async -> (pages: any ListingPages, first: PageContent)? {
        let pages = rankingPages(mode, page.day, context.timeout)
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
