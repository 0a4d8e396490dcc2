import Rankings
import Synchronization

/// Danbooru: its API, by default as safebooru.donmai.us gives it, and its image host.
///
/// ## Concurrency
/// Called from the threads of all connections; the points of the popular listings are behind a lock.
final class Danbooru: ServedAPI {
    private let universe: Universe
    private let recorded: RecordedPosts?
    private let showsAll: Bool
    private let points = Mutex<(left: Double, at: Int64)?>(nil)

    /// Pages that anonymous users may ask for, and tags that they may combine.
    private static let mostPages = 1000
    private static let mostTags = 2
    private static let pageSize = 20
    private static let mostPosts = 200
    /// The popular listings take more, by the server's source.
    private static let mostPopular = 1000

    init(_ universe: Universe, _ recorded: RecordedPosts?, showsAll: Bool) {
        self.universe = universe
        self.recorded = recorded
        self.showsAll = showsAll
    }

    var placeholder: Picture? { nil }

    /// The address of a file, as answers give it.
    static func url(_ rendition: BoardRendition, _ digest: String) -> String {
        "https://cdn.donmai.us" + path(rendition, digest)
    }

    private static func path(_ rendition: BoardRendition, _ digest: String) -> String {
        let name = rendition.name == "sample" ? "sample-\(digest)" : digest
        let folders = "\(digest.prefix(2))/\(digest.dropFirst(2).prefix(2))"
        return "/\(rendition.name)/\(folders)/\(name).\(rendition.format.rawValue)"
    }

    func answer(_ request: Request, _ host: PictureHost) -> Response {
        // Programs with names of their own are welcome; browsers, and whoever gives no name, have to solve a riddle (reference, 3.3).
        let agent = request["user-agent"] ?? ""
        guard !agent.isEmpty, !agent.hasPrefix("Mozilla/"), !agent.hasPrefix("Opera/") else {
            return .html("Just a moment...", status: 403).with([
                ("cf-mitigated", "challenge"), ("Server", "cloudflare"),
            ])
        }
        if let answer = picture(request, host) { return answer }
        if let recorded { return recorded.answer(request) ?? .error(.notFound) }
        let call = Call(universe: universe, request: request, now: host.now, isSafe: isSafe(request))
        let path = request.segments
        switch path {
        case ["posts.json"]: return call.posts()
        case ["explore", "posts", "popular.json"]: return popular(call)
        case ["counts", "posts.json"]: return call.counts()
        case ["tags.json"]: return call.tags()
        case _ where path.count == 2 && path[0] == "posts" && path[1].hasSuffix(".json"):
            return call.post(path[1].dropLast(".json".count))
        case _ where path.last?.hasSuffix(".json") == true: return .error(.notFound)
        default: return host.answer(request, nil)
        }
    }

    /// Whether only rating g is shown: on the host safebooru, when the query says so, or as the origin was started.
    private func isSafe(_ request: Request) -> Bool {
        let host = request["host"] ?? ""
        return request.value("safe_mode") == "true" || host.hasPrefix("safebooru.")
            || !host.hasPrefix("danbooru.") && !showsAll
    }

    /// A file of a post (reference, 3.3); what stands before the digest in its name is for people; nil for another path.
    private func picture(_ request: Request, _ host: PictureHost) -> Response? {
        var parts = request.segments
        guard var name = parts.popLast(), let digest = Universe.digest(in: name) else { return nil }
        if name.hasPrefix("__") { name = String(name.split(separator: "_" as Character).last ?? "") }
        if parts.first == "data" {
            // Old addresses lead to the new ones; without a host, so that nobody leaves this origin.
            let folder = parts.count > 1 && parts[1].count > 2 ? parts[1] : "original"
            let place =
                "/\(folder == "preview" ? "180x180" : folder)/\(digest.prefix(2))/\(digest.dropFirst(2).prefix(2))"
            return .html("308 Permanent Redirect", status: 308).with([("Location", "\(place)/\(name)")])
        }
        let path = "/" + (parts + [name]).joined(separator: "/")
        if let recorded {
            return host.answer(request, recorded.picture(digest) { Self.path($0, digest) == path })
        }
        let post = universe.post(digest: digest, now: host.now)
        let found = post.flatMap { post in
            universe.renditions(of: post).first { Self.path($0, digest) == path }
                .flatMap { universe.picture($0, of: post) }
        }
        return host.answer(request, found)
    }

