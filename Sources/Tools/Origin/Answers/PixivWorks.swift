import Rankings

/// What pixiv's answers tell of a work, by the names that `shapes.json` has it by.
struct WorkFacts {
    let universe: Universe
    let work: Post
    let viewer: Viewer
    let now: Int64
    /// Which page is meant.
    var page = 0
    /// Where the work stands in a ranking, and where it stood the day before.
    var rank = 0
    var previousRank = 0
    /// What is told of the viewer's bookmark.
    var bookmark = JSONText.null
    /// Whether what the viewer may not see is left out, as lists do.
    var isBrief = true

    private var isKept: Bool { viewer.isKept(from: work) }
    /// Whether the author chose the part that the thumbnail shows.
    private var isCustom: Bool { work.id % 10 == 3 }
    private var hides: Bool { isBrief && isKept }
    private static let dashes: JSONText = "-----"

    /// The value of a name; nil where there is none.
    func value(_ name: String) -> JSONText? {
        switch name {
        case "id": .integer(work.id)
        case "title": hides ? Self.dashes : .text(universe.title(of: work))
        case "description": hides ? Self.dashes : ""
        case "tags": .texts(hides ? [] : tags)
        case "firstTag": .text(tags.first ?? "")
        case "kind": .int(work.kind.rawValue)
        case "bookStyle": work.kind == .manga ? 1 : 0
        case "xRestrict": .int(xRestrict)
        case "sl": xRestrict > 0 ? 6 : 2
        case "isAdult": xRestrict > 0 ? 2 : 0
        case "author": .integer(work.account)
        case "authorName": .text(universe.name(of: work.account))
        case "portrait": .text(universe.portrait(of: work.account, side: 50))
        case "width": .int(hides ? 100 : work.pages[page].width)
        case "height": .int(hides ? 100 : work.pages[page].height)
        case "pageCount": .int(hides ? 1 : work.pages.count)
        case "likes": .int(work.upScore)
        case "bookmarkCount": .int(work.upScore * 3 / 2)
        case "comments": .int(work.upScore / 100)
        case "views": .int(work.views)
        case "isKept": .flag(isKept)
        case "isSeen": .flag(!isKept)
        case "whyKept": !isKept ? nil : xRestrict > 0 ? "r18" : "login_only"
        case "attribute": work.flags.contains(.original) ? "original" : ""
        case "aiType": .integer(work.aiType)
        case "bookmark": bookmark
        case "rank": .int(rank)
        case "before": .int(previousRank)
        default: Post.Flag(fact: name).map { .flag(work.flags.contains($0)) } ?? timesAndAddresses(name)
        }
    }

    private var tags: [String] { universe.tags(of: work).map { universe.tags.all[$0].name } }

    private var xRestrict: Int {
        work.rating == .explicit ? (work.flags.contains(.grotesque) ? 2 : 1) : 0
    }

    private func timesAndAddresses(_ name: String) -> JSONText? {
        switch name {
        case "seconds": .integer(work.seconds)
        case "display":
            // 6 of 103 recorded entries show another date than the upload's.
            .text(Moment.text(shown + Moment.japan, "%Y年%m月%d日 %H:%M"))
        case "iso": .text(Moment.text(work.seconds + Moment.japan, "%Y-%m-%dT%H:%M:%S+09:00"))
        case "isoUTC": .text(Moment.text(work.seconds, "%Y-%m-%dT%H:%M:%S+00:00"))
        case "caption": .text(universe.caption(of: work))
        case "thumb":
            isKept
                ? "https://s.pximg.net/common/images/limit_unviewable_360.png"
                : .text(PageRendition.square(size: "250x250_80_a2", custom: isCustom).url(work, 0))
        case "preview": .text(PageRendition.preview(size: "480x960").url(work, 0))
        case "urlMini": url(.square(size: "48x48", custom: isCustom))
        case "urlThumbMini": url(.square(size: "128x128", custom: false))
        case "url250": url(.square(size: "250x250_80_a2", custom: isCustom))
        case "urlSmall": url(.preview(size: "540x540_70"))
        case "urlRegular": url(.regular)
        case "urlOriginal": url(.original)
        case "urlArchive": url(.archive(size: "600x600"))
        case "urlLargeArchive": url(.archive(size: "1920x1080"))
        case "series": series
        case "seriesPlace": seriesPlace
        case "frames":
            .list(
                universe.delays(of: work).enumerated().map { index, delay in
                    .object([("file", .text(Archive.name(index))), ("delay", .int(delay))])
                })
        case "tagRecords": .list(tags.enumerated().map(tagRecord))
        case "neighbours": neighbours
        default: nil
        }
    }

