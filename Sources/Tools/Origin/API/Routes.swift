import Rankings

/// Which answer a path gets.
struct Routes: Sendable {
    /// The parts of a path that a route left open, and the request.
    struct Match: Sendable {
        let request: Request
        /// The number that stood for `<id>`; 0 in a route without one.
        let id: Int64
        /// The word that stood for `<word>`; empty in a route without one.
        let word: String
        let universe: Universe
        let now: Int64
        let viewer: Viewer
    }

    /// A pattern, in which `<id>` stands for a number and `<word>` for anything, and what answers it.
    private struct Route: Sendable {
        let pattern: [String]
        let isForSignedIn: Bool
        let answer: @Sendable (Match) -> Response

        init(_ pattern: String, signedIn: Bool = false, _ answer: @escaping @Sendable (Match) -> Response) {
            self.pattern = pattern.split(separator: "/" as Character).map { String($0) }
            isForSignedIn = signedIn
            self.answer = answer
        }
    }

    /// The one place where routes are listed.
    private static let table: [Route] = [
        Route("/ranking.php") { RankingRoute($0).answer($0.request) },
        Route("/ajax/user/<id>") { UserAnswers($0).profile(UserID(rawValue: $0.id), $0.request) },
        Route("/ajax/user/<id>/illusts/bookmarks", signedIn: true) { CircleAnswers($0).bookmarks() },
        Route("/ajax/user/<id>/following", signedIn: true) { CircleAnswers($0).following() },
        Route("/ajax/follow_latest/illust", signedIn: true) { CircleAnswers($0).feed() },
        Route("/ajax/search/artworks/<word>") { SearchAnswer($0, .artworks).answer() },
        Route("/ajax/search/illustrations/<word>") { SearchAnswer($0, .illustrations).answer() },
        Route("/ajax/search/manga/<word>") { SearchAnswer($0, .manga).answer() },
        Route("/ajax/user/<id>/profile/all") { UserAnswers($0).all(UserID(rawValue: $0.id)) },
        Route("/ajax/user/<id>/profile/illusts") { UserAnswers($0).illusts(UserID(rawValue: $0.id), $0.request) },
        Route("/ajax/illust/<id>") { WorkRoutes($0).details(WorkID(rawValue: $0.id)) },
        Route("/ajax/illust/<id>/pages") { WorkRoutes($0).pages(WorkID(rawValue: $0.id)) },
        Route("/ajax/illust/<id>/ugoira_meta") { WorkRoutes($0).animation(WorkID(rawValue: $0.id)) },
    ]

    /// The answer of the API; nil for a path that is none of its routes.
    static func answer(
        _ request: Request, universe: Universe, now: Int64, viewer: Viewer = .anonymous
    ) -> Response? {
        let path = request.segments
        if path.first == "ajax", viewer == .rejected {
            return .failure("An unknown error occurred", status: 400)
        }
        if path.first == "ajax", let user = viewer.user, Sessions.isEnglish(user), request.value("lang") == nil {
            return badRequest
        }
        for route in table where route.pattern.count == path.count {
            var id: Int64 = 0
            var word = ""
            let fits = zip(route.pattern, path).allSatisfy { pattern, segment in
                if pattern == "<word>" { word = segment }
                guard pattern == "<id>" else { return pattern == segment || pattern == "<word>" }
                // anything that is no number is a bad request, as with the service
                id = Int64(segment) ?? 0
                return true
            }
            guard fits else { continue }
            guard id > 0 || !route.pattern.contains("<id>"), viewer.isSignedIn || !route.isForSignedIn else {
                return badRequest
            }
            return route.answer(
                Match(request: request, id: id, word: word, universe: universe, now: now, viewer: viewer))
        }
        if path.first == "ajax" {
            return .failure("リクエストされたページが見つかりませんでした", status: 404)
        }
        return nil
    }

    /// A number or parameter that makes no sense, or a route for signed-in users without a session.
    static let badRequest = Response.failure("不正なリクエストです。", status: 400)
}
