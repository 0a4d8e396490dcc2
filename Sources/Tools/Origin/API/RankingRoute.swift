import Rankings

/// `ranking.php`: one page of a day's ranking, without the envelope of the `/ajax` routes.
struct RankingRoute: Sendable {
    private let universe: Universe
    private let now: Int64
    private let viewer: Viewer
    private let bookmarked: Set<WorkID>

    init(_ match: Routes.Match) {
        universe = match.universe
        now = match.now
        viewer = match.viewer
        bookmarked = match.viewer.user.map { Circle(match.universe, now: match.now).bookmarkedWorks(of: $0) } ?? []
    }

    /// Entries on a page.
    static let perPage = 50

    /// What the service says where it has nothing.
    static let outOfRange = Response.json(.object([("error", "ランキング集計の範囲外です")]), status: 404)

    func answer(_ request: Request) -> Response {
        let name = request.value("mode") ?? "daily"
        let content = request.value("content").flatMap { $0.isEmpty ? nil : $0 } ?? "all"
        guard let mode = ServedMode(name, content: content) else {
            return Self.outOfRange
        }
        if mode.needsSignIn, !viewer.isSignedIn {
            return .html("403 Forbidden", status: 403)
        }
        let newest = universe.newest(at: now)
        let day: Day
        if let text = request.value("date"), !text.isEmpty {
            guard let asked = Day(compact: text), asked >= mode.firstDay, asked <= newest else {
                return Self.outOfRange
            }
            day = asked
        } else {
            day = newest
        }
        let page = request.value("p").map { Int($0) ?? 0 } ?? 1
        guard let index = Universe.modes.firstIndex(of: name), page >= 1,
            let (entries, total) = entries(mode: index, day: day, content: mode.content, page: page)
        else { return Self.outOfRange }
        let first = mode.firstDay
        return .json(
            .object([
                ("contents", .list(entries.map(entry))),
                ("mode", .text(name)),
                ("content", .text(content)),
                ("page", .int(page)),
                ("prev", page > 1 ? .int(page - 1) : false),
                ("next", page * Self.perPage < total ? .int(page + 1) : false),
                ("date", .text(day.compact)),
                ("prev_date", day > first ? .text(day.advanced(by: -1).compact) : false),
                ("next_date", day < newest ? .text(day.advanced(by: 1).compact) : false),
                ("rank_total", .int(total)),
            ]))
    }

    /// The page's entries and the ranking's length; nil past the end.
    private func entries(
        mode: Int, day: Day, content: ServedMode.Content?, page: Int
    ) -> (
        [Universe.Entry], total: Int
    )? {
        let first = (page - 1).multipliedReportingOverflow(by: Self.perPage)
        guard !first.overflow else { return nil }
        let ranks = Universe.ranks(ofMode: mode)
        let kind: WorkKind
        switch content {
        case nil:
            guard first.partialValue < ranks else { return nil }
            let last = min(first.partialValue + Self.perPage, ranks)
            return (universe.entries(mode: mode, day: day, ranks: first.partialValue + 1...last), ranks)
        case .illustrations: kind = .illustration
        case .manga: kind = .manga
        case .animations: kind = .animation
        }
        // A ranking of one kind only: the works of that kind, counted anew.
        let all = universe.entries(mode: mode, day: day, ranks: 1...ranks)
            .filter { $0.work.kind == kind }.enumerated()
            .map { Universe.Entry(rank: $0.offset + 1, previousRank: 0, work: $0.element.work) }
        // A day of few ranks may have none of a kind: its first page is empty then.
        guard first.partialValue < max(1, all.count) else { return nil }
        return (Array(all[first.partialValue...].prefix(Self.perPage)), all.count)
    }

    private func entry(_ entry: Universe.Entry) -> JSONText {
        if entry.work.isWithheld(from: viewer) { return Self.masked(entry) }
        var fields = plain(entry)
        if viewer.isSignedIn {
            fields += [("is_bookmarked", .flag(bookmarked.contains(entry.work.id))), ("bookmarkable", true)]
        }
        return .object(fields)
    }

    private func plain(_ entry: Universe.Entry) -> Members {
        let work = entry.work
        return [
            ("title", .text(work.title)),
            ("date", .text(work.displayed.display)),
            ("tags", .list(work.tags.map(JSONText.text))),
            ("url", .text(ServedPath(work, page: 0, kind: .preview(size: "480x960")).url)),
            ("illust_type", .text("\(work.kind.rawValue)")),
            ("illust_book_style", work.kind == .manga ? "1" : "0"),
            ("illust_page_count", .text("\(work.pages.count)")),
            ("user_name", .text(work.authorName)),
            ("profile_img", .text(universe.portrait(of: work.author, side: 50))),
            ("illust_content_type", Self.contentType(work)),
            ("illust_series", Self.series(work)),
            ("illust_id", .integer(work.id.rawValue)),
            ("width", .int(work.pages[0].width)),
            ("height", .int(work.pages[0].height)),
            ("user_id", .integer(work.author.rawValue)),
            ("rank", .int(entry.rank)),
            ("yes_rank", .int(entry.previousRank)),
            ("rating_count", .int(work.ratings)),
            ("view_count", .int(work.views)),
            ("illust_upload_timestamp", .integer(work.uploaded.seconds)),
            ("attr", work.isOriginal ? "original" : ""),
        ]
    }

    /// A slot that anonymous visitors do not see: the author limits the work to people who are signed in.
    private static func masked(_ entry: Universe.Entry) -> JSONText {
        AnswerShape.filled(
            "masked",
            [
                "kind": .text("\(entry.work.kind.rawValue)"), "id": .integer(entry.work.id.rawValue),
                "rank": .int(entry.rank), "before": .int(entry.previousRank), "ratings": .int(entry.work.ratings),
                "views": .int(entry.work.views),
            ])
    }

    private static func contentType(_ work: WorkRecord) -> JSONText {
        AnswerShape.filled(
            "content",
            [
                "sexual": work.xRestrict > 0 ? 2 : 0, "grotesque": .flag(work.xRestrict > 1),
                "original": .flag(work.isOriginal),
            ])
    }

    private static func series(_ work: WorkRecord) -> JSONText {
        guard let series = work.series else { return false }
        let (hour, minute, second) = series.started.clock
        return .object([
            ("illust_series_id", .text("\(series.id)")),
            ("illust_series_user_id", .text("\(work.author.rawValue)")),
            ("illust_series_title", .text(series.title)),
            ("illust_series_caption", ""),
            ("illust_series_content_count", .text("\(series.count)")),
            ("illust_series_create_datetime", .text("\(series.started.day) \(hour):\(minute):\(second)")),
            ("illust_series_content_illust_id", .text("\(work.id.rawValue)")),
            ("illust_series_content_order", .text("\(series.order)")),
            ("page_url", .text("/user/\(work.author.rawValue)/series/\(series.id)")),
        ])
    }
}
