import Rankings

/// One page of a listing, as the source returns it.
struct PageContent: Sendable {
    var works: [ListedWork]
    /// The pictures to list.
    var pictures: [ListedPicture]
    /// The number of the last page, if this page contains it; in a ranking, a page to which this one leads is no later.
    var last: Int?
    /// Whether the service has a further page.
    var goesOn = false
    /// The number of entries of all pages, if this page contains it.
    var total: Int?
    /// The number of entries that could not be decoded.
    var unreadable = 0
}

/// The pages of a listing to request, and the judgement of their outcomes in order: a pure state machine.
///
/// Outcomes come in any order; each is judged, and its page appended, at its turn. Pages count from 1.
struct Paging: Sendable {
    typealias Outcome = Result<PageContent, Failure>

    /// The preloading of a listing's pages.
    struct Window: Hashable, Sendable {
        /// Entries on a full page; a page may have fewer.
        var perPage: Int
        /// The number of pages requested at once for a reader that continues after the first page.
        var pages: Int
        /// An upper bound of the pages, for services with endless paging.
        var lastPage: Int
        /// The number of pages that are shown; further pages are not requested.
        var shownPages = Int.max
    }

    let key: ListingKey
    let window: Window
    /// The page to append next.
    private(set) var next: Int
    /// The last page, once known.
    private(set) var last: Int?
    /// Whether the list has ended because there was no further page, and not with a page that is the last one.
    private(set) var isOver = false
    /// Whether entries of the appended pages could not be decoded.
    private(set) var lacksEntries = false
    /// The pages under way.
    private(set) var asked: Set<Int> = []
    /// The outcomes of pages that are still to be judged, and whether they came before their turn.
    private var came: [Int: (outcome: Outcome, isEarly: Bool)] = [:]
    /// The first work of the page that was appended last.
    private var began: WorkID?
    /// The error of the next page, until it is taken.
    private var failure: Failure?

    init(_ key: ListingKey, window: Window, next: Int = 1, last: Int? = nil) {
        self.key = key
        self.window = window
        self.next = next
        self.last = last
    }

    /// Whether every page to show has been appended.
    var isComplete: Bool {
        hasEverything || next > window.shownPages
    }

    /// Whether every existing page has been appended.
    var hasEverything: Bool {
        isOver || next > min(last ?? .max, window.lastPage)
    }

    /// Whether the ranking has ended although its pages lead on.
    var isDoubtful: Bool { isOver && isLedOn }

    /// Whether the list is a ranking whose pages lead to the next one.
    private var isLedOn: Bool { key.ranking != nil && next <= last ?? 0 }

    /// The pages to request now, marked as requested: for a reader of the entry at `index` when `known` entries are there.
    ///
    /// Within the first page, one page ahead; after it, as many pages as the window has, all at once.
    mutating func ask(reaching index: Int, known: Int) -> [Int] {
        guard !isComplete else { return [] }
        // A request for the whole list may use any large number.
        let index = min(index, window.perPage * window.lastPage)
        let isBehindFirst = index >= (next == 1 ? window.perPage : min(known, window.perPage))
        let ahead = isBehindFirst ? window.perPage * window.pages : window.perPage
        let missing = index + ahead + 1 - known
        guard missing > 0 else { return [] }
        // The length of the list is unknown: one further page may not exist, and ten would be nine wasted requests. After a
        // page that was not full, another one is unlikely.
        let isShort = known < (next - 1) * window.perPage
        let bound = isBehindFirst && last != nil ? max(2, window.pages) : isShort ? 1 : 2
        let count = min((missing + window.perPage - 1) / window.perPage, bound)
        let final = min(last ?? .max, window.lastPage, window.shownPages, next + count - 1)
        guard next <= final else { return [] }
        let pages = (next...final).filter { !asked.contains($0) && came[$0] == nil }
        asked.formUnion(pages)
        return pages
    }

    /// Takes the outcome of a page, until its turn.
    mutating func arrive(_ page: Int, _ outcome: Outcome) {
        asked.remove(page)
        if page >= next, !hasEverything { came[page] = (outcome, page > next) }
    }

