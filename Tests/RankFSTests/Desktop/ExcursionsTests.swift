import Testing

@testable import RankFS

/// Programs that walk over the tree, told from those that show a directory.
@Suite struct ExcursionsTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    @Test func theNextOneAtOnceIsAWalk() {
        var excursions = Excursions()
        let first = excursions.opened(by: 1, now: start)
        // However long the first one took.
        excursions.closed(by: 1, now: at(40))
        let next = [at(40.1), at(50)].map { excursions.opened(by: 1, now: $0) }
        let other = excursions.opened(by: 2, now: at(41))
        #expect(!first && next == [true, true] && !other)
    }

    @Test func whoTakesTheirTimeWalksNot() {
        var excursions = Excursions()
        let visits = (0..<50).map { number in
            defer { excursions.closed(by: 1, now: at(Double(number) * 30 + 20)) }
            return excursions.opened(by: 1, now: at(Double(number) * 30))
        }
        #expect(!visits.contains(true))
    }

    @Test func itRemembersABoundedNumberOfPrograms() {
        var excursions = Excursions()
        for process in 0..<Int32(Excursions.most) { _ = excursions.opened(by: process, now: start) }
        #expect(excursions.remembered == Excursions.most)
        _ = excursions.opened(by: -1, now: at(10))
        #expect(excursions.remembered == 1)
        for process in 0..<Int32(Excursions.most * 2) { _ = excursions.opened(by: process, now: at(70)) }
        #expect(excursions.remembered <= Excursions.most)
        // A late close of one that was forgotten brings it not back.
        let count = excursions.remembered
        excursions.closed(by: -7, now: at(70))
        #expect(excursions.remembered == count)
    }
}
