import Rankings

/// The facts about a work in pixiv's answers, by their names in `shapes.json`.
struct WorkFacts {
    let universe: Universe
    let work: Post
    let viewer: Viewer
    let now: Int64
    /// The page of the work, counted from 0.
    var page = 0
    /// The rank of the work in a ranking, and its rank on the day before.
    var rank = 0
    var previousRank = 0
    /// The viewer's bookmark of the work.
    var bookmark = JSON.null
    /// Whether facts withheld from the viewer are left out, as in listings.
    var isBrief = true

    private var isKept: Bool { viewer.isKept(from: work) }
    /// Whether the author chose the part that the thumbnail shows.
    private var isCustom: Bool { work.id % 10 == 3 }

    /// A shape filled with the facts about the work.
    func fill(_ shape: String, _ more: [String: JSON] = [:]) -> JSON {
        let plain = plain
        return Shapes.fill(shape) { name in
            more[name] ?? plain[name] ?? Post.Flag(fact: name).map { .bool(work.flags.contains($0)) } ?? other(name)
        }
    }

    /// The facts that are quick to determine.
    private var plain: [String: JSON] {
        let hides = isBrief && isKept
        let xRestrict = work.rating == .explicit ? (work.flags.contains(.grotesque) ? 2 : 1) : 0
        let tags = tags
        let size = hides ? PixelSize(width: 100, height: 100) : work.pages[page]
        var plain: [String: JSON] = [
            "id": .integer(work.id), "title": .string(hides ? "-----" : universe.title(of: work)),
            "description": hides ? "-----" : "", "tags": .texts(hides ? [] : tags),
            "firstTag": .string(tags.first ?? ""), "kind": .int(work.kind.rawValue),
            "bookStyle": work.kind == .manga ? 1 : 0, "xRestrict": .int(xRestrict),
            "sl": xRestrict > 0 ? 6 : 2, "isAdult": xRestrict > 0 ? 2 : 0, "author": .integer(work.account),
            "authorName": .string(universe.name(of: work.account)),
            "width": .int(size.width), "height": .int(size.height),
            "pageCount": .int(hides ? 1 : work.pages.count), "likes": .int(work.upScore), "views": .int(work.views),
            "bookmarkCount": .int(work.upScore * 3 / 2), "comments": .int(work.upScore / 100), "isKept": .bool(isKept),
            "isSeen": .bool(!isKept), "attribute": work.flags.contains(.original) ? "original" : "",
            "aiType": .integer(work.aiType), "bookmark": bookmark, "rank": .int(rank), "before": .int(previousRank),
            "seconds": .integer(work.seconds),
        ]
        if isKept { plain["whyKept"] = xRestrict > 0 ? "r18" : "login_only" }
        return plain
    }

    private var tags: [String] { universe.tags(of: work).map { universe.tags.all[$0].name } }

    private func other(_ name: String) -> JSON? {
        switch name {
        case "portrait": .string(universe.portrait(of: work.account, side: 50))
        case "display":
            // 6 of 103 recorded entries show another date than the upload's.
            .string(Moment.text(shown + Moment.japan, "%Y年%m月%d日 %H:%M"))
        case "iso": .string(Moment.text(work.seconds + Moment.japan, "%Y-%m-%dT%H:%M:%S+09:00"))
        case "isoUTC": .string(Moment.text(work.seconds, "%Y-%m-%dT%H:%M:%S+00:00"))
        case "caption": .string(universe.caption(of: work))
        case "thumb":
            isKept
                ? "https://s.pximg.net/common/images/limit_unviewable_360.png"
                : .string(PageRendition.square(size: "250x250_80_a2", custom: isCustom).url(work, 0))
        case "preview": .string(PageRendition.preview(size: "480x960").url(work, 0))
        case "urlMini": url(.square(size: "48x48", custom: isCustom))
        case "urlThumbMini": url(.square(size: "128x128", custom: false))
        case "url250": url(.square(size: "250x250_80_a2", custom: isCustom))
        case "urlSmall": url(.preview(size: "540x540_70"))
        case "urlRegular": url(.regular)
        case "urlOriginal": url(.original)
        case "urlArchive": url(.archive(size: "600x600"))
        case "urlLargeArchive": url(.archive(size: "1920x1080"))
        case "series": universe.series(of: work).map { fill("series", values($0)) } ?? false
        case "seriesPlace":
            universe.series(of: work).map { series in
                // The first has no neighbour before it, the last none after it.
                let neighbours = ["next": neighbour(series, 1), "previous": neighbour(series, -1)]
                return Shapes.fill("seriesPlace", values(series).merging(neighbours) { $1 })
            } ?? .null
        case "frames":
            .array(
                universe.delays(of: work).enumerated().map { index, delay in
                    .members([("file", .string(Archive.name(index))), ("delay", .int(delay))])
                })
        case "tagRecords": .array(tags.enumerated().map(tagRecord))
        case "neighbours":
            .mapping(
                (universe.works(of: work.account, now: now, for: viewer) ?? []).map { ("\($0.id(.pixiv))", .null) })
        default: nil
        }
    }

