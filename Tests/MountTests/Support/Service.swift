import Foundation

/// A service that mounts are tested with: what tests have to know of it, and nothing of how it is asked.
enum Service: String, CaseIterable, Sendable, CustomStringConvertible {
    case pixiv, danbooru, yandere

    /// Each as it is reached for good, and pixiv without TLS too.
    static let reached: [(Wire, Service)] = [(.tls, .pixiv), (.plain, .pixiv), (.tls, .danbooru), (.tls, .yandere)]

    /// Those whose listings tell sizes and digests.
    static let boards: [Service] = [.danbooru, .yandere]

    /// One of each sort, for what is the same code for all boards: the board with the shorter days.
    static let kinds: [Service] = [.pixiv, .yandere]

    var description: String { rawValue }

    /// The ranking of a day.
    var daily: String { self == .pixiv ? "daily" : "day" }

    /// A ranking that is long enough for a picture for each fault, by its name, its day, and the days that it ranks.
    var long: (mode: String, day: String, days: String) {
        self == .yandere ? ("week", "2024-04-29", "2024-04-29..2024-05-05") : (daily, Mount.day, Mount.day)
    }

    /// Whether its listings tell sizes and digests, so that no request is for a size alone and no wrong byte passes.
    var isProven: Bool { self != .pixiv }

    /// How paths begin by which its listings are asked for.
    var lists: String {
        switch self {
        case .pixiv: "/ranking.php?"
        case .danbooru: "/posts.json?"
        case .yandere: "/post.json?"
        }
    }

    /// The path by which a page of a day's ranking is asked for, or of several days ("first..last", of Moebooru) on boards.
    func list(_ number: Int, of days: String) -> String {
        lists + (self == .pixiv ? "format=json&mode=daily&" : "tags=") + page(number, of: days)
    }

    /// Past directories of the ranking `long`, each another one, with the days that it ranks.
    func past(_ count: Int) -> [(name: String, days: String)] {
        // 2023-01-02, a Monday.
        let (first, day) = (1_672_617_600.0, 86_400.0)
        let format = Date.ISO8601FormatStyle().year().month().day()
        return (0..<count).map { index in
            let start = Date(timeIntervalSince1970: first + Double(index) * day * (self == .yandere ? 7 : 1))
            let name = start.formatted(format)
            return (name, self == .yandere ? "\(name)..\((start + 6 * day).formatted(format))" : name)
        }
    }

    /// A page of such a ranking that is neither the first nor the last that has entries, or, of two, the last.
    var laterPage: Int { self == .pixiv ? 3 : 2 }

    /// Part of the path by which a page of a day's ranking is asked for, or of several days ("first..last", of Moebooru) on boards.
    func page(_ number: Int, of days: String) -> String {
        switch self {
        case .pixiv: "date=\(days.replacingOccurrences(of: "-", with: ""))&p=\(number)"
        case .danbooru: "date:\(days)+order:score+rating:g&limit=200&page=\(number)"
        case .yandere: "date:\(days)+order:score+rating:s&limit=100&page=\(number)"
        }
    }

    /// What the paths of small previews contain, and nothing else's.
    var previews: String {
        switch self {
        case .pixiv: "/c/480x960/"
        case .danbooru: "/360x360/"
        case .yandere: "/data/preview/"
        }
    }

    /// What the paths of the pictures contain that a mount shows without options.
    var pictures: String {
        switch self {
        case .pixiv: "/img-master/"
        case .danbooru: "/original/"
        case .yandere: "/image/"
        }
    }

    /// The modes of rankings for everybody.
    var modes: [String] {
        self == .pixiv
            ? ["daily", "weekly", "monthly", "male", "female", "rookie", "original", "daily_ai"]
            : ["day", "week", "month"]
    }

    /// What stands in a mount for somebody who is not signed in.
    var top: [String] {
        let authors = self == .pixiv ? ["users"] : []
        let boards =
            self == .pixiv
            ? [] : ["artists", "family", "favorites", "pools"] + (self == .danbooru ? ["favgroups", "hot"] : [])
        let series = self == .pixiv ? ["series", "related", "collections", "author-tags"] : []
        return (boards + ["by-date", "random.jpg", "ranking", "recent", "search"] + series + authors + ["works"])
            .sorted()
    }

    /// What a session of pixiv adds to it.
    static let ofSession = [
        "bookmark-months", "bookmark-tags", "bookmarks", "bookmarks-private", "feed", "feed-r18", "following",
    ]

    /// A search that finds few works.
    var search: String { self == .pixiv ? "三枚だけの札" : "busy_artist" }

    /// Posts of a full page, as the program asks for them.
    var postsOfPage: Int { self == .danbooru ? 200 : 100 }

