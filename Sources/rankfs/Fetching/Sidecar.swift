import Rankings

/// The JSON file beside an exported picture: what its attributes tell, so that no further request is needed.
enum Sidecar {
    /// Appended to the picture's whole name, so that `001-A.jpg` and `001-A.png` do not share one.
    static let suffix = ".json"

    /// The text for a picture.
    ///
    /// - Parameters:
    ///   - path: The picture's, below the mount's root; of a day it tells mode and date.
    ///   - attribute: The value of an extended attribute.
    /// - Returns: Nil for a file that is no picture of a listing.
    static func text(path: String, attribute: (String) -> String?) -> String? {
        guard let work = number(attribute("user.rankfs.work")) else { return nil }
        var ranking: (mode: RankingMode, day: Day)?
        if case .entry(.day(let mode, let day), _) = TreePath(path) { ranking = (mode, day) }
        let author = JSONText.object([
            ("id", number(attribute("user.rankfs.user"))),
            ("name", attribute("user.dublincore.creator").map { .text($0) }),
        ])
        let tags = attribute("user.xdg.tags").map { list in
            JSONText.list(list.unicodeScalars.split(separator: ",").map { .text(String($0)) })
        }
        let numbers = ["rank", "previous_rank", "width", "height", "views", "ratings"].map { name in
            (name: name, value: number(attribute("user.rankfs.\(name)")))
        }
        let members: [(name: String, value: JSONText?)] =
            [
                ("url", attribute("user.xdg.origin.url").map { .text($0) }),
                ("work", work),
                ("page", number(attribute("user.rankfs.page"))),
                ("type", attribute("user.rankfs.type").map { .text($0) }),
                ("title", attribute("user.dublincore.title").map { .text($0) }),
                ("author", author),
                ("tags", tags),
            ] + numbers + [
                ("posted", attribute("user.rankfs.posted").map { .text($0) }),
                ("mode", ranking.map { .text($0.mode.rawValue) }),
                ("date", ranking.map { .text($0.day.description) }),
            ]
        return JSONText.object(members).document
    }

    private static func number(_ text: String?) -> JSONText? {
        text.flatMap { Int64($0) }.map { .integer($0) }
    }
}
