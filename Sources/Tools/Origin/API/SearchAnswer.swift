import Rankings

/// `/ajax/search/artworks/<word>` and its siblings for one kind of works.
///
/// A page has 60 entries, one of which may be an advertisement; a page past the end is the last one again.
struct SearchAnswer: Sendable {
    /// What is searched, by the name that the answer gives its list.
    enum Scope: String, Sendable {
        case artworks = "illustManga"
        case illustrations = "illust"
        case manga
    }

    private let match: Routes.Match
    private let scope: Scope

    init(_ match: Routes.Match, _ scope: Scope) {
        self.match = match
        self.scope = scope
    }

    func answer() -> Response {
        let request = match.request
        let order = request.value("order") ?? "date_d"
        // Only members who pay may order by popularity.
        guard let asked = Int(request.value("p") ?? "1"), asked >= 1, ["date", "date_d"].contains(order) else {
            return Routes.badRequest
        }
        var found = hits()
        if order == "date" { found.reverse() }
        let last = min(Self.pages(found.count), match.viewer.isSignedIn ? Self.mostPages : Self.mostAnonymousPages)
        let page = min(asked, last)
        let universe = match.universe
        let start = Self.start(ofPage: page)
        let shown = found.dropFirst(start).prefix(Self.start(ofPage: page + 1) - start)
            .map { universe.record($0.slot) }
        var data = shown.map { BriefWork.json($0, universe, for: match.viewer) }
        if Self.hasAdvertisement(page), data.count == Self.slots - 1 {
            data.insert(.object([("isAdContainer", true)]), at: Self.advertisement)
        }
        // There is no `message` in this envelope.
        return .json(.object([("error", false), ("body", body(data, total: found.count, last: last, shown: shown))]))
    }

    // MARK: -

    /// Slots on a page, of which an advertisement takes one on every other page.
    static let slots = 60
    private static let advertisement = 12
    private static let mostAnonymousPages = 10
    private static let mostPages = 1000

    private static func hasAdvertisement(_ page: Int) -> Bool {
        page % 2 == 1
    }

    /// How many works stand before a page.
    private static func start(ofPage page: Int) -> Int {
        (page - 1) * slots - page / 2
    }

    /// The number of the last page for so many works.
    private static func pages(_ works: Int) -> Int {
        var page = 1
        while start(ofPage: page + 1) < works { page += 1 }
        return page
    }

    private func hits() -> [SearchIndex.Entry] {
        let request = match.request
        let words = match.word.lowercased().split(whereSeparator: \.isWhitespace).map { String($0) }
        guard !words.isEmpty else { return [] }
        let mode = request.value("mode") ?? "all"
        let kinds = kinds(request.value("type") ?? "all")
        let field = request.value("s_mode") ?? "s_tag"
        let list = match.universe.search.list(match.universe, newest: match.universe.newest(at: match.now))
        let exact = words.map { word in Set(list.texts.indices.filter { list.texts[$0] == word }) }
        let partial = words.map { word in Set(list.texts.indices.filter { list.texts[$0].has(word) }) }
        return list.entries.filter { entry in
            guard kinds.contains(entry.kind), match.viewer.isSignedIn || !entry.isMasked && entry.xRestrict == 0,
                mode == "all" || (mode == "r18") == (entry.xRestrict > 0),
                request.value("ai_type") != "1" || entry.aiType < 2
            else { return false }
            return words.indices.allSatisfy { word in
                switch field {
                case "s_tag_full": entry.tags.contains(where: exact[word].contains)
                case "s_tc": partial[word].contains(entry.title)
                default: partial[word].contains(entry.title) || entry.tags.contains(where: partial[word].contains)
                }
            }
        }
    }

    private func kinds(_ type: String) -> [WorkKind] {
        let all: [WorkKind] =
            switch scope {
            case .artworks: [.illustration, .manga, .animation]
            case .illustrations: [.illustration, .animation]
            case .manga: [.manga]
            }
        switch type {
        case "illust": return all.filter { $0 == .illustration }
        case "ugoira": return all.filter { $0 == .animation }
        case "illust_and_ugoira": return all.filter { $0 != .manga }
        case "manga": return all.filter { $0 == .manga }
        default: return all
        }
    }

    private func body(_ data: [JSONText], total: Int, last: Int, shown: [WorkRecord]) -> JSONText {
        let ranges = [nil, 10000, 5000, 1000, 500, 300, 100, 50].map { (least: Int?) -> JSONText in
            .object([("min", least.map(JSONText.int) ?? .null), ("max", .null)])
        }
        var tags: [String] = []
        for tag in shown.flatMap(\.tags) where !tags.contains(tag) { tags.append(tag) }
        let translations: Members = tags.compactMap { tag in
            TagNames.known[tag]?.english.map { (tag, JSONText.object([("en", .text($0))])) }
        }
        return .object([
            (
                scope.rawValue,
                .object([
                    ("data", .list(data)), ("total", .int(total)), ("lastPage", .int(last)),
                    ("bookmarkRanges", .list(ranges)),
                ])
            ),
            ("popular", .object([("recent", .list([])), ("permanent", .list([]))])),
            ("relatedTags", .list(tags.prefix(16).map(JSONText.text))),
            ("tagTranslation", .mapping(translations)), ("zoneConfig", PageFurniture.zones),
            (
                "extraData",
                PageFurniture.meta(title: "#\(match.word) - pixiv", description: "pixiv", page: "tags/\(match.word)")
            ),
        ])
    }
}

extension String {
    /// Whether a text is part of this one, byte for byte.
    fileprivate func has(_ part: String) -> Bool {
        let text = Array(utf8)
        let part = Array(part.utf8)
        guard part.count <= text.count else { return false }
        return (0...text.count - part.count).contains { text[$0...].starts(with: part) }
    }
}
