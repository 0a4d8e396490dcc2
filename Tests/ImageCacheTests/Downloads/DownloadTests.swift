import HTTP
import Rankings
import TestSupport
import Testing

@testable import ImageCache

@Suite(.timeLimit(.minutes(1))) struct DownloadTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    @Test func bytesAreGivenAsTheyArrive() async throws {
        let bytes = Sample.jpeg(200_000)
        let open = try bench.open(Sample.picture(1, size: 200_000))
        #expect(try open.availableBytes(offset: 0, count: 10) == nil)
        async let first = open.bytes(offset: 0, count: 1000)
        let request = await bench.transport.waitForRequest(at: 0)
        request.begin(bytes, to: 4000)
        #expect(try await first.content == Array(bytes[..<1000]))
        #expect(try open.availableBytes(offset: 1000, count: 3000)?.content == Array(bytes[1000..<4000]))
        #expect(try open.availableBytes(offset: 1000, count: 3001) == nil)
    }

    /// The service leaves lengths out now and then; who knows one from elsewhere joins at any byte.
    @Test(arguments: [0, 100, 9_970, 9_999, 10_000])
    func aLengthThatIsLearnedOnTheWayEndsTheDownload(arrived: Int) async throws {
        let bytes = Sample.jpeg(10_000)
        let unknowing = try bench.open(Sample.picture(1, size: nil))
        async let first = unknowing.bytes(offset: 0, count: 50).content
        let request = await bench.transport.waitForRequest(at: 0)
        request.head(200, Bench.imageHeaders)
        request.body(Array(bytes[..<arrived]))
        let knowing = try bench.open(Sample.picture(1, size: 10_000))
        let found = try knowing.availableBytes(offset: 0, count: 10_000)
        #expect(found?.content == (arrived == bytes.count ? bytes : nil))
        request.body(Array(bytes[arrived...]))
        request.finish()
        #expect(try await knowing.bytes(offset: 0, count: 10_000).content == bytes)
        #expect(try await first == Array(bytes[..<50]))
        await bench.settle()
        #expect(bench.cache.state(of: Sample.picture(1, size: nil).id) == .stored(length: 10_000))
        #expect(bench.transport.requests.count == 1)
    }

    @Test func aShorterLengthThanWhatCameEndsTheDownload() async throws {
        let unknowing = try bench.open(Sample.picture(1, size: nil))
        async let first = unknowing.bytes(offset: 0, count: 50)
        let request = await bench.transport.waitForRequest(at: 0)
        request.head(200, Bench.imageHeaders)
        request.body(Array(Sample.jpeg(10_000)[..<9_000]))
        let knowing = try bench.open(Sample.picture(1, size: 8_000))
        #expect(await failure(of: { try await knowing.bytes(offset: 0, count: 50) }).isBroken)
        _ = try? await first
        #expect(bench.cache.state(of: Sample.picture(1, size: nil).id) == .absent)
    }

    @Test(arguments: [50, 9_970, 9_999])
    func whatCameWithoutALengthIsResumedWithOne(arrived: Int) async throws {
        let bytes = Sample.jpeg(10_000)
        let unknowing = try bench.open(Sample.picture(1, size: nil))
        let reading = Task { try await unknowing.bytes(offset: 0, count: 10_000) }
        let request = await bench.transport.waitForRequest(at: 0)
        request.head(200, Bench.imageHeaders)
        request.body(Array(bytes[..<arrived]))
        reading.cancel()
        _ = try? await reading.value
        unknowing.close()
        let knowing = try bench.open(Sample.picture(1, size: 10_000))
        async let all = knowing.bytes(offset: 0, count: 10_000).content
        let second = await bench.transport.waitForRequest(at: 1)
        #expect(second.request.range?.first == max(0, Int64(arrived) - Download.seam))
        second.answer(bytes)
        #expect(try await all == bytes)
    }

    @Test func theEndIsHeldBackUntilItIsRight() async throws {
        var bytes = Sample.jpeg(10_000)
        bytes[9_999] = 0
        let open = try bench.open(Sample.picture(1, size: 10_000))
        async let beginning = open.bytes(offset: 0, count: 100)
        let request = await bench.transport.waitForRequest(at: 0)
        request.begin(bytes, to: 9_990)
        _ = try await beginning
        #expect(try open.availableBytes(offset: 0, count: 9_990) == nil)
        async let error = failure { try await open.bytes(offset: 0, count: 10_000) }
        request.body(Array(bytes[9_990...]))
        #expect(await error.isDamaged)
        #expect(bench.cache.state(of: Sample.picture(1, size: nil).id) == .absent)
        // The same open file must not go on with another version; a new one may.
        #expect(await failure(of: { try await open.bytes(offset: 0, count: 1) }).isDamaged)
        open.close()
        try await bench.store(Sample.picture(1, size: 10_000), Sample.jpeg(10_000))
    }

    @Test func theTailOfALargeColdPictureCostsOnlyItself() async throws {
        let bytes = Sample.jpeg(12 << 20)
        let open = try bench.open(Sample.picture(1, size: Int64(bytes.count)))
        let offset = bytes.count - 65_536
        async let tail = open.bytes(offset: Int64(offset), count: 65_536)
        let request = await bench.transport.waitForRequest(at: 0)
        #expect(request.asked == "\(offset)-\(bytes.count - 1)")
        request.answer(bytes)
        #expect(try await tail.content == Array(bytes[offset...]))
        #expect(bench.transport.requests.count == 1)
    }

    @Test func smallPicturesReadBackwardsComeWithOneRequest() async throws {
        let bytes = Sample.jpeg(900_000)
        let open = try bench.open(Sample.picture(1, size: 900_000))
        async let tail = open.bytes(offset: 896_000, count: 4_000)
        let request = await bench.transport.waitForRequest(at: 0)
        async let earlier = open.bytes(offset: 100, count: 4_000)
        #expect(request.asked == "whole")
        request.answer(bytes)
        #expect(try await tail.content == Array(bytes[896_000...]))
        #expect(try await earlier.content == Array(bytes[100..<4_100]))
        #expect(bench.transport.requests.count == 1)
    }

    @Test func aLargePictureWithTwoReadersIsSharedOverConnectionsAndEachByteAskedOnce() async throws {
        let bytes = Sample.jpeg(12 << 20)
        let picture = Sample.picture(1, size: Int64(bytes.count))
        let readers = try (0..<8).map { _ in try bench.open(picture) }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for reader in readers {
                group.addTask { try await reader.bytes(offset: 0, count: bytes.count).content == bytes }
            }
            let ranges = await bench.answerAll(bytes)
            for try await isRight in group { #expect(isRight) }
            #expect(ranges.count >= 8)
            #expect(ranges.reduce(0) { $0 + $1.count } == bytes.count + (ranges.count - 1) * 64)
            #expect(ByteSet(ranges) == ByteSet([0..<Int64(bytes.count)]))
        }
        #expect(bench.transport.requests.allSatisfy { !$0.isCancelled })
    }

    /// Readers of one page reach the daemon as one: the others wait for it in the kernel.
    @Test func aPictureThatASecondOneOpensIsSharedBeforeTheSecondIsHeard() async throws {
        let bytes = Sample.jpeg(4 << 20)
        let picture = Sample.picture(1, size: Int64(bytes.count))
        let first = try bench.open(picture)
        async let beginning = first.bytes(offset: 0, count: 4096)
        await bench.transport.waitForRequest(at: 0)
        #expect(bench.transport.requests.count == 1)
        let second = try bench.open(picture)
        #expect(bench.transport.requests.count == 2, "a quarter of the slots until something is heard of it")
        bench.transport.requests[1].answer(bytes)
        #expect(bench.transport.requests.count > 3)
        bench.transport.requests[0].answer(bytes)
        var next = 2
        while next < bench.transport.requests.count {
            bench.transport.requests[next].answer(bytes)
            next += 1
        }
        #expect(try await beginning.content == Array(bytes[..<4096]))
        #expect(try second.availableBytes(offset: 0, count: bytes.count)?.content == bytes)
    }

    @Test func aFarSeekIntoARunningDownloadStartsARangeAndAsksNoByteTwice() async throws {
        let bench = try Bench(preload: 1)
        // The largest that comes with one request: nobody read it when that was made.
        let bytes = Sample.jpeg(1_100_000)
        let neighbours = Neighbours(directory: 1, index: 1) { Sample.picture(Int64($0), size: Int64(bytes.count)) }
        let before = try bench.open(Sample.picture(1, size: 5000), neighbours: neighbours)
        _ = try await bench.read(before, 5000, at: 0, Sample.jpeg(5000))
        let whole = await bench.transport.waitForRequest(at: 1)
        #expect(whole.asked == "whole")
        let open = try bench.open(Sample.picture(2, size: Int64(bytes.count)))
        async let head = open.bytes(offset: 0, count: 4096)
        whole.begin(bytes, to: 8192)
        _ = try await head
        async let far = open.bytes(offset: 1 << 19, count: 4096)
        let range = await bench.transport.waitForRequest(at: 2)
        #expect(range.request.range?.first == Int64(1 << 19) - Download.seam)
        #expect(range.request.ifRange == Bench.version)
        range.answer(bytes)
        #expect(try await far.content == Array(bytes[(1 << 19)..<((1 << 19) + 4096)]))
        // The running request ends where the other began.
        #expect(!whole.body(Array(bytes[8192...])))
        let received = bench.cache.status().downloads.first?.received
        #expect(received == Int64(1 << 19) + Download.seekWindow)
        let rest = await bench.transport.waitForRequest(at: 3)
        #expect(rest.request.range?.first == received.map { $0 - Download.seam })
    }

    /// The step back begins where present bytes end.
    @Test func aWalkBackwardsUpToPresentBytesIsOneRequest() async throws {
        let bytes = Sample.jpeg(4_800_000)
        let open = try bench.open(Sample.picture(1, size: Int64(bytes.count)))
        for (number, offset) in [1 << 20, 2_162_688, 2 << 20].enumerated() {
            async let read = open.bytes(offset: Int64(offset), count: 4096)
            await bench.transport.waitForRequest(at: number)
            #expect(bench.transport.requests.count == number + 1)
            bench.transport.requests[number].answer(bytes)
            #expect(try await read.content == Array(bytes[offset..<offset + 4096]))
        }
    }

    /// A signal's handler, after which the program reads again, costs no request; one that ends the program closes the picture.
    @Test func aReaderThatLeavesHasItsDownloadUntilItCloses() async throws {
        let bytes = Sample.jpeg(500_000)
        let picture = Sample.picture(1, size: 500_000)
        let (bench, open) = try Bench.opened(picture, connections: 1)
        let reader = Task { try await open.bytes(offset: 0, count: 500_000) }
        let request = await bench.transport.waitForRequest(at: 0)
        request.begin(bytes, to: 100_000)
        reader.cancel()
        #expect(await failure { try await reader.value } == .cancelled)
        async let again = open.bytes(offset: 0, count: 150_000)
        request.body(Array(bytes[100_000..<200_000]))
        #expect(try await again.content == Array(bytes[..<150_000]))
        #expect(!request.isCancelled && bench.transport.requests.count == 1)
        open.close()
        await request.waitForEnd()
        #expect(request.isCancelled)
        // What came is kept: the next reader asks for the rest.
        let next = try bench.open(picture)
        async let whole = next.bytes(offset: 0, count: 500_000)
        let rest = await bench.transport.waitForRequest(at: 1)
        #expect(rest.asked == "199936-499999")
        #expect(rest.request.ifRange == Bench.version)
        rest.answer(bytes)
        #expect(try await whole.content == bytes)
    }

    @Test func closingEndsTheDownloadAtOnceUnlessItIsNearlyDone() async throws {
        for (number, arrived, isCancelled) in [(Int64(1), 100_000, true), (2, 190_000, false)] {
            let bytes = Sample.jpeg(200_000)
            let open = try bench.open(Sample.picture(number, size: 200_000))
            async let head = open.bytes(offset: 0, count: 1000)
            let request = await bench.transport.waitForRequest(at: Int(number) - 1)
            request.begin(bytes, to: arrived)
            _ = try await head
            open.close()
            #expect(request.isCancelled == isCancelled)
            request.body(Array(bytes[arrived...]))
            request.finish()
            await bench.settle()
            let state = bench.cache.state(of: Sample.picture(number, size: nil).id)
            #expect(state == (isCancelled ? .absent : .stored(length: 200_000)))
        }
    }

    /// The moment in which bytes are being written, as other threads meet it.
    @Test func neitherAnotherReaderNorACloseDisturbsBytesThatAreBeingWritten() async throws {
        let bytes = Sample.jpeg(200_000)
        let picture = Sample.picture(1, size: 200_000)
        let first = try bench.open(picture)
        async let error = failure { try await first.bytes(offset: 0, count: 200_000) }
        let request = await bench.transport.waitForRequest(at: 0)
        request.begin(bytes, to: 190_000)
        let key = picture.id
        let segment = try #require(bench.cache.core.withLock { $0.downloads[key]?.download.segments.keys.first })
        let plan = try #require(bench.cache.core.withLock { $0.downloads[key]?.download.plan(of: segment) })
        #expect(plan.range == 190_000..<200_000 && plan.gaps == [plan.range] && plan.room == 200_000)
        let file = try #require(bench.cache.core.withLock { $0.downloads[key]?.file })
        let second = try bench.open(picture)
        #expect(try second.availableBytes(offset: 195_000, count: 10) == nil)
        bench.cache.core.run { $0.tick() }
        #expect(bench.transport.requests.count == 1)
        first.close()
        second.close()
        #expect(await error == .cancelled)
        #expect(!request.isCancelled)
        try Array(bytes[190_000...]).withUnsafeBytes { buffer in
            try file.write(buffer, at: 190_000)
            _ = bench.cache.core.run { core in core.wrote(buffer, plan.range, from: segment, of: key) }
        }
        request.finish()
        await bench.settle()
        #expect(bench.cache.state(of: picture.id) == .stored(length: 200_000))
        #expect(bench.transport.requests.count == 1)
    }

    @Test func aSilentNetworkFailsTheReadInTimeAndIsNotRemembered() async throws {
        let picture = Sample.picture(1, size: 5_000)
        let open = try bench.open(picture)
        async let error = failure { try await open.bytes(offset: 0, count: 10) }
        let request = await bench.transport.waitForRequest(at: 0)
        bench.advance(.seconds(14))
        #expect(bench.cache.state(of: picture.id) == .queued)
        bench.advance(.seconds(2))
        #expect(await error == .timedOut)
        await request.waitForEnd()
        #expect(try await bench.read(open, 5_000, at: 1, Sample.jpeg(5_000)).content.count == 5_000)
    }
}
