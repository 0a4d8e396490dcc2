import HTTP
import Rankings
import TestSupport
import Testing

@testable import ImageCache

@Suite(.timeLimit(.minutes(1))) struct PreloadTests {
    static let size = 200_000

    static func neighbours(_ index: Int, directory: UInt64 = 1) -> Neighbours {
        Neighbours(directory: directory, index: index) { place in
            (1...50).contains(place) ? Sample.picture(Int64(place), size: Int64(size)) : nil
        }
    }

    static func bytes(_ number: Int) -> [UInt8] { Sample.jpeg(size, seed: UInt64(number)) }

    static func read(_ number: Int, _ bench: Bench) async throws {
        let picture = Sample.picture(Int64(number), size: Int64(size))
        try await bench.store(picture, bytes(number), neighbours: Self.neighbours(number))
    }

    func open(_ number: Int, _ bench: Bench) throws -> OpenPicture {
        try bench.open(Sample.picture(Int64(number), size: Int64(Self.size)), neighbours: Self.neighbours(number))
    }

    static func numbers(_ bench: Bench) -> [Int] {
        bench.transport.urls.compactMap { Int($0.dropFirst("https://i.example/".count).prefix { $0 != "_" }) }
    }

    private func numbers(_ bench: Bench) -> [Int] { Self.numbers(bench) }

    /// Of what lies ahead the disk reads what is stored, and the network brings the rest.
    @Test func whatIsStoredAheadIsLeftToTheDisk() async throws {
        let bench = try Bench(preload: 2)
        let pictures = (1...3).map { Sample.picture(Int64($0), size: Int64(Self.size)) }
        try await bench.store(pictures[1], Self.bytes(2))
        let stored = bench.cache.core.run { core in core.wish(pictures, directory: 1) }
        #expect(stored == [Sample.stored(2, Self.bytes(2))])
        // A picture that is gone meanwhile is no error.
        for picture in stored + [Sample.stored(1, Self.bytes(1))] { bench.cache.core.store.readAhead(picture) }
        #expect(bench.events.texts.isEmpty, "\(bench.events.texts)")
    }

    /// What is there in part is worth more to who comes than the beginning of what lies behind it.
    @Test func thePicturesComeOneAfterTheOtherWhileNoConnectionIsIdle() async throws {
        let bench = try Bench(preload: 2, connections: 2)
        let size = Int(Download.longestUnread) + 32_768
        let neighbours = Neighbours(directory: 1, index: 1) { Sample.picture(Int64($0), size: Int64(size)) }
        try await bench.store(Sample.picture(1, size: Int64(Self.size)), Self.bytes(1))
        let first = try bench.open(Sample.picture(1, size: Int64(Self.size)), neighbours: neighbours)
        let before = bench.transport.requests.count
        _ = try first.availableBytes(offset: 0, count: Self.size)
        let (half, seam) = (size / 2, Int(Download.seam))
        let parts = ["2 0-\(half - 1)", "2 \(half - seam)-\(size - 1)", "3 0-\(half - 1)"]
        for (number, part) in parts.enumerated() {
            let request = await bench.transport.waitForRequest(at: before + number)
            #expect("\(numbers(bench)[before + number]) \(request.asked)" == part)
            #expect(bench.transport.requests.count == before + number + 1)
            request.answer(Sample.jpeg(size))
        }
    }

    /// After a program that copies nothing more is asked for ahead, but for as much as anybody has; what came is kept.
    @Test func theEndOfABulkWalkAsksForNothingMore() async throws {
        let bench = try Bench(preload: 1, connections: 4)
        let large = Int(Download.largestCopied) + 32_768
        @Sendable func size(_ number: Int) -> Int64 { number < 3 ? Int64(Self.size) : Int64(large) }
        for number in 1...2 {
            let neighbours = Neighbours(directory: 1, index: number, isBulk: true) {
                Sample.picture(Int64($0), size: size($0))
            }
            let picture = try bench.open(Sample.picture(Int64(number), size: size(number)), neighbours: neighbours)
            _ = try await bench.read(picture, Self.size, at: number - 1, Self.bytes(number))
            picture.close()
        }
        let requests = await bench.transport.waitForRequests(5)
        #expect(numbers(bench) == [1, 2, 3, 3, 4])
        bench.advance(PreloadPolicy.pauseOfACopy)
        #expect(bench.cache.status().queued.count == 1, "somebody may still go on")
        bench.advance(.milliseconds(1))
        #expect(bench.cache.status().queued.isEmpty)
        let bytes = Sample.jpeg(large)
        for request in requests[2...].reversed() { request.answer(bytes) }
        await bench.settle()
        #expect(bench.transport.requests.count == 5 && requests.allSatisfy { !$0.isCancelled })
        #expect(bench.cache.storedSize(of: Sample.picture(3, size: nil).id) == size(3))
        let fourth = try bench.open(Sample.picture(4, size: size(4)))
        async let all = fourth.bytes(offset: 0, count: large)
        let rest = await bench.answerAll(bytes, from: 5, butFor: large / 2)
        #expect(rest.first?.lowerBound == Int64(large / 2) - Download.seam, "no byte twice but for the seam")
        #expect(try await all.content == bytes)
    }

    @Test func aReaderTakesAPreloadOverAndGivesItBack() async throws {
        let bench = try Bench(preload: 1)
        try await Self.read(1, bench)
        let preload = await bench.transport.waitForRequest(at: 1)
        #expect(preload.priority == .preload)
        bench.clock.advance(by: .seconds(1))
        let second = try open(2, bench)
        let reader = Task { try await second.bytes(offset: 0, count: Self.size) }
        await preload.waitForPriority(.reader)
        reader.cancel()
        #expect(await failure { try await reader.value } == .cancelled)
        second.close()
        await preload.waitForPriority(.preload)
        #expect(!preload.isCancelled)
        preload.answer(Self.bytes(2))
        await bench.settle()
        #expect(bench.cache.storedSize(of: Sample.picture(2, size: nil).id) == Int64(Self.size))
        #expect(numbers(bench) == [1, 2])
    }

    @Test func aFailedPreloadIsReportedAndAReaderTriesAtOnce() async throws {
        let bench = try Bench(preload: 1)
        try await Self.read(1, bench)
        await bench.transport.waitForRequest(at: 1).head(403)
        #expect(bench.events.texts.contains { $0.contains("preloadFailed") })
        guard case .failed = bench.cache.state(of: Sample.picture(2, size: nil).id) else {
            Issue.record("not told")
            return
        }
        let second = try open(2, bench)
        #expect(try await bench.read(second, Self.size, at: 2, Self.bytes(2)).content == Self.bytes(2))
    }

    @Test func preloadsStopWhereTheBudgetEnds() async throws {
        let bench = try Bench(budget: 500_000, preload: 2)
        let first = try open(1, bench)
        _ = try await bench.read(first, Self.size, at: 0, Self.bytes(1))
        await bench.transport.waitForRequest(at: 1).answer(Self.bytes(2))
        await bench.settle()
        // One and two fill the budget; three would push out what is open or was just brought.
        #expect(numbers(bench) == [1, 2])
        #expect(bench.cache.status().storedBytes <= 500_000)
        first.close()
    }
}
