/// A ranking that the service publishes daily: what is ranked, and of which content.
package struct RankingMode: RawRepresentable, Hashable, Sendable {
    /// The kinds of works that a ranking can be limited to; the service's `content=`.
    package enum Content: String, Hashable, Sendable, CaseIterable {
        case illustrations = "illust"
        case manga
        case animations = "ugoira"
    }

    /// The service's `mode=`: `daily`.
    package let name: String
    /// What the ranking is limited to; nil for all works.
    package let content: Content?

    /// The name in paths: `daily`, `daily-manga`.
    package var rawValue: String {
        content.map { "\(name)-\($0.rawValue)" } ?? name
    }

    /// Nil for a name that is no mode, and for a content that the service does not rank in that mode.
    package init?(rawValue: String) {
        let parts = rawValue.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        guard let name = parts.first, Self.names.contains(name) || Self.signedInNames.contains(name) else { return nil }
        self.name = name
        switch parts.count {
        case 1: content = nil
        case 2:
            guard let content = Content(rawValue: parts[1]), Self.contents(of: name).contains(content) else {
                return nil
            }
            self.content = content
        default: return nil
        }
    }

    private init(known name: String) {
        self.name = name
        content = nil
    }

    private static let names = [
        "daily", "weekly", "monthly", "male", "female", "rookie", "original", "daily_ai",
    ]
    private static let signedInNames = [
        "daily_r18", "weekly_r18", "male_r18", "female_r18", "r18g", "daily_r18_ai",
    ]

    private static let aiNames = ["daily_ai", "daily_r18_ai"]

    /// The contents that the service publishes a mode for, besides all of them together.
    private static func contents(of name: String) -> [Content] {
        switch name {
        case "daily", "weekly", "daily_r18", "weekly_r18": Content.allCases
        case "monthly", "rookie", "male", "female", "male_r18", "female_r18": [.illustrations, .manga]
        default: []
        }
    }

    /// The modes that everybody sees, in the order of the service.
    package static let everyone: [RankingMode] = names.map(RankingMode.init(known:))

    /// The modes that only signed-in users see.
    package static let signedIn: [RankingMode] = signedInNames.map(RankingMode.init(known:))

    /// The mode without its content.
    package var ofAllContents: RankingMode { RankingMode(known: name) }

    /// Whether the mode is for signed-in users only.
    package var needsSignIn: Bool {
        Self.signedInNames.contains(name)
    }

    /// Whether the mode ranks works made with AI, which the service has had since 2022 only.
    package var isAI: Bool {
        Self.aiNames.contains(name)
    }

    package static let daily = RankingMode(known: "daily")
}
