import Rankings
import Testing

@testable import RankFS

/// When sizes are asked a directory at a time.
@Suite struct WalkRecognitionTests {
    private let day = ListingKey.ranking(.daily, Day(ordinal: 19844))
    private let author = ListingKey.author(UserID(rawValue: 11))

    private func ask(_ walks: inout WalkRecognition, _ directories: [ListingKey]) -> [Bool] {
        directories.map { walks.askedSize(in: $0) }
    }

    @Test func aSingleStatAsksForOne() {
        var walks = WalkRecognition()
        #expect(ask(&walks, [day, author, day]) == [false, false, false])
    }

    @Test func theSecondInARowIsAWalk() {
        var walks = WalkRecognition()
        #expect(ask(&walks, [day, day, day]) == [false, true, true])
    }

    @Test func anOpenDirectoryThatWasReadIsAWalk() {
        var walks = WalkRecognition()
        walks.beganReading(day)
        walks.beganReading(day)
        #expect(ask(&walks, [author, day]) == [false, true])
        walks.endedReading(day)
        #expect(ask(&walks, [author, day]) == [false, true], "one of two readers is left")
        walks.endedReading(day)
        #expect(ask(&walks, [author, day]) == [false, false])
    }

    @Test func whoGlancesAsksForOneAtATime() {
        var walks = WalkRecognition()
        walks.beganReading(day, by: .glance)
        #expect(ask(&walks, [day, day]) == [false, false])
        walks.beganReading(day)
        #expect(ask(&walks, [day]) == [true], "a person went there meanwhile")
        walks.endedReading(day)
        #expect(ask(&walks, [day]) == [false])
        walks.endedReading(day, by: .glance)
        #expect(ask(&walks, [day]) == [true])
    }

    @Test func whatOnlyProgramsReadIsAskedForThem() {
        var walks = WalkRecognition()
        #expect(walks.asker(in: day, isGlance: false) == .person)
        walks.beganReading(day, by: .walker)
        walks.beganReading(day, by: .glance)
        #expect(walks.asker(in: day, isGlance: true) == .walker && walks.asker(in: author, isGlance: true) == .person)
        #expect(ask(&walks, [day]) == [true], "a walk wants all sizes")
        walks.beganReading(day)
        #expect(walks.asker(in: day, isGlance: true) == .person)
        walks.endedReading(day)
        walks.endedReading(day, by: .walker)
        #expect(walks.asker(in: day, isGlance: true) == .glance)
        #expect(walks.asker(in: day, isGlance: false) == .person, "another program's name while one counts")
        walks.endedReading(day, by: .glance)
        #expect(walks.asker(in: day, isGlance: true) == .person)
    }

    @Test func closingMoreOftenThanOpeningIsHarmless() {
        var walks = WalkRecognition()
        walks.endedReading(day)
        walks.beganReading(day)
        #expect(ask(&walks, [day]) == [true])
    }
}
