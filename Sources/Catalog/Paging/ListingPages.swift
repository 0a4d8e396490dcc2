package import Rankings

/// One page of a listing, as the source returns it.
struct PageContent: Sendable {
    var works: [ListedWork]
    /// The works' pictures, unless they are page 0 in the listing's rendition.
    var pictures: [ListedPicture]?
    /// The number of the last page, if this page contains it.
    var last: Int?
    /// The number of entries of all pages, if this page contains it.
    var total: Int?
    /// The number of entries that could not be decoded.
    var unreadable = 0

    /// The pictures to list.
    func pictures(in rendition: Rendition, of source: any RankingSource) -> [ListedPicture] {
        pictures ?? works.map { ListedPicture($0, rendition: rendition, of: source) }
    }
}

typealias PageWindow = Paging<PageContent>.Window

/// The origin of a listing's pages.
protocol ListingPages: Sendable {
    var window: PageWindow { get }

    /// Requests a page from the source.
    func page(_ number: Int) async throws(SourceError) -> PageContent

    /// The works that a listing still needs when `nextPage` is the next to append; empty where pages do not consist of works.
    func remaining(from nextPage: Int) -> [WorkID]

    /// Whether an entry with a name that begins with this number may be on a page still to come.
    ///
    /// - Parameters:
    ///   - number: A rank or the number of a work.
    ///   - last: The last known entry.
    /// - Returns: False if requests for further pages are of no use.
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

    /// Checks that the page is the requested one, and reads its data about further pages.
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

/// An author's works, in pages of the largest size that one request allows.
struct AuthorPages: ListingPages {
    let author: UserID
    /// The works to request, newest first.
    let works: [WorkID]
    let source: any RankingSource
    let timeout: AnswerLimit

    var window: PageWindow { .author(perRequest: source.worksPerRequest) }

    /// The number of pages that the works fill; 0 for none.
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

// MARK: - Works

/// The pages of a list of works under a text, newest first: a search, or an artist's works by name.
struct NewestFirstPages: ListingPages {
    let perPage: Int
    /// Whether an empty list means that the name does not exist.
    var isOfAName = false
    let ask: @Sendable (_ page: Int) async throws(SourceError) -> WorkPage

    var window: PageWindow { .unranked(perPage: perPage) }

    func page(_ number: Int) async throws(SourceError) -> PageContent {
        let page = try await ask(number)
        if isOfAName, number == 1, page.works.isEmpty, page.unreadable == 0 { throw .notFound }
        return try PageContent(page, number: number)
    }

    func remaining(from nextPage: Int) -> [WorkID] { [] }

    func mayHold(_ number: Int64, after last: ListingEntry?) -> Bool {
        // Only older works are still to come.
        number < last?.picture.work.rawValue ?? .max
    }
}

/// The pages of a user's bookmarks.
struct BookmarkPages: ListingPages {
    let user: UserID
    let source: any RankingSource
    let timeout: AnswerLimit

    var window: PageWindow { .unranked(perPage: source.worksPerBookmarksPage) }

    func page(_ number: Int) async throws(SourceError) -> PageContent {
        let page = try await source.bookmarksPage(of: user, page: number, deadline: timeout.deadline)
        return try PageContent(page, number: number)
    }

    func remaining(from nextPage: Int) -> [WorkID] { [] }

    // Names come from listings, and bookmarks are in no order: a search through all of them for a name that was never listed
    // would cost a request a page.
    func mayHold(_ number: Int64, after last: ListingEntry?) -> Bool { false }
}

/// The pages of the authors that a user follows, last followed first.
struct FollowingPages: ListingPages {
    let user: UserID
    let source: any RankingSource
    let timeout: AnswerLimit

    /// Three requests ahead, because two thousand authors are eighty-four.
    var window: PageWindow { PageWindow(perPage: max(1, source.authorsPerPage), pages: 3, lastPage: 1000) }

    func page(_ number: Int) async throws(SourceError) -> PageContent {
        let page = try await source.followedAuthors(
            of: user, page: number, deadline: timeout.deadline)
        let pictures = page.authors.map(ListedPicture.init)
        let last = page.total.map { max(0, $0 - 1) / window.perPage + 1 }
        return PageContent(
            works: pictures.map(\.listed), pictures: pictures,
            last: page.hasNext ? last.map { max($0, number + 1) } : number, total: page.total)
    }

    func remaining(from nextPage: Int) -> [WorkID] { [] }

