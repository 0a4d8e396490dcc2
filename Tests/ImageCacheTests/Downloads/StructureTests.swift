import TestSupport
import Testing

@testable import ImageCache

/// Where pictures end by their own structure.
@Suite(.timeLimit(.minutes(1))) struct StructureTests {
    static func end(_ bytes: [UInt8], _ format: PictureFormat) -> Int64? {
        var reader = StructureReader(length: Int64(bytes.count)) { offset, count in
            Array(bytes[Int(offset)..<min(bytes.count, Int(offset) + count)])
        }
        return reader.end(of: format)
    }

    /// A number, most significant byte first.
    private static func big(_ value: Int, _ count: Int = 4) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    private static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        big(content.count + 8) + Array(type.utf8) + content
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        big(content.count) + Array(type.utf8) + content + [1, 2, 3, 4]
    }

    /// A picture of each format, of the smallest kind that has all that is gone through; JPEG with a thumbnail, a restart, filled
    /// marks and a second scan.
    static let pictures: [(PictureFormat, [UInt8])] = [
        (
            .jpeg,
            [
                0xFF, 0xD8, 0xFF, 0xE1, 0, 8, 0xFF, 0xD8, 9, 9, 0xFF, 0xD9, 0xFF, 0xDA, 0, 3, 1, 5, 0xFF, 0, 7, 0xFF,
                0xD0, 8,
            ]
                + [0xFF, 0xFF, 0xC4, 0, 2, 0xFF, 0xDA, 0, 2, 1, 2, 0xFF, 0xD9]
        ),
        (
            .png,
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", [1, 2, 3])
                + chunk("IDAT", [0, 0x49, 0x45])
                + [0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82]
        ),
        (
            .gif,
            Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0] + [1, 2, 3, 4, 5, 6] + [0x21, 0xF9, 1, 0x3B, 0]
                + [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x3B, 0x3B, 0, 0x3B]
        ),
        (.webp, Array("RIFF".utf8) + [8, 0, 0, 0] + Array("WEBPVP8 ".utf8)),
        (.mp4, box("ftyp", [1]) + box("moov", [2, 3]) + box("mdat", [4, 5, 6])),
        (.avif, box("ftyp", [1]) + box("meta", []) + big(1) + Array("mdat".utf8) + big(18, 8) + [7, 7]),
        (.webm, [0x1A, 0x45, 0xDF, 0xA3, 0x81, 1, 0x18, 0x53, 0x80, 0x67, 0x40, 3, 1, 2, 3]),
    ]

    @Test(arguments: pictures.indices) func aPictureEndsWhereItEnds(index: Int) {
        let (format, bytes) = Self.pictures[index]
        #expect(Self.end(bytes, format) == Int64(bytes.count))
        for length in 0..<bytes.count {
            #expect(Self.end(Array(bytes[..<length]), format) == nil, "\(length)")
        }
        // What cameras and editors write behind the end; boxes and elements have nothing behind them.
        guard !format.hasNoEndMark else { return }
        #expect(Self.end(bytes + [0, 0, 0, 0xFF, 0xD9], format) == Int64(bytes.count))
    }

    @Test func aSegmentWithoutASizeIsGoneThrough() {
        let head: [UInt8] = [0x1A, 0x45, 0xDF, 0xA3, 0x80, 0x18, 0x53, 0x80, 0x67, 0xFF]
        let cluster: [UInt8] = [0x1F, 0x43, 0xB6, 0x75, 0x82, 1, 2]
        #expect(Self.end(head + cluster + cluster, .webm) == 24)
        #expect(Self.end(head + cluster + cluster.dropLast(), .webm) == nil)
        #expect(Self.end(head + [0x1F, 0x43, 0xB6, 0x75, 0xFF], .webm) == nil, "it ends wherever it is cut")
    }

    @Test func aBoxWithoutASizeShowsNoEnd() {
        #expect(Self.end(Self.box("ftyp", []) + Self.box("moov", []) + [0, 0, 0, 0] + Array("mdat".utf8), .mp4) == nil)
        #expect(Self.end(Self.box("ftyp", []) + Self.box("moov", []), .mp4) == nil, "nothing to play")
    }

    /// What comes from outside neither traps nor leads behind its end nor goes on for ever.
    @Test(arguments: 0..<200) func noiseHasNoEndBehindItsOwn(seed: UInt64) {
        var dice = Random(seed: seed)
        for (format, bytes) in Self.pictures {
            var noise = bytes
            for _ in 0..<Int.random(in: 1...4, using: &dice) {
                noise[Int.random(in: 0..<noise.count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
            }
            if let end = Self.end(noise, format) { #expect((0...Int64(noise.count)).contains(end)) }
        }
    }

    // MARK: - Downloads

    private static let jpeg = Sample.jpeg(20_000)
    private static let trailer: [UInt8] = Array("SEFT".utf8) + Array(repeating: 0, count: 300)

    /// Phones and editors write more behind the end; that is the picture's too.
    @Test(arguments: [20_000, 40]) func bytesBehindTheEndAreThePicturesWhereALengthWasTold(asked: Int) async throws {
        let bytes = Self.jpeg + Self.trailer
        let (bench, open) = try Bench.opened(Sample.picture(1, size: Int64(bytes.count)))
        let offset = bytes.count - asked
        async let end = open.bytes(offset: Int64(offset), count: asked)
        await bench.transport.waitForRequest(at: 0).answer(bytes)
        #expect(try await end.content == Array(bytes[offset...]))
        open.close()
        await bench.settle()
        #expect(bench.cache.storedSize(of: Sample.picture(1, size: nil).id) == Int64(bytes.count))
    }

    @Test func bytesBehindTheEndAreNotTakenWhereNoneWas() async throws {
        let (bench, open) = try Bench.opened(Sample.picture(1, size: nil))
        async let error = failure { try await open.bytes(offset: 0, count: 30_000) }
        for index in 0..<2 {
            let request = await bench.transport.waitForRequest(at: index)
            request.head(200, Bench.imageHeaders)
            request.body(Self.jpeg + Self.trailer)
            request.finish()
        }
        #expect(await error.isDamaged)
    }

    /// A format that has no mark at its end shows it by its structure, if nothing else does.
    @Test(arguments: [0, 1]) func aFilmWithoutALengthIsWholeOrAnError(missing: Int) async throws {
        let bench = try Bench()
        let film = Self.pictures.first { $0.0 == .mp4 }?.1 ?? []
        let picture = Sample.picture(1, size: nil, fileExtension: "mp4")
        let headers = [(name: "content-type", value: "video/mp4"), (name: "last-modified", value: Bench.version)]
        let open = try bench.open(picture)
        let reading = Task { try await open.bytes(offset: 0, count: film.count).content }
        for index in 0...missing {
            let request = await bench.transport.waitForRequest(at: index)
            request.head(200, headers)
            request.body(film.dropLast(missing))
            request.finish()
        }
        #expect((try? await reading.value) == (missing == 0 ? film : nil))
    }
}
