/// A ranking that the service publishes daily.
package struct RankingMode: RawRepresentable, Hashable, Sendable {
    /// The name in paths and in the service's `mode=`.
    package let rawValue: String

    /// Nil for a name that is no mode.
    package init?(rawValue: String) {
        guard Self.names.contains(rawValue) || Self.signedInNames.contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    private init(known name: String) {
        rawValue = name
    }

    private static let names = [
        "daily", "weekly", "monthly", "male", "female", "rookie", "original", "daily_ai",
    ]
    private static let signedInNames = [
        "daily_r18", "weekly_r18", "male_r18", "female_r18", "r18g", "daily_r18_ai",
    ]

    private static let aiNames = ["daily_ai", "daily_r18_ai"]

    /// The modes that everybody sees, in the order of the service.
    package static let everyone: [RankingMode] = names.map(RankingMode.init(known:))

    /// The modes that only signed-in users see.
    package static let signedIn: [RankingMode] = signedInNames.map(RankingMode.init(known:))

    /// Whether the mode is for signed-in users only.
    package var needsSignIn: Bool {
        Self.signedInNames.contains(rawValue)
    }

    /// Whether the mode ranks works made with AI, which the service has had since 2022 only.
    package var isAI: Bool {
        Self.aiNames.contains(rawValue)
    }

    package static let daily = RankingMode(known: "daily")
}