    private var shown: Int64 {
        var chance = universe.chance(0x74, work.id)
        return work.seconds - (chance.oneIn(17) ? 86_400 : 0)
    }

    private func url(_ rendition: PageRendition) -> JSON {
        isKept || work.flags.contains(.elsewhere) ? .null : .string(rendition.url(work, page))
    }

    /// The record of a tag: the author's own tags are locked; visitors may add others.
    private func tagRecord(_ index: Int, _ tag: String) -> JSON {
        let (known, isOwn) = (Words.all["readings"][tag], index < 5)
        var values: [String: JSON] = ["tag": .string(tag), "isLocked": .bool(isOwn), "isDeletable": .bool(!isOwn)]
        values["romaji"] = known["romaji"].string.map { .string($0) }
        values["translation"] = known["english"].string.map { .members([("en", .string($0))]) }
        values["author"] = isOwn ? .string("\(work.account)") : nil
        values["authorName"] = isOwn ? .string(universe.name(of: work.account)) : nil
        return Shapes.fill("tag", values)
    }

    private func values(_ series: Universe.Series) -> [String: JSON] {
        let started = Moment.text(series.started + Moment.japan, "%Y-%m-%d %H:%M:%S")
        return [
            "seriesID": .integer(Pixiv.Call.series(of: work.account)), "seriesTitle": .string(series.title),
            "count": .int(series.count),
            "order": .int(series.order), "started": .string(started),
        ]
    }

    private func neighbour(_ series: Universe.Series, _ step: Int) -> JSON {
        let order = series.order + step
        guard (1...series.count).contains(order) else { return .null }
        return Shapes.fill(
            "neighbour",
            ["title": .string("\(series.title) \(order)"), "order": .int(order), "id": .int(work.id + Int64(step))])
    }

    /// The work as in lists of works; a withheld entry keeps its number and loses the rest.
    var brief: JSON { fill("brief") }
}

/// The routes for works and rankings.
extension Pixiv.Call {
    /// The answer to an invalid number or parameter, or to a route for signed-in users without a session.
    static let badRequest = Response.failure("不正なリクエストです。", status: 400)
    private static let unknown = Response.failure("", status: 404)
    private static let perPage = 50

    /// The facts about a work.
    func facts(_ work: Post) -> WorkFacts { WorkFacts(universe: universe, work: work, viewer: viewer, now: now) }

    /// `/ajax/illust/<id>`: all facts about a work.
    func details() -> Response {
        guard let work = universe.post(id, now: now) else { return Self.unknown }
        var facts = facts(work)
        facts.isBrief = false
        let bookmarks = viewer.user.map { universe.bookmarks(of: $0, now: now) } ?? []
        if let found = bookmarks.first(where: { $0.slot == work.slot && !$0.isGone }) { facts.bookmark = found.json }
        let (title, author) = (universe.title(of: work), universe.name(of: work.account))
        let furniture = furniture(
            "\(title) - \(author)のイラスト - pixiv", "この作品 「\(title)」 は「\(author)」さんのイラストです。",
            page: "artworks/\(work.id)")
        return .envelope(facts.fill("work", furniture))
    }

