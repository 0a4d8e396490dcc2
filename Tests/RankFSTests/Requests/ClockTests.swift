import Rankings
import Testing

@testable import RankFS

/// Semantics: "Unreachable never means deleted".
@Suite(.timeLimit(.minutes(1))) struct ClockTests {
    /// 1970, 2000, the stored day itself, 2100.
    @Test(arguments: [0, 946_684_800, 1_714_500_000, 4_102_444_800, Int64.min, .max])
    func aStoredDayOpensWithAnyClock(now: Int64) async throws {
        let bench = try Workbench(day: Workbench.entries(60))
        bench.source.setRanking(.daily, Workbench.newest, Workbench.entries(60, from: 2001))
        let days = ["ranking/daily/\(Workbench.day)", "ranking/daily/\(Workbench.newest)"]
        for day in days { _ = try await bench.names(day) }
        let latest = try await bench.stat("ranking/daily/latest").inode
        #expect(try await bench.names("ranking/daily/latest")[2] == Workbench.name(1, from: 2001))
        let size = try await bench.stat("\(days[0])/\(Workbench.name(1))").size

        bench.source.setFailure(.timedOut)
        bench.time = now
        for day in days {
            #expect(try await bench.stat(day).kind == .directory)
            #expect(try await bench.names(day).count == 62)
        }
        #expect(try await bench.stat("\(days[0])/\(Workbench.name(1))").size == size)
        let listed = try await bench.names("ranking/daily")
        #expect(listed.contains(Workbench.day.description) && listed.contains(Workbench.newest.description))
        #expect(try await bench.names("ranking/daily/latest")[2] == Workbench.name(1, from: 2001))
        #expect(await bench.attribute(latest, "user.rankfs.day").text == Workbench.newest.description)
    }

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
