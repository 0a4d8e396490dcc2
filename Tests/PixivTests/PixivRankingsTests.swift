import Rankings
import Testing
import TestSupport

@testable import Pixiv

/// When pixiv publishes, and what.
@Suite struct PixivRankingsTests {
    private let facts = PixivSource.facts

    @Test("modes for works made with AI begin with them, all others in 2007")
    func firstDays() {
        for mode in RankingMode.everyone + RankingMode.signedIn {
            let isAI = mode.rawValue == "daily_ai" || mode.rawValue == "daily_r18_ai"
            #expect(facts.days(of: mode).first.description == (isAI ? "2022-10-31" : "2007-09-13"))
            #expect(facts[mode]?.isGenerated == isAI)
        }
    }

    @Test(
        "yesterday's ranking appears at noon in Japan",
        arguments: [
            // 2024-05-02 12:00:00 JST is 1714618800.
            (1_714_618_800, "2024-05-01"), (1_714_618_799, "2024-04-30"), (1_714_618_800 + 86_399, "2024-05-01"),
            (1_714_618_800 + 86_400, "2024-05-02"), (0, "1969-12-30"), (10_800, "1969-12-31"), (-1, "1969-12-30"),
            (-86_400 + 10_799, "1969-12-29"),
        ] as [(Int64, String)])
    func newest(seconds: Int64, day: String) {
        #expect(facts.days.newest(at: seconds).description == day)
    }

    @Test func everyRankingThatTheServicePublishesHasAName() {
        for ranking in facts.rankings {
            let (name, content) = PixivRankings.query(of: ranking.mode)
            let text = content.map { "\(name)-\($0)" } ?? name
            #expect(ranking.mode.rawValue == text)
            #expect(facts.whole(of: ranking.mode).rawValue == name)
            let whole = facts[facts.whole(of: ranking.mode)]
            #expect(whole?.needsSignIn == ranking.needsSignIn && whole?.isGenerated == ranking.isGenerated)
            #expect(whole?.firstDay == ranking.firstDay)
        }
        #expect(
            facts.rankings.map(\.mode.rawValue) == [
                "daily", "daily-illust", "daily-manga", "daily-ugoira", "weekly", "weekly-illust", "weekly-manga",
                "weekly-ugoira", "monthly", "monthly-illust", "monthly-manga", "male", "male-illust", "male-manga",
                "female", "female-illust", "female-manga", "rookie", "rookie-illust", "rookie-manga", "original",
                "daily_ai", "daily_r18", "daily_r18-illust", "daily_r18-manga", "daily_r18-ugoira", "weekly_r18",
                "weekly_r18-illust", "weekly_r18-manga", "weekly_r18-ugoira", "male_r18", "male_r18-illust",
                "male_r18-manga", "female_r18", "female_r18-illust", "female_r18-manga", "r18g", "daily_r18_ai",
            ])
        #expect(RankingMode.everyone.count == 8 && RankingMode.signedIn.count == 6)
        #expect(RankingMode.everyone.allSatisfy { !facts.needsSignIn($0) })
        #expect(RankingMode.signedIn.allSatisfy { facts.needsSignIn($0) })
    }

    @Test(arguments: [
        "daily-", "-manga", "-", "daily--manga", "daily-manga-", "daily-manga-manga", "daily_manga", "daily-all",
        "daily-novel", "monthly-ugoira", "original-manga", "daily_ai-manga", "r18g-illust", "daily_r18_ai-illust",
        "male-ugoira", "yearly", "day",
    ])
    func otherNamesAreNoRankings(name: String) {
        #expect(RankingMode(rawValue: name).flatMap { facts[$0] } == nil)
    }
}
