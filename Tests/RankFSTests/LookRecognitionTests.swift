import Catalog
import Rankings
import Testing

@testable import RankFS

/// What is taken for a file manager's glance.
@Suite struct LookRecognitionTests {
    private let start = ContinuousClock.now
    private let parent = "ranking/daily"

    private func day(_ number: Int) -> ListingKey { .ranking(.daily, Day(ordinal: 19_800 + number)) }

    private func after(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    /// One directory after the other is listed and looked at, without a pause.
    @Test func anItemCountIsWorthBeginningsOnly() {
        var looks = LookRecognition()
        looks.looked(atParent: parent, now: start)
        let extents = (0..<7).map { number in
            let isGlance = looks.opened(below: parent, now: after(Double(number) * 2))
            #expect(isGlance)
            return looks.looked(at: day(number), below: parent, now: after(Double(number) * 2 + 0.1))
        }
        #expect(extents == [.whole] + Array(repeating: .beginning, count: 6))
        // Then one of them is opened.
        let opened = looks.looked(at: day(3), below: parent, now: after(13))
        #expect(opened == .whole)
    }

    @Test func listingWithoutALookIsNoGlance() {
        var looks = LookRecognition()
        let before = looks.opened(below: parent, now: start)
        looks.looked(atParent: "ranking/weekly", now: start)
        let elsewhere = looks.opened(below: parent, now: start)
        let soon = looks.opened(below: "ranking/weekly", now: after(2.9))
        let late = looks.opened(below: "ranking/weekly", now: after(6))
        #expect([before, elsewhere, soon, late] == [false, false, true, false])
    }

    @Test func aPersonWhoOpensOneAfterTheOtherSeesAllOfThem() {
        var looks = LookRecognition()
        looks.looked(atParent: parent, now: start)
        for number in 0..<5 {
            let extent = looks.looked(at: day(number), below: parent, now: after(Double(number + 1) * 3))
            #expect(extent == .whole)
        }
        let elsewhere = looks.looked(at: day(9), below: "ranking/weekly", now: after(15))
        #expect(elsewhere == .whole)
    }

    @Test func onlySoMuchIsRemembered() {
        var looks = LookRecognition()
        for number in 0...LookRecognition.most { looks.looked(atParent: "search/\(number)", now: start) }
        let first = looks.opened(below: "search/0", now: start)
        let last = looks.opened(below: "search/\(LookRecognition.most)", now: start)
        #expect(!first && last)
    }
}
