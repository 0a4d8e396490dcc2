import Rankings

/// The pages of a listing to request, and the order in which to append them: a pure state machine.
///
/// Pages arrive in any order and are appended in the order of their numbers, which count from 1.
struct Paging<Content: Sendable>: Sendable {
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

    let window: Window
    /// The page to append next.
    private(set) var next: Int
    /// The last page, once known.
    private(set) var last: Int?
    /// Whether a page was found to lie after the last one.
    private(set) var isOver = false
    /// The pages under way.
    private(set) var asked: Set<Int> = []
    private var arrived: [Int: Content] = [:]
    /// Pages that failed before their turn: requested once more at their turn, and not before, which avoids a loop of requests.
    private var failedEarly: Set<Int> = []
    /// The error of the next page, until it is taken.
    private var failure: Failure?

    init(window: Window, next: Int = 1, last: Int? = nil) {
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
        next > min(last ?? .max, window.lastPage)
    }

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
        let bound = isBehindFirst && last != nil ? window.pages : isShort ? 1 : 2
        let count = min((missing + window.perPage - 1) / window.perPage, bound)
        let final = min(last ?? .max, window.lastPage, window.shownPages, next + count - 1)
        guard next <= final else { return [] }
        let pages = (next...final).filter { !asked.contains($0) && arrived[$0] == nil && !failedEarly.contains($0) }
        asked.formUnion(pages)
        return pages
    }

    /// Takes a page's content, and the last page's number if the page contains it.
    ///
    /// A page that another one follows is not the last, whatever another page declared.
    mutating func arrive(_ page: Int, _ content: Content, last told: Int?, goesOn: Bool = false) {
        asked.remove(page)
        // An earlier page may have been the last one since.
        guard page >= next, page <= last ?? .max else { return }
        arrived[page] = content
        if goesOn, let last, last <= page { self.last = nil }
        // A page with content is not past the end, whatever number it declares.
        if let told { end(at: max(told, page)) }
    }

    /// Records that the page lies after the last one.
    mutating func arrivePastTheEnd(_ page: Int) {
        asked.remove(page)
        isOver = true
        end(at: page - 1)
    }

    /// Records that the page failed; the next reader that needs it requests it again.
    mutating func fail(_ page: Int, _ error: Failure) {
        asked.remove(page)
        if page == next { failure = error } else { failedEarly.insert(page) }
    }

    /// The contents of pages after this one that have arrived.
    func contents(after page: Int) -> [Content] { arrived.filter { $0.key > page }.map(\.value) }

    /// The content to append now, in order, with its page number; nil while the next page is missing.
    mutating func takeNext() -> (page: Int, content: Content)? {
        guard let content = arrived.removeValue(forKey: next) else { return nil }
        defer {
            next += 1
            failedEarly.remove(next)
        }
        return (next, content)
    }

    /// The error of the next page, returned once; nil while the page may still come.
    mutating func takeFailure() -> Failure? {
        guard let failure else { return nil }
        self.failure = nil
        // The waiters get the error now; the next reader may request all pages again.
        failedEarly = []
        return failure
    }

    private mutating func end(at page: Int) {
        // The earliest declared end wins; pages appended before stay.
        last = max(min(last ?? .max, page), next - 1)
        arrived = arrived.filter { $0.key <= page }
    }
}

extension Paging.Window {
    /// A ranking's pages, as the source describes them.
    static func ranking(_ paging: RankingPaging) -> Self {
        Self(perPage: max(1, paging.entries), pages: max(1, paging.atOnce), lastPage: max(1, paging.most))
    }

    /// The pages of a kind's listings, as its row and the source describe them.
    init(_ kind: ListingKind, of source: SourceDescription) {
        self.init(perPage: source.entries(of: kind), pages: kind.facts.ahead, lastPage: kind.facts.most)
    }
}
