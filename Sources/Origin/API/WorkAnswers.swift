import Rankings

/// The routes below `/ajax/illust/<id>` (reference/pixiv-api.md, section 2).
struct WorkAnswers: Sendable {
    private let universe: Universe
    private let now: Int64

    init(_ match: Routes.Match) {
        universe = match.universe
        now = match.now
    }

    private static let unknown = Answer.failure("", status: 404)

    /// `/ajax/illust/<id>/pages`: the addresses of every page.
    func pages(_ id: WorkID) -> Answer {
        guard let work = universe.work(id, now: now) else { return Self.unknown }
        let pages = work.pages.enumerated().map { page, size -> JSON in
            let urls: [(String, PicturePath.Kind)] = [
                ("thumb_mini", .square(size: "128x128", custom: false)),
                ("small", .preview(size: "540x540_70")),
                ("regular", .regular),
                ("original", .original(work.format)),
            ]
            return .object([
                ("urls", .object(urls.map { ($0.0, Self.url(work, page: page, $0.1)) })),
                ("width", .int(size.width)),
                ("height", .int(size.height)),
            ])
        }
        return .envelope(.array(pages))
    }

    /// `/ajax/illust/<id>/ugoira_meta` for what is no animation.
    func animation(_ id: WorkID) -> Answer {
        guard universe.work(id, now: now) != nil else { return Self.unknown }
        return .failure("指定されたIDはうごイラではありません", status: 404)
    }

    /// `/ajax/illust/<id>`: everything about a work.
    func details(_ id: WorkID) -> Answer {
        guard let work = universe.work(id, now: now) else { return Self.unknown }
        return .envelope(.object(identity(work) + people(work) + counts(work) + extras(work)))
    }

    // MARK: -

    private static func url(_ work: WorkRecord, page: Int, _ kind: PicturePath.Kind) -> JSON {
        work.isMasked ? .null : .string(PicturePath(work, page: page, kind: kind).url)
    }

    private func identity(_ work: WorkRecord) -> [(String, JSON)] {
        let urls: [(String, PicturePath.Kind)] = [
            ("mini", .square(size: "48x48", custom: BriefWork.isCustom(work))),
            ("thumb", .square(size: "250x250_80_a2", custom: BriefWork.isCustom(work))),
            ("small", .preview(size: "540x540_70")),
            ("regular", .regular),
            ("original", .original(work.format)),
        ]
        return [
            ("illustId", .string("\(work.id.rawValue)")),
            ("illustTitle", .string(work.title)),
            ("illustComment", ""),
            ("id", .string("\(work.id.rawValue)")),
            ("title", .string(work.title)),
            ("description", ""),
            ("illustType", .int(work.kind.rawValue)),
            ("createDate", .string(work.uploaded.isoUTC)),
            ("uploadDate", .string(work.uploaded.isoUTC)),
            ("restrict", 0), ("xRestrict", 0), ("sl", 2),
            ("urls", .object(urls.map { ($0.0, Self.url(work, page: 0, $0.1)) })),
            ("tags", tags(work)),
            ("alt", .string("#\(work.tags.first ?? "") \(work.title) - \(work.authorName)のイラスト")),
        ]
    }

    private func tags(_ work: WorkRecord) -> JSON {
        let author = "\(work.author.rawValue)"
        let tags = work.tags.enumerated().map { index, tag -> JSON in
            // The author's own tags are locked; visitors may add others.
            guard index < 5 else {
                return .object([("tag", .string(tag)), ("locked", false), ("deletable", true)])
            }
            return .object([
                ("tag", .string(tag)), ("locked", true), ("deletable", false), ("userId", .string(author)),
                ("userName", .string(work.authorName)),
            ])
        }
        return .object([
            ("authorId", .string(author)), ("isLocked", false), ("tags", .array(tags)), ("writable", false),
        ])
    }

    private func people(_ work: WorkRecord) -> [(String, JSON)] {
        // The service names every work of the author, with short records of the neighbours.
        let ids = universe.works(of: work.author, now: now) ?? []
        let place = ids.firstIndex(of: work.id) ?? 0
        let neighbours = max(0, place - 1)...(place + 1)
        let works = ids.enumerated().map { index, id -> (String, JSON) in
            guard neighbours.contains(index), let slot = Slot(id) else { return ("\(id.rawValue)", .null) }
            return ("\(id.rawValue)", BriefWork.json(universe.record(slot)))
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

    private func counts(_ work: WorkRecord) -> [(String, JSON)] {
        [
            ("width", .int(work.pages[0].width)), ("height", .int(work.pages[0].height)),
            ("pageCount", .int(work.pages.count)), ("bookmarkCount", .int(work.ratings * 3 / 2)),
            ("likeCount", .int(work.ratings)), ("commentCount", .int(work.ratings / 100)), ("responseCount", 0),
            ("viewCount", .int(work.views)), ("bookStyle", work.kind == .manga ? 1 : 0), ("isHowto", false),
            ("isOriginal", .bool(work.isOriginal)),
        ]
    }

    private func extras(_ work: WorkRecord) -> [(String, JSON)] {
        [
            ("imageResponseOutData", .array([])), ("imageResponseData", .array([])), ("imageResponseCount", 0),
            ("pollData", .null), ("seriesNavData", .null), ("descriptionBoothId", .null),
            ("descriptionYoutubeId", .null), ("comicPromotion", .null), ("fanboxPromotion", .null),
            ("contestBanners", .array([])), ("isBookmarkable", true), ("bookmarkData", .null),
            ("contestData", .null), ("zoneConfig", PageFurniture.zones),
            (
                "extraData",
                PageFurniture.meta(
                    title: "\(work.title) - \(work.authorName)のイラスト - pixiv",
                    description: "この作品 「\(work.title)」 は「\(work.authorName)」さんのイラストです。",
                    page: "artworks/\(work.id.rawValue)")
            ),
            ("titleCaptionTranslation", .object([("workTitle", .null), ("workCaption", .null)])),
            ("isUnlisted", false), ("request", .null), ("commentOff", 0), ("aiType", 0), ("reuploadDate", .null),
            ("locationMask", false), ("commissionLinkHidden", false), ("isLoginOnly", .bool(work.isMasked)),
        ]
    }
}
