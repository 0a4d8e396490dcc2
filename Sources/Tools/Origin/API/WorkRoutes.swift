import Rankings

/// The routes below `/ajax/illust/<id>`: the record, the pages and the frames of an animation.
struct WorkRoutes: Sendable {
    private let universe: Universe
    private let now: Int64
    private let viewer: Viewer

    init(_ match: Routes.Match) {
        universe = match.universe
        now = match.now
        viewer = match.viewer
    }

    private static let unknown = Response.failure("", status: 404)

    /// `/ajax/illust/<id>/pages`: the addresses of every page.
    func pages(_ id: WorkID) -> Response {
        guard let work = universe.work(id, now: now), !Landmarks.isLocationMasked(id) else { return Self.unknown }
        let pages = work.pages.enumerated().map { page, size -> JSONText in
            let urls: [(String, ServedPath.Kind)] = [
                ("thumb_mini", .square(size: "128x128", custom: false)),
                ("small", .preview(size: "540x540_70")),
                ("regular", .regular),
                ("original", .original(work.format)),
            ]
            return .object([
                ("urls", .object(urls.map { ($0.0, url(work, page: page, $0.1)) })),
                ("width", .int(size.width)),
                ("height", .int(size.height)),
            ])
        }
        return .envelope(.list(pages))
    }

    /// `/ajax/illust/<id>/ugoira_meta`: where an animation's frames are, and how long each is shown.
    func animation(_ id: WorkID) -> Response {
        guard let work = universe.work(id, now: now), !work.isWithheld(from: viewer) else { return Self.unknown }
        guard work.kind == .animation else {
            return .failure("指定されたIDはうごイラではありません", status: 404)
        }
        let frames = Animation(work, seed: universe.seed).delays.enumerated().map { index, delay -> JSONText in
            .object([("file", .text(Animation.name(ofFrame: index))), ("delay", .int(delay))])
        }
        return .envelope(
            .object([
                ("src", url(work, page: 0, .animation(size: "600x600"))),
                ("originalSrc", url(work, page: 0, .animation(size: "1920x1080"))),
                ("mime_type", "image/jpeg"),
                ("frames", .list(frames)),
            ]))
    }

    /// `/ajax/illust/<id>`: everything about a work.
    func details(_ id: WorkID) -> Response {
        guard let work = universe.work(id, now: now) else { return Self.unknown }
        return .envelope(.object(identity(work) + people(work) + counts(work) + extras(work)))
    }

    // MARK: -

    private func url(_ work: WorkRecord, page: Int, _ kind: ServedPath.Kind) -> JSONText {
        work.isWithheld(from: viewer) || Landmarks.isLocationMasked(work.id)
            ? .null : .text(ServedPath(work, page: page, kind: kind).url)
    }

    private func identity(_ work: WorkRecord) -> Members {
        let urls: [(String, ServedPath.Kind)] = [
            ("mini", .square(size: "48x48", custom: BriefWork.isCustom(work))),
            ("thumb", .square(size: "250x250_80_a2", custom: BriefWork.isCustom(work))),
            ("small", .preview(size: "540x540_70")),
            ("regular", .regular),
            ("original", .original(work.format)),
        ]
        let caption = Caption.html(of: work, seed: universe.seed)
        return [
            ("illustId", .text("\(work.id.rawValue)")),
            ("illustTitle", .text(work.title)),
            ("illustComment", .text(caption)),
            ("id", .text("\(work.id.rawValue)")),
            ("title", .text(work.title)),
            ("description", .text(caption)),
            ("illustType", .int(work.kind.rawValue)),
            ("createDate", .text(work.uploaded.isoUTC)),
            ("uploadDate", .text(work.uploaded.isoUTC)),
            ("restrict", 0), ("xRestrict", .int(work.xRestrict)), ("sl", work.xRestrict > 0 ? 6 : 2),
            ("urls", .object(urls.map { ($0.0, url(work, page: 0, $0.1)) })),
            ("tags", tags(work)),
            ("alt", .text("#\(work.tags.first ?? "") \(work.title) - \(work.authorName)のイラスト")),
        ]
    }