    /// The popular listings: 50 at once, then one a minute; whoever goes on asking waits longer (reference, 3.1).
    private func popular(_ call: Call) -> Response {
        let (burst, refill, least) = (50.0, 60.0, -30.0)
        let left = points.withLock { points in
            let now = call.now
            let full = points.map { min(burst, $0.left + Double(max(0, now - $0.at)) / refill) } ?? burst
            points = (max(least, full - 1), now)
            return full
        }
        // Its exact shape is a guess: no recording has it.
        let state = "\"rate\":0.0167,\"burst\":50,\"points\":\(Int(max(0, left - 1)))"
        let limit = ("X-Rate-Limit", "{\"action\":\"explore/posts:popular\",\(state)}")
        guard left >= 1 else { return .error(.tooOften).with([limit]) }
        let day = call.request.value("date").flatMap { Day($0) } ?? Day.inUTC(atUnixSeconds: call.now)
        var query = Query()
        query.order = .best
        query.narrow(to: call.request.value("scale") ?? "day", of: day)
        if call.isSafe { query.ratings = [.general] }
        return call.page(query, limit: nil, most: Self.mostPopular).with([limit])
    }

    // MARK: - Routes

    /// A request to the API.
    struct Call: Sendable {
        let universe: Universe
        let request: Request
        let now: Int64
        /// Whether only rating g exists.
        let isSafe: Bool

        /// A page of a search, or the post of a digest.
        func posts() -> Response {
            if let digest = request.value("md5") {
                let post = Universe.digest(in: digest).flatMap { universe.post(digest: $0, now: now) }
                return post.flatMap(record).map { .rails($0) } ?? .error(.notFound)
            }
            let search = search()
            return refusal(search) ?? page(search.query, limit: search.limit, most: Danbooru.mostPosts)
        }

        /// How many posts a search finds.
        func counts() -> Response {
            let search = search()
            let count = JSONText.int(universe.posts(search.query, now: now).count)
            return refusal(search) ?? .rails(.object([("counts", .object([("posts", count)]))]))
        }

        /// The post of a number.
        func post(_ text: Substring) -> Response {
            guard let post = Int64(text).flatMap({ universe.post($0, now: now) }),
                case .object(var members) = record(post)
            else { return .error(.notFound) }
            if request.value("only")?.contains("media_metadata") == true {
                members.append(("media_metadata", .object([("metadata", metadata(post))])))
            }
            return .rails(selected(.object(members)))
        }

        /// What `only=media_metadata` adds: the delays of an animation's frames.
        private func metadata(_ post: Post) -> JSONText {
            guard post.format == .zip else { return .object([]) }
            let delays = universe.delays(of: post).map { JSONText.int($0) }
            return .object([("Ugoira:FrameDelays", .list(delays)), ("Ugoira:FrameMimeType", "image/jpeg")])
        }

        private func search() -> BoardSearch {
            var search = BoardSearch(request.form("tags") ?? "", universe)
            if isSafe { search.query.ratings.formIntersection([.general]) }
            return search
        }

        private func refusal(_ search: BoardSearch) -> Response? {
            search.counted > Danbooru.mostTags ? .error(.tooManyTags) : search.query.isSlow ? .error(.timeout) : nil
        }

        /// A page by its number, or of what comes before or after a post.
        func page(_ query: Query, limit: Int?, most: Int) -> Response {
            let size = min(max(0, request.number("limit") ?? limit ?? Danbooru.pageSize), most)
            let text = request.value("page") ?? "1"
            if let id = Int64(text.dropFirst()), text.hasPrefix("b") || text.hasPrefix("a") {
                return beside(id, isBefore: text.hasPrefix("b"), query, size: size)
            }
            let number = max(1, Int(text) ?? 1)
            guard number <= Danbooru.mostPages else { return .error(.pageTooHigh) }
            return list(universe.posts(query, now: now).dropFirst((number - 1) * size).prefix(size))
        }

        /// Pages by number: what comes before or after a post, always in falling order.
        private func beside(_ id: Int64, isBefore: Bool, _ query: Query, size: Int) -> Response {
            var query = query
            let service = universe.service
            let bound = min(max(id, 0), Int64.max >> 8)
            let window = Int64(service.searchedDays * service.stride)
            let range = isBefore ? max(0, bound - window)...max(0, bound - 1) : bound + 1...bound + window
            query.ids = query.ids.map { $0.filter { $0.overlaps(range) }.map { $0.clamped(to: range) } } ?? [range]
            if query.days == nil {
                // An impossible number is on an impossible day, where nothing is.
                let days = [range.lowerBound, range.upperBound].map {
                    service.firstDay.advanced(by: Int($0) / service.stride)
                }
                query.narrow(days[0]...days[1])
            }
            query.order = .newest
            let found = universe.posts(query, now: now)
            return list(isBefore ? found.prefix(size) : found.suffix(size))
        }

