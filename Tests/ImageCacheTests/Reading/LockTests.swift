#if DEBUG
import TestSupport
import Testing

@testable import ImageCache

/// How often a read takes the lock that everybody who reads waits for.
@Suite(.timeLimit(.minutes(1))) struct LockTests {
    private func taken(_ bench: Bench) -> Int { bench.cache.core.taken.load(ordering: .relaxed) }

    /// To open, for each part that the kernel asks for, for the answer's head, and for each buffer that the transport hands over.
    @Test func aColdReadTakesItFourTimesAndOnceForEachFurtherPartAndBuffer() async throws {
        let bench = try Bench()
        await bench.settle()
        let bytes = Sample.jpeg(200_000)
        // What stores the picture comes after its last byte.
        bench.cache.core.disk.suspend()
        defer { bench.cache.core.disk.resume() }
        let atFirst = taken(bench)
        let open = try bench.open(Sample.picture(1, size: 200_000))
        #expect(open.versionAtOpen == nil)
        var (parts, buffers) = (0, 0)
        for part in [0..<131_072, 131_072..<200_000] {
            guard case .later(let pending) = try open.read(offset: Int64(part.lowerBound), count: part.count) else {
                Issue.record("not all of \(part) is there yet")
                return
            }
            parts += 1
            let request = await bench.transport.waitForRequest(at: 0)
            if parts == 1 { request.headOnly(length: bytes.count) }
            for start in stride(from: part.lowerBound, to: part.upperBound, by: 16_384) {
                request.body(Array(bytes[start..<min(start + 16_384, part.upperBound)]))
                buffers += 1
            }
            #expect(try await pending.bytes().content == Array(bytes[part]))
        }
        #expect(taken(bench) - atFirst == 1 + parts + 1 + buffers)
        #expect(parts == 2 && buffers == 13)
        #expect(bench.transport.requests.count == 1)
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
        guard case .file = try await open.bytes(offset: 196_608, count: 65_536) else {
            Issue.record("the picture ends early")
            return
        }
        #expect(taken(bench) == before)
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
    }
}
#endif
