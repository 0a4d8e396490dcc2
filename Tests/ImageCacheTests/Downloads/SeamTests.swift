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
        first.headOnly(length: Self.size)
        first.body(Array(Self.bytes[..<7000]))
        first.fail(.broken("reset"))
        return await bench.transport.waitForRequest(at: 1)
    }

    @Test(arguments: [0, 6935, 6937, 12_000])
    func aPartOfAnotherPlaceIsNotTakenAndTheWholeIsAskedForAtOnce(place: Int) async throws {
        let bench = try Bench()
        let open = try bench.open(Sample.picture(1, size: Int64(Self.size)))
        async let whole = open.bytes(offset: 0, count: Self.size)
        try misplace(await brokenOff(bench), Self.bytes, to: place)
        let plain = await bench.transport.waitForRequest(at: 2)
        #expect(plain.asked == "whole")
        plain.answer(Self.bytes)
        #expect(try await whole.content == Self.bytes)
        #expect(bench.transport.requests.count == 3)
        open.close()
    }

    /// What was read before is right: it stands before the seam.
    @Test func whoHasReadUpToTheSeamGoesOn() async throws {
        let bench = try Bench()
        let open = try bench.open(Sample.picture(1, size: Int64(Self.size)))
        async let beginning = open.bytes(offset: 0, count: 7000)
        let first = await bench.transport.waitForRequest(at: 0)
        first.headOnly(length: Self.size)
        first.body(Array(Self.bytes[..<7000]))
        #expect(try await beginning.content == Array(Self.bytes[..<7000]))
        async let whole = open.bytes(offset: 0, count: Self.size)
        first.fail(.broken("reset"))
        try misplace(await bench.transport.waitForRequest(at: 1), Self.bytes, to: 7000)
        await bench.transport.waitForRequest(at: 2).answer(Self.bytes)
        #expect(try await whole.content == Self.bytes)
        open.close()
    }

    /// A part that nothing touches cannot be compared; the picture's own beginning is known wherever it comes.
    @Test func theBeginningInPlaceOfAPartIsFoundOutByItself() async throws {
        let bench = try Bench()
        let bytes = Sample.jpeg(12 << 20)
        let open = try bench.open(Sample.picture(1, size: Int64(bytes.count)))
        async let middle = open.bytes(offset: 6 << 20, count: 4096)
        try misplace(await bench.transport.waitForRequest(at: 0), bytes, to: 0)
        let plain = await bench.transport.waitForRequest(at: 1)
        #expect(plain.asked == "whole")
        plain.answer(bytes)
        #expect(try await middle.content == Array(bytes[6 << 20..<(6 << 20) + 4096]))
        open.close()
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
        download.present = RangeSet([0..<100_000, 200_000..<300_000])
        download.released(to: 300_000)
        let seam = Seam(border: 200_000, place: 200_000, bytes: [1], part: 1)
        download.meetings = [seam]
        let outcome = download.compared(seam, agrees: false).outcome
        guard case .failed(.damaged, keepsPartial: false) = outcome else {
            Issue.record("\(String(describing: outcome))")
            return
        }
    }

    /// Parts are held back while what they are compared with is there, and nobody waits for what lies between.
    @Test func whatCanBeComparedIsHeldBackUntilItWas() {
        let total: Int64 = 1_000_000
        var download = Download(format: .jpeg, total: total, now: DownloadStateTests.now)
        (download.headIsRight, download.tailIsRight, download.validator) = (true, true, "\"a\"")
        download.present = RangeSet([0..<100_000])
        let near = download.begin(Piece(gap: 100_000..<200_000), id: 1)
        #expect(near.asked == 99_936..<200_000)
        let far = download.begin(Piece(gap: 500_000..<600_000), id: 2)
        #expect(far.asked == 500_000..<600_000)
        let between = download.begin(Piece(gap: 200_000..<500_000), id: 3)
        #expect(between.asked == 199_936..<500_064)
        download.present = RangeSet([0..<200_000, 300_000..<400_000, 500_000..<600_000])
        #expect(!download.canRelease(150_000..<150_100))
        #expect(download.canRelease(550_000..<550_100))
        #expect(!download.canRelease(350_000..<350_100))
        let seam = Seam(border: 100_000, place: 99_936, bytes: Array(repeating: 1, count: 64), part: 1)
        #expect(download.met(seam) == DownloadChange())
        #expect(download.comparable == [seam])
        #expect(download.compared(seam, agrees: true).outcome == nil)
        #expect(download.canRelease(150_000..<150_100))
    }

    /// Of a walk backwards only the end of a part meets what is there: its reader does not wait for that, and a kill before that
    /// leaves nothing that would be taken for compared.
    @Test func aPartWhoseEndAloneIsComparedIsReadAtOnceAndKeptOnlyThen() async throws {
        let scratch = Scratch()
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
        open.close()
    }

    /// Whoever seeks into a part takes its end over, also before its answer has come.
    @Test func aPartThatWasCutIsAnsweredAsItWasAskedFor() {
        let total: Int64 = 10_000_000
        var download = Download(format: .jpeg, total: total, now: DownloadStateTests.now)
        download.present = RangeSet([6_000_000..<6_100_000])
        let cut = download.begin(Piece(gap: 0..<6_000_000), id: 1)
        #expect(cut.asked == 0..<6_000_064)
        _ = download.begin(Piece(gap: 3_000_000..<6_000_000, cut: 1), id: 2)
        let head = DownloadStateTests.head(cut, total: total)
        #expect(download.answered(head, to: 1, now: DownloadStateTests.now) == DownloadChange())
        #expect(download.segments[1]?.end == 3_000_000)
    }

    /// A source may send less than it was asked for, but not less than the seam.
    @Test func aPartThatEndsWithinItsSeamIsAnError() async throws {
        let bench = try Bench()
        let open = try bench.open(Sample.picture(1, size: Int64(Self.size)))
        async let error = failure { try await open.bytes(offset: 0, count: Self.size) }
        let rest = await brokenOff(bench)
        rest.head(206, Bench.imageHeaders + [(name: "content-range", value: "bytes 6936-6940/*")])
        rest.body(Array(Self.bytes[6936...6940]))
        rest.finish()
        guard case .broken = await error else { Issue.record("nothing was brought, and that was taken"); return }
        #expect(bench.transport.requests.count == 2)
        open.close()
    }

    /// However a body is cut into pieces, its own bytes and its seams come out whole.
    @Test(arguments: 1...200) func aFrameTakesBodiesInAnyPieces(step: Int) {
        let segment = Segment(
            asked: 1000..<1100, seams: SeamLengths(before: 64, behind: 64), next: 1000, end: 1100)
        let body = (0..<228).map { UInt8($0) }
        var frame = BodyFrame(segment, part: 7)
        var own: [UInt8] = []
        var seams: [Seam] = []
        for start in stride(from: 0, to: body.count, by: step) {
            Array(body[start..<min(body.count, start + step)]).withUnsafeBytes { bytes in
                guard let (mine, whole) = frame?.take(bytes) else { return }
                own += bytes[mine]
                seams += whole
            }
        }
        #expect(own == Array(body[64..<164]))
        #expect(
            seams == [
                Seam(border: 1000, place: 936, bytes: Array(body[..<64]), part: 7),
                Seam(border: 1100, place: 1100, bytes: Array(body[164...]), part: 7),
            ])
    }

    // MARK: - Breaks

    /// Whoever waits when the network changes is not told, unless nothing comes any more.
    @Test func connectionsThatEndTogetherAreOneBreak() async throws {
        let bench = try Bench(connections: 8)
        let bytes = Sample.jpeg(900_000)
        let open = try bench.open(Sample.picture(1, size: 900_000))
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
        #expect(heads > DownloadLimits.triesWithoutProgress + 1)
        for request in bench.transport.requests { request.fail(.broken("reset")) }
        #expect(bench.transport.requests.count == heads + 1, "one request tries whether it goes on")
        var next = heads
        while next < bench.transport.requests.count {
            bench.transport.requests[next].answer(bytes)
            next += 1
        }
        #expect(try await whole.content == bytes)
        open.close()
    }
}
