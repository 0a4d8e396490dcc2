import Testing

@testable import RankFS

/// Programs that walk over the tree, told from those that show a directory.
@Suite struct ExcursionsTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    /// Which of some openings by a program are taken for a walk.
    private func walks(
        _ excursions: inout Excursions, _ process: Int32, at seconds: some Sequence<Double>
    ) -> [Bool] {
        seconds.map { excursions.opened(by: process, now: at($0)) }
    }

    @Test func manyUnknownListingsInOnePeriodAreAWalk() {
        var excursions = Excursions()
        #expect(walks(&excursions, 1, at: [0]) == [false])
        #expect(walks(&excursions, 2, at: [4]) == [false], "another program")
        #expect(walks(&excursions, 1, at: [4, 5]) == [true, true])
    }

    @Test func whoOpensThemSlowlyWalksNot() {
        var excursions = Excursions()
        #expect(!walks(&excursions, 1, at: (0..<50).map { Double($0) * 60 }).contains(true))
        #expect(walks(&excursions, 1, at: [49 * 60 + 1]) == [true])
        #expect(walks(&excursions, 1, at: [49 * 60 + 61]) == [false], "a pause ends a walk")
    }

    @Test func itRemembersABoundedNumberOfPrograms() {
        var excursions = Excursions()
        for process in 0..<Int32(Excursions.most) { _ = excursions.opened(by: process, now: start) }
        #expect(excursions.remembered == Excursions.most)
        _ = excursions.opened(by: -1, now: at(1))
        #expect(excursions.remembered == 1)
        for process in 0..<Int32(Excursions.most * 2) { _ = excursions.opened(by: process, now: at(70)) }
        #expect(excursions.remembered <= Excursions.most)
    }
}
