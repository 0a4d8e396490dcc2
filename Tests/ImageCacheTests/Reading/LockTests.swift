import TestSupport
import Testing

@testable import ImageCache

/// How often a read takes the lock that everybody who reads waits for.
@Suite(.timeLimit(.minutes(1))) struct LockTests {
    @Test func aReadOfWhatIsStoredAndKnownToBeReadTakesItNotAtAll() async throws {
        let bench = try Bench()
        let bytes = Sample.jpeg(300_000)
        let picture = Sample.picture(1, size: 300_000)
        try await bench.store(picture, bytes)
        // The time is read whenever the lock is taken.
        let stored = bench.clock.readings
        let open = try bench.open(picture)
        for start in stride(from: 0, to: 196_608, by: 65_536) {
            _ = try await open.bytes(offset: Int64(start), count: 65_536)
        }
        await bench.settle()
        let before = bench.clock.readings
        #expect(before > stored)
        guard case .file = try await open.bytes(offset: 196_608, count: 65_536) else {
            Issue.record("the picture ends early")
            return
        }
        #expect(bench.clock.readings == before)
    }
}
