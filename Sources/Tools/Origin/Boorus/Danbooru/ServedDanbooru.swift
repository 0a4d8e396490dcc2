import Rankings

/// The routes of Danbooru's API.
struct ServedDanbooru: Sendable {
    let universe: PostUniverse
    let index: PostsByDigest
    let now: Int64
    /// Whether only rating g exists.
    let isSafe: Bool
    let request: Request

    /// Pages that anonymous users may ask for.
    static let mostPages = 1000
    private static let pageSize = 20
    private static let mostPosts = 200
    /// The popular listings take more, by the server's source.
    private static let mostPopular = 1000

    /// The answer; nil for a path that is none of the API's.
    func answer(_ popularLimit: PopularLimit) -> Response? {
        switch request.segments {
        case ["posts.json"]: return posts()
        case ["explore", "posts", "popular.json"]: return popular(popularLimit)
        case ["counts", "posts.json"]: return counts()
        case ["tags.json"]: return .rails(.list(ServedDanbooruTags(now: now).list(request)))
        case let path where path.count == 2 && path[0] == "posts" && path[1].hasSuffix(".json"):
            return post(path[1].dropLast(".json".count))
        case let path where path.last?.hasSuffix(".json") == true:
            return ServedDanbooruFailure.notFound.response
        default: return nil
        }
    }

    // MARK: -

    private var records: ServedDanbooruPost {
        ServedDanbooruPost(universe: universe, index: index, isSafe: isSafe)
    }

    private func search() -> ServedDanbooruSearch {
        var search = ServedDanbooruSearch(request.form("tags") ?? "", site: universe.site)
        if isSafe { search.query.ratings.formIntersection([.general]) }
        return search
    }

    private func posts() -> Response {
        if let text = request.value("md5") {
            let post = OriginDigest(hex: text).flatMap { index.post($0, now: now) }
            return post.flatMap(record).map { .rails($0) } ?? ServedDanbooruFailure.notFound.response
        }
        let search = search()
        guard search.counted <= ServedDanbooruSearch.mostTags else { return ServedDanbooruFailure.tooManyTags.response }
        guard !search.query.isSlow else { return ServedDanbooruFailure.timeout.response }
        return page(search.query, limit: search.limit, most: Self.mostPosts)
    }

    private func popular(_ limit: PopularLimit) -> Response {
        guard let points = limit.take(now: now) else {
            var answer = ServedDanbooruFailure.tooOften.response
            answer.headers.append(("X-Rate-Limit", Self.state(points: 0)))
            return answer
        }
        let day = request.value("date").flatMap { Day($0) } ?? Day.inUTC(atUnixSeconds: now)
        var query = ServedQuery()
        query.order = .score
        query.narrow(Self.span(of: day, scale: request.value("scale") ?? "day"))
        if isSafe { query.ratings = [.general] }
        var answer = page(query, limit: nil, most: Self.mostPopular)
        answer.headers.append(("X-Rate-Limit", Self.state(points: points)))
        return answer
    }

    /// Its exact shape is a guess: no recording has it.
    private static func state(points: Double) -> String {
        "{\"action\":\"explore/posts:popular\",\"rate\":0.0167,\"burst\":50,\"points\":\(Int(points))}"
    }

    /// The week from Monday on or the month that holds a day; the day itself for any other scale.
    private static func span(of day: Day, scale: String) -> ClosedRange<Day> {
        switch scale {
        case "week":
            // 1970-01-01 was a Thursday.
            let monday = day.advanced(by: -((day.ordinal % 7 + 10) % 7))
            return monday...monday.advanced(by: 6)
        case "month":
            let (year, month, _) = day.civil
            guard let first = Day(year: year, month: month, day: 1) else { return day...day }
            let last = (28...31).reversed().lazy.compactMap { Day(year: year, month: month, day: $0) }.first ?? first
            return first...last
        default: return day...day
        }
    }

    private func page(_ query: ServedQuery, limit: Int?, most: Int) -> Response {
        let asked = request.value("limit").flatMap { Int($0) } ?? limit ?? Self.pageSize
        let size = min(max(0, asked), most)
        let text = request.value("page") ?? "1"
        if let id = Int64(text.dropFirst()), let direction = text.first, direction == "b" || direction == "a" {
            return beside(id, isBefore: direction == "b", query, size: size)
        }
        let number = max(1, Int(text) ?? 1)
        guard number <= Self.mostPages else { return ServedDanbooruFailure.pageTooHigh.response }
        let found = universe.posts(query, index: index, now: now)
        return list(found.dropFirst((number - 1) * size).prefix(size))
    }

    /// Pages by number: what comes before or after a post, always in falling order.
    private func beside(_ id: Int64, isBefore: Bool, _ query: ServedQuery, size: Int) -> Response {
        var query = query
        let bound = min(max(id, 0), Int64.max >> 8)
        let window = Int64(universe.site.searchedDays * universe.site.stride)
        let range = isBefore ? max(0, bound - window)...max(0, bound - 1) : bound + 1...bound + window
        query.ids = query.ids.map { $0.filter { $0.overlaps(range) }.map { $0.clamped(to: range) } } ?? [range]
        if query.days == nil {
            // an impossible number is on an impossible day, where nothing is
            let days = [range.lowerBound, range.upperBound].map { Int($0) / universe.site.stride }
            query.narrow(universe.site.firstDay.advanced(by: days[0])...universe.site.firstDay.advanced(by: days[1]))
        }
        query.order = .newest
        let found = universe.posts(query, index: index, now: now)
        return list(isBefore ? found.prefix(size) : found.suffix(size))
    }

    private func list(_ posts: ArraySlice<ServedPost>) -> Response {
        universe.models.prepare(Set(posts.map(\.file.model)))
        return .rails(.list(posts.compactMap(record).map(selected)))
    }

    private func record(_ post: ServedPost) -> JSONText? {
        records.json(post)
    }

    private func post(_ text: Substring) -> Response {
        guard let post = Int64(text).flatMap({ universe.post($0, now: now) }), let record = record(post) else {
            return ServedDanbooruFailure.notFound.response
        }
        var answer = record
        if case .object(let members) = record, request.value("only")?.contains("media_metadata") == true {
            answer = .object(members + [("media_metadata", records.metadata(post))])
        }
        return .rails(selected(answer))
    }

    /// Only the keys that `only` names, if it names any.
    private func selected(_ record: JSONText) -> JSONText {
        guard let only = request.value("only"), case .object(let members) = record else { return record }
        let names = only.split(separator: "," as Character).map { $0.prefix { $0 != "[" } }
        return .object(members.filter { member in names.contains { $0 == member.0 } })
    }

    private func counts() -> Response {
        let search = search()
        guard search.counted <= ServedDanbooruSearch.mostTags else { return ServedDanbooruFailure.tooManyTags.response }
        guard !search.query.isSlow else { return ServedDanbooruFailure.timeout.response }
        let count = universe.posts(search.query, index: index, now: now).count
        return .rails(.object([("counts", .object([("posts", .int(count))]))]))
    }
}