    /// `/ajax/illust/<id>/pages`: the addresses of every page.
    func pages() -> Response {
        guard let work = universe.post(id, now: now), !work.flags.contains(.elsewhere) else { return Self.unknown }
        var facts = facts(work)
        facts.isBrief = false
        return .envelope(
            .array(
                work.pages.indices.map { page in
                    facts.page = page
                    return facts.fill("page")
                }))
    }

    /// `/ajax/illust/<id>/ugoira_meta`: the address of an animation's frames, and the duration of each.
    func animation() -> Response {
        guard let work = universe.post(id, now: now), !viewer.isKept(from: work) else { return Self.unknown }
        guard work.kind == .animation else {
            return .failure("指定されたIDはうごイラではありません", status: 404)
        }
        return .envelope(facts(work).fill("animation"))
    }

    /// `ranking.php`: one page of a day's ranking, without the envelope of the `/ajax` routes.
    func ranking() -> Response {
        let name = request.value("mode") ?? "daily"
        let content = request.value("content").flatMap { $0.isEmpty ? nil : $0 } ?? "all"
        guard let mode = Mode.named(name), content == "all" || mode.contents.contains(content) else {
            return Response.outOfRange
        }
        if mode.needsSignIn, !viewer.isSignedIn { return .html("403 Forbidden", status: 403) }
        let newest = universe.newest(at: now)
        let date = request.value("date").flatMap { $0.isEmpty ? nil : $0 }
        let page = request.value("p").map { Int($0) ?? 0 } ?? 1
        guard let day = date.map({ Day(compact: $0) }) ?? newest, mode.firstDay <= day, day <= newest,
            (1...mode.ranks).contains(page), let (entries, total) = entries(mode, day, content, page)
        else { return Response.outOfRange }
        let bookmarked = viewer.user.map { user in
            Set(universe.bookmarks(of: user, now: now).filter { !$0.isGone }.map(\.slot))
        }
        return .json(
            Shapes.fill(
                "ranking",
                [
                    "entries": .array(entries.map { entry($0, bookmarked) }), "mode": .string(name),
                    "content": .string(content), "number": .int(page), "previous": page > 1 ? .int(page - 1) : false,
                    "next": page * Self.perPage < total ? .int(page + 1) : false, "date": .string(day.compact),
                    "dayBefore": day > mode.firstDay ? .string(day.advanced(by: -1).compact) : false,
                    "dayAfter": day < newest ? .string(day.advanced(by: 1).compact) : false,
                    "total": .int(total),
                ]))
    }

    /// The entries of the page and the length of the ranking; nil past the end.
    private func entries(
        _ mode: Mode, _ day: Day, _ content: String, _ page: Int
    ) -> (entries: [RankedWork], total: Int)? {
        let first = (page - 1) * Self.perPage
        guard let kind = ["illust": WorkKind.illustration, "manga": .manga, "ugoira": .animation][content] else {
            guard first < mode.ranks else { return nil }
            return (universe.entries(mode, day, first + 1...min(first + Self.perPage, mode.ranks)), mode.ranks)
        }
        // A ranking limited to one kind: the works of that kind, numbered anew. A day of few ranks may have none.
        let all = universe.entries(mode, day, 1...mode.ranks).filter { $0.work.kind == kind }.enumerated()
            .map { (rank: $0 + 1, previousRank: 0, work: $1.work) }
        return first < max(1, all.count) ? (Array(all[first...].prefix(Self.perPage)), all.count) : nil
    }

    private func entry(_ entry: RankedWork, _ bookmarked: Set<Slot>?) -> JSON {
        var facts = facts(entry.work)
        facts.rank = entry.rank
        facts.previousRank = entry.previousRank
        // An author may limit a work to signed-in users: other users see only its number.
        if viewer.isKept(from: entry.work) { return facts.fill("masked") }
        guard let bookmarked else { return facts.fill("entry") }
        let isBookmarked = JSON.bool(bookmarked.contains(entry.work.slot))
        return facts.fill("entry", ["isBookmarked": isBookmarked, "isBookmarkable": true])
    }
}

extension Universe.Bookmark {
    /// The bookmark as records represent it.
    var json: JSON { .members([("id", .string("\(id)")), ("private", false)]) }
}
