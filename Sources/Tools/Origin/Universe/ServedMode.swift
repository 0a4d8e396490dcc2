import Rankings

/// A ranking as the service has it: its `mode=`, and the `content=` that it is limited to.
struct ServedMode: Hashable, Sendable {
    /// The kinds of works that a ranking can be limited to.
    enum Content: String, Hashable, Sendable, CaseIterable {
        case illustrations = "illust"
        case manga
        case animations = "ugoira"
    }

    let name: String
    /// Nil for all works.
    let content: Content?

    /// Nil for a name that is no mode, and for a content that the service does not rank in that mode; `all` is every content.
    init?(_ name: String, content: String = "all") {
        guard Self.everyone.contains(name) || Self.signedIn.contains(name) else { return nil }
        self.name = name
        if content == "all" {
            self.content = nil
        } else {
            guard let kind = Content(rawValue: content), Self.contents(of: name).contains(kind) else { return nil }
            self.content = kind
        }
    }

    /// Whether the mode is for signed-in users only.
    var needsSignIn: Bool { Self.signedIn.contains(name) }

    /// Whether the mode ranks works made with AI, which the service has had since 2022 only.
    var isAI: Bool { name == "daily_ai" || name == "daily_r18_ai" }

    /// The first day that the service has a ranking for.
    var firstDay: Day { isAI ? Self.firstWithAI : Self.firstOfAll }

    static let everyone = ["daily", "weekly", "monthly", "male", "female", "rookie", "original", "daily_ai"]
    static let signedIn = ["daily_r18", "weekly_r18", "male_r18", "female_r18", "r18g", "daily_r18_ai"]

    /// 2007-09-13.
    static let firstOfAll = Day(ordinal: 13_769)
    /// 2022-10-31.
    private static let firstWithAI = Day(ordinal: 19_296)

    /// The contents that a mode is published for.
    private static func contents(of name: String) -> [Content] {
        switch name {
        case "daily", "weekly", "daily_r18", "weekly_r18": Content.allCases
        case "monthly", "rookie", "male", "female", "male_r18", "female_r18": [.illustrations, .manga]
        default: []
        }
    }
}
