import CPNG
import CTurboJPEG
import CZlib
import Testing

@testable import Origin

@Suite struct PictureTests {
    private let universe = Universe(seed: 1)

    private func whole(_ picture: DrawnPicture) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: picture.length)
        let count = bytes.withUnsafeMutableBytes { picture.read(from: 0, into: $0) }
        return count == bytes.count ? bytes : []
    }

    @Test(arguments: [
        ServedPath.Kind.regular, .preview(size: "480x960"), .preview(size: "240x480"),
        .square(size: "250x250_80_a2", custom: false), .square(size: "48x48", custom: false),
    ])
    func jpegsDecodeAndHaveTheirLength(kind: ServedPath.Kind) throws {
        for entry in universe.entries(mode: 0, day: universe.newest(at: noon), ranks: 1...4) {
            let path = ServedPath(entry.work, page: 0, kind: kind).text
            let picture = try #require(universe.picture(at: path, now: noon))
            let bytes = whole(try #require(Painter.draw(picture)))
            #expect(bytes.count == picture.bytes)
            #expect(bytes.prefix(2) == [0xff, 0xd8])
            #expect(bytes.suffix(2) == [0xff, 0xd9])
            #expect(try decodedSize(bytes) == picture.pixels)
            #expect(max(picture.pixels.width, picture.pixels.height) <= 1200)
        }
    }

    @Test func originalsHaveTheRecordsPixels() throws {
        for format in [ServedFormat.jpg, .png] {
            let found = try #require(
                ServedPath.newest(.original(format)) { work, _ in
                    work.format == format && work.kind != .animation && work.pages[0].width < 1400
                })
            let picture = try #require(universe.picture(at: found.path, now: noon))
            let bytes = whole(try #require(Painter.draw(picture)))
            #expect(bytes.count == picture.bytes)
            #expect(picture.pixels == found.work.pages[0])
            if format == .jpg {
                #expect(try decodedSize(bytes) == picture.pixels)
            } else {
                #expect(try pngSize(bytes) == picture.pixels)
            }
        }
    }

    @Test func everyBytePositionReadsTheSameInAnyPieces() throws {
        for format in [ServedFormat.jpg, .png, .webp] {
            let drawn = try #require(Painter.draw(picture(format, bytes: 100_004)))
            let bytes = whole(drawn)
            for piece in [61, 4096, 65_537] {
                var start = piece == 61 ? bytes.count - 20_000 : 0
                var same = true
                while start < bytes.count {
                    var part = [UInt8](repeating: 0, count: piece)
                    let count = part.withUnsafeMutableBytes { drawn.read(from: start, into: $0) }
                    same = same && count > 0 && bytes[start..<start + count].elementsEqual(part[..<count])
                    start += max(1, count)
                }
                #expect(same, "pieces of \(piece)")
                #expect(start == bytes.count)
            }
        }
    }

    @Test func shortPaddingIsLegalToo() throws {
        let picture = picture(.jpg, bytes: 100_000)
        let drawn = try #require(Painter.canvas(picture.subject, picture.pixels, dot: 1).file(.jpg, quality: 80))
        for padding in [0, 1, 2, 3, 4, 5, 16_384, 16_387, 16_388, 16_389, 200_000] {
            let padded = whole(try #require(DrawnPicture(drawn, .jpg, length: drawn.count + padding, salt: 7)))
            #expect(padded.count == drawn.count + padding)
            #expect(try decodedSize(padded) == picture.pixels, "\(padding) bytes of padding")
        }
        #expect(DrawnPicture(drawn, .jpg, length: drawn.count - 1, salt: 7) == nil)
    }

    private func picture(_ format: ServedFormat, bytes: Int) -> Picture {
        Picture(
            path: "/x", pixels: PixelSize(width: 60, height: 90), format: format, bytes: bytes,
            modified: JapanTime(seconds: 0), subject: PictureSubject(scene: 5, label: "3", page: 1, pageCount: 2))
    }

    /// People, and what tests desktops, tell the pictures of a day apart by their looks.
    @Test func noTwoPicturesOfADayLookAlike() throws {
        var looks: [[Int]] = []
        for entry in universe.entries(mode: 0, day: universe.newest(at: noon), ranks: 1...60) {
            let path = ServedPath(entry.work, page: 0, kind: .square(size: "48x48", custom: false)).text
            let picture = try #require(universe.picture(at: path, now: noon))
            let bytes = whole(try #require(Painter.draw(picture)))
            looks.append(try decoded(bytes).dots.map { Int($0) })
        }
        for (place, look) in looks.enumerated() {
            for other in looks[..<place] {
                let difference = zip(look, other).reduce(0) { $0 + abs($1.0 - $1.1) } / look.count
                #expect(difference > 7)
            }
        }
    }

    @Test func drawingAgainGivesTheSameBytes() throws {
        let path = try #require(ServedPath.newest()).path
        let picture = try #require(universe.picture(at: path, now: noon))
        #expect(whole(try #require(Painter.draw(picture))) == whole(try #require(Painter.draw(picture))))
        let other = try #require(ServedPath.newest { _, other in other != path }).path
        let second = try #require(universe.picture(at: other, now: noon))
        #expect(whole(try #require(Painter.draw(second))) != whole(try #require(Painter.draw(picture))))
    }

    @Test func sizesAreAsOnTheRealHost() {
        var regular: [Int] = []
        var originals: [Int] = []
        for entry in universe.entries(mode: 0, day: universe.newest(at: noon), ranks: 1...500) {
            for kind in [ServedPath.Kind.regular, .preview(size: "480x960"), .original(entry.work.format)] {
                let path = ServedPath(entry.work, page: 0, kind: kind).text
                guard let picture = universe.picture(at: path, now: noon) else {
                    Issue.record("\(path) leads nowhere")
                    continue
                }
                switch kind {
                case .regular: regular.append(picture.bytes)
                case .preview: #expect(DrawnSize.preview.contains(picture.bytes))
                default: originals.append(picture.bytes)
                }
            }
        }
        #expect(regular.allSatisfy(DrawnSize.regular.contains))
        #expect(originals.allSatisfy(DrawnSize.original.contains))
        #expect((250_000...450_000).contains(regular.reduce(0, +) / regular.count))
        #expect((1_000_000...2_500_000).contains(originals.reduce(0, +) / originals.count))
    }

    @Test func onlyTheOneTruePathLeadsToAPicture() throws {
        let work = try #require(ServedPath.newest { work, _ in work.hash == nil && work.format == .jpg }).work
        let path = ServedPath(work, page: 0, kind: .original(.jpg)).text
        #expect(universe.picture(at: path, now: noon) != nil)
        for wrong in [
            path.replacing(".jpg", with: ".png"), path.replacing("_p0", with: "_p99"),
            path.replacing("_p0", with: "-0123456789abcdef0123456789abcdef_p0"), path.replacing("_p0", with: "_p00"),
            path.replacing("/20", with: "/19"), path + "/", "/c/1x1" + path,
        ] {
            #expect(universe.picture(at: wrong, now: noon) == nil, "\(wrong)")
        }
    }

    private struct Undecodable: Error {
        let reason: String
    }

    private func decodedSize(_ bytes: [UInt8]) throws -> PixelSize {
        try decoded(bytes).size
    }

    /// Decodes every pixel with TurboJPEG, whose warnings count as errors.
    private func decoded(_ bytes: [UInt8]) throws -> (size: PixelSize, dots: [UInt8]) {
        let handle = tjInitDecompress()
        defer { tjDestroy(handle) }
        var width: Int32 = 0
        var height: Int32 = 0
        var sampling: Int32 = 0
        var colours: Int32 = 0
        guard
            tjDecompressHeader3(handle, bytes, UInt(bytes.count), &width, &height, &sampling, &colours) == 0
        else { throw Undecodable(reason: "header") }
        var pixels = [UInt8](repeating: 0, count: Int(width * height) * 3)
        let flags = TJFLAG_STOPONWARNING
        guard
            tjDecompress2(
                handle, bytes, UInt(bytes.count), &pixels, width, 0, height, Int32(TJPF_RGB.rawValue), flags) == 0
        else { throw Undecodable(reason: String(cString: tjGetErrorStr2(handle))) }
        return (PixelSize(width: Int(width), height: Int(height)), pixels)
    }

    /// Walks all chunks with their checksums, then decodes every pixel with libpng.
    private func pngSize(_ bytes: [UInt8]) throws -> PixelSize {
        var names: [String] = []
        var position = 8
        while position + 12 <= bytes.count {
            let length = bytes[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
            let body = Array(bytes[position + 4..<position + 8 + length])
            let sum = bytes[position + 8 + length..<position + 12 + length].reduce(0) { $0 << 8 | UInt($1) }
            guard crc32(0, body, UInt32(body.count)) == sum else { throw Undecodable(reason: "checksum") }
            names.append(String(decoding: body.prefix(4), as: UTF8.self))
            position += 12 + length
        }
        guard position == bytes.count, names.last == "IEND", names.contains("rkPd") else {
            throw Undecodable(reason: "chunks \(names)")
        }
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        defer { png_image_free(&image) }
        guard png_image_begin_read_from_memory(&image, bytes, bytes.count) != 0 else {
            throw Undecodable(reason: "libpng")
        }
        image.format = png_uint_32(PNG_FORMAT_FLAG_COLOR)
        var pixels = [UInt8](repeating: 0, count: Int(image.width * image.height) * 3)
        guard png_image_finish_read(&image, nil, &pixels, 0, nil) != 0 else { throw Undecodable(reason: "libpng") }
        return PixelSize(width: Int(image.width), height: Int(image.height))
    }
}
