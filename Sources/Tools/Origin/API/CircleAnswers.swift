import Rankings

/// The routes for signed-in users only: bookmarks, followed authors and their newest works.
///
/// Without a session the service answers all of them with 400.
struct CircleAnswers: Sendable {
    private let match: Routes.Match
    private let universe: Universe
    private let circle: Circle
    private let user: UserID

    init(_ match: Routes.Match) {
        self.match = match
        universe = match.universe
        circle = Circle(match.universe, now: match.now)
        user = UserID(rawValue: match.id)
    }

    /// `/ajax/user/<id>/illusts/bookmarks?tag=&offset=&limit=48&rest=show`.
    func bookmarks() -> Response {
        guard universe.authors.slots(of: user) != nil else { return UserAnswers.gone }
        guard let (offset, limit, hidden) = part() else { return Routes.badRequest }
        var all = circle.bookmarks(of: user, hidden: hidden)
        if let tag = match.request.value("tag"), !tag.isEmpty {
            all = all.filter { !$0.isGone && universe.work($0.work, now: match.now)?.tags.contains(tag) == true }
        }
        let isOwn = match.viewer.user == user
        let works = all.dropFirst(offset).prefix(limit).compactMap { bookmark -> JSONText? in
            let data = isOwn ? Circle.data(bookmark, hidden: hidden) : .null
            if bookmark.isGone { return Self.gone(bookmark, data) }
            guard let work = universe.work(bookmark.work, now: match.now) else { return nil }
            return BriefWork.json(work, universe, for: match.viewer, bookmark: data)
        }
        return .envelope(
            .object([
                ("works", .list(works)), ("total", .int(all.count)), ("zoneConfig", PageFurniture.zones),
                ("extraData", furniture(title: "\(universe.name(of: user))のブックマーク")),
                ("bookmarkTags", .list([])),
            ]))
    }

    /// `/ajax/user/<id>/following?offset=&limit=24&rest=show`.
    func following() -> Response {
        guard universe.authors.slots(of: user) != nil else { return UserAnswers.gone }
        guard let (offset, limit, hidden) = part() else { return Routes.badRequest }
        let all = circle.following(of: user, hidden: hidden)
        let own = match.viewer.user.map { Set(circle.following(of: $0)) } ?? []
        let users = all.dropFirst(offset).prefix(limit).map { author -> JSONText in
            let works = universe.works(of: author, now: match.now, for: match.viewer) ?? []
            let newest = works.prefix(Self.worksOfAuthor).compactMap { universe.work($0, now: match.now) }
            return AnswerShape.filled(
                "followed",
                [
                    "id": .text("\(author.rawValue)"), "name": .text(universe.name(of: author)),
                    "image": .text(universe.portrait(of: author, side: 170)), "following": .flag(own.contains(author)),
                    "works": .list(newest.map { BriefWork.json($0, universe, for: match.viewer) }),
                ])
        }
        return .envelope(
            .object([
                ("users", .list(users)), ("total", .int(all.count)), ("followUserTags", .list([])),
                ("zoneConfig", PageFurniture.zones),
                ("extraData", furniture(title: "\(universe.name(of: user))のフォローユーザー")),
            ]))
    }

    /// `/ajax/follow_latest/illust?p=1&mode=all`: the newest works of the authors whom the viewer follows.
    func feed() -> Response {
        let request = match.request
        let mode = request.value("mode") ?? "all"
        guard let viewer = match.viewer.user, case let page = request.value("p").map({ Int($0) ?? 0 }) ?? 1,
            (1...Self.feedPages).contains(page), mode == "all" || mode == "r18"
        else { return Routes.badRequest }
        let works = [false, true].flatMap { circle.following(of: viewer, hidden: $0) }
            .flatMap { newest(of: $0, onlyR18: mode == "r18") }
            .sorted { ($0.uploaded.seconds, $0.id) > ($1.uploaded.seconds, $1.id) }
        let shown = works.dropFirst((page - 1) * Self.feedPage).prefix(Self.feedPage)
        let bodies = shown.map { work -> JSONText in
            let custom = BriefWork.isCustom(work)
            let urls: Members = [("250x250", "250x250_80_a2"), ("360x360", "360x360_70"), ("540x540", "540x540_70")].map
            {
                ($0.0, .text(ServedPath(work, page: 0, kind: .square(size: $0.1, custom: custom)).url))
            }
            return .object(BriefWork.fields(work, universe, for: match.viewer) + [("urls", .object(urls))])
        }
        let isLast = page * Self.feedPage >= works.count || page == Self.feedPages
        return .envelope(
            AnswerShape.filled(
                "feed",
                [
                    "ids": .list(shown.map { .integer($0.id.rawValue) }), "isLast": .flag(isLast),
                    "works": .list(bodies), "zones": PageFurniture.zones,
                ]))
    }

    // MARK: -

    /// The service shows four works with each followed author.
    private static let worksOfAuthor = 4
    private static let feedPage = 60
    /// The service's last page of the feed.
    private static let feedPages = 34
    /// Of one author in the feed: enough for its pages.
    private static let feedWorksOfAuthor = 200
    private static let largestPart = 100

    /// Offset, limit and whether the hidden part is asked for; nil for what makes no sense or is somebody else's.
    private func part() -> (offset: Int, limit: Int, hidden: Bool)? {
        let request = match.request
        guard let offset = Int(request.value("offset") ?? "0"), offset >= 0,
            let limit = Int(request.value("limit") ?? ""), (1...Self.largestPart).contains(limit)
        else { return nil }
        switch request.value("rest") ?? "show" {
        case "show": return (offset, limit, false)
        case "hide" where match.viewer.user == user: return (offset, limit, true)
        default: return nil
        }
    }

    private func newest(of author: UserID, onlyR18: Bool) -> [WorkRecord] {
        let works = universe.works(of: author, now: match.now, for: match.viewer) ?? []
        return Array(
            works.lazy.compactMap(Slot.init).map { universe.record($0) }
                .filter { $0.uploaded.seconds <= match.now && (!onlyR18 || $0.xRestrict > 0) }
                .prefix(Self.feedWorksOfAuthor))
    }

    /// A bookmarked work that has been deleted: its number is a number then, not a string (payloads/ajax-user-bookmarks).
    private static func gone(_ bookmark: Circle.Bookmark, _ data: JSONText) -> JSONText {
        AnswerShape.filled("gone", ["id": .integer(bookmark.work.rawValue), "bookmark": data])
    }

    private func furniture(title: String) -> JSONText {
        PageFurniture.meta(title: title, description: "pixiv", page: "users/\(user.rawValue)")
    }
}
