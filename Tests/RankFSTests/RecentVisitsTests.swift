import Testing

@testable import RankFS

/// Who reads a picture through its link in `recent/`.
@Suite struct RecentVisitsTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    @Test func theProgramThatReadTheLinkOpensItsPicture() {
        var visits = RecentVisits()
        #expect(visits.isEmpty && !visits.leads(to: "a", 1, now: start))
        visits.followed(to: "a", by: 1, now: start)
        #expect(!visits.isEmpty && visits.leads(to: "a", 1, now: at(59)))
        #expect(!visits.leads(to: "b", 1, now: start) && !visits.leads(to: "a", 2, now: start))
        #expect(!visits.leads(to: "a", 1, now: at(60)))
        visits.followed(to: "a", by: 1, now: at(50))
        #expect(visits.leads(to: "a", 1, now: at(100)))
    }

    @Test func itRemembersABoundedNumber() {
        var visits = RecentVisits()
        for process in 0..<Int32(RecentVisits.most) { visits.followed(to: "a", by: process, now: start) }
        visits.followed(to: "b", by: 1, now: at(1))
        #expect(visits.remembered == 1, "all were as recent")
        for process in 0..<Int32(RecentVisits.most) { visits.followed(to: "a", by: process, now: at(2)) }
        visits.followed(to: "c", by: 1, now: at(61.5))
        #expect(visits.remembered <= RecentVisits.most && visits.leads(to: "c", 1, now: at(61.5)))
    }
}
