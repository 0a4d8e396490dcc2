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
        var fields = AnswerShape.members(
            "profile",
            [
                "id": .text("\(user.rawValue)"), "name": .text(universe.name(of: user)),
                "image": .text(universe.portrait(of: user, side: 50)),
                "imageBig": .text(universe.portrait(of: user, side: 170)),
                "premium": .flag(user.rawValue % 5 == 0), "isFollowed": .flag(isFollowed), "partial": isFull ? 1 : 0,
            ])
        if isFull { fields += details(user) }
        return .envelope(.object(fields))
    }

    /// `/ajax/user/<id>/profile/all`: the numbers of all works, split by kind.
    func all(_ user: UserID) -> Response {
        guard let works = universe.works(of: user, now: now, for: viewer) else { return Self.gone }
        var illusts: Members = []
        var manga: Members = []
        for id in works {
            guard let slot = Slot(id) else { continue }
            let pair: Members.Element = ("\(id.rawValue)", .null)
            if universe.record(slot).kind == .manga { manga.append(pair) } else { illusts.append(pair) }
        }
        let bookmarks = Circle(universe, now: now).bookmarks(of: user, hidden: false).count
        return .envelope(
            AnswerShape.filled(
                "all", ["illusts": .mapping(illusts), "manga": .mapping(manga), "bookmarks": .int(bookmarks)]))
    }

    /// `/ajax/user/<id>/profile/illusts?ids[]=…`: short records of up to a hundred works.
    func illusts(_ user: UserID, _ request: Request) -> Response {
        let ids = request.values("ids[]")
        guard !ids.isEmpty, ids.count <= Self.maximumIDs, request.value("work_category") != nil else {
            return Routes.badRequest
        }
        guard universe.works(of: user, now: now) != nil else { return Self.gone }
        var works: Members = []
        for id in ids {
            guard let number = Int64(id), let work = universe.work(WorkID(rawValue: number), now: now),
                work.author == user
            else { continue }
            works.append((id, BriefWork.json(work, universe, for: viewer)))
        }
        return .envelope(
            .object([
                ("works", .mapping(works)),
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
    private static let remarks = Words.list("remarks")

    private func details(_ user: UserID) -> Members {
        let name = universe.name(of: user)
        var chance = Chance(universe.seed, 0x17, UInt64(bitPattern: user.rawValue))
        let (country, code, prefecture) = chance.pick(Self.regions)
        let comment = "\(name)です。\r\n\(chance.pick(Self.remarks))"
        let webpage: JSONText = chance.oneIn(2) ? .text("https://\(user.rawValue).example/?a=1&b=2") : .null
        return AnswerShape.members(
            "details",
            [
                "following": .int(Circle(universe, now: now).following(of: user).count), "comment": .text(comment),
                "html": .text(Caption.html(comment)), "webpage": webpage, "id": .text("\(user.rawValue)"),
                "country": .text(country), "code": .text(code), "prefecture": .text(prefecture),
            ])
    }
}