    /// The first of the posts that the origin's help tells of, all of 2024-04-30.
    var landmarks: Int64 {
        switch self {
        case .pixiv: 0
        case .danbooru: 10_622_977
        case .yandere: 829_697
        }
    }
}

/// A post as a board's origin tells it to anybody, read without any code of the program under test.
struct OriginPost {
    let id: Int64
    let md5: String
    let size: Int64
    /// In seconds since 1970: of the file, where that is told apart from the post's.
    let uploaded: Int64
    let fileExtension: String
    /// The path of the original; nil for a post without a file.
    let picture: String?
    /// The path of the small JPEG; nil if there is none.
    let preview: String?
    let fields: [String: Any]

    init?(_ fields: [String: Any]) {
        guard let id = (fields["id"] as? NSNumber)?.int64Value else { return nil }
        self.id = id
        self.fields = fields
        md5 = fields["md5"] as? String ?? ""
        size = (fields["file_size"] as? NSNumber)?.int64Value ?? 0
        picture = Self.path(fields["file_url"])
        fileExtension = fields["file_ext"] as? String ?? picture.map { URL(filePath: $0).pathExtension } ?? ""
        let asset = fields["media_asset"] as? [String: Any]
        let variants = asset?["variants"] as? [[String: Any]] ?? []
        preview = Self.path(fields["preview_url"] ?? variants.first { $0["type"] as? String == "360x360" }?["url"])
        uploaded = Self.moment(asset?["created_at"] ?? fields["created_at"])
    }

    private static func path(_ url: Any?) -> String? {
        (url as? String).flatMap { URLComponents(string: $0) }?.percentEncodedPath
    }

    /// A moment as a number of seconds, or as text with milliseconds.
    private static func moment(_ value: Any?) -> Int64 {
        if let seconds = value as? NSNumber { return seconds.int64Value }
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return (value as? String).flatMap { try? format.parse($0) }.map { Int64($0.timeIntervalSince1970) } ?? 0
    }
}

extension OriginProcess {
    /// The posts of a day for everybody, best first, asked with curl.
    func posts(_ day: String = Mount.day) throws -> [OriginPost] {
        var posts: [OriginPost] = []
        for page in 1...20 {
            let data = try fetch(service.list(page, of: day))
            let answer = try JSONSerialization.jsonObject(with: data) as? [[String: Any]] ?? []
            if answer.isEmpty { break }
            posts += answer.compactMap(OriginPost.init)
        }
        return posts
    }

    /// The number and the posts of a board's pool, in its order.
    func pool(named name: String) throws -> (number: Int64, posts: [Int64]) {
        let find = service == .danbooru ? "/pools.json?search%5Bname_contains%5D=" : "/pool.json?query="
        let pools = try JSONSerialization.jsonObject(with: fetch(find + name)) as? [[String: Any]]
        guard let pool = pools?.first, let number = (pool["id"] as? NSNumber)?.int64Value else {
            throw Failure("no pool \(name)")
        }
        if let posts = pool["post_ids"] as? [NSNumber] { return (number, posts.map(\.int64Value)) }
        let data = try fetch("/post.json?tags=pool:\(number)&limit=1000")
        let posts = try JSONSerialization.jsonObject(with: data) as? [[String: Any]] ?? []
        return (number, posts.compactMap { ($0["id"] as? NSNumber)?.int64Value })
    }

    /// How many entries directories of the ranking `long` show, by the days that they rank.
    func counts(of spans: [String], in workplace: Workplace) throws -> [Int] {
        let pages = 10
        let paths = spans.flatMap { days in (1...pages).map { service.list($0, of: days) } }
        let counts = try fetch(paths, in: workplace).map { page in
            let answer = try JSONSerialization.jsonObject(with: page)
            if let posts = answer as? [[String: Any]] {
                return posts.compactMap(OriginPost.init).count { $0.fileExtension != "swf" }
            }
            return ((answer as? [String: Any])?["contents"] as? [Any])?.count ?? 0
        }
        return spans.indices.map { counts[$0 * pages..<($0 + 1) * pages].reduce(0, +) }
    }

    /// The paths by rank of what is only known by HEAD how long it is: pixiv's pictures, and the small ones of boards.
    func unmeasured() throws -> [String?] {
        guard service != .pixiv else { return try pictures() }
        return try posts().filter { $0.fileExtension != "swf" }.map { $0.picture == nil ? nil : $0.preview }
    }

    /// The paths of a long day's pictures by rank; nil for what the service withholds, or is not fit for tests of downloads.
    func pictures() throws -> [String?] {
        guard service != .pixiv else { return try ranking().map { $0.isWithheld ? nil : $0.picture } }
        // What comes in pieces of 150 KB comes in as many as a download has tries.
        return try posts(service.long.days).filter { $0.fileExtension != "swf" }.map {
            $0.size < 1_000_000 ? $0.picture : nil
        }
    }
}
