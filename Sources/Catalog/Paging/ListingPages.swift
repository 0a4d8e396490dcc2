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
    func page(_ number: Int) async throws(Failure) -> PageContent

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

    func page(_ number: Int) async throws(Failure) -> PageContent {
        let page = try await source.page(of: .ranking(mode, day), number, deadline: timeout.deadline)
        return try content(of: page, number: number)
    }

    /// Checks that the page is the requested one, and reads its data about further pages.
    func content(of page: ListingPage, number: Int) throws(Failure) -> PageContent {
        guard page.day == day else { throw .notPublished }
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

/// The works that the first answer of an indexed listing named, in pages of the largest size that one request allows.
struct IndexedPages: ListingPages {
    let key: ListingKey
    /// The works to request, in the order of the listing.
    let works: [WorkID]
    /// The records that came with the first answer.
    let records: [WorkID: ListedWork]
    let source: any RankingSource
    let timeout: AnswerLimit

    var window: PageWindow { PageWindow(key.kind, of: source.description) }

    /// The number of pages that the works fill; 0 for none.
    var pageCount: Int { (works.count + window.perPage - 1) / window.perPage }

    func page(_ number: Int) async throws(Failure) -> PageContent {
        let start = (number - 1) * window.perPage
        guard start >= 0, start < works.count else { throw .pastTheEnd }
        let ids = Array(works[start..<min(start + window.perPage, works.count)])
        var found = records
        let missing = ids.filter { found[$0] == nil }
        if !missing.isEmpty {
            let page = try await source.page(of: key, .works(missing), deadline: timeout.deadline)
            for entry in page.entries { found[entry.work.id] = entry }
        }
        return PageContent(works: ids.compactMap { found[$0] }, last: pageCount)
    }

    func remaining(from nextPage: Int) -> [WorkID] {
        Array(works.dropFirst((nextPage - 1) * window.perPage))
    }

    func mayHold(_ number: Int64, after last: ListingEntry?) -> Bool {
        works.contains(WorkID(rawValue: number))
    }
}

/// The pages of a list without ranks, as the service numbers them.
struct NumberedPages: ListingPages {
    let key: ListingKey
    let source: any RankingSource
    let timeout: AnswerLimit

    var window: PageWindow { PageWindow(key.kind, of: source.description) }

    func page(_ number: Int) async throws(Failure) -> PageContent {
        let page = try await source.page(of: key, number, deadline: timeout.deadline)
        guard !page.entries.isEmpty || page.unreadable == 0 else {
            throw .unreadable("no entry of page \(number) could be understood")
        }
        if key.kind.facts.mayBeAbsent, number == 1, page.entries.isEmpty, !page.hasNext { throw .notFound }
        // Totals of searches and bookmarks also count works that no page has.
        let pages = page.lastPage ?? (key.listsNames ? page.total.map { max(0, $0 - 1) / window.perPage + 1 } : nil)
        let last = page.hasNext ? pages.map { max($0, number + 1) } : number
        guard key.listsNames else {
            return PageContent(works: page.entries, last: last, unreadable: page.unreadable)
        }
        return PageContent(
            works: page.entries, pictures: page.entries.map { ListedPicture(named: $0, in: key) }, last: last,
            total: page.total)
    }

    func remaining(from nextPage: Int) -> [WorkID] { [] }

    func mayHold(_ number: Int64, after last: ListingEntry?) -> Bool {
        switch key.kind.facts.order {
        // Only older works are still to come, and lower places of a series.
        case .newestFirst:
            number < last.map { $0.rank > 0 ? Int64($0.rank) : $0.picture.work.rawValue } ?? .max
        // Names come from listings, and works of such a list are in no order: a search through all of them for a name that was
        // never listed would cost a request a page. Authors are few.
        case .given: key.listsNames
        case .ranked: number > Int64(last?.rank ?? 0)
        }
    }
}

extension ListedPicture {
    /// An author in the place of a work, under the author's number and name; a listing among others under its name.
    init(named listed: ListedWork, in key: ListingKey) {
        self.init(listed, rendition: .avatar, reference: listed.work.picture, fileExtension: "")
        name =
            key.kind.facts.contents == .authors
            ? FileName.author(listed.work.author, name: listed.work.authorName) : listed.work.authorName
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

    func page(_ number: Int) async throws(Failure) -> PageContent {
        guard number == 1 else { throw .pastTheEnd }
        let deadline = timeout.deadline
        if let summary = await summary(), summary.withheld == nil {
            do throws(Failure) { return try await content(of: summary, deadline: deadline) } catch .notFound {
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
    ) async throws(Failure) -> PageContent {
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

    func page(_ number: Int) async throws(Failure) -> PageContent {
        var content = try await base.page(number)
        content.pictures = try await resolver.originals(of: content.works)
        return content
    }

    func remaining(from nextPage: Int) -> [WorkID] { base.remaining(from: nextPage) }

    func mayHold(_ number: Int64, after last: ListingEntry?) -> Bool { base.mayHold(number, after: last) }
}
