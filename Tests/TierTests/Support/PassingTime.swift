import Dispatch
import TestSupport

extension ManualClock {
    /// Steps between which everybody who can go on does.
    private static let turns = 300
    /// Turns of another thread between them.
    private static let hops = 4

    /// Lets everybody who can go on do so, while time stands still.
    func settle() async {
        for _ in 0..<Self.turns { await Task.yield() }
        // Databases work on threads of queues, which have to get a processor, too.
        for _ in 0..<Self.hops {
            await withCheckedContinuation { done in DispatchQueue.global(qos: .background).async { done.resume() } }
            await Task.yield()
        }
    }

    /// Lets time pass, while somebody waits for that, until some task is done; then it stands still again.
    func passing<Value: Sendable>(
        by step: Duration = .milliseconds(25), _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = Task { try await work() }
        let driver = Task {
            while !Task.isCancelled {
                await settle()
                if sleeperCount > 0 { advance(by: step) }
            }
        }
        let result = await task.result
        driver.cancel()
        await driver.value
        return try result.get()
    }
}