    private var shown: Int64 {
        var chance = universe.chance(0x74, work.id)
        return work.seconds - (chance.oneIn(17) ? 86_400 : 0)
    }

    private func url(_ rendition: PageRendition) -> JSONText {
        isKept || work.flags.contains(.elsewhere) ? .null : .text(rendition.url(work, page))
    }

    /// The author's own tags are locked; visitors may add others.
    private func tagRecord(_ index: Int, _ tag: String) -> JSONText {
        let known = Words.all["readings"][tag]
        let isOwn = index < 5
        return Shapes.fill("tag") { name in
            switch name {
            case "tag": .text(tag)
            case "isLocked": .flag(isOwn)
            case "isDeletable": .flag(!isOwn)
            case "romaji": known["romaji"].string.map(JSONText.text)
            case "translation": known["english"].string.map { .object([("en", .text($0))]) }
            case "author": isOwn ? .text("\(work.account)") : nil
            case "authorName": isOwn ? value(name) : nil
            default: nil
            }
        }
    }

    /// Every work of the author, with short records of the neighbours.
    private var neighbours: JSONText {
        let slots = universe.works(of: work.account, now: now, for: viewer) ?? []
        let place = slots.firstIndex(of: work.slot) ?? 0
        return .mapping(
            slots.enumerated().map { index, slot in
                let id = "\(slot.id(universe.service))"
                guard abs(index - place) <= 1 else { return (id, .null) }
                return (id, WorkFacts(universe: universe, work: universe.post(slot), viewer: viewer, now: now).brief)
            })
    }

    private var series: JSONText {
        guard let series = universe.series(of: work) else { return false }
        return Shapes.fill("series") { name in
            switch name {
            case "seriesID": .int(series.id)
            case "seriesTitle": .text(series.title)
            case "count": .int(series.count)
            case "order": .int(series.order)
            case "started": .text(Moment.text(series.started + Moment.japan, "%Y-%m-%d %H:%M:%S"))
            default: value(name)
            }
        }
    }

    /// The neighbours in a series; the first has none before it, the last none after it.
    private var seriesPlace: JSONText {
        guard let series = universe.series(of: work) else { return .null }
        func neighbour(_ step: Int) -> JSONText {
            let order = series.order + step
            guard (1...series.count).contains(order) else { return .null }
            return Shapes.fill(
                "neighbour",
                ["title": .text("\(series.title) \(order)"), "order": .int(order), "id": .int(work.id + Int64(step))])
        }
        return Shapes.fill(
            "seriesPlace",
            [
                "id": .int(series.id), "title": .text(series.title), "order": .int(series.order),
                "next": neighbour(1), "previous": neighbour(-1),
            ])
    }

    /// The work as lists of works give it; what is withheld keeps its number and loses the rest.
    var brief: JSONText { Shapes.fill("brief", value) }
}

/// The routes for works and rankings.
extension Pixiv.Call {
    /// A number or parameter that makes no sense, or a route for signed-in users without a session.
    static let badRequest = Response.failure("不正なリクエストです。", status: 400)
    private static let unknown = Response.failure("", status: 404)
    /// The service's answer where no ranking has anything.
    static let outOfRange = Response.json(.object([("error", "ランキング集計の範囲外です")]), status: 404)
    private static let perPage = 50

    /// What answers tell of a work.
    func facts(_ work: Post) -> WorkFacts { WorkFacts(universe: universe, work: work, viewer: viewer, now: now) }

