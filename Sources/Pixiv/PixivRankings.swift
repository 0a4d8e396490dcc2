import Rankings

/// pixiv's rankings: the modes, and the contents of each.
enum PixivRankings {
    /// The kinds of works that a ranking can be limited to; the service's `content=`.
    private static let contents = ["illust", "manga", "ugoira"]

    private static let names = [
        "daily", "weekly", "monthly", "male", "female", "rookie", "original", "daily_ai",
    ]
    private static let signedInNames = [
        "daily_r18", "weekly_r18", "male_r18", "female_r18", "r18g", "daily_r18_ai",
    ]
    private static let generatedNames: Set<String> = ["daily_ai", "daily_r18_ai"]

    /// The contents for which the service publishes a mode.
    private static func contents(of name: String) -> [String] {
        switch name {
        case "daily", "weekly", "daily_r18", "weekly_r18": contents
        case "monthly", "rookie", "male", "female", "male_r18", "female_r18": Array(contents.prefix(2))
        default: []
        }
    }

    /// The first day of the service's rankings: 2007-09-13, for works made with AI 2022-10-31.
    private static let first = Day(year: 2007, month: 9, day: 13) ?? Day(ordinal: 0)
    private static let firstGenerated = Day(year: 2022, month: 10, day: 31) ?? first

    /// Every ranking, in the order of the service; rankings limited to a content follow the whole ranking.
    static let all: [RankingFacts] = (names + signedInNames).flatMap { name -> [RankingFacts] in
        guard let mode = RankingMode(rawValue: name) else { return [] }
        let isGenerated = generatedNames.contains(name)
        func facts(_ mode: RankingMode, partOf whole: RankingMode? = nil) -> RankingFacts {
            (mode, isGenerated ? firstGenerated : first, .day, signedInNames.contains(name), isGenerated, whole)
        }
        let limited = contents(of: name).compactMap { RankingMode(rawValue: "\(name)-\($0)") }
        return [facts(mode)] + limited.map { facts($0, partOf: mode) }
    }

    /// The service's `mode=` and `content=` for a ranking: `daily` and `manga` for `daily-manga`.
    static func query(of mode: RankingMode) -> (name: String, content: String?) {
        let parts = mode.rawValue.split(separator: "-", maxSplits: 1)
        return (parts.first.map(String.init) ?? "", parts.count > 1 ? contents.first { $0 == parts[1] } : nil)
    }

    /// The calendar: yesterday's ranking appears at noon in Japan (UTC+9, no summer time) and never changes.
    static let calendar = RankingCalendar(delay: 12 * 3600, change: .never) { _ in 9 * 3600 }
}

// MARK: - Pixiv limits

/// Bounds of accepted values and of requests, each with its reason.
package enum PixivLimits {
    /// Highest page number of a work; the service allows 200 pages.
    package static let pages = 999
    /// The accepted ranks; the longest ranking has 500.
    static let ranks: ClosedRange<Int64> = 1...99_999
    /// The most frames of an animation; the service accepts 150 from its users.
    static let frames = 2000
    /// The most tags of a work; the service allows 10.
    static let tags = 64
    /// Entries on a full page of a ranking; a page may have fewer, as deleted works leave gaps.
    static let entriesPerPage = 50
    /// The most works in one request of `profile/illusts`; the service answers a longer request with an error.
    package static let worksPerRequest = 100
    /// Entries of a full page of a search, a series, bookmarks and followed authors, as the service's own pages request them.
    static let worksPerSearchPage = 60
    static let worksPerSeriesPage = 12
    static let worksPerBookmarksPage = 48
    /// Of these pages, accounts that do not pay have 35 (PixivUtil2), as `ListingKind` has it.
    static let worksPerFeedPage = 60
    /// The most tags of an author that are listed; one with 921 was seen.
    static let tagsOfAuthor = 10_000
    /// Related works in one request: as many as the service's own pages request.
    static let relatedPerRequest = 18
    /// The most places of a collection that are read; the longest ones seen have some dozens.
    static let tilesOfCollection = 1000
    static let authorsPerPage = 24
    /// The accepted numbers of pages of a search; the service reports 10 without an account and 1000 with one.
    static let searchPages: ClosedRange<Int64> = 0...100_000
    /// The most characters that are read of a caption's HTML; the service allows 3000 in a caption.
    static let captionCharacters = 65_536
}
