package import Rankings
import System

/// The first pages of another answer for a list, joined as they come.
struct FirstPages: Sendable {
    /// The pages that a visitor waits for until a known entry joins them to what is stored: several hundred works may come between
    /// two visits.
    static let mostAwaited = 10

    /// The origin of the pages.
    var source: ListingPages
    /// The pages of the list after these.
    private(set) var paging: Paging
    private(set) var pictures: [ListedPicture] = []
    /// The number of entries of all pages, if the newest page contains it.
    private(set) var total: Int?
    /// The most entries of one page.
    private var longest = 0

    init(of source: ListingPages) {
        self.source = source
        paging = source.paging()
    }

    /// The number of pages.
    var count: Int { paging.next - 1 }

    /// Requests the next page.
    ///
    /// - Returns: The number of its entries that could not be decoded.
    @discardableResult
    mutating func readOn() async throws(Failure) -> Int {
        do throws(Failure) { paging.arrive(paging.next, .success(try await source.page(paging.next))) } catch {
            paging.arrive(paging.next, .failure(error))
        }
        let content = paging.takeNext(isEmpty: pictures.isEmpty) { work in
            pictures.firstIndex { $0.listed.work.id == work }
        }
        if let failure = paging.takeFailure() { throw failure }
        guard let content else { return 0 }
        total = content.total
        longest = max(longest, content.pictures.count)
        pictures += content.pictures
        return content.unreadable
    }

    /// The pages by which so many new entries have moved the older ones at least.
    func shift(by new: Int) -> Int { longest > 0 ? new / longest : 0 }

    /// Whether the pages have come to an entry that a list has.
    func reaches(_ table: EntryTable) -> Bool {
        pictures.contains { table.position(of: $0.listed.work.id) != nil }
    }
}

/// The makers of the pages of listings.
struct PageFactory: Sendable {
    let context: CatalogContext
    let originals: Originals
    let records: Records

    /// The pages of a listing.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - works: The works of an indexed listing that are still to be requested.
    ///   - isComparison: Whether something stored can be shown instead, so that the time limit is shorter.
    /// - Returns: Pages of the pictures that the mount shows.
    func pages(
        of key: ListingKey, works: [WorkID] = [], isComparison: Bool = false
    ) -> ListingPages {
        ListingPages(key: key, works: works, isComparison: isComparison, means: self)
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
    ) async -> (pages: ListingPages, first: PageContent)? {
        let pages = pages(of: .ranking(mode, day))
        guard var first = try? pages.content(of: page, number: 1) else { return nil }
        guard context.view.rendition == .original else { return (pages, first) }
        // Where listings report sizes, originals need no request.
        guard context.source.description.tellsSizes,
            let pictures = try? await originals.originals(of: first.works)
        else { return nil }
        first.pictures = pictures
        return (pages, first)
    }
}

/// The origin of a listing's pages: of a day, of a list as the service numbers it, of works in pages of the largest size that one
/// request allows, or the single page of a work.
struct ListingPages: Sendable {
    let key: ListingKey
    /// The works to request of an indexed listing, in its order.
    var works: [WorkID]
    /// The records that came with the first answer of an indexed listing.
    var known: [WorkID: ListedWork] = [:]
    /// Whether something stored can be shown instead.
    var isComparison: Bool
    let means: PageFactory

    private var source: any RankingSource { means.context.source }
    private var deadline: ContinuousClock.Instant { means.context.deadline(isComparison: isComparison) }
    /// The last rank that is shown; nil for all.
    private var top: Int? { key.ranking == nil ? nil : means.context.view.top }

    var window: Paging.Window {
        // No work has more pages than one answer can hold; the second one has what the first one lacks.
        if key.isWork { return Paging.Window(perPage: 1000, pages: 1, lastPage: 2) }
        guard key.ranking != nil else { return Paging.Window(key.kind, of: source.description) }
        let paging = source.description.paging
        var window = Paging.Window(
            perPage: max(1, paging.entries), pages: max(1, paging.atOnce), lastPage: max(1, paging.most))
        // Ranks that the service leaves out keep their places: with fifty a page, rank N is on page N / 50, rounded up.
        if let top { window.shownPages = (top + window.perPage - 1) / window.perPage }
        return window
    }

    /// The state of these pages before the page `next`.
    func paging(from next: Int = 1, last: Int? = nil) -> Paging { Paging(key, window: window, next: next, last: last) }

    /// The number of pages that the works of an indexed listing fill; 0 for none.
    var pageCount: Int { (works.count + window.perPage - 1) / window.perPage }

