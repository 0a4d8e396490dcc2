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
        let pages = work.pages.enumerated().map { page, size -> JSONValue in
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
        return .envelope(.array(pages))
    }

    /// `/ajax/illust/<id>/ugoira_meta`: where an animation's frames are, and how long each is shown.
    func animation(_ id: WorkID) -> Response {
        guard let work = universe.work(id, now: now), !work.isWithheld(from: viewer) else { return Self.unknown }
        guard work.kind == .animation else {
            return .failure("指定されたIDはうごイラではありません", status: 404)
        }
        let frames = Animation(work, seed: universe.seed).delays.enumerated().map { index, delay -> JSONValue in
            .object([("file", .string(Animation.name(ofFrame: index))), ("delay", .int(delay))])
        }
        return .envelope(
            .object([
                ("src", url(work, page: 0, .animation(size: "600x600"))),
                ("originalSrc", url(work, page: 0, .animation(size: "1920x1080"))),
                ("mime_type", "image/jpeg"),
                ("frames", .array(frames)),
            ]))
    }

    /// `/ajax/illust/<id>`: everything about a work.
    func details(_ id: WorkID) -> Response {
        guard let work = universe.work(id, now: now) else { return Self.unknown }
        return .envelope(.object(identity(work) + people(work) + counts(work) + extras(work)))
    }

    // MARK: -

    private func url(_ work: WorkRecord, page: Int, _ kind: ServedPath.Kind) -> JSONValue {
        work.isWithheld(from: viewer) || Landmarks.isLocationMasked(work.id)
            ? .null : .string(ServedPath(work, page: page, kind: kind).url)
    }

    private func identity(_ work: WorkRecord) -> [(String, JSONValue)] {
        let urls: [(String, ServedPath.Kind)] = [
            ("mini", .square(size: "48x48", custom: BriefWork.isCustom(work))),
            ("thumb", .square(size: "250x250_80_a2", custom: BriefWork.isCustom(work))),
            ("small", .preview(size: "540x540_70")),
            ("regular", .regular),
            ("original", .original(work.format)),
        ]
        let caption = Caption.html(of: work, seed: universe.seed)
        return [
            ("illustId", .string("\(work.id.rawValue)")),
            ("illustTitle", .string(work.title)),
            ("illustComment", .string(caption)),
            ("id", .string("\(work.id.rawValue)")),
            ("title", .string(work.title)),
            ("description", .string(caption)),
            ("illustType", .int(work.kind.rawValue)),
            ("createDate", .string(work.uploaded.isoUTC)),
            ("uploadDate", .string(work.uploaded.isoUTC)),
            ("restrict", 0), ("xRestrict", .int(work.xRestrict)), ("sl", work.xRestrict > 0 ? 6 : 2),
            ("urls", .object(urls.map { ($0.0, url(work, page: 0, $0.1)) })),
            ("tags", tags(work)),
            ("alt", .string("#\(work.tags.first ?? "") \(work.title) - \(work.authorName)のイラスト")),
        ]
    }

    private func tags(_ work: WorkRecord) -> JSONValue {
        let author = "\(work.author.rawValue)"
        let tags = work.tags.enumerated().map { index, tag -> JSONValue in
            // The author's own tags are locked; visitors may add others.
            let isOwn = index < 5
            var fields: [(String, JSONValue)] = [
                ("tag", .string(tag)), ("locked", .bool(isOwn)), ("deletable", .bool(!isOwn)),
            ]
            if isOwn { fields.append(("userId", .string(author))) }
            if let known = TagNames.known[tag] {
                fields.append(("romaji", .string(known.romaji)))
                if let english = known.english {
                    fields.append(("translation", .object([("en", .string(english))])))
                }
            }
            if isOwn { fields.append(("userName", .string(work.authorName))) }
            return .object(fields)
        }
        return .object([
            ("authorId", .string(author)), ("isLocked", false), ("tags", .array(tags)), ("writable", false),
        ])
    }

    private func people(_ work: WorkRecord) -> [(String, JSONValue)] {
        // The service names every work of the author, with short records of the neighbours.
        let ids = universe.works(of: work.author, now: now, for: viewer) ?? []
        let place = ids.firstIndex(of: work.id) ?? 0
        let neighbours = max(0, place - 1)...(place + 1)
        let works = ids.enumerated().map { index, id -> (String, JSONValue) in
            guard neighbours.contains(index), let slot = Slot(id) else { return ("\(id.rawValue)", .null) }
            return ("\(id.rawValue)", BriefWork.json(universe.record(slot), universe, for: viewer))
        }
        return [
            ("storableTags", .array(["EZQqoW9r8g"])),
            ("userId", .string("\(work.author.rawValue)")),
            ("userName", .string(work.authorName)),
            ("userAccount", .string("user_\(work.author.rawValue)")),
            ("userIllusts", .map(works)),
            ("likeData", false),
        ]
    }

    private func counts(_ work: WorkRecord) -> [(String, JSONValue)] {
        [
            ("width", .int(work.pages[0].width)), ("height", .int(work.pages[0].height)),
            ("pageCount", .int(work.pages.count)), ("bookmarkCount", .int(work.ratings * 3 / 2)),
            ("likeCount", .int(work.ratings)), ("commentCount", .int(work.ratings / 100)), ("responseCount", 0),
            ("viewCount", .int(work.views)), ("bookStyle", work.kind == .manga ? 1 : 0), ("isHowto", false),
            ("isOriginal", .bool(work.isOriginal)),
        ]
    }

    private func extras(_ work: WorkRecord) -> [(String, JSONValue)] {
        [
            ("imageResponseOutData", .array([])), ("imageResponseData", .array([])), ("imageResponseCount", 0),
            ("pollData", .null), ("seriesNavData", series(work)), ("descriptionBoothId", .null),
            ("descriptionYoutubeId", .null), ("comicPromotion", .null), ("fanboxPromotion", .null),
            ("contestBanners", .array([])), ("isBookmarkable", true), ("bookmarkData", bookmark(work)),
            ("contestData", .null), ("zoneConfig", PageFurniture.zones),
            (
                "extraData",
                PageFurniture.meta(
                    title: "\(work.title) - \(work.authorName)のイラスト - pixiv",
                    description: "この作品 「\(work.title)」 は「\(work.authorName)」さんのイラストです。",
                    page: "artworks/\(work.id.rawValue)")
            ),
            ("titleCaptionTranslation", .object([("workTitle", .null), ("workCaption", .null)])),
            ("isUnlisted", false), ("request", .null), ("commentOff", 0), ("aiType", .int(work.aiType)),
            ("reuploadDate", .null),
            ("locationMask", .bool(Landmarks.isLocationMasked(work.id))), ("commissionLinkHidden", false),
            ("isLoginOnly", .bool(work.isMasked)),
        ]
    }

    /// The neighbours in a series; the first has none before it, the last none after it.
    private func series(_ work: WorkRecord) -> JSONValue {
        guard let series = work.series else { return .null }
        func neighbour(_ step: Int) -> JSONValue {
            let order = series.order + step
            guard (1...series.count).contains(order) else { return .null }
            return .object([
                ("title", .string("\(series.title) \(order)")), ("order", .int(order)),
                ("id", .string("\(work.id.rawValue + Int64(step))")), ("available", false),
            ])
        }
        return .object([
            ("seriesType", "manga"), ("seriesId", .string("\(series.id)")), ("title", .string(series.title)),
            ("isConcluded", false), ("isReplaceable", false), ("isWatched", false), ("isNotifying", false),
            ("order", .int(series.order)), ("next", neighbour(1)), ("prev", neighbour(-1)),
        ])
    }

    private func bookmark(_ work: WorkRecord) -> JSONValue {
        guard let user = viewer.user else { return .null }
        return Circle(universe, now: now).bookmark(of: user, on: work.id)
    }
}