    /// Judges the outcome of the next page, if it has come.
    ///
    /// A page whose outcome was an error before its turn is requested once more at its turn, and not before, which avoids a loop of
    /// requests.
    ///
    /// - Parameters:
    ///   - isEmpty: Whether the pages before have no entry.
    ///   - row: The row of a work among those of the pages before; nil if it is not there.
    /// - Returns: The page to append now; nil if it has not come, is the end, or failed.
    mutating func takeNext(isEmpty: Bool, row: (WorkID) -> Int?) -> PageContent? {
        guard !hasEverything, let (outcome, isEarly) = came.removeValue(forKey: next) else { return nil }
        switch judged(outcome, isEmpty: isEmpty, row: row) {
        case .success(nil):
            isOver = true
            // Only a ranking is requested once more where it leads on.
            if !isLedOn { last = next - 1 }
        case .success(let content?):
            append(content)
            return content
        case .failure(let error): if !isEarly { failure = error }
        }
        return nil
    }

    private mutating func append(_ content: PageContent) {
        // A page that another one follows is not the last, whatever another page declared.
        if content.goesOn, let last, last <= next { self.last = nil }
        // A page with content is not past the end, whatever number it declares; the earliest declared end wins.
        if let told = content.last { last = min(last ?? .max, max(told, next)) }
        began = content.works.first?.work.id
        lacksEntries = lacksEntries || content.unreadable > 0
        next += 1
    }

    /// The meaning of the next page's outcome: its content, nil for the end of the list, or an error.
    ///
    /// It is an error where the pages together cannot be the list: an earlier page once more in a list whose end has other signs, no
    /// page where others follow, and not one work on any page although the first answer named some.
    private func judged(
        _ outcome: Outcome, isEmpty: Bool, row: (WorkID) -> Int?
    ) -> Result<PageContent?, Failure> {
        let facts = key.kind.facts
        guard next > 1 || facts.isIndexed else { return outcome.map { $0 } }
        var isLast = next >= window.lastPage
        switch outcome {
        case .success(let content):
            guard let first = content.works.first?.work.id else {
                // A page without works that counts none either says nothing about the end.
                let isUncounted = !facts.isIndexed && !content.goesOn && content.total == nil
                if isUncounted, isFollowed || next <= last ?? 0 { return .failure(.missing(next)) }
                isLast = isLast || content.last.map { $0 <= next } ?? false
                break
            }
            guard let place = repeated(first, content, row) else { return .success(content) }
            // A list that shows its end so repeats the last page, and no earlier one.
            let isEnd = facts.repeatsLastPage && place + window.perPage / 2 >= (next - 2) * window.perPage
            return isEnd ? .success(nil) : .failure(.repeated(next))
        case .failure(.pastTheEnd):
            // A first page alone may be all that there is, whatever it says.
            if isFollowed || isLedOn && next > 2 { return .failure(.missing(next)) }
            isLast = true
        case .failure(let error): return .failure(error)
        }
        return isLast && isEmpty ? .failure(.withheld("none is shown")) : .success(try? outcome.get())
    }

    /// Whether a page after the next one has come and has works.
    private var isFollowed: Bool {
        came.values.contains { page in (try? page.outcome.get())?.works.isEmpty == false }
    }

    /// The row of the first work of a page that is an earlier one once more; nil for any other page.
    ///
    /// Such a page begins with the same work as the one before, or all its works stand half a page or more before its own place. New
    /// works move known ones to later pages, but the rows of these with them. Too few works show nothing.
    private func repeated(_ first: WorkID, _ content: PageContent, _ row: (WorkID) -> Int?) -> Int? {
        let (half, place) = (window.perPage / 2, (next - 1) * window.perPage)
        if first == began { return place }
        guard content.works.count > half, let start = row(first), start + half < place else { return nil }
        return content.works.allSatisfy { row($0.work.id) != nil } ? start : nil
    }

    /// The error of the next page, returned once; nil while the page may still come.
    mutating func takeFailure() -> Failure? {
        guard let failure = failure.take() else { return nil }
        // The waiters get the error now; the next reader may request all pages again.
        came = came.filter { (try? $0.value.outcome.get()) != nil }
        return failure
    }
}

extension Failure {
    /// An earlier page comes once more in the place of a page.
    static func repeated(_ page: Int) -> Failure { .unreadable("page \(page) is an earlier one once more") }

    /// A page to which the one before leads, or after which others came, is missing.
    static func missing(_ page: Int) -> Failure { .unreadable("page \(page) is missing, and the list goes on") }
}

extension Paging.Window {
    /// The pages of a kind's listings, as its row and the source describe them.
    init(_ kind: ListingKind, of source: SourceDescription) {
        self.init(perPage: source.entries(of: kind), pages: kind.facts.ahead, lastPage: kind.facts.most)
    }
}