    /// Requests a page from the source.
    func page(_ number: Int) async throws(Failure) -> PageContent {
        do throws(Failure) { return try await requested(number) } catch {
            throw number > 1 || key.kind.facts.isIndexed ? error.ofPage(number) : error
        }
    }

    private func requested(_ number: Int) async throws(Failure) -> PageContent {
        if key.isWork { return try await workPage(number) }
        var content =
            key.kind.facts.isIndexed
            ? try await indexedPage(number)
            : try self.content(
                of: try await source.page(of: key, await part(number), deadline: deadline), number: number)
        guard means.context.view.rendition == .original, !key.isSameInEveryView else { return content }
        content.pictures = try await means.originals.originals(of: content.works)
        return content
    }

    /// A page as the source is to request it: of a listing that another one names otherwise than the service, with its reference there.
    private func part(_ number: Int) async -> ListingPart {
        guard let (outer, name) = key.outer else { return .number(number) }
        let context = means.context
        let (stored, variant) = (
            StoredKey(listing: outer, audience: context.audience(of: outer)), StoredVariant(context.view)
        )
        let found = try? await context.read { connection throws(DatabaseError) in
            try Rows.reference(of: name, in: stored, variant, connection)
        }
        guard let reference = found.flatMap({ $0 }), reference != name else { return .number(number) }
        return .named(number, reference)
    }

    /// Checks that the page is the requested one, and reads its data about further pages.
    func content(of page: ListingPage, number: Int) throws(Failure) -> PageContent {
        let day = key.ranking?.day
        guard day == nil || page.day == day else { throw .notPublished }
        if page.entries.isEmpty {
            guard page.unreadable == 0 else { throw .unreadable("no entry of page \(number) could be understood") }
            if day != nil, !page.hasNext { throw number == 1 ? .notPublished : .pastTheEnd }
            let facts = key.kind.facts
            if facts.mayBeAbsent, !facts.mayBeEmpty, number == 1, !page.hasNext { throw .absent }
        }
        let told = page.total.map { max(0, $0 - 1) / window.perPage + 1 }
        // A total may also count works that no page has: the last page is that one or an earlier one.
        let pages = day == nil ? page.lastPage ?? told : told
        // A total that ends before a page which is there is wrong; a ranking that has one leads to the next page all the same.
        let last = page.hasNext ? pages.flatMap { $0 > number ? $0 : day == nil ? nil : number + 1 } : number
        return PageContent(
            works: page.entries, pictures: pictures(of: page.entries), last: last, goesOn: page.hasNext,
            total: page.total, unreadable: page.unreadable)
    }

    private func pictures(of works: [ListedWork]) -> [ListedPicture] {
        let rendition = means.context.view.rendition
        return works.map {
            key.listsNames ? ListedPicture(named: $0, in: key) : ListedPicture($0, rendition: rendition, of: source)
        }
    }

    private func indexedPage(_ number: Int) async throws(Failure) -> PageContent {
        let start = (number - 1) * window.perPage
        guard start >= 0, start < works.count else { throw .pastTheEnd }
        let ids = Array(works[start..<min(start + window.perPage, works.count)])
        var found = known
        let missing = ids.filter { found[$0] == nil }
        var unreadable = 0
        if !missing.isEmpty {
            let page = try await source.page(of: key, .works(missing), deadline: deadline)
            for entry in page.entries { found[entry.work.id] = entry }
            unreadable = page.unreadable
        }
        let entries = ids.compactMap { found[$0] }
        return PageContent(works: entries, pictures: pictures(of: entries), last: pageCount, unreadable: unreadable)
    }

    /// The works that a listing still needs when `nextPage` is the next to append; empty where pages do not consist of works.
    func remaining(from nextPage: Int) -> [WorkID] {
        Array(works.dropFirst((nextPage - 1) * window.perPage))
    }

    /// Whether the service has answered, and has no record of any work of an index, or not the pages of a work.
    func lackRecords(_ failure: Failure) -> Bool {
        if case .withheld = failure { key.kind.facts.isIndexed } else { key.isWork && failure.isOfAnswer }
    }

