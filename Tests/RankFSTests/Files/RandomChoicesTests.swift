import Rankings
import TestSupport
import Testing

@testable import ImageCache
@testable import RankFS

/// What `random.jpg` shows to whom, and for how long.
@Suite struct RandomChoicesTests {
    private let start = ContinuousClock.now
    private let first = Self.choice(1)
    private let second = Self.choice(2)

    private static func choice(_ work: Int64) -> RandomChoices.Choice {
        RandomChoices.Choice(
            picture: PictureID(work: WorkID(rawValue: work), page: 0, rendition: .regular, uploaded: 1),
            listing: .search("x"))
    }

    @Test func aProgramAndThoseThatItStartsSeeOnePicture() {
        var choices = RandomChoices()
        #expect(choices.choice(for: [10, 5], now: start) == nil)
        choices.hold(first, for: 10, now: start)
        #expect(choices.choice(for: [10, 5], now: start) == first)
        #expect(choices.choice(for: [11, 10, 5], now: start) == first, "started by it")
        #expect(choices.choice(for: [12, 5], now: start) == nil, "started by the same shell")
        choices.hold(second, for: 12, now: start)
        #expect(choices.choice(for: [10, 5], now: start) == first)
    }

    @Test func aChoiceEndsWithAPauseOrAfterAWhile() {
        var choices = RandomChoices()
        choices.hold(first, for: 1, now: start)
        #expect(choices.choice(for: [1], now: start + .seconds(4)) == nil)
        choices.hold(first, for: 2, now: start)
        for second in 1...10 { #expect(choices.choice(for: [2], now: start + .seconds(second)) == first) }
        #expect(choices.choice(for: [2], now: start + .seconds(11)) == nil)
    }
}
