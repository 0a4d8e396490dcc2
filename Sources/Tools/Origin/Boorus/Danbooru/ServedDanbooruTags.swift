import Rankings

/// The list of tags, `/tags.json`, with the keys recorded.
struct ServedDanbooruTags: Sendable {
    /// Unix seconds.
    let now: Int64

    /// The tags that a request asks for: by name or a pattern with `*`, the most used first.
    func list(_ request: Request) -> [JSONText] {
        let size = min(max(0, request.value("limit").flatMap { Int($0) } ?? Self.pageSize), Self.most)
        let page = min(max(1, request.value("page").flatMap { Int($0) } ?? 1), ServedDanbooru.mostPages)
        var places = Array(ServedTags.all.indices)
        if let pattern = request.form("search[name_matches]") {
            let parts = pattern.lowercased().split(separator: "*" as Character, omittingEmptySubsequences: false)
            places = places.filter { Self.matches(ServedTags.all[$0].name, parts) }
        }
        for name in ["search[name]", "search[name_comma]"] {
            guard let value = request.form(name) else { continue }
            let names = value.split(separator: "," as Character).map { String($0) }
            places = places.filter { names.contains(ServedTags.all[$0].name) }
        }
        if let category = request.form("search[category]").flatMap({ Int($0) }) {
            places = places.filter { ServedTags.all[$0].kind.rawValue == category }
        }
        let isByCount = request.form("search[order]") == "count"
        places.sort { isByCount ? (Self.count($0), $0) > (Self.count($1), $1) : $0 > $1 }
        return places.dropFirst((page - 1) * size).prefix(size).map(json)
    }

    // MARK: -

    private static let pageSize = 20
    private static let most = 1000

    /// Made up: which posts have a tag is not counted.
    private static func count(_ place: Int) -> Int {
        Int(Chance.mix(UInt64(place)) % 900_000)
    }

    private func json(_ place: Int) -> JSONText {
        let tag = ServedTags.all[place]
        let created = (Self.firstTag + Int64(place) * 40_000) * 1000
        return .object([
            ("id", .int(place + 1)), ("name", .text(tag.name)), ("post_count", .int(Self.count(place))),
            ("category", .int(tag.kind.rawValue)), ("created_at", .text(ServedEasternTime.iso(created))),
            ("updated_at", .text(ServedEasternTime.iso(created + 999_886))), ("is_locked", false),
        ])
    }

    private static let firstTag: Int64 = 1_362_026_869

    /// Whether a name has the parts of a pattern in their order, the first and the last at its ends.
    private static func matches(_ name: String, _ parts: [Substring]) -> Bool {
        guard let first = parts.first, let last = parts.last else { return false }
        guard parts.count > 1 else { return name == first }
        guard name.hasPrefix(first), name.hasSuffix(last), name.utf8.count >= first.utf8.count + last.utf8.count else {
            return false
        }
        var rest = name.dropFirst(first.count).dropLast(last.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            while !rest.isEmpty, !rest.hasPrefix(part) { rest = rest.dropFirst() }
            guard rest.hasPrefix(part) else { return false }
            rest = rest.dropFirst(part.count)
        }
        return true
    }
}
