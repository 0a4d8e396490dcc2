import Foundation
import HTTP
import TestSupport
import Testing

@testable import ImageCache

/// Semantics: "One download per picture": no byte is requested twice, except up to 64 bytes where two parts meet.
@Suite(.timeLimit(.minutes(1))) struct SeamTests {
    static let size = 20_000
    static let bytes = Sample.jpeg(size)

    /// Answers a range with the bytes of another place under the right `Content-Range`.
    private func misplace(_ request: HeldRequest, _ picture: [UInt8], to place: Int) throws {
        let range = try #require(request.request.range)
        let count = min(range.last ?? .max, Int64(picture.count) - 1) - range.first + 1
        request.respond(
            status: 206,
            headers: Bench.imageHeaders + [
                (name: "content-range", value: "bytes \(range.first)-\(range.first + count - 1)/\(picture.count)")
            ],
            body: Array((picture + picture)[place..<place + Int(count)]))
    }

    /// A picture whose first 7,000 bytes have come, and the request for the rest.
    private func brokenOff(_ bench: Bench) async -> HeldRequest {
        let first = await bench.transport.waitForRequest(at: 0)
        first.cut(Self.bytes, at: 7000)
        return await bench.transport.waitForRequest(at: 1)
    }

    @Test(arguments: [0, 6935, 6937, 12_000])
    func aPartOfAnotherPlaceIsNotTakenAndTheWholeIsAskedForAtOnce(place: Int) async throws {
        let (bench, open) = try Bench.opened(Sample.picture(1, size: Int64(Self.size)))
        async let whole = open.bytes(offset: 0, count: Self.size)
        try misplace(await brokenOff(bench), Self.bytes, to: place)
        let plain = await bench.transport.waitForRequest(at: 2)
        #expect(plain.asked == "whole")
        plain.answer(Self.bytes)
        #expect(try await whole.content == Self.bytes)
        #expect(bench.transport.requests.count == 3)
    }

    /// What was read before is right: it stands before the seam.
    @Test func whoHasReadUpToTheSeamGoesOn() async throws {
        let (bench, open) = try Bench.opened(Sample.picture(1, size: Int64(Self.size)))
        async let beginning = open.bytes(offset: 0, count: 7000)
        let first = await bench.transport.waitForRequest(at: 0)
        first.begin(Self.bytes, to: 7000)
        #expect(try await beginning.content == Array(Self.bytes[..<7000]))
        async let whole = open.bytes(offset: 0, count: Self.size)
        first.fail(.broken("reset"))
        try misplace(await bench.transport.waitForRequest(at: 1), Self.bytes, to: 7000)
        await bench.transport.waitForRequest(at: 2).answer(Self.bytes)
        #expect(try await whole.content == Self.bytes)
    }

    /// A part that nothing touches cannot be compared; the picture's own beginning is known wherever it comes.
    @Test func theBeginningInPlaceOfAPartIsFoundOutByItself() async throws {
        let bytes = Sample.jpeg(12 << 20)
        let (bench, open) = try Bench.opened(Sample.picture(1, size: Int64(bytes.count)))
        async let middle = open.bytes(offset: 6 << 20, count: 4096)
        try misplace(await bench.transport.waitForRequest(at: 0), bytes, to: 0)
        let plain = await bench.transport.waitForRequest(at: 1)
        #expect(plain.asked == "whole")
        plain.answer(bytes)
        #expect(try await middle.content == Array(bytes[6 << 20..<(6 << 20) + 4096]))
    }

    /// A part that is known by itself to be wrong throws no doubt on the bytes that readers have.
    @Test(arguments: [3 << 20, (9 << 20) + (1 << 20)])
    func whoHasReadFarAheadGoesOnAfterTheBeginningCameAgain(place: Int) async throws {
        let bytes = Sample.jpeg(12 << 20)
        let (bench, open) = try Bench.opened(Sample.picture(1, size: Int64(bytes.count)))
        async let far = open.bytes(offset: 9 << 20, count: 4096)
        let first = await bench.transport.waitForRequest(at: 0)
        let range = try #require(first.request.range)
        let told = "bytes \(range.first)-\(range.last ?? Int64(bytes.count) - 1)/\(bytes.count)"
        first.head(206, Bench.imageHeaders + [(name: "content-range", value: told)])
        first.body(Array(bytes[Int(range.first)..<(9 << 20) + 8192]))
        #expect(try await far.content == Array(bytes[9 << 20..<(9 << 20) + 4096]))
        // One part stands alone, the other meets bytes that are there.
        if place > 9 << 20 { first.fail(.broken("reset")) }
        async let more = open.bytes(offset: Int64(place), count: 4096)
        try misplace(await bench.transport.waitForRequest(at: 1), bytes, to: 0)
        let plain = await bench.transport.waitForRequest(at: 2)
        #expect(plain.asked == "whole")
        plain.answer(bytes)
        #expect(try await more.content == Array(bytes[place..<place + 4096]))
        #expect(try await open.bytes(offset: 9 << 20, count: 4096).content == Array(bytes[9 << 20..<(9 << 20) + 4096]))
    }

    @Test func aFileInTheMiddleOfAnArchiveIsNotItsBeginning() {
        let entry: [UInt8] = [0x50, 0x4B, 3, 4, 20, 0, 0, 0, 0, 0, 0, 0]
        for (format, bytes) in [(PictureFormat.zip, entry), (.jpeg, Array(Self.bytes.prefix(12)))] {
            let download = Download(format: format, total: 1_000_000, now: DownloadStateTests.now)
            #expect(download.beginsAgain(bytes, at: 4096) == (format == .jpeg))
        }
    }

    @Test func whoWasGivenAPartThatDoesNotFitGetsNothingMore() {
        var download = Download(format: .jpeg, total: 1_000_000, now: DownloadStateTests.now)
        download.present = ByteSet([200_000..<300_000])
        let before = download.begin(Piece(gap: 100_000..<200_000), id: 1)
        _ = download.answered(
            DownloadStateTests.head(before.asked, total: 1_000_000), to: 1, now: DownloadStateTests.now)
        _ = download.wrote(100_000..<200_000, from: 1, now: DownloadStateTests.now)
        download.released(to: 300_000)
        let outcome = download.contradicted(at: 200_000, by: 1).outcome
        guard case .failed(.damaged, keepsPartial: false) = outcome else {
            Issue.record("\(String(describing: outcome))")
            return
        }
    }

    /// Bytes of a seam that are there are planned to be compared, before those behind them are taken; whichever request comes second
    /// compares, and a picture is whole only then.
    @Test func whateverComesSecondIsCompared() throws {
        let (total, now) = (Int64(1_000_000), DownloadStateTests.now)
        var download = Download(format: .jpeg, total: total, now: now)
        (download.headIsRight, download.tailIsRight, download.validator) = (true, true, "\"a\"")
        download.isPreload = true
        download.present = ByteSet([0..<100_000, 500_000..<total])
        let near = download.begin(Piece(gap: 100_000..<200_000), id: 1)
        #expect(near.asked == 99_936..<200_000)
        let far = download.begin(Piece(gap: 300_000..<400_000), id: 2)
        #expect(far.asked == 300_000..<400_000)
        let between = download.begin(Piece(gap: 200_000..<300_000), id: 3)
        #expect(between.asked == 199_936..<300_064)
        let last = download.begin(Piece(gap: 400_000..<500_000), id: 4)
        #expect(last.asked == 399_936..<500_064)
        for (id, start) in zip(UInt64(1)..., [near, far, between, last]) {
            var answer = DownloadStateTests.head(start.asked, total: total)
            answer = HTTPAnswer(
                status: 206,
                headers: [
                    (name: "content-type", value: "image/jpeg"), (name: "etag", value: "\"a\""),
                    (name: "content-range", value: answer["content-range"] ?? ""),
                ])
            #expect(download.answered(answer, to: id, now: now) == DownloadChange())
        }
        func repeats(_ id: UInt64) -> [Range<Int64>] { download.plan(of: id)?.parts(.max >> 1).repeats ?? [] }
        #expect(repeats(1) == [99_936..<100_000])
        #expect(repeats(4) == [500_000..<500_064])
        // The one between comes before those that it touches.
        #expect(repeats(3) == [])
        #expect(download.wrote(199_936..<300_064, from: 3, now: now).outcome == nil)
        #expect(repeats(1) == [99_936..<100_000, 199_936..<200_000])
        #expect(repeats(2) == [300_000..<300_064])
        // What is planned before another begins or comes is certain only where no other one brings anything.
        #expect(download.plan(of: 1)?.certain == 100_000..<199_936)
        _ = download.wrote(300_000..<400_000, from: 2, now: now)
        _ = download.wrote(399_936..<500_000, from: 4, now: now)
        #expect(download.wrote(99_936..<199_936, from: 1, now: now).outcome == nil)
        #expect(download.remaining == 0 && download.phase == .running, "two seams are still to come")
        #expect(download.proven == ByteSet([0..<199_936, 200_000..<499_936, 500_000..<total]))
        #expect(download.wrote(199_936..<200_000, from: 1, now: now).outcome == nil)
        #expect(download.wrote(500_000..<500_064, from: 4, now: now).outcome == .complete(length: total))
    }

    /// A request that ends before its seam has come leaves it as it is, however it ends.
    @Test(arguments: [false, true]) func aSeamThatDoesNotComeKeepsNobodyWaiting(isGivenUp: Bool) {
        let (total, now) = (Int64(200_000), DownloadStateTests.now)
        var download = Download(format: .jpeg, total: total, now: now)
        (download.headIsRight, download.tailIsRight, download.validator) = (true, true, DownloadStateTests.version)
        download.isPreload = true
        download.present = ByteSet([100_000..<total])
        let start = download.begin(Piece(gap: 0..<100_000), id: 1)
        #expect(start.asked == 0..<100_064)
        _ = download.answered(DownloadStateTests.head(start.asked, total: total), to: 1, now: now)
        #expect(download.wrote(0..<100_000, from: 1, now: now).outcome == nil)
        let change =
            isGivenUp ? download.giveUp(1) : download.finished(1, .failure(.broken("reset")), now: now)
        #expect(change.outcome == .complete(length: total))
    }

    /// Of a walk backwards only the end of a part meets what is there: its reader does not wait for that, and a kill before that
    /// leaves nothing that would be taken for compared.
    @Test func aPartWhoseEndAloneIsComparedIsReadAtOnceAndKeptOnlyThen() async throws {
        let scratch = TemporaryFolder()
        let (bytes, border) = (Sample.jpeg(3 << 20), 2 << 20)
        let picture = Sample.picture(1, size: Int64(bytes.count))
        let first = try Bench(scratch)
        let open = try first.open(picture)
        async let middle = open.bytes(offset: Int64(border), count: 4096)
        await first.transport.waitForRequest(at: 0).answer(bytes)
        _ = try await middle
        async let before = open.bytes(offset: Int64(border) - 4096, count: 4096)
        let back = await first.transport.waitForRequest(at: 1)
        let range = try #require(back.request.range)
        #expect(range.last == Int64(border) + 63)
        let told = "bytes \(range.first)-\(border + 63)/\(bytes.count)"
        back.head(206, Bench.imageHeaders + [(name: "content-range", value: told)])
        back.body(Array(bytes[Int(range.first)..<border]))
        #expect(try await before.content == Array(bytes[border - 4096..<border]))
        try FileManager.default.copyItem(atPath: scratch.cache, toPath: scratch.path + "/copy")
        await first.cache.close()
        for directory in [scratch.path + "/copy", scratch.cache] {
            let second = try Bench(scratch, directory: directory)
            let again = try second.open(picture)
            let there = try await again.bytes(offset: Int64(border), count: 4096)
            #expect(there.content == Array(bytes[border..<border + 4096]))
            #expect(second.transport.requests.isEmpty)
            async let part = again.bytes(offset: Int64(border) - 4096, count: 4096)
            await second.transport.waitForRequest(at: 0).answer(bytes)
            #expect(try await part.content == Array(bytes[border - 4096..<border]))
            again.close()
            await second.cache.close()
        }
    }

    /// Whoever seeks into a part takes its end over, also before its answer has come.
    @Test func aPartThatWasCutIsAnsweredAsItWasAskedFor() {
        let total: Int64 = 10_000_000
        var download = Download(format: .jpeg, total: total, now: DownloadStateTests.now)
        download.present = ByteSet([6_000_000..<6_100_000])
        let cut = download.begin(Piece(gap: 0..<6_000_000), id: 1)
        #expect(cut.asked == 0..<6_000_064)
        _ = download.begin(Piece(gap: 3_000_000..<6_000_000, cut: 1), id: 2)
        let head = DownloadStateTests.head(cut.asked, total: total)
        #expect(download.answered(head, to: 1, now: DownloadStateTests.now) == DownloadChange())
        #expect(download.segments[1]?.end == 3_000_000)
    }

    /// A source may send less than it was asked for, but not less than the seam.
    @Test func aPartThatEndsWithinItsSeamIsAnError() async throws {
        let (bench, open) = try Bench.opened(Sample.picture(1, size: Int64(Self.size)))
        async let error = failure { try await open.bytes(offset: 0, count: Self.size) }
        let rest = await brokenOff(bench)
        rest.head(206, Bench.imageHeaders + [(name: "content-range", value: "bytes 6936-6940/*")])
        rest.body(Array(Self.bytes[6936...6940]))
        rest.finish()
        #expect(await error.isBroken)
        #expect(bench.transport.requests.count == 2)
    }

    /// However a body is cut into pieces, its seam is compared and its own bytes are taken.
    @Test(arguments: [1, 7, 63, 64, 65, 127, 5000], [true, false])
    func aSeamIsComparedHoweverItsBodyIsCut(step: Int, agrees: Bool) async throws {
        let (bench, open) = try Bench.opened(Sample.picture(1, size: Int64(Self.size)))
        async let whole = open.bytes(offset: 0, count: Self.size)
        let rest = await brokenOff(bench)
        #expect(rest.asked == "6936-19999" && rest.request.ifRange == Bench.version)
        let told = "bytes 6936-\(Self.size - 1)/\(Self.size)"
        rest.head(206, Bench.imageHeaders + [(name: "content-range", value: told)])
        var body = Array(Self.bytes[6936...])
        if !agrees { body[63] ^= 1 }
        for start in stride(from: 0, to: body.count, by: step) where !rest.isCancelled {
            rest.body(Array(body[start..<min(body.count, start + step)]))
        }
        rest.finish()
        if !agrees { await bench.transport.waitForRequest(at: 2).answer(Self.bytes) }
        #expect(try await whole.content == Self.bytes)
        #expect(bench.transport.requests.count == (agrees ? 2 : 3))
    }

    // MARK: - Breaks

    /// Whoever waits when the network changes is not told, unless nothing comes any more.
    @Test func connectionsThatEndTogetherAreOneBreak() async throws {
        let bytes = Sample.jpeg(900_000)
        let (bench, open) = try Bench.opened(Sample.picture(1, size: 900_000), connections: 8)
        async let whole = open.bytes(offset: 0, count: bytes.count)
        var heads = 0
        func answerHeads() throws {
            while heads < bench.transport.requests.count {
                let request = bench.transport.requests[heads]
                let range = try #require(request.request.range)
                request.head(
                    206,
                    Bench.imageHeaders + [
                        (
                            name: "content-range",
                            value: "bytes \(range.first)-\(range.last ?? 0)/\(bytes.count)"
                        )
                    ])
                request.body(Array(bytes[Int(range.first)..<Int(range.first) + 1000]))
                heads += 1
            }
        }
        await bench.transport.waitForRequests(2)
        try answerHeads()
        #expect(heads > Download.triesWithoutProgress + 1)
        for request in bench.transport.requests { request.fail(.broken("reset")) }
        #expect(bench.transport.requests.count == heads + 1, "one request tries whether it goes on")
        var next = heads
        while next < bench.transport.requests.count {
            bench.transport.requests[next].answer(bytes)
            next += 1
        }
        #expect(try await whole.content == bytes)
    }
}
