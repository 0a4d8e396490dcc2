import Rankings

/// The routes below `/ajax/user/<id>`: the profile, the numbers of all works and works by number.
struct UserAnswers: Sendable {
    private let universe: Universe
    private let now: Int64
    private let viewer: Viewer

    init(_ match: Routes.Match) {
        universe = match.universe
        now = match.now
        viewer = match.viewer
    }

    /// Works that may be asked for at once.
    static let maximumIDs = 100

    /// What the service says of users who are not there.
    static let gone = Response.failure(
        "該当ユーザーは既に退会したか、存在しないユーザーIDです", status: 404)

    /// `/ajax/user/<id>`; with `full=1` everything that the author tells.
    func profile(_ user: UserID, _ request: Request) -> Response {
        guard universe.works(of: user, now: now) != nil else { return Self.gone }
        let isFollowed = viewer.user.map { Circle(universe, now: now).following(of: $0).contains(user) } ?? false
        let isFull = request.value("full") == "1"
        var fields: [(String, JSONValue)] = [
            ("userId", .string("\(user.rawValue)")),
            ("name", .string(universe.name(of: user))),
            ("image", .string(universe.portrait(of: user, side: 50))),
            ("imageBig", .string(universe.portrait(of: user, side: 170))),
            ("premium", .bool(user.rawValue % 5 == 0)),
            ("isFollowed", .bool(isFollowed)), ("isMypixiv", false), ("isBlocking", false), ("background", .null),
            ("sketchLiveId", .null), ("partial", isFull ? 1 : 0), ("acceptRequest", false),
            ("sketchLives", .array([])),
        ]
        if isFull { fields += details(user) }
        return .envelope(.object(fields))
    }

    /// `/ajax/user/<id>/profile/all`: the numbers of all works, split by kind.
    func all(_ user: UserID) -> Response {
        guard let works = universe.works(of: user, now: now, for: viewer) else { return Self.gone }
        var illusts: [(String, JSONValue)] = []
        var manga: [(String, JSONValue)] = []
        for id in works {
            guard let slot = Slot(id) else { continue }
            let pair = ("\(id.rawValue)", JSONValue.null)
            if universe.record(slot).kind == .manga { manga.append(pair) } else { illusts.append(pair) }
        }
        let bookmarks = Circle(universe, now: now).bookmarks(of: user, hidden: false).count
        let counts: JSONValue = .object([("illust", .int(bookmarks)), ("novel", 0)])
        return .envelope(
            .object([
                ("illusts", .map(illusts)),
                ("manga", .map(manga)),
                ("novels", .array([])),
                ("mangaSeries", .array([])),
                ("novelSeries", .array([])),
                ("pickup", .array([])),
                ("bookmarkCount", .object([("public", counts), ("private", .object([("illust", 0), ("novel", 0)]))])),
                (
                    "externalSiteWorksStatus",
                    .object([("booth", false), ("sketch", false), ("vroidHub", false)])
                ),
                (
                    "request",
                    .object([
                        ("showRequestTab", false), ("showRequestSentTab", false),
                        ("postWorks", .object([("artworks", .array([])), ("novels", .array([]))])),
                    ])
                ),
            ]))
    }

    /// `/ajax/user/<id>/profile/illusts?ids[]=…`: short records of up to a hundred works.
    func illusts(_ user: UserID, _ request: Request) -> Response {
        let ids = request.values("ids[]")
        guard !ids.isEmpty, ids.count <= Self.maximumIDs, request.value("work_category") != nil else {
            return Routes.badRequest
        }
        guard universe.works(of: user, now: now) != nil else { return Self.gone }
        var works: [(String, JSONValue)] = []
        for id in ids {
            guard let number = Int64(id), let work = universe.work(WorkID(rawValue: number), now: now),
                work.author == user
            else { continue }
            works.append((id, BriefWork.json(work, universe, for: viewer)))
        }
        return .envelope(
            .object([
                ("works", .map(works)),
                ("zoneConfig", PageFurniture.zones),
                (
                    "extraData",
                    PageFurniture.meta(
                        title: "\(universe.name(of: user)) - pixiv", description: "",
                        page: "users/\(user.rawValue)")
                ),
            ]))
    }

    private static let regions = [
        ("日本", "JP", "13"), ("日本", "JP", "26"), ("台湾", "TW", ""), ("アメリカ合衆国", "US", ""), ("フランス", "FR", ""),
    ]
    private static let remarks = [
        "絵を描いています。", "Freestyle art work. Please follow my account. Thanks!", "無断転載禁止 / Do not repost <3",
        "お仕事のご依頼は\r\nプロフィールのリンクからどうぞ。", "風景 & 背景が好きです。", "그림을 그립니다.",
    ]

    private func details(_ user: UserID) -> [(String, JSONValue)] {
        let name = universe.name(of: user)
        var chance = Chance(universe.seed, 0x17, UInt64(bitPattern: user.rawValue))
        let (country, code, prefecture) = chance.pick(Self.regions)
        let region: JSONValue = .object([
            ("name", .string(country)), ("region", .string(code)), ("prefecture", .string(prefecture)),
            ("privacyLevel", "0"),
        ])
        let comment = "\(name)です。\r\n\(chance.pick(Self.remarks))"
        let webpage: JSONValue = chance.oneIn(2) ? .string("https://\(user.rawValue).example/?a=1&b=2") : .null
        func told(_ text: JSONValue) -> JSONValue { .object([("name", text), ("privacyLevel", "0")]) }
        let workspace = ["Pc", "Tool", "Tablet", "Mouse", "Desktop", "Music", "Desk", "Chair"]
        let group: JSONValue = .object([
            ("id", "3282"), ("title", "風景を描く人"),
            ("iconUrl", "https://i.pximg.net/c/128x128/imgaz/2012/09/12/23/08/46/group_icon_3282_square1200.jpg"),
        ])
        return [
            ("following", .int(Circle(universe, now: now).following(of: user).count)), ("followedBack", false),
            ("comment", .string(comment)), ("commentHtml", .string(Caption.html(comment))), ("webpage", webpage),
            ("social", .object([("twitter", .object([("url", .string("https://twitter.com/\(user.rawValue)"))]))])),
            ("canSendMessage", true), ("region", region), ("age", told("23歳")), ("birthDay", told("12月16日")),
            ("gender", told("女性")), ("job", told("教員")),
            ("workspace", .object(workspace.map { ("userWorkspace" + $0, "") })), ("official", false),
            ("group", .array([group])),
        ]
    }
}
