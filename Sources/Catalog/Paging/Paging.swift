import Rankings

/// Which pages of a listing to ask for, and in which order to append what comes: a pure state machine.
///
/// Pages arrive in any order and are appended in theirs. Page numbers count from 1.
struct Paging<Content: Sendable>: Sendable {
    /// How a listing is read ahead.
    struct Window: Hashable, Sendable {
        /// Entries on a full page; real ones may have fewer.
        var perPage: Int
        /// How many pages are asked at once for a reader who went on behind the first page.
        var pages: Int
        /// A bound for services whose paging never ends.
        var lastPage: Int
        /// The pages that are shown; there may be more, which are not asked for.
        var shownPages = Int.max
    }

    let window: Window
    /// The page to append next.
    private(set) var next: Int
    /// The last page, once known.
    private(set) var last: Int?
    /// The pages that are on their way.
    private(set) var asked: Set<Int> = []
    private var arrived: [Int: Content] = [:]
    /// Pages that failed before it was their turn: asked once more then, and not before, lest they be asked in a circle.
    private var failedEarly: Set<Int> = []
    /// Why the next page failed, until it is told.
    private var failure: CatalogError?

    init(window: Window, next: Int = 1, last: Int? = nil) {
        self.window = window
        self.next = next
        self.last = last
    }

    /// Whether every page to show has been appended.
    var isComplete: Bool {
        hasEverything || next > window.shownPages
    }

    /// Whether every page that there is has been appended.
    var hasEverything: Bool {
        next > min(last ?? .max, window.lastPage)
    }

    /// The pages to ask for now, marked as asked: for a reader of the entry at `index` when `known` entries are there.
    ///
    /// Within the first page one page ahead; behind it as many as the window has, all at once.
    mutating func ask(reaching index: Int, known: Int) -> [Int] {
        guard !isComplete else { return [] }
        // "To the end" may be asked with any large number.
        let index = min(index, window.perPage * window.lastPage)
        let isBehindFirst = index >= (next == 1 ? window.perPage : min(known, window.perPage))
        let ahead = isBehindFirst ? window.perPage * window.pages : window.perPage
        let missing = index + ahead + 1 - known
        guard missing > 0 else { return [] }
        // How many there are is not told: one further page may not exist, ten would be nine wasted requests. After a page that
        // was not full there is hardly another one.
        let isShort = known < (next - 1) * window.perPage
        let bound = isBehindFirst && last != nil ? window.pages : isShort ? 1 : 2
        let count = min((missing + window.perPage - 1) / window.perPage, bound)
        let final = min(last ?? .max, window.lastPage, window.shownPages, next + count - 1)
        guard next <= final else { return [] }
        let pages = (next...final).filter { !asked.contains($0) && arrived[$0] == nil && !failedEarly.contains($0) }
        asked.formUnion(pages)
        return pages
    }

    /// Takes a page's content, and the last page's number if it told one.
    mutating func arrive(_ page: Int, _ content: Content, last told: Int?) {
        asked.remove(page)
        guard page >= next else { return }
        arrived[page] = content
        // A page with content is not behind the end, whatever it says.
        if let told { end(at: max(told, page)) }
    }

    /// The page lies behind the last one.
    mutating func arrivePastTheEnd(_ page: Int) {
        asked.remove(page)
        end(at: page - 1)
    }

    /// The page could not be had; it will be asked again by the next reader who needs it.
    mutating func fail(_ page: Int, _ error: CatalogError) {
        asked.remove(page)
        if page == next { failure = error } else { failedEarly.insert(page) }
    }

    /// The content to append now, in order, and the number of the page it came from; nil while the next page is missing.
    mutating func takeNext() -> (page: Int, content: Content)? {
        guard let content = arrived.removeValue(forKey: next) else { return nil }
        defer {
            next += 1
            failedEarly.remove(next)
        }
        return (next, content)
    }

    /// Why the next page did not come, told once; nil while it may still come.
    mutating func takeFailure() -> CatalogError? {
        guard let failure else { return nil }
        self.failure = nil
        // Whoever waited is told now; the next reader may ask for everything again.
        failedEarly = []
        return failure
    }

    private mutating func end(at page: Int) {
        // The earliest end anyone told wins; what was appended before stays.
        last = max(min(last ?? .max, page), next - 1)
        arrived = arrived.filter { $0.key <= page }
    }
}

extension Paging.Window {
    /// A ranking's pages, as the source describes them.
    static func ranking(_ paging: RankingPaging) -> Self {
        Self(perPage: max(1, paging.entries), pages: max(1, paging.atOnce), lastPage: max(1, paging.most))
    }

    /// An author's works: three requests ahead, because five thousand works are fifty requests.
    static func author(perRequest: Int) -> Self { Self(perPage: max(1, perRequest), pages: 3, lastPage: 5000) }
}
