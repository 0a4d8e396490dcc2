import Rankings

/// Danbooru: its API, by default as safebooru.donmai.us gives it, and its image host.
///
/// ## Concurrency
/// Called from the threads of all connections; what changes is behind locks of its own.
final class DanbooruOrigin: OriginRoutes {
    private let configuration: OriginServer.Configuration
    private let universe: PostUniverse
    private let index: PostsByDigest
    private let popularLimit = PopularLimit()
    private let recordings: BooruRecordings?

    /// Throws one sentence with cause and remedy.
    init(_ configuration: OriginServer.Configuration) throws(OriginError) {
        self.configuration = configuration
        universe = PostUniverse(seed: configuration.seed, site: .danbooru)
        index = PostsByDigest(universe)
        recordings = try BooruRecordings(configuration, .danbooru)
    }

    func answer(_ request: Request, _ moment: ServedMoment) -> Response {
        guard Self.isWelcome(request.userAgent) else { return Self.challenge }
        let host = ServedBooruHost(moment: moment)
        if let recordings { return recorded(request, host, recordings) }
        if let path = ServedDanbooruPath(request.path) {
            guard !path.isOld else { return Self.moved(to: path.text) }
            let post = index.post(path.digest, now: moment.now)
            return host.answer(request, post.flatMap { universe.picture(path, of: $0) })
        }
        let answers = ServedDanbooru(
            universe: universe, index: index, now: moment.now, isSafe: isSafe(request), request: request)
        return answers.answer(popularLimit) ?? host.answer(request, nil)
    }

    var placeholder: Picture? { nil }

    // MARK: -

    /// What recordings answer.
    private func recorded(_ request: Request, _ host: ServedBooruHost, _ recordings: BooruRecordings) -> Response {
        guard let path = ServedDanbooruPath(request.path) else {
            return recordings.answer(request) ?? ServedDanbooruFailure.notFound.response
        }
        return host.answer(request, recordings.picture(path.rendition, path.digest))
    }

    /// Whether only rating g is shown: on the host safebooru, when the query says so, or as the origin was started.
    private func isSafe(_ request: Request) -> Bool {
        if request.value("safe_mode") == "true" { return true }
        let host = request.host ?? ""
        if host.hasPrefix("safebooru.") { return true }
        return host.hasPrefix("danbooru.") ? false : !configuration.allRatings
    }

    /// Programs with names of their own are; browsers, and whoever gives no name, have to solve a riddle (reference, 3.3).
    private static func isWelcome(_ userAgent: String?) -> Bool {
        guard let userAgent, !userAgent.isEmpty else { return false }
        return !userAgent.hasPrefix("Mozilla/") && !userAgent.hasPrefix("Opera/")
    }

    private static let challenge: Response = {
        var answer = Response.html("Just a moment...", status: 403)
        answer.headers += [("cf-mitigated", "challenge"), ("Server", "cloudflare")]
        return answer
    }()

    /// Old addresses lead to the new ones; without a host, so that nobody leaves this origin.
    private static func moved(to path: String) -> Response {
        var answer = Response.html("308 Permanent Redirect", status: 308)
        answer.headers.append(("Location", path))
        return answer
    }
}