        private func list(_ posts: ArraySlice<Post>) -> Response {
            universe.models.prepare(Set(posts.compactMap(\.file?.model)))
            return .rails(.list(posts.compactMap(record).map(selected)))
        }

        /// The record, 46 keys, or 42 when the file is not for everybody; nil without memory.
        private func record(_ post: Post) -> JSONText? {
            guard var facts = PostFacts(universe, post) else { return nil }
            facts.isVisible =
                !post.flags.contains(.banned) && !post.flags.contains(.restricted)
                && (!isSafe || post.rating == .general)
            return Shapes.fill("danbooruPost", facts.value)
        }

        /// Only the keys that `only` names, if it names any.
        private func selected(_ record: JSONText) -> JSONText {
            guard let only = request.value("only"), case .object(let members) = record else { return record }
            let names = only.split(separator: "," as Character).map { $0.prefix { $0 != "[" } }
            return .object(members.filter { member in names.contains { $0 == member.0 } })
        }

        /// The list of tags by name or a pattern with `*`, the most used first.
        func tags() -> Response {
            let all = universe.tags.all
            let size = min(max(0, request.number("limit") ?? Danbooru.pageSize), 1000)
            let page = min(max(1, request.number("page") ?? 1), Danbooru.mostPages)
            var places = Array(all.indices)
            if let pattern = request.form("search[name_matches]") {
                let parts = pattern.lowercased().split(separator: "*" as Character, omittingEmptySubsequences: false)
                places = places.filter { Self.matches(all[$0].name, parts) }
            }
            for name in ["search[name]", "search[name_comma]"] {
                guard let names = request.form(name)?.split(separator: "," as Character) else { continue }
                places = places.filter { place in names.contains { $0 == all[place].name } }
            }
            if let category = request.form("search[category]").flatMap({ Int($0) }) {
                places = places.filter { all[$0].kind.rawValue == category }
            }
            // Made up: which posts have a tag is not counted.
            func count(_ place: Int) -> Int { Int(Chance.mix(UInt64(place)) % 900_000) }
            let isByCount = request.form("search[order]") == "count"
            places.sort { isByCount ? (count($0), $0) > (count($1), $1) : $0 > $1 }
            return .rails(
                .list(
                    places.dropFirst((page - 1) * size).prefix(size).map { place in
                        let created = (1_362_026_869 + Int64(place) * 40_000) * 1000
                        return Shapes.fill(
                            "danbooruTag",
                            [
                                "id": .int(place + 1), "name": .text(all[place].name), "count": .int(count(place)),
                                "kind": .int(all[place].kind.rawValue), "created": .text(Moment.rails(created)),
                                "updated": .text(Moment.rails(created + 999_886)),
                            ])
                    }))
        }

        /// Whether a name has the parts of a pattern in their order, the first and the last at its ends.
        private static func matches(_ name: String, _ parts: [Substring]) -> Bool {
            guard let first = parts.first, let last = parts.last else { return false }
            guard parts.count > 1 else { return name == first }
            guard name.hasPrefix(first), name.hasSuffix(last), name.utf8.count >= first.utf8.count + last.utf8.count
            else { return false }
            var rest = name.dropFirst(first.count).dropLast(last.count)
            for part in parts.dropFirst().dropLast() where !part.isEmpty {
                guard let found = rest.firstRange(of: part) else { return false }
                rest = rest[found.upperBound...]
            }
            return true
        }
    }
}

extension Response {
    /// Errors as Danbooru tells them (recorded: a page beyond 1000).
    fileprivate enum DanbooruError {
        case notFound, pageTooHigh, tooManyTags, tooOften, timeout
    }

    fileprivate static func error(_ error: DanbooruError) -> Response {
        let (status, name, message) =
            switch error {
            case .notFound: (404, "ActiveRecord::RecordNotFound", "That record was not found.")
            case .pageTooHigh: (410, "PaginationExtension::PaginationError", "You cannot go beyond page 1000.")
            case .tooManyTags:
                (422, "PostQuery::TagLimitError", "You cannot search for more than 2 tags at a time.")
            case .tooOften:
                (429, "RateLimiter::RateLimitError", "You're doing that too fast. Wait a minute and try again.")
            case .timeout: (500, "ActiveRecord::QueryCanceled", "The database timed out running your query.")
            }
        return .rails(
            Shapes.fill("danbooruError", ["error": .text(name), "message": .text(message)]), status: status)
    }
}
