import Rankings

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
}
