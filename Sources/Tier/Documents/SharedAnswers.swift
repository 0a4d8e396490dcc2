internal import Rankings

/// A page of a ranking as documents have it.
struct RankingPageRecord: Codable, Sendable {
    var entries: [ListedWork]
    var total: Int?
    var hasNext: Bool
    var unreadable: Int

    init(_ page: RankingPage) {
        entries = page.entries
        total = page.total
        hasNext = page.hasNext
        unreadable = page.unreadable
    }

    /// The page that it was, with numbers that nothing trips over.
    func page(_ number: Int, _ mode: RankingMode, _ day: Day) -> RankingPage {
        RankingPage(
            mode: mode, day: day, page: number,
            entries: entries.map { entry in
                var entry = entry
                entry.rank = entry.rank.map { min(max($0, 1), Self.mostRanks) }
                entry.previousRank = entry.previousRank.map { min(max($0, 1), Self.mostRanks) }
                entry.work = entry.work.bounded
                return entry
            }, total: total.map { min(max($0, 0), Self.mostRanks) }, hasNext: hasNext, unreadable: max(0, unreadable))
    }

    /// More than any ranking has.
    private static let mostRanks = 1_000_000
}

/// An answer that may be that there is none: such a page lies behind the last one.
struct PageAnswer<Page: Codable & Sendable>: Codable, Sendable {
    var page: Page?
}

extension Work {
    /// The record with numbers as a service would tell them.
    var bounded: Work {
        var work = self
        work.width = min(max(width, 0), Self.mostPixels)
        work.height = min(max(height, 0), Self.mostPixels)
        work.pageCount = min(max(pageCount, 0), Self.mostPages)
        return work
    }

    private static let mostPixels = 1_000_000
    private static let mostPages = 10_000
}

/// For how long an answer counts that another machine was given.
enum AnswerAge {
    /// A day may be put right for so long after it has appeared, in seconds.
    static let moving: Int64 = 3600
    /// What may still change is asked again after so many seconds.
    static let changing: Int64 = 600
    /// Which day is the newest, in seconds: the next one may be late.
    static let newest: Int64 = 300
    /// Lists of an author's works, in seconds: as long as a mount keeps them.
    static let author: Int64 = 6 * 3600
    /// Records of works, in seconds.
    static let record: Int64 = 30 * 86_400
    /// By how much the store's clock may differ from answer to answer, as one machine or the other sees it, in seconds.
    static let apart: Int64 = 60

    /// Whether the ranking of a day, asked at one moment and looked at at another, is as the service has it.
    static func isFresh(_ day: Day, _ days: RankingDays, asked: Int64, now: Int64) -> Bool {
        guard !isFuture(asked, now) else { return false }
        let published = days.published(day)
        let isQuiet = asked >= published + moving || holds(asked, changing, now)
        guard case .settles(let age, let interval) = days.change else { return isQuiet }
        let (settled, overflows) = published.addingReportingOverflow(age)
        guard !overflows, now >= settled else { return isQuiet }
        return asked >= settled && holds(asked, interval, now)
    }

    /// Whether so many seconds have not passed; what was asked in the future counts as asked long ago, so that nothing is kept for years.
    static func holds(_ asked: Int64, _ seconds: Int64, _ now: Int64) -> Bool {
        let (passed, overflows) = now.subtractingReportingOverflow(asked)
        return !isFuture(asked, now) && !overflows && passed < seconds
    }

    /// Whether a moment has not come yet.
    static func isFuture(_ asked: Int64, _ now: Int64) -> Bool {
        let (ahead, overflows) = asked.subtractingReportingOverflow(now)
        return asked > now && (overflows || ahead > apart)
    }

    /// The newest day that a service can have told at a moment: it may be a day ahead of its own calendar.
    static func newestDay(_ days: RankingDays, at now: Int64) -> Day {
        let (tomorrow, overflows) = now.addingReportingOverflow(86_400)
        return days.newest(at: overflows ? now : tomorrow)
    }
}
