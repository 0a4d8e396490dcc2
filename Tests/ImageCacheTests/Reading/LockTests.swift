#if DEBUG
import Synchronization
import TestSupport
import Testing

@testable import ImageCache

/// How often a read takes the lock that everybody who reads waits for.
@Suite(.timeLimit(.minutes(1))) struct LockTests {
    private func taken(_ bench: Bench) -> Int { bench.cache.core.taken.load(ordering: .relaxed) }

    @Test func aColdReadDecidesOnceToOpenOnceToWaitAndOnceForWhatArrived() async throws {
        let bench = try Bench()
        await bench.settle()
        let bytes = Sample.jpeg(200_000)
        let atFirst = taken(bench)
        let open = try bench.open(Sample.picture(1, size: 200_000))
        #expect(open.versionAtOpen == nil)
        #expect(taken(bench) - atFirst == 1)
        guard case .later(let pending) = try open.read(offset: 0, count: 4096) else {
            Issue.record("nothing is there yet")
            return
        }
        let request = await bench.transport.waitForRequest(at: 0)
        #expect(taken(bench) - atFirst == 2)
        request.headOnly(length: bytes.count)
        let answered = taken(bench)
        request.body(Array(bytes[..<8192]))
        #expect(try await pending.bytes().content == Array(bytes[..<4096]))
        #expect(open.version != nil)
        #expect(taken(bench) - answered == 1)
        // What comes next goes the same way.
        request.body(Array(bytes[8192..<100_000]))
        #expect(taken(bench) - answered == 2)
        open.close()
    }

    @Test func aReadOfWhatIsStoredAndKnownToBeReadTakesItNotAtAll() async throws {
        let bench = try Bench()
        let bytes = Sample.jpeg(300_000)
        let picture = Sample.picture(1, size: 300_000)
        try await bench.store(picture, bytes)
        let open = try bench.open(picture)
        for start in stride(from: 0, to: 196_608, by: 65_536) {
            _ = try await open.bytes(offset: Int64(start), count: 65_536)
        }
        await bench.settle()
        let before = taken(bench)
        _ = try await open.bytes(offset: 196_608, count: 65_536)
        #expect(open.version != nil)
        #expect(taken(bench) == before)
        open.close()
    }

    @Test func aWaitThatIsGivenUpIsOver() async throws {
        let bench = try Bench()
        let open = try bench.open(Sample.picture(1, size: 200_000))
        do {
            guard case .later = try open.read(offset: 0, count: 4096) else {
                Issue.record("nothing is there yet")
                return
            }
        }
        let request = await bench.transport.waitForRequest(at: 0)
        await request.waitForEnd()
        #expect(request.isCancelled)
        open.close()
    }
}
#endif
