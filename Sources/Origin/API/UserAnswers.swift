import Rankings

/// The routes below `/ajax/user/<id>` (reference/pixiv-api.md, section 2).
struct UserAnswers: Sendable {
    private let universe: Universe
    private let now: Int64

    init(_ match: Routes.Match) {
        universe = match.universe
        now = match.now
    }

    /// Works that may be asked for at once.
    static let maximumIDs = 100

    private static let gone = Answer.failure(
        "該当ユーザーは既に退会したか、存在しないユーザーIDです", status: 404)

    /// `/ajax/user/<id>`; with `full=1` everything that the author tells.
    func profile(_ user: UserID, _ request: Request) -> Answer {
        guard universe.works(of: user, now: now) != nil else { return Self.gone }
        let isFull = request.value("full") == "1"
        var fields: [(String, JSON)] = [
            ("userId", .string("\(user.rawValue)")),
            ("name", .string(universe.name(of: user))),
            ("image", .string(Self.portrait(of: user, size: 50))),
            ("imageBig", .string(Self.portrait(of: user, size: 170))),
            ("premium", .bool(user.rawValue % 5 == 0)),
            ("isFollowed", false), ("isMypixiv", false), ("isBlocking", false), ("background", .null),
            ("sketchLiveId", .null), ("partial", isFull ? 1 : 0), ("acceptRequest", false),
            ("sketchLives", .array([])),
        ]
        if isFull { fields += details(user) }
        return .envelope(.object(fields))
    }

    /// `/ajax/user/<id>/profile/all`: the numbers of all works, split by kind.
    func all(_ user: UserID) -> Answer {
        guard let works = universe.works(of: user, now: now) else { return Self.gone }
        var illusts: [(String, JSON)] = []
        var manga: [(String, JSON)] = []
        for id in works {
            guard let slot = Slot(id) else { continue }
            let pair = ("\(id.rawValue)", JSON.null)
            if universe.record(slot).kind == .manga { manga.append(pair) } else { illusts.append(pair) }
        }
        let counts: JSON = .object([("illust", 1), ("novel", 0)])
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
    func illusts(_ user: UserID, _ request: Request) -> Answer {
        let ids = request.values("ids[]")
        guard !ids.isEmpty, ids.count <= Self.maximumIDs, request.value("work_category") != nil else {
            return .failure("不正なリクエストです。", status: 400)
        }
        guard universe.works(of: user, now: now) != nil else { return Self.gone }
        var works: [(String, JSON)] = []
        for id in ids {
            guard let number = Int64(id), let work = universe.work(WorkID(rawValue: number), now: now),
                work.author == user
            else { continue }
            works.append((id, BriefWork.json(work)))
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

    /// The address of an author's portrait.
    static func portrait(of user: UserID, size: Int) -> String {
        "https://i.pximg.net/user-profile/img/2020/01/01/00/00/00/\(user.rawValue)_\(size).jpg"
    }

    private func details(_ user: UserID) -> [(String, JSON)] {
        let name = universe.name(of: user)
        let region: JSON = .object([
            ("name", "日本"), ("region", "JP"), ("prefecture", "13"), ("privacyLevel", "0"),
        ])
        func told(_ text: JSON) -> JSON { .object([("name", text), ("privacyLevel", "0")]) }
        let workspace = ["Pc", "Tool", "Tablet", "Mouse", "Desktop", "Music", "Desk", "Chair"]
        let group: JSON = .object([
            ("id", "3282"), ("title", "風景を描く人"),
            ("iconUrl", "https://i.pximg.net/c/128x128/imgaz/2012/09/12/23/08/46/group_icon_3282_square1200.jpg"),
        ])
        return [
            ("following", .number(user.rawValue % 400)), ("followedBack", false),
            ("comment", .string("\(name)です。\r\nよろしく！")), ("commentHtml", .string("\(name)です。<br />よろしく！")),
            ("webpage", .null),
            ("social", .object([("twitter", .object([("url", .string("https://twitter.com/\(user.rawValue)"))]))])),
            ("canSendMessage", true), ("region", region), ("age", told("23歳")), ("birthDay", told("12月16日")),
            ("gender", told("女性")), ("job", told("教員")),
            ("workspace", .object(workspace.map { ("userWorkspace" + $0, "") })), ("official", false),
            ("group", .array([group])),
        ]
    }
}