    /// `/ajax/illust/<id>`: everything about a work.
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
        return .envelope(Shapes.fill("work") { furniture[$0] ?? facts.value($0) })
    }

    /// `/ajax/illust/<id>/pages`: the addresses of every page.
    func pages() -> Response {
        guard let work = universe.post(id, now: now), !work.flags.contains(.elsewhere) else { return Self.unknown }
        var facts = facts(work)
        facts.isBrief = false
        return .envelope(
            .list(
                work.pages.indices.map { page in
                    facts.page = page
                    return Shapes.fill("page", facts.value)
                }))
    }

    /// `/ajax/illust/<id>/ugoira_meta`: where an animation's frames are, and how long each is shown.
    func animation() -> Response {
        guard let work = universe.post(id, now: now), !viewer.isKept(from: work) else { return Self.unknown }
        guard work.kind == .animation else {
            return .failure("指定されたIDはうごイラではありません", status: 404)
        }
        return .envelope(Shapes.fill("animation", facts(work).value))
    }

    /// `ranking.php`: one page of a day's ranking, without the envelope of the `/ajax` routes.
    func ranking() -> Response {
        let name = request.value("mode") ?? "daily"
        let content = request.value("content").flatMap { $0.isEmpty ? nil : $0 } ?? "all"
        guard let mode = Mode.named(name), content == "all" || mode.contents.contains(content) else {
            return Self.outOfRange
        }
        if mode.needsSignIn, !viewer.isSignedIn { return .html("403 Forbidden", status: 403) }
        let newest = universe.newest(at: now)
        let date = request.value("date").flatMap { $0.isEmpty ? nil : $0 }
        let page = request.value("p").map { Int($0) ?? 0 } ?? 1
        guard let day = date.map({ Day(compact: $0) }) ?? newest, mode.firstDay <= day, day <= newest,
            (1...mode.ranks).contains(page), let (entries, total) = entries(mode, day, content, page)
        else { return Self.outOfRange }
        func neighbour(_ step: Int, _ isThere: Bool) -> JSONText {
            isThere ? .text(day.advanced(by: step).compact) : false
        }
        let bookmarked = viewer.user.map { user in
            Set(universe.bookmarks(of: user, now: now).filter { !$0.isGone }.map(\.slot))
        }
        return .json(
            Shapes.fill(
                "ranking",
                [
                    "entries": .list(entries.map { entry($0, bookmarked) }), "mode": .text(name),
                    "content": .text(content), "number": .int(page), "previous": page > 1 ? .int(page - 1) : false,
                    "next": page * Self.perPage < total ? .int(page + 1) : false, "date": .text(day.compact),
                    "dayBefore": neighbour(-1, day > mode.firstDay), "dayAfter": neighbour(1, day < newest),
                    "total": .int(total),
                ]))
    }

    /// The page's entries and the ranking's length; nil past the end.
    private func entries(
        _ mode: Mode, _ day: Day, _ content: String, _ page: Int
    ) -> (entries: [RankedWork], total: Int)? {
        let first = (page - 1) * Self.perPage
        guard let kind = ["illust": WorkKind.illustration, "manga": .manga, "ugoira": .animation][content] else {
            guard first < mode.ranks else { return nil }
            return (universe.entries(mode, day, first + 1...min(first + Self.perPage, mode.ranks)), mode.ranks)
        }
        // A ranking of one kind only: the works of that kind, counted anew. A day of few ranks may have none.
        let all = universe.entries(mode, day, 1...mode.ranks).filter { $0.work.kind == kind }.enumerated()
            .map { RankedWork(rank: $0 + 1, previousRank: 0, work: $1.work) }
        return first < max(1, all.count) ? (Array(all[first...].prefix(Self.perPage)), all.count) : nil
    }

    private func entry(_ entry: RankedWork, _ bookmarked: Set<Slot>?) -> JSONText {
        var facts = facts(entry.work)
        facts.rank = entry.rank
        facts.previousRank = entry.previousRank
        // An author may limit a work to people who are signed in: others see no more than its number.
        if viewer.isKept(from: entry.work) { return Shapes.fill("masked", facts.value) }
        return Shapes.fill("entry") { name in
            switch name {
            case "isBookmarked": bookmarked.map { .flag($0.contains(entry.work.slot)) }
            case "isBookmarkable": bookmarked.map { _ in true }
            default: facts.value(name)
            }
        }
    }
}

extension Universe.Bookmark {
    /// As records tell of it.
    var json: JSONText { .object([("id", .text("\(id)")), ("private", false)]) }
}
