import Rankings
import TestSupport
import Testing

@testable import Tier

/// For how long answers count.
@Suite struct AnswerAgeTests {
    @Test func aDayThatNeverChangesIsFreshOnceItIsQuiet() throws {
        let days = SourceDescription.likePixiv.days(of: .daily)
        let day = try #require(Day("2024-04-30"))
        let published = days.published(day)
        func isFresh(_ asked: Int64, _ now: Int64) -> Bool { AnswerAge.isFresh(day, days, asked: asked, now: now) }
        #expect(isFresh(published + 3600, published + 1_000_000_000))
        #expect(isFresh(published + 60, published + 600))
        #expect(!isFresh(published + 60, published + 700))
        #expect(!isFresh(.min, .max))
        // From a machine whose clock was wrong, or from somebody who wants an answer to count for ever.
        #expect(isFresh(published + 3600, published + 3590))
        #expect(!isFresh(published + 7200, published + 3600))
        #expect(!isFresh(.max, published + 3600))
    }

    @Test func whatWasAskedInTheFutureDoesNotHold() {
        #expect(AnswerAge.holds(100, 300, 399))
        #expect(!AnswerAge.holds(100, 300, 400))
        // Clocks of the store as two machines see it.
        #expect(AnswerAge.holds(105, 300, 100))
        #expect(!AnswerAge.holds(1000, 300, 100))
        #expect(!AnswerAge.holds(.max, 300, .min))
    }
}