    private func tags(_ work: WorkRecord) -> JSONText {
        let author = "\(work.author.rawValue)"
        let tags = work.tags.enumerated().map { index, tag -> JSONText in
            // The author's own tags are locked; visitors may add others.
            let isOwn = index < 5
            var fields: Members = [
                ("tag", .text(tag)), ("locked", .flag(isOwn)), ("deletable", .flag(!isOwn)),
            ]
            if isOwn { fields.append(("userId", .text(author))) }
            if let known = TagNames.known[tag] {
                fields.append(("romaji", .text(known.romaji)))
                if let english = known.english {
                    fields.append(("translation", .object([("en", .text(english))])))
                }
            }
            if isOwn { fields.append(("userName", .text(work.authorName))) }
            return .object(fields)
        }
        return .object([
            ("authorId", .text(author)), ("isLocked", false), ("tags", .list(tags)), ("writable", false),
        ])
    }

    private func people(_ work: WorkRecord) -> Members {
        // The service names every work of the author, with short records of the neighbours.
        let ids = universe.works(of: work.author, now: now, for: viewer) ?? []
        let place = ids.firstIndex(of: work.id) ?? 0
        let neighbours = max(0, place - 1)...(place + 1)
        let works = ids.enumerated().map { index, id -> (name: String, value: JSONText?) in
            guard neighbours.contains(index), let slot = Slot(id) else { return ("\(id.rawValue)", .null) }
            return ("\(id.rawValue)", BriefWork.json(universe.record(slot), universe, for: viewer))
        }
        return [
            ("storableTags", .list(["EZQqoW9r8g"])),
            ("userId", .text("\(work.author.rawValue)")),
            ("userName", .text(work.authorName)),
            ("userAccount", .text("user_\(work.author.rawValue)")),
            ("userIllusts", .mapping(works)),
            ("likeData", false),
        ]
    }

    private func counts(_ work: WorkRecord) -> Members {
        [
            ("width", .int(work.pages[0].width)), ("height", .int(work.pages[0].height)),
            ("pageCount", .int(work.pages.count)), ("bookmarkCount", .int(work.ratings * 3 / 2)),
            ("likeCount", .int(work.ratings)), ("commentCount", .int(work.ratings / 100)), ("responseCount", 0),
            ("viewCount", .int(work.views)), ("bookStyle", work.kind == .manga ? 1 : 0), ("isHowto", false),
            ("isOriginal", .flag(work.isOriginal)),
        ]
    }

    private func extras(_ work: WorkRecord) -> Members {
        AnswerShape.members(
            "extras",
            [
                "series": series(work), "bookmark": bookmark(work), "zones": PageFurniture.zones,
                "meta": PageFurniture.meta(
                    title: "\(work.title) - \(work.authorName)のイラスト - pixiv",
                    description: "この作品 「\(work.title)」 は「\(work.authorName)」さんのイラストです。",
                    page: "artworks/\(work.id.rawValue)"), "aiType": .int(work.aiType),
                "isElsewhere": .flag(Landmarks.isLocationMasked(work.id)), "isMasked": .flag(work.isMasked),
            ])
    }

    /// The neighbours in a series; the first has none before it, the last none after it.
    private func series(_ work: WorkRecord) -> JSONText {
        guard let series = work.series else { return .null }
        func neighbour(_ step: Int) -> JSONText {
            let order = series.order + step
            guard (1...series.count).contains(order) else { return .null }
            return .object([
                ("title", .text("\(series.title) \(order)")), ("order", .int(order)),
                ("id", .text("\(work.id.rawValue + Int64(step))")), ("available", false),
            ])
        }
        return .object([
            ("seriesType", "manga"), ("seriesId", .text("\(series.id)")), ("title", .text(series.title)),
            ("isConcluded", false), ("isReplaceable", false), ("isWatched", false), ("isNotifying", false),
            ("order", .int(series.order)), ("next", neighbour(1)), ("prev", neighbour(-1)),
        ])
    }

    private func bookmark(_ work: WorkRecord) -> JSONText {
        guard let user = viewer.user else { return .null }
        return Circle(universe, now: now).bookmark(of: user, on: work.id)
    }
}
