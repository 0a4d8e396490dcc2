package import Rankings
import Sourcing

/// The facts of the service for its source and its clients, independent of any account.
extension DanbooruEngine {
    /// The host that adds `rating:g` to every search.
    static let safeURL = "https://safebooru.donmai.us"
    /// The host that shows every rating.
    static let wholeURL = "https://danbooru.donmai.us"
    static let imageURL = "https://cdn.donmai.us"

    /// The most posts of a page; the service accepts larger numbers for this one.
    static let postsPerPage = 200
    /// The pages that the service returns without an account; it answers the next page with 410.
    static let pages = 1000

    /// The part of a metatag before its colon (`post_query_builder.rb`); any other word with a colon is a tag.
    static let metatags: Set<Substring> = {
        let counts: [(one: String, many: String)] = [
            ("comment", "comments"), ("note", "notes"), ("flag", "flags"), ("child", "children"), ("pool", "pools"),
        ]
        let ofStates = counts.flatMap { one, many in
            ["", "deleted_", "active_"].flatMap { ["\($0)\(one)_count", "\($0)\(many)"] }
        }
        let others = ["series_pool", "collection_pool", "appeal", "approval", "replacement", "disapproval"]
            .flatMap { ["\($0)_count", "\($0)s"] }
        let tags = ["art", "copy", "char", "gen", "meta"].map { "\($0)tags" }
        return Set((plainMetatags + ofStates + others + tags).map { $0[...] })
    }()

    private static let plainMetatags = [
        "user", "approver", "commenter", "comm", "noter", "noteupdater", "artcomm", "commentaryupdater", "flagger",
        "appealer", "upvote", "downvote", "fav", "ordfav", "favgroup", "ordfavgroup", "reacted", "pool", "ordpool",
        "note", "comment", "commentary", "id", "rating", "source", "status", "filetype", "disapproved", "parent",
        "child", "search", "embedded", "md5", "pixelhash", "width", "height", "mpixels", "ratio", "score", "upvotes",
        "downvotes", "favcount", "filesize", "date", "age", "order", "limit", "tagcount", "pixiv_id", "pixiv",
        "unaliased", "exif", "duration", "random", "is", "has", "ai",
    ]

    /// The ratings; their letters changed in 2022: posts with the former `s` (safe) now have `g` or `s` (sensitive).
    package static let scale = RatingScale(steps: [
        ("general", "g", "rating:g"),
        ("sensitive", "s", "rating:g,s"),
        ("questionable", "q", "rating:g,s,q"),
        ("explicit", "e", nil),
    ])

    /// The calendar: days run from midnight to midnight; votes continue after the day.
    package static let calendar = RankingCalendar(
        delay: 0, change: .settles(after: 7 * 86_400, then: 30 * 86_400), secondsAhead: secondsAhead)

    /// The day of the first post.
    private static let firstDay = Day(year: 2005, month: 5, day: 24) ?? Day(ordinal: 0)

    package static let description = SourceDescription(
        name: "danbooru", title: "Danbooru", calendar: calendar, rankings: BooruSource.rankings(from: firstDay),
        listings: BooruSource.listings(perPage: postsPerPage)
            .merging([.favoriteGroup: postsPerPage, .hot: postsPerPage]) { first, _ in first },
        abilities: BooruSource.abilities,
        renditions: [
            (.original, size: nil, fileExtension: nil), (.regular, size: "850 pixels wide", fileExtension: nil),
            (.small, size: "360 pixels", fileExtension: "jpg"),
        ],
        fileExtensions: PostFormat.all, paging: (entries: postsPerPage, atOnce: 2, most: pages),
        tellsSizes: true,
        access: SourceAccess(
            hosts: ["danbooru.donmai.us", "safebooru.donmai.us", "cdn.donmai.us"], apiURL: safeURL,
            imageURL: imageURL,
            // The service allows ten reads a second; its clients leave one to two seconds between lists.
            rate: 1, burst: 10),
        choices: [scale.choice], work: { work(webPage: $0) }, webPage: { "\(wholeURL)/posts/\($0.rawValue)" })

    /// The work of `https://danbooru.donmai.us/posts/5` and of the same path on the other host.
    static func work(webPage: String) -> WorkID? {
        guard let address = WebAddress(webPage), ["danbooru.donmai.us", "safebooru.donmai.us"].contains(address.host),
            address.path.count == 2, address.path[0] == "posts"
        else { return nil }
        return WebAddress.work(address.path[1])
    }
}

// MARK: - Eastern time

/// Time on the east coast of the United States, by which the service counts days (its configuration's `time_zone`).
extension DanbooruEngine {
    /// Seconds ahead of UTC at the begin of a day: minus five hours, minus four in summer time.
    ///
    /// The value is valid from 1987 on: earlier summers began at other times, and the service has no posts of them.
    package static func secondsAhead(_ day: Day) -> Int64 {
        isSummerTime(day) ? -4 * 3600 : -5 * 3600
    }

    /// Whether clocks are an hour ahead at the begin of a day.
    ///
    /// Clocks change at two in the morning: from the second Sunday in March to the first in November since 2007 (Energy Policy
    /// Act of 2005, section 110), before that from the first Sunday in April to the last in October (Public Law 99-359).
    private static func isSummerTime(_ day: Day) -> Bool {
        let year = day.civil.year
        let (beginning, end) =
            year >= 2007
            ? (sunday(year, month: 3, from: 8), sunday(year, month: 11, from: 1))
            : (sunday(year, month: 4, from: 1), sunday(year, month: 10, from: 25))
        guard let beginning, let end else { return false }
        return day > beginning && day <= end
    }

    /// The first Sunday from a day on.
    private static func sunday(_ year: Int, month: Int, from day: Int) -> Day? {
        guard let day = Day(year: year, month: month, day: day) else { return nil }
        // 1970-01-01 was a Thursday.
        return day.advanced(by: 6 - ((day.ordinal + 3) % 7 + 7) % 7)
    }
}
