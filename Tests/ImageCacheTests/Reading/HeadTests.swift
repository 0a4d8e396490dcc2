import HTTP
import TestSupport
import Testing

@testable import ImageCache

/// Looks at the beginnings of pictures, and readers that go on behind them.
@Suite(.timeLimit(.minutes(1))) struct HeadTests {
    private static let look = Int(Download.look)

    @Test(arguments: [(4096, 65_535), (65_536, 65_535), (81_920, 81_919)])
    func aLookCostsWhatItNeeds(read: Int, last: Int) async throws {
        let bench = try Bench(preload: 2)
        let bytes = Sample.jpeg(900_000)
        let open = try bench.open(Sample.picture(1, size: 900_000), neighbours: PreloadTests.neighbours(1))
        async let head = open.bytes(offset: 0, count: read)
        let request = await bench.transport.waitForRequest(at: 0)
        #expect(request.asked == "0-\(last)")
        request.answer(bytes)
        #expect(try await head.content == Array(bytes[..<read]))
        open.close()
        #expect(!request.isCancelled, "its connection is kept")
        await bench.settle()
        #expect(bench.transport.requests.count == 1)
    }

    @Test func theEndOfASmallPictureIsNoRequestOfItsOwn() async throws {
        let (bench, open) = try Bench.opened(Sample.picture(1, size: 120_000))
        async let head = open.bytes(offset: 0, count: 65_536)
        let request = await bench.transport.waitForRequest(at: 0)
        #expect(request.asked == "whole")
        request.answer(Sample.jpeg(120_000))
        _ = try await head
    }

    @Test func whoGoesOnGetsTheRestOverSeveralConnections() async throws {
        let bytes = Sample.jpeg(1 << 20)
        let (bench, open) = try Bench.opened(Sample.picture(1, size: 1 << 20), connections: 16)
        _ = try await bench.read(open, Self.look, at: 0, bytes)
        #expect(bench.transport.requests.count == 1)
        async let rest = open.bytes(offset: Int64(Self.look), count: bytes.count - Self.look)
        #expect(await bench.answerAll(bytes, from: 1, butFor: Self.look).count >= 4)
        #expect(try await rest.content == Array(bytes[Self.look...]))
        #expect(bench.transport.requests.dropFirst().allSatisfy { $0.request.ifRange == Bench.version })
        let ranges = bench.transport.requests.compactMap(\.request.range).map { $0.first..<(($0.last ?? 0) + 1) }
        #expect(
            ranges.reduce(0) { $0 + $1.count } == bytes.count + (ranges.count - 1) * 64,
            "each byte once but for the seams")
        #expect(ByteSet(ranges) == ByteSet([0..<Int64(bytes.count)]))
    }

    @Test func whoAsksForMuchOrCopiesGetsAllAtOnce() async throws {
        for (number, count, isBulk) in [(Int64(1), 131_072, false), (2, 4096, true)] {
            let bench = try Bench(connections: 16)
            var neighbours = PreloadTests.neighbours(Int(number))
            neighbours.isBulk = isBulk
            let open = try bench.open(Sample.picture(number, size: 1 << 20), neighbours: neighbours)
            async let head = open.bytes(offset: 0, count: count)
            let requests = await bench.transport.waitForRequests(4)
            #expect(requests.first?.asked == "0-131071")
            for request in requests { request.answer(Sample.jpeg(1 << 20)) }
            _ = try await head
            open.close()
        }
    }
}
