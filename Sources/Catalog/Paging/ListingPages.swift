import Rankings

/// One page of a listing, as it comes from the source.
struct PageContent: Sendable {
    var works: [ListedWork]
    /// The works' pictures where they are not just page 0 in the listing's rendition.
    var pictures: [ListedPicture]?
    /// The number of the last page, if this one tells.
    var last: Int?
    /// How many entries all pages have, if this one tells.
    var total: Int?
    /// Entries that could not be understood.
    var unreadable = 0

    /// The pictures to list.
    func pictures(in rendition: Rendition, of source: any RankingSource) -> [ListedPicture] {
        pictures ?? works.map { ListedPicture($0, rendition: rendition, of: source) }
    }
}

typealias PageWindow = Paging<PageContent>.Window

/// Where a listing's pages come from.
protocol ListingPages: Sendable {
    var window: PageWindow { get }

    /// Asks the source for a page.
    func page(_ number: Int) async throws(SourceError) -> PageContent

    /// The works that a listing still needs when `nextPage` is the next to append; none where pages are not made of works.
    func remaining(from nextPage: Int) -> [WorkID]

    /// Whether an entry whose name begins with this number may be on a page still to come.
    ///
    /// - Parameters:
    ///   - number: A rank or the number of a work.
    ///   - last: The last entry known.
    /// - Returns: False if asking for further pages is of no use.
    func mayHold(_ number: Int64, after last: ListingEntry?) -> Bool
}

/// The pages of a day's ranking.
struct RankingPages: ListingPages {
    let mode: RankingMode
    let day: Day
    /// The last rank that is shown; nil for all.
    let top: Int?
    let source: any RankingSource
    let timeout: AnswerLimit

    var window: PageWindow {
        var window = PageWindow.ranking(source.description.paging)
        // Ranks that the service leaves out keep their places: with fifty a page, rank N is on page N / 50, rounded up.
        if let top { window.shownPages = (top + window.perPage - 1) / window.perPage }
        return window
    }

    func page(_ number: Int) async throws(SourceError) -> PageContent {
        let page = try await source.rankingPage(mode, day: day, page: number, deadline: timeout.deadline)
        return try content(of: page, number: number)
    }

    /// Checks that the page is the one asked for, and reads what it tells about further ones.
    func content(of page: RankingPage, number: Int) throws(SourceError) -> PageContent {
        guard page.mode == mode, page.day == day else { throw .notPublished }
        if page.entries.isEmpty {
            guard page.unreadable == 0 else { throw .unreadable("no entry of page \(number) could be understood") }
            throw number == 1 ? .notPublished : .pastTheEnd
        }
        let pages = page.total.map { max(0, $0 - 1) / window.perPage + 1 }
        let last = page.hasNext ? pages.map { max($0, number + 1) } : number
        return PageContent(works: page.entries, last: last, unreadable: page.unreadable)
    }

    func remaining(from nextPage: Int) -> [WorkID] { [] }

    func mayHold(_ number: Int64, after last: ListingEntry?) -> Bool {
        number > Int64(last?.rank ?? 0) && number <= Int64(top ?? window.perPage * window.lastPage)
    }
}

/// An author's works, in pages as large as one request may be.
struct AuthorPages: ListingPages {
    let author: UserID
    /// The works to ask for, newest first.
    let works: [WorkID]
    let source: any RankingSource
    let timeout: AnswerLimit

    var window: PageWindow { .author(perRequest: source.worksPerRequest) }

    /// How many pages the works fill; 0 for none.
    var pageCount: Int { (works.count + window.perPage - 1) / window.perPage }

    func page(_ number: Int) async throws(SourceError) -> PageContent {
        let start = (number - 1) * window.perPage
        guard start >= 0, start < works.count else { throw .pastTheEnd }
        let ids = Array(works[start..<min(start + window.perPage, works.count)])
        let found = try await source.works(ids, of: author, deadline: timeout.deadline)
        return PageContent(
            works: found.map { ListedWork(rank: nil, previousRank: nil, work: $0) }, last: pageCount)
    }

    func remaining(from nextPage: Int) -> [WorkID] {
        Array(works.dropFirst((nextPage - 1) * window.perPage))
    }

    func mayHold(_ number: Int64, after last: ListingEntry?) -> Bool {
        works.contains(WorkID(rawValue: number))
    }
}
