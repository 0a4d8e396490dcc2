package import Rankings
package import Sourcing

/// The entry of pixiv in the registry of sources.
package struct PixivPlugIn: SourcePlugIn {
    package init() {}

    package var description: SourceDescription { PixivSource.facts }

    package func source(_ means: SourceMeans) -> any RankingSource {
        PixivSource(means, session: SessionKeeper(following: means.sessions))
    }

    package var accounts: (any AccountService)? { self }

    package var plainRequest: String { PixivSource.plainRanking }

    package var headers: [String] { [WebAPI.referer] }

    package var vocabulary: Set<String> {
        [
            "https", "http", "img", "master", "original", "custom", "thumb", "c", "80", "a2", "square1200",
            "master1200", "custom1200", "zip", "ugoira600x600", "ugoira1920x1080", "common", "images", "limit",
            "unviewable", "unknown", "r18", "s", "ajax", "illust", "ranking", "php", "format", "json", "mode", "daily",
            "p", "date", "lang", "en",
        ]
    }
}

extension PixivSource {
    /// The address of the service.
    static let apiURL = "https://www.pixiv.net"
    /// The address of its image host.
    static let imageURL = "https://i.pximg.net"
    /// The host of the API, and of the cookies that it accepts.
    static let apiHost = "www.pixiv.net"
    /// Path and query of the newest daily ranking, which needs no account.
    static let plainRanking = "/ranking.php?format=json&mode=daily&p=1"

    /// The facts of pixiv as a source.
    package static let facts = SourceDescription(
        name: "pixiv", calendar: PixivRankings.calendar, rankings: PixivRankings.all,
        listings: listings, abilities: [.profiles, .animations, .signIn],
        renditions: [
            (.regular, size: "1200 pixels", fileExtension: "jpg"), (.small, size: "480 pixels", fileExtension: "jpg"),
            (.original, size: nil, fileExtension: nil),
        ],
        fileExtensions: ["jpg", "png", "gif"],
        // No ranking has ever had more than 40 pages.
        paging: (entries: PixivLimits.entriesPerPage, atOnce: 10, most: 40),
        access: SourceAccess(
            hosts: [apiHost, "i.pximg.net", "s.pximg.net"], apiURL: apiURL, imageURL: imageURL,
            // The pace that PixivBatchDownloader recommends after measuring the limit: the service refuses after 80 to 100
            // requests within two minutes.
            rate: 1 / 1.2, burst: 40, takesClearance: true,
            // The service gives its placeholders for withheld pictures this prefix.
            placeholder: "limit_"),
        work: { PixivRoutes.work(webPage: $0) },
        webPage: { "https://www.pixiv.net/artworks/\($0.rawValue)" },
        authorPage: { "https://www.pixiv.net/users/\($0.rawValue)" })
}

/// Signing in to pixiv with the cookie of a browser.
extension PixivPlugIn: AccountService {
    package var host: String { PixivSource.apiHost }

    package var question: String {
        "\(SessionCookie.name) cookie of a browser that is signed in to pixiv (it is not shown): "
    }

    package var help: AccountHelp {
        (use: "R-18 rankings, bookmarks and followed authors", secret: "the \(SessionCookie.name) cookie")
    }

    package func looksLikeSecret(_ word: String) -> Bool { SessionText.looksLikeCookie(word) }

    package func session(in bytes: [UInt8], host: String, now: Int64) throws(Failure) -> any SourceSession {
        try SessionText.cookie(in: bytes, host: host, takesBare: true, now: now)
    }

    package func session(typed text: String) throws(Failure) -> any SourceSession { try SessionText.bare(text) }

    package func examine(_ place: SessionPlace, host: String, now: Int64) -> SessionExamination {
        SessionFile.examine(place) { place throws(Failure) in
            try SessionCookie.read(place, host: host, now: now).user
        }
    }

    package func check(
        _ session: any SourceSession, _ means: SourceMeans, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Bool {
        guard let cookie = session as? SessionCookie else { return false }
        return try await PixivSource(means).asking(by: deadline).api.check(cookie)
    }
}