    /// Whether an entry with a name that begins with this number may be on a page still to come.
    ///
    /// - Parameters:
    ///   - number: A rank or the number of a work.
    ///   - last: The last known entry.
    /// - Returns: False if requests for further pages are of no use.
    func mayHold(_ number: Int64, after last: ListingEntry?) -> Bool {
        if key.kind.facts.isIndexed { return works.contains(WorkID(rawValue: number)) }
        switch key.kind.facts.order {
        // Only lower places of a series are still to come, and older works.
        case .lastFirst: return number < last.map { Int64($0.rank) } ?? .max
        case .newestFirst: return number < last?.picture.work.rawValue ?? .max
        // Names come from listings, and works of such a list are in no order: a search through all of them for a name that was
        // never listed would cost a request a page. Authors are few.
        case .given: return key.listsNames
        case .ranked:
            let most = key.ranking == nil ? nil : top ?? window.perPage * window.lastPage
            return number > Int64(last?.rank ?? 0) && number <= most.map { Int64($0) } ?? .max
        }
    }
}

// MARK: - Works

extension ListingPages {
    /// A page of a work: the originals of its pages, and the archive of an animation, all on the first page.
    ///
    /// Where the service has a record of the work, but not all of these, a second page has what is missing, and fails until it is there:
    /// the record can be read meanwhile, and nothing is missing without an error. A comparison fails as a whole, so that what is
    /// stored is not replaced by a part.
    private func workPage(_ number: Int) async throws(Failure) -> PageContent {
        guard number <= 2 else { throw .pastTheEnd }
        let deadline = deadline
        // A listed record of a work may itself be stale: a comparison requests the record again.
        var tried: FoundPictures?
        if number == 1, !isComparison, let summary = await means.records.listedWork(key.work), summary.withheld == nil {
            let found = try await pictures(of: summary, deadline: deadline)
            // A service may answer so for pages that it withholds; the record shows the reason.
            if found.failure == nil { return found.content }
            tried = found
        }
        let details = try await source.details(of: key.work, deadline: deadline)
        let found = try await pictures(of: details.work, tried: tried, deadline: deadline)
        if number > 1 || isComparison, let failure = found.failure { throw failure }
        // So `info.json` needs no request of its own.
        means.records.keep(details, of: key.work, pages: found.content.pictures.compactMap(\.name))
        return found.content
    }

    /// The pictures of a work, and the failure for which some are missing.
    private typealias FoundPictures = (content: PageContent, failure: Failure?)

    /// Finds the pictures of a work, unless they have just been requested in vain.
    private func pictures(
        of record: Work, tried: FoundPictures? = nil, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> FoundPictures {
        let listed = ListedWork(rank: nil, previousRank: nil, work: record)
        if let files = source.files(of: record) {
            let pictures = files.map { ListedPicture($0, of: listed, source) }
            return (PageContent(works: [listed], pictures: pictures, last: 1), nil)
        }
        if let reason = record.withheld { throw .withheld(reason) }
        if let tried { return tried }
        var pictures: [ListedPicture] = []
        do throws(Failure) {
            try await add(to: &pictures, of: listed, deadline: deadline)
        } catch {
            guard error.isOfAnswer else { throw error }
            return (PageContent(works: [], pictures: pictures, goesOn: true), error)
        }
        return (PageContent(works: [listed], pictures: pictures, last: 1), nil)
    }

    private func add(
        to pictures: inout [ListedPicture], of listed: ListedWork, deadline: ContinuousClock.Instant
    ) async throws(Failure) {
        guard listed.work.kind == .animation else {
            let references = try await source.originals(of: key.work, deadline: deadline)
            pictures = try await means.originals.pages(references, of: listed)
            for (page, picture) in pictures.enumerated() { pictures[page].name = "p\(page).\(picture.fileExtension)" }
            return
        }
        // The first frame in full size; only the image host knows its format.
        var first = try await means.originals.original(of: listed)
        first.name = "p0.\(first.fileExtension)"
        pictures.append(first)
        let animation = try await source.animation(of: key.work, deadline: deadline)
        means.records.keep(animation, of: key.work)
        var archive = ListedPicture(
            listed: listed, rendition: .archive, reference: animation.archive, fileExtension: "zip")
        archive.name = "ugoira.zip"
        pictures.append(archive)
    }
}

extension Failure {
    /// Whether the service answered, and had nothing that can be used.
    fileprivate var isOfAnswer: Bool {
        if case .unreadable = self { true } else { self == .notFound }
    }
}

extension ListedPicture {
    /// An author in the place of a work, under the author's number and name; a listing among others under its name.
    init(named listed: ListedWork, in key: ListingKey) {
        self.init(listed: listed, rendition: .avatar, reference: listed.work.picture, fileExtension: "")
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
            listed: listed, rendition: file.rendition, reference: file.reference,
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
