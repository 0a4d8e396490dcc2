import Rankings

/// The routes of Moebooru's API.
struct ServedMoebooru: Sendable {
    let universe: PostUniverse
    let index: PostsByDigest
    let now: Int64
    /// Whether records have the 36 keys of before.
    let isOld: Bool
    let request: Request

    private static let pageSize = 40
    private static let mostPosts = 1000
    /// Posts of a popular listing, which has one page.
    private static let mostPopular = 40

    /// The answer; nil for a path that is none of the API's.
    ///
    /// `shuffle` gives each answer another number.
    func answer(shuffle: () -> UInt64) -> Response? {
        switch request.segments {
        case ["post.json"]: return posts()
        case ["post", "popular_by_day.json"]: return popular(.day, shuffle())
        case ["post", "popular_by_week.json"]: return popular(.week, shuffle())
        case ["post", "popular_by_month.json"]: return popular(.month, shuffle())
        case ["post", "popular_recent.json"]: return recent(shuffle())
        case ["tag", "summary.json"]: return summary()
        default: return nil
        }
    }

    // MARK: -

    private func posts() -> Response {
        let search = ServedMoebooruSearch(request.form("tags") ?? "", site: universe.site)
        guard search.plain <= ServedMoebooruSearch.mostTags else {
            return .rails(
                .object([
                    ("success", false),
                    ("reason", .text("You can only search up to \(ServedMoebooruSearch.mostTags) tags at once")),
                ]), status: 500)
        }
        let asked = search.limit ?? request.value("limit").flatMap { Int($0) } ?? Self.pageSize
        let size = min(max(1, asked), Self.mostPosts)
        let page = max(1, request.value("page").flatMap { Int($0) } ?? 1)
        let found = universe.posts(search.query, index: index, now: now)
        let start = (page - 1).multipliedReportingOverflow(by: size)
        return list(start.overflow ? [] : found.dropFirst(start.partialValue).prefix(size))
    }

    /// A bare list, or with `api_version=2` an object that can hold the types of all tags.
    private func list(_ posts: ArraySlice<ServedPost>) -> Response {
        universe.models.prepare(Set(posts.map(\.file.model)))
        let records = ServedMoebooruPost(universe: universe, index: index, isOld: isOld)
        let list = JSONText.list(posts.compactMap(records.json))
        guard request.value("api_version") == "2" else { return .rails(list) }
        var members: Members = [("posts", list), ("pools", .list([])), ("pool_posts", .list([]))]
        if request.value("include_tags") == "1" {
            let places = Set(posts.flatMap { universe.tags(of: $0) }).map { ServedTags.all[$0] }
            let types: Members = places.sorted { $0.name < $1.name }.map { ($0.name, .text($0.kind.word)) }
            members.append(("tags", .object(types)))
        }
        return .rails(.object(members))
    }

    // MARK: - Popular

    private enum Span {
        case day
        case week
        case month
    }

    private func popular(_ span: Span, _ shuffle: UInt64) -> Response {
        let (year, month, day) = universe.site.day(at: now).civil
        func number(_ name: String, _ missing: Int) -> Int? {
            request.value(name).map { Int($0) } ?? missing
        }
        let isDated = request.value("year") != nil
        guard let year = number("year", year), let month = number("month", isDated ? 1 : month),
            let day = span == .month ? 1 : number("day", isDated ? 1 : day),
            let date = Day(year: year, month: month, day: day)
        else { return Response(status: 400, headers: [], body: .bytes([])) }
        var query = ServedQuery()
        query.showsDeleted = false
        switch span {
        case .day: query.days = date...date
        case .week:
            // 1970-01-01 was a Thursday.
            let monday = date.advanced(by: -((date.ordinal % 7 + 10) % 7))
            query.days = monday...monday.advanced(by: 6)
        case .month:
            let last = (28...31).reversed().lazy.compactMap { Day(year: year, month: month, day: $0) }.first
            query.days = date...(last ?? date)
        }
        return best(universe.posts(query, index: index, now: now), shuffle)
    }

    /// The last day, week, month or year, to this moment; any other word means a day.
    private func recent(_ shuffle: UInt64) -> Response {
        let days = ["1w": 7, "1m": 30, "1y": 365][request.value("period") ?? ""] ?? 1
        let today = universe.site.day(at: now)
        var query = ServedQuery()
        query.showsDeleted = false
        query.days = today.advanced(by: -days)...today
        let since = (now - Int64(days) * 86_400) * 1000
        return best(universe.posts(query, index: index, now: now).filter { $0.created >= since }, shuffle)
    }

    /// The best, equal ones in an order that is another with each answer.
    private func best(_ posts: [ServedPost], _ shuffle: UInt64) -> Response {
        let sorted = posts.sorted { left, right in
            guard left.score == right.score else { return left.score > right.score }
            return Chance.mix(UInt64(bitPattern: left.id) ^ shuffle << 32)
                > Chance.mix(UInt64(bitPattern: right.id) ^ shuffle << 32)
        }
        return list(sorted.prefix(Self.mostPopular))
    }

    // MARK: -

    /// All tags in one string: blocks of type, name and aliases, each ended by a back-quote.
    private func summary() -> Response {
        let blocks = ServedTags.all.map { "\($0.kind.number(universe.site))`\($0.name)`" }
        return .rails(.object([("version", 1), ("data", .text(blocks.joined(separator: " ") + " "))]))
    }
}
