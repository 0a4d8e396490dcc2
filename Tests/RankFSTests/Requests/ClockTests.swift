import Rankings
import Testing

@testable import RankFS

/// Semantics: "Unreachable never means deleted".
@Suite(.timeLimit(.minutes(1))) struct ClockTests {
    @Test func anOldDayThatIsOpenIsNotTheLatestOfAClockSetBack() async throws {
        let bench = try Workbench()
        let old = Day(ordinal: Workbench.day.ordinal - 1000)
        bench.source.setRanking(.daily, old, Workbench.entries(3))
        bench.source.setRanking(.daily, Workbench.newest, Workbench.entries(3, from: 2001))
        let latest = try await bench.stat("ranking/daily/latest").inode
        let names = [".", ".."] + (1...3).map { Workbench.name($0, from: 2001) }
        #expect(try await bench.names("ranking/daily/latest") == names)
        _ = try await bench.names("ranking/daily/\(old)")
        bench.time -= 1000 * 86_400 + 86_400
        #expect(try await bench.names("ranking/daily/latest") == names)
        #expect(await bench.attribute(latest, "user.rankfs.day").text == Workbench.newest.description)
    }
}
