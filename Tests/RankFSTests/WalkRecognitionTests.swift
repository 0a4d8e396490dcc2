import Rankings
import Testing

@testable import RankFS

/// When sizes are asked a directory at a time.
@Suite struct WalkRecognitionTests {
    private let day = ListingKey.ranking(.daily, Day(ordinal: 19844))
    private let author = ListingKey.author(UserID(rawValue: 11))

    @Test func aSingleStatAsksForOne() {
        var walks = WalkRecognition()
        #expect(!walks.askedSize(in: day))
        #expect(!walks.askedSize(in: author), "another directory is no walk")
        #expect(!walks.askedSize(in: day))
    }

    @Test func theSecondInARowIsAWalk() {
        var walks = WalkRecognition()
        #expect(!walks.askedSize(in: day))
        #expect(walks.askedSize(in: day))
        #expect(walks.askedSize(in: day))
    }

    @Test func anOpenDirectoryThatWasReadIsAWalk() {
        var walks = WalkRecognition()
        walks.beganReading(day)
        walks.beganReading(day)
        #expect(!walks.askedSize(in: author))
        #expect(walks.askedSize(in: day))
        walks.endedReading(day)
        #expect(!walks.askedSize(in: author))
        #expect(walks.askedSize(in: day), "one of two readers is left")
        walks.endedReading(day)
        #expect(!walks.askedSize(in: author))
        #expect(!walks.askedSize(in: day))
    }

    @Test func closingMoreOftenThanOpeningIsHarmless() {
        var walks = WalkRecognition()
        walks.endedReading(day)
        walks.beganReading(day)
        #expect(walks.askedSize(in: day))
    }
}
