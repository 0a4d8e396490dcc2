package import Rankings
import Sourcing

/// Answers that are one page of a list.
package enum ListAnswers {
    /// A page of `/ajax/search/artworks/<words>`.
    ///
    /// - Parameters:
    ///   - body: The body of the answer.
    ///   - page: The page asked for, from 1.
    /// - Returns: The page; works that make no sense are left out and counted.
    /// - Throws: `.pastTheEnd` behind the last page, where the service tells the last page once more; `.unreadable` for a page without
    ///   works that should have some, which is how the service limits searches: 200, no works, a total of 0, for some minutes.
    package static func search(_ body: JSON, page: Int) throws(SourceError) -> WorkPage {
        let groups = ["illustManga", "illust", "manga"].map { body[$0] }.filter { $0["data"].isArray }
        guard !groups.isEmpty else {
            throw .unreadable("pixiv's search has no list of works; pixiv may have changed it.")
        }
        let list = try readable(WorkList(search: body))
        let lastPage = groups.compactMap { $0["lastPage"].number(in: PixivLimits.searchPages) }.max()
        let before = (page - 1) * PixivLimits.worksPerSearchPage
        if list.works.isEmpty {
            if page == 1, list.total ?? 0 == 0 {
                return WorkPage(works: [], total: list.total, hasNext: false, unreadable: 0)
            }
            // A total of nothing behind a page that had works is no end, which would be kept.
            let isEnd = list.total.map { $0 > 0 && (lastPage.map { page > $0 } ?? false || $0 <= before) } ?? true
            if page > 1, isEnd { throw .pastTheEnd }
            throw .unreadable("pixiv's search shows no works where there should be some; asking again later helps.")
        }
        if let lastPage, page > 1, page > lastPage { throw .pastTheEnd }
        let hasNext =
            lastPage.map { page < $0 } ?? list.total.map { $0 > page * PixivLimits.worksPerSearchPage } ?? false
        return WorkPage(
            works: list.works, total: list.total, hasNext: hasNext, lastPage: lastPage.map { Int($0) },
            unreadable: list.unreadable)
    }

    /// A page of `/ajax/user/<id>/illusts/bookmarks`.
    ///
    /// Works that are gone are missing from their page, which may leave it empty without being the last.
    ///
    /// - Throws: `.pastTheEnd` behind the last page.
    package static func bookmarks(_ body: JSON, page: Int) throws(SourceError) -> WorkPage {
        guard body["works"].isArray else {
            throw .unreadable("pixiv's bookmarks have no list of works; pixiv may have changed it.")
        }
        let list = try readable(WorkList(works: body))
        let hasNext = try hasNext(
            page: page, of: PixivLimits.worksPerBookmarksPage, total: list.total, isEmpty: list.works.isEmpty)
        return WorkPage(works: list.works, total: list.total, hasNext: hasNext, unreadable: list.unreadable)
    }

    /// A page of `/ajax/user/<id>/following`; authors without a number are left out.
    ///
    /// - Throws: `.pastTheEnd` behind the last page.
    package static func following(_ body: JSON, page: Int) throws(SourceError) -> AuthorPage {
        let users = body["users"]
        guard users.isArray else {
            throw .unreadable("pixiv's list of followed authors has no authors; pixiv may have changed it.")
        }
        var seen: Set<UserID> = []
        let authors = users.elements.compactMap { AuthorAnswers.author($0) }.filter { seen.insert($0.id).inserted }
        if authors.isEmpty, !users.elements.isEmpty {
            throw .unreadable("None of \(users.elements.count) followed authors could be understood.")
        }
        let total = body["total"].count
        let hasNext = try hasNext(page: page, of: PixivLimits.authorsPerPage, total: total, isEmpty: authors.isEmpty)
        return AuthorPage(authors: authors, hasNext: hasNext, total: total)
    }

    /// Whether a page follows, by the total, or else by whether this one has anything.
    private static func hasNext(page: Int, of size: Int, total: Int?, isEmpty: Bool) throws(SourceError) -> Bool {
        if page > 1, isEmpty, total.map({ $0 <= (page - 1) * size }) ?? true { throw .pastTheEnd }
        return total.map { $0 > page * size } ?? !isEmpty
    }

    private static func readable(_ list: WorkList) throws(SourceError) -> WorkList {
        if list.works.isEmpty, list.unreadable > 0 {
            throw .unreadable("None of \(list.unreadable) works could be understood; pixiv may have changed them.")
        }
        return list
    }
}
