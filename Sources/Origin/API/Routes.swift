import Rankings

/// Which answer a path gets.
struct Routes: Sendable {
    /// The parts of a path that a route left open, and the request.
    struct Match: Sendable {
        let request: Request
        /// The number that stood for `<id>`; 0 in a route without one.
        let id: Int64
        let universe: Universe
        let now: Int64
    }

    /// A pattern, in which `<id>` stands for a number, and what answers it.
    private struct Route: Sendable {
        let pattern: [String]
        let answer: @Sendable (Match) -> Answer

        init(_ pattern: String, _ answer: @escaping @Sendable (Match) -> Answer) {
            self.pattern = segments(pattern)
            self.answer = answer
        }
    }

    /// The one place where routes are listed.
    private static let table: [Route] = [
        Route("/ranking.php") { RankingAnswer($0).answer($0.request) },
        Route("/ajax/user/<id>") { UserAnswers($0).profile(UserID(rawValue: $0.id), $0.request) },
        Route("/ajax/user/<id>/profile/all") { UserAnswers($0).all(UserID(rawValue: $0.id)) },
        Route("/ajax/user/<id>/profile/illusts") { UserAnswers($0).illusts(UserID(rawValue: $0.id), $0.request) },
        Route("/ajax/illust/<id>") { WorkAnswers($0).details(WorkID(rawValue: $0.id)) },
        Route("/ajax/illust/<id>/pages") { WorkAnswers($0).pages(WorkID(rawValue: $0.id)) },
        Route("/ajax/illust/<id>/ugoira_meta") { WorkAnswers($0).animation(WorkID(rawValue: $0.id)) },
    ]

    /// The answer of the API; nil for a path that is none of its routes.
    static func answer(_ request: Request, universe: Universe, now: Int64) -> Answer? {
        let path = segments(request.path)
        for route in table where route.pattern.count == path.count {
            var id: Int64 = 0
            let fits = zip(route.pattern, path).allSatisfy { pattern, segment in
                guard pattern == "<id>" else { return pattern == segment }
                // anything that is no number is a bad request, as with the service
                id = Int64(segment) ?? 0
                return true
            }
            guard fits else { continue }
            if route.pattern.contains("<id>"), id <= 0 {
                return .failure("不正なリクエストです。", status: 400)
            }
            return route.answer(Match(request: request, id: id, universe: universe, now: now))
        }
        if path.first == "ajax" {
            return .failure("リクエストされたページが見つかりませんでした", status: 404)
        }
        return nil
    }

    private static func segments(_ path: String) -> [String] {
        path.split(separator: "/" as Character).map { String($0) }
    }
}
