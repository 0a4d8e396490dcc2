import HTTP
import ImageHost
import Rankings

/// Where the pages of listings come from.
struct PageFactory: Sendable {
    let context: CatalogContext
    let originals: Originals
    let records: Records

    /// The pages of a listing.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - works: An author's works that are still to be asked for.
    ///   - isComparison: Whether something stored can be shown instead, so that there is less time.
    /// - Returns: Pages whose pictures are those that the mount shows.
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
            // What was listed of a work may be out of date itself: a comparison asks for the record anew.
            case .work(let work): workPages(work, timeout, usesListed: !isComparison)
            }
        guard context.view.rendition == .original, !key.isSameInEveryView else { return pages }
        return OriginalPages(base: pages, resolver: originals.resolver)
    }

    /// The pages of a day with the first one, which came with the newest day.
    ///
    /// - Parameters:
    ///   - page: What the service answered when it was asked for its newest day.
    ///   - mode: What it was asked of.
    /// - Returns: Nil if the page makes no sense, or its pictures cost questions: not for a directory that nobody opened.
    func pages(
        beginningWith page: RankingPage, of mode: RankingMode
    ) async -> (pages: any ListingPages, first: PageContent)? {
        let pages = rankingPages(mode, page.day, context.timeout)
        guard var first = try? pages.content(of: page, number: 1) else { return nil }
        guard context.view.rendition == .original else { return (pages, first) }
        // Where listings tell sizes nobody is asked about originals.
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
