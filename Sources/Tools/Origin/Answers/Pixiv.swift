import Rankings
import Synchronization

/// Pixiv: its API, its image host and its sessions, generated or from recorded answers.
///
/// ## Concurrency
/// Called from the threads of all connections; the validity of sessions is an atomic.
final class Pixiv: ServedAPI {
    private let universe: Universe
    private let recorded: RecordedWorks?
    private let isExpired = Atomic(false)

    init(_ universe: Universe, _ recorded: RecordedWorks? = nil) {
        self.universe = universe
        self.recorded = recorded
    }

    func answer(_ request: Request, _ host: PictureHost) -> Response {
        if let recorded {
            return recorded.answer(request)
                ?? host.answer(request, recorded.picture(at: request.path) ?? universe.fixture(at: request.path))
        }
        if let answer = dayIndex(request, host) { return answer }
        let viewer = viewer(request)
        if let answer = answer(request, viewer: viewer, now: host.now) {
            return answer.with(viewer.user.map { [("X-Userid", "\($0)")] } ?? [])
        }
        let picture = universe.picture(at: request.path) { universe.post($0.work, now: host.now) }
        return host.answer(request, picture ?? universe.fixture(at: request.path))
    }

    var placeholder: Picture? { universe.fixture(at: "/common/images/limit_unviewable_360.png") }

    // MARK: - Sessions

    /// Characters of a secret at least; far fewer than the service's own, which have 32.
    private static let shortestSecret = 8

    func isSignedIn(_ request: Request) -> Bool { viewer(request).isSignedIn }

    func control(_ path: Substring) -> Response? {
        guard path == "/expire-sessions" || path == "/renew-sessions" else { return nil }
        let expire = path == "/expire-sessions"
        isExpired.store(expire, ordering: .sequentiallyConsistent)
        return .json(.members([("expired", .bool(expire))]))
    }

    /// The viewer of a request, by its session.
    ///
    /// PHPSESSID is `<user>_<secret>`, with an existing user and a secret of letters and digits.
    private func viewer(_ request: Request) -> Viewer {
        guard let session = request.cookie("PHPSESSID") else { return .anonymous }
        let parts = session.split(separator: "_" as Character, maxSplits: 1, omittingEmptySubsequences: false)
        func isPlain(_ byte: UInt8) -> Bool {
            (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        }
        guard parts.count == 2, let user = Int64(parts[0]), parts[0].utf8.allSatisfy(isPlain),
            parts[1].utf8.count >= Self.shortestSecret, parts[1].utf8.allSatisfy(isPlain),
            universe.slots(of: user) != nil, !isExpired.load(ordering: .sequentiallyConsistent)
        else { return .rejected }
        return .signedIn(user)
    }

    // MARK: - Routes

    /// The input of a route: the request, the number in its path, and the viewer.
    struct Call: Sendable {
        let universe: Universe
        let request: Request
        let viewer: Viewer
        let now: Int64
        /// The number in the path; 0 in a route without one.
        var id: Int64 = 0
    }

    /// The answer of the API; nil for a path that is none of its routes.
    func answer(_ request: Request, viewer: Viewer, now: Int64) -> Response? {
        var call = Call(universe: universe, request: request, viewer: viewer, now: now)
        var path = request.segments
        if path == ["ranking.php"] { return call.ranking() }
        guard path.first == "ajax" else { return nil }
        if viewer == .rejected { return .failure("An unknown error occurred", status: 400) }
        // For an account set to English, as one in ten is, a request without `lang` is refused.
        if let user = viewer.user, user % 10 == 1, request.value("lang") == nil { return Call.badRequest }
        if path.count == 4, path[1] == "search", let group = Call.searches[path[2]] {
            return call.search(path[3], group)
        }
        if path == ["ajax", "follow_latest", "illust"] { return call.newWorks() }
        if path == ["ajax", "illust", "recommend", "illusts"] { return call.relatedWorks() }
        if path.count == 3, path[1] == "collection" { return call.collection(path[2]) }
        if path.count > 2 {
            // A part that is no number is a bad request, as with the service.
            call.id = Int64(path.remove(at: 2)) ?? 0
            if call.id <= 0 { return Call.badRequest }
        }
        let route = path.dropFirst().joined(separator: "/")
        switch route {
        case "user/illusts/bookmarks", "user/following":
            guard viewer.isSignedIn else { return Call.badRequest }
            return route == "user/following" ? call.following() : call.bookmarks()
        case "user/illusts/bookmark/tags", "user/bookmark/periods":
            guard viewer.isSignedIn else { return Call.badRequest }
            return route == "user/bookmark/periods" ? call.bookmarkMonths() : call.bookmarkTags()
        case "user": return call.profile()
        case "user/profile/all": return call.allWorks()
        case "user/profile/illusts": return call.briefWorks()
        case "user/illustmanga/tags": return call.tagsOfWorks()
        case "user/illustmanga/tag": return call.worksWithTag()
        case "series": return call.series()
        case "illust/recommend/init": return call.related()
        case "illust": return call.details()
        case "illust/pages": return call.pages()
        case "illust/ugoira_meta": return call.animation()
        default: return .failure("リクエストされたページが見つかりませんでした", status: 404)
        }
    }

    // MARK: - Index

    /// A day's pictures as a web server lists a directory, for file systems over HTTP without knowledge of rankings.
    ///
    /// `/index/<mode>/<day>/` links to `<rank>-<work>.jpg`, the same pictures as on the image host, without a check of the Referer.
    /// Such file systems can thus be measured beside rankfs, with the same bytes at the same latency and rate.
    private func dayIndex(_ request: Request, _ host: PictureHost) -> Response? {
        let path = request.segments
        guard path.first == "index", (3...4).contains(path.count), let mode = Mode.named(path[1]), !mode.needsSignIn,
            let day = Day(path[2]), (mode.firstDay...universe.newest(at: host.now)).contains(day)
        else { return nil }
        func entries(_ ranks: ClosedRange<Int>) -> [(name: String, work: Post)] {
            universe.entries(mode, day, ranks).filter { !Viewer.anonymous.isKept(from: $0.work) }
                .map { ("\($0.rank.padded(3))-\($0.work.id).jpg", $0.work) }
        }
        if path.count == 4 {
            let rank = Int(path[3].prefix { $0 != "-" }) ?? 0
            let entry = (1...mode.ranks).contains(rank) ? entries(rank...rank).first { $0.name == path[3] } : nil
            return host.serve(request, entry.flatMap { universe.picture(.regular, of: $0.work, 0) })
        }
        let links = entries(1...mode.ranks).map { "<a href=\"\($0.name)\">\($0.name)</a>" }
        let page =
            "<html>\n<head><title>Index of \(request.path)</title></head>\n<body>\n<h1>Index of \(request.path)</h1><pre>"
            + "<a href=\"../\">../</a>\n\(links.joined(separator: "\n"))\n</pre></body>\n</html>\n"
        return Response(
            status: 200, headers: [("Content-Type", "text/html; charset=utf-8")], body: .bytes(Array(page.utf8)))
    }
}
