import Testing

@testable import RankFS

/// Programs that walk over the tree, told from those that show a directory.
@Suite struct ExcursionsTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    @Test func manyUnknownListingsInOnePeriodAreAWalk() {
        var excursions = Excursions()
        for opening in 0..<Excursions.few { #expect(!excursions.opened(by: 1, now: at(Double(opening)))) }
        #expect(!excursions.opened(by: 2, now: at(4)), "another program")
        #expect(excursions.opened(by: 1, now: at(4)))
        #expect(excursions.opened(by: 1, now: at(5)))
    }

    @Test func whoOpensThemSlowlyWalksNot() {
        var excursions = Excursions()
        for opening in 0..<50 { #expect(!excursions.opened(by: 1, now: at(Double(opening) * 15))) }
        #expect(excursions.opened(by: 1, now: at(49 * 15 + 1)))
        #expect(!excursions.opened(by: 1, now: at(49 * 15 + 70)), "a pause ends a walk")
    }

    @Test func itRemembersABoundedNumberOfPrograms() {
        var excursions = Excursions()
        for process in 0..<Int32(Excursions.most) { #expect(!excursions.opened(by: process, now: start)) }
        #expect(!excursions.opened(by: -1, now: at(1)))
        #expect(excursions.remembered == 1)
        for process in 0..<Int32(Excursions.most * 2) { _ = excursions.opened(by: process, now: at(70)) }
        #expect(excursions.remembered <= Excursions.most)
    }
}