    // Authors are in no order of their numbers.
    func mayHold(_ number: Int64, after last: ListingEntry?) -> Bool { true }
}

extension ListedPicture {
    /// An author in the place of a work: with number and name, without an upload.
    init(_ author: NamedAuthor) {
        let work = Work(
            id: WorkID(rawValue: author.id.rawValue), title: author.name, author: author.id, authorName: author.name,
            tags: [], kind: .illustration, width: 0, height: 0, pageCount: 1, uploaded: 0, views: nil, ratings: nil,
            picture: author.name, withheld: nil)
        self.init(
            ListedWork(rank: nil, previousRank: nil, work: work), rendition: .avatar, reference: author.name,
            fileExtension: "")
        name = FileName.author(author.id, name: author.name)
    }
}

extension ListedPicture {
    /// A file with all its facts in the work's record.
    init(_ file: WorkPicture, of listed: ListedWork, _ source: any RankingSource) {
        let location = source.location(
            of: listed.work.id, picture: file.reference, page: 0, rendition: file.rendition)
        self.init(
            listed, rendition: file.rendition, reference: file.reference,
            fileExtension: location?.fileExtension ?? Self.unknown)
        size = location?.size ?? 0
        name = "\(file.stem).\(fileExtension)"
    }
}

extension ListingEntry {
    /// The author of an entry of followed authors.
    package var author: NamedAuthor {
        NamedAuthor(id: UserID(rawValue: picture.work.rawValue), name: reference)
    }
}

extension PageContent {
    /// A page of works without ranks.
    init(_ page: WorkPage, number: Int) throws(SourceError) {
        guard !page.works.isEmpty || page.unreadable == 0 else {
            throw .unreadable("no entry of page \(number) could be understood")
        }
        self.init(
            works: page.works.map { ListedWork(rank: nil, previousRank: nil, work: $0) },
            last: page.hasNext ? page.lastPage.map { max($0, number + 1) } : number, unreadable: page.unreadable)
    }
}

extension Paging.Window {
    /// A list of unknown length: one request ahead of the reader, a thousand in all (the limit of a search for members).
    static func unranked(perPage: Int) -> Self { Self(perPage: max(1, perPage), pages: 1, lastPage: 1000) }
}

/// The single page of a work: the originals of its pages, and the archive of an animation.
struct WorkPages: ListingPages {
    let work: WorkID
    let resolver: OriginalResolver
    let source: any RankingSource
    let timeout: AnswerLimit
    /// The work's record, if a listing contained it.
    let summary: @Sendable () async -> Work?
    /// Receives a requested record with the names of the files, so that `info.json` needs no request of its own.
    let learntDetails: @Sendable (WorkDetails, _ names: [String]) -> Void
    /// Receives a requested animation.
    let learntAnimation: @Sendable (AnimationRecord) -> Void

    /// No work has more pages than one answer can hold.
    var window: PageWindow { PageWindow(perPage: 1000, pages: 1, lastPage: 1) }

    func page(_ number: Int) async throws(SourceError) -> PageContent {
        guard number == 1 else { throw .pastTheEnd }
        let deadline = timeout.deadline
        if let summary = await summary(), summary.withheld == nil {
            do throws(SourceError) { return try await content(of: summary, deadline: deadline) } catch .notFound {
                // A service may answer so for pages that it withholds; the record shows the reason.
            }
        }
        let details = try await source.details(of: work, deadline: deadline)
        let content = try await content(of: details.work, deadline: deadline)
        learntDetails(details, (content.pictures ?? []).compactMap(\.name))
        return content
    }

    private func content(
        of record: Work, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> PageContent {
        let listed = ListedWork(rank: nil, previousRank: nil, work: record)
        if let files = source.files(of: record) {
            let pictures = files.map { ListedPicture($0, of: listed, source) }
            return PageContent(works: [listed], pictures: pictures, last: 1)
        }
        if let reason = record.withheld { throw .withheld(reason) }
        var pictures: [ListedPicture] = []
        if record.kind == .animation {
            // The first frame in full size; only the image host knows its format.
            var first = try await resolver.original(of: listed)
            first.name = "p0.\(first.fileExtension)"
            pictures.append(first)
            let animation = try await source.animation(of: work, deadline: deadline)
            learntAnimation(animation)
            var archive = ListedPicture(
                listed, rendition: .archive, reference: animation.archive, fileExtension: "zip")
            archive.name = "ugoira.zip"
            pictures.append(archive)
        } else {
            let references = try await source.originals(of: work, deadline: deadline)
            pictures = try await resolver.pages(references, of: listed)
            for (page, picture) in pictures.enumerated() { pictures[page].name = "p\(page).\(picture.fileExtension)" }
        }
        return PageContent(works: [listed], pictures: pictures, last: 1)
    }

    func remaining(from nextPage: Int) -> [WorkID] { [] }

    func mayHold(_ number: Int64, after last: ListingEntry?) -> Bool { false }
}

/// Pages of works that are shown as their originals.
struct OriginalPages: ListingPages {
    let base: any ListingPages
    let resolver: OriginalResolver

    var window: PageWindow { base.window }

    func page(_ number: Int) async throws(SourceError) -> PageContent {
        var content = try await base.page(number)
        content.pictures = try await resolver.originals(of: content.works)
        return content
    }

    func remaining(from nextPage: Int) -> [WorkID] { base.remaining(from: nextPage) }

    func mayHold(_ number: Int64, after last: ListingEntry?) -> Bool { base.mayHold(number, after: last) }
}
