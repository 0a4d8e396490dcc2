import Testing

@testable import RankFS

/// Which file managers show a directory now.
@Suite struct DesktopVisitsTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    @Test func aVisitLastsForSomeSeconds() {
        var visits = DesktopVisits()
        #expect(visits.isEmpty && !visits.isVisiting("day", 1, now: start))
        visits.began(at: "day", by: 1, now: start)
        #expect(!visits.isEmpty && visits.isVisiting("day", 1, now: at(19)))
        #expect(!visits.isVisiting("day", 2, now: start) && !visits.isVisiting("other", 1, now: start))
        // Looking once more makes it no longer: what is told must not come ever slower.
        visits.began(at: "day", by: 1, now: at(10))
        #expect(!visits.isVisiting("day", 1, now: at(20)))
        visits.began(at: "day", by: 1, now: at(21))
        #expect(visits.isVisiting("day", 1, now: at(40)))
    }

    @Test func itRemembersABoundedNumber() {
        var visits = DesktopVisits()
        for process in 0..<Int32(DesktopVisits.most) { visits.began(at: "day", by: process, now: start) }
        visits.began(at: "new", by: 1, now: at(1))
        #expect(visits.remembered == 1, "all had begun together")
        for process in 0..<Int32(DesktopVisits.most) { visits.began(at: "day", by: process, now: at(30)) }
        #expect(visits.remembered <= DesktopVisits.most && visits.isVisiting("day", 5, now: at(30)))
    }
}
