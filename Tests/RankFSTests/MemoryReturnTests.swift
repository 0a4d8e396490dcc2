import Synchronization
import Testing

@testable import RankFS

/// When free memory is given back.
@Suite struct MemoryReturnTests {
    private final class Timer: Sendable {
        let due = Mutex<[@Sendable () -> Void]>([])
        let returns = Mutex(0)
        let seconds = Mutex<Set<Int64>>([])

        /// Turns due so far, and those that were taken.
        var counts: [Int] { [due.withLock(\.count), returns.withLock { $0 }] }
    }

    @Test func whatEndsWithinAWhileIsOneTurn() throws {
        let timer = Timer()
        var configuration = MountConfiguration(user: 0, group: 0, now: { 0 })
        configuration.later = { seconds, work in
            timer.due.withLock { $0.append(work) }
            timer.seconds.withLock { _ = $0.insert(seconds) }
        }
        configuration.giveMemoryBack = { timer.returns.withLock { $0 += 1 } }
        let memory = MemoryReturn(configuration)
        for _ in 0..<1000 { memory.noteWork() }
        #expect(timer.counts == [1, 0])
        let turn = try #require(timer.due.withLock { $0.first })
        turn()
        #expect(timer.counts == [1, 1])
        memory.noteWork()
        #expect(timer.counts == [2, 1], "and what ends later is another one")
        #expect(timer.seconds.withLock { $0 } == [TreeLimits.memoryInterval])
    }
}
