@testable import Fuse
import HTTP
import Rankings
import Synchronization
import TestSupport
import Testing

@testable import RankFS

/// What a file manager that counts directories is told, what that costs, and what its other looks get meanwhile.
@Suite(.timeLimit(.minutes(5))) struct CountTests {
    private let clock = ManualClock()
    private let watched = Shared<Set<UInt64>>([])

    /// The sets that the fake of proc(5) tells.
    private final class Shared<Value: Sendable>: Sendable {
        let value: Mutex<Value>
        init(_ value: Value) { self.value = Mutex(value) }
    }

    /// A bench with three days, the newest with so many pictures, of which so many are shown, in whose parent a file manager's
    /// window is.
    private func benchOfWindow(pictures: Int = 5, top: Int? = nil) async throws -> Workbench {
        var wishes = Workbench.Wishes()
        wishes.view.top = top
        let (clock, watched) = (clock, watched)
        wishes.monotonicNow = { clock.now }
        wishes.time = TimeSource(clock)
        wishes.processes = Processes(
            program: { CallingProgram(process: $0, name: "filer") },
            watches: { _, inode in watched.value.withLock { $0.contains(inode) } },
            arguments: { _ in ["filer"] }, starters: { _ in [] })
        let bench = try Workbench(wishes)
        for (number, day) in days.enumerated() {
            bench.source.setRanking(
                .daily, Day(ordinal: Workbench.day.ordinal - number),
                Workbench.entries(number == 0 ? pictures : 5, from: Int64(1001 + 100 * number)))
            _ = try await bench.stat(day)
        }
        let parent = try await bench.stat("ranking/daily").inode
        watched.value.withLock { _ = $0.insert(parent) }
        _ = try await bench.list(parent)
        #expect(await bench.lookup(parent, Array(".hidden".utf8)).isAbsent)
        return bench
    }

    private let days = ["ranking/daily/2024-05-01", "ranking/daily/2024-04-30", "ranking/daily/2024-04-29"]

    private func open(_ day: String, _ bench: Workbench) async throws -> (inode: UInt64, handle: UInt64) {
        let inode = try await bench.stat(day).inode
        return (inode, try #require(await bench.openDirectory(inode).handle))
    }

    private func read(
        _ inode: UInt64, _ handle: UInt64, from offset: Int64, _ bench: Workbench
    ) async throws -> [DirectoryEntry] {
        try #require(await bench.readDirectory(inode, handle, offset).entries())
    }

    /// GIO closes what it has counted some time later: the next count begins before that, also where the rest is hidden.
    @Test func aCountThatIsNeverClosedMakesNoReadingOfTheNext() async throws {
        let bench = try await benchOfWindow(top: 2)
        for day in days {
            let (inode, handle) = try await open(day, bench)
            var entries = try await read(inode, handle, from: 0, bench)
            #expect(entries.count == 2 + 2)
            let end = entries.last?.nextOffset ?? 0
            let first = Int64(1001 + 100 * (days.firstIndex(of: day) ?? 0))
            #expect(await bench.lookup(inode, Array(Workbench.name(1, from: first).utf8)).isTold)
            // It comes to the end twice.
            for _ in 1...2 {
                entries = try await read(inode, handle, from: end, bench)
                #expect(entries.isEmpty)
            }
        }
        #expect(bench.host.heads == [1001, 1101, 1201].map { "HEAD \($0)" }, "a reading asks for both")
    }

    private func look(_ inode: UInt64, _ rank: Int, _ bench: Workbench) async -> Bool {
        await bench.lookup(inode, Array(Workbench.name(rank).utf8)).isTold
    }

    /// Semantics: "Folder manners".
    @Test func countsHaveABudgetUntilAPersonOpensTheDay() async throws {
        let bench = try await benchOfWindow(pictures: 604)
        let count = try await open(days[0], bench)
        _ = await bench.readDirectory(count.inode, count.handle, 0)
        for rank in 1...600 { #expect(await look(count.inode, rank, bench)) }
        async let waiting = look(count.inode, 601, bench)
        await clock.waitForSleepers(1)
        // Another program's look waits for nothing.
        let other = Caller(user: 1000, process: 2)
        #expect(await Workbench.$caller.withValue(other) { await look(count.inode, 603, bench) })
        #expect(bench.host.heads.count == 601)
        clock.advance(by: .milliseconds(501))
        #expect(await waiting)
        async let raised = look(count.inode, 602, bench)
        await clock.waitForSleepers(1)
        watched.value.withLock { _ = $0.insert(count.inode) }
        let visit = try await open(days[0], bench)
        _ = await bench.readDirectory(visit.inode, visit.handle, 0)
        #expect(await raised)
        #expect(await look(count.inode, 604, bench))
        for handle in [count.handle, visit.handle] {
            bench.fileSystem.release(count.inode, handle: handle)
        }
    }
}
