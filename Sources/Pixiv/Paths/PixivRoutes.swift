import Rankings
import Sourcing

/// Paths and queries of `/ajax/…`, as the service's own pages request them.
enum PixivRoutes {
    /// Everything that has the words among its tags, the newest first.
    static func search(_ words: String, page: Int) -> String {
        let encoded = PercentCoding.encode(words)
        return "/ajax/search/artworks/\(encoded)?word=\(encoded)&order=date_d&mode=all&p=\(page)&s_mode=s_tag&type=all"
    }

    static func bookmarks(of user: UserID, page: Int) -> String {
        let range =
            "offset=\((page - 1) * PixivLimits.worksPerBookmarksPage)&limit=\(PixivLimits.worksPerBookmarksPage)"
        return "/ajax/user/\(user.rawValue)/illusts/bookmarks?tag=&\(range)&rest=show"
    }

    static func following(of user: UserID, page: Int) -> String {
        let range = "offset=\((page - 1) * PixivLimits.authorsPerPage)&limit=\(PixivLimits.authorsPerPage)"
        return "/ajax/user/\(user.rawValue)/following?\(range)&rest=show"
    }

    static func details(of work: WorkID) -> String { "/ajax/illust/\(work.rawValue)" }

    static func animation(of work: WorkID) -> String { "/ajax/illust/\(work.rawValue)/ugoira_meta" }

    /// `full` adds the author's words, region and web page.
    static func profile(of author: UserID) -> String { "/ajax/user/\(author.rawValue)?full=1" }

    /// The work that a web page for people is about, of today's form, the English one, or that of before 2019; nil for any other.
    static func work(webPage: String) -> WorkID? {
        guard let address = WebAddress(webPage), ["www.pixiv.net", "pixiv.net"].contains(address.host) else {
            return nil
        }
        var parts = address.path[...]
        if parts.first == "en" { parts.removeFirst() }
        if parts.count == 2, parts.first == "artworks" { return parts.last.flatMap { WebAddress.work($0) } }
        guard parts.count == 1, parts.first == "member_illust.php" else { return nil }
        return address.query["illust_id"].flatMap { WebAddress.work($0) }
    }
}
