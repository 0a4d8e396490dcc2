import CCairo
import CTurboJPEG
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
        for format in [DrawnFormat.jpeg, .png] {
            let found = try #require(
                ServedPath.newest(.original(format)) { work, _ in
                    work.format == format && work.kind != .animation && work.pages[0].width < 1400
                })
            let picture = try #require(universe.picture(at: found.path, now: noon))
            let bytes = whole(try #require(Painter.draw(picture)))
            #expect(bytes.count == picture.bytes)
            #expect(picture.pixels == found.work.pages[0])
            if format == .jpeg {
                #expect(try decodedSize(bytes) == picture.pixels)
            } else {
                #expect(try pngSize(bytes) == picture.pixels)
            }
        }
    }

    @Test func everyBytePositionReadsTheSameInAnyPieces() throws {
        for format in [DrawnFormat.jpeg, .png] {
            let picture = Picture(
                path: "/x.\(format.rawValue)", pixels: PixelSize(width: 60, height: 90), format: format, bytes: 200_003,
                modified: JapanTime(seconds: 0), subject: subject)
            let drawn = try #require(Painter.draw(picture))
            let bytes = whole(drawn)
            for piece in [1, 7, 4096, 65_537] {
                var start = piece == 1 ? bytes.count - 70_000 : 0
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
        let picture = Picture(
            path: "/x.jpg", pixels: PixelSize(width: 60, height: 90), format: .jpeg, bytes: 100_000,
            modified: JapanTime(seconds: 0), subject: subject)
        let bytes = whole(try #require(Painter.draw(picture)))
        // the drawn part alone ends where the padding begins
        let mark = try #require(bytes.firstRange(of: [0xff, 0xfe])).lowerBound
        let drawn = Array(bytes[..<mark]) + [0xff, 0xd9]
        for padding in [0, 1, 2, 3, 4, 5, 65_537, 65_538, 65_540, 65_541, 200_000] {
            let padded = whole(DrawnPicture(jpeg: drawn, length: drawn.count + padding, salt: 7))
            #expect(padded.count == drawn.count + padding)
            #expect(try decodedSize(padded) == picture.pixels, "\(padding) bytes of padding")
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
        let work = try #require(ServedPath.newest { work, _ in work.hash == nil && work.format == .jpeg }).work
        let path = ServedPath(work, page: 0, kind: .original(.jpeg)).text
        #expect(universe.picture(at: path, now: noon) != nil)
        for wrong in [
            path.replacing(".jpg", with: ".png"), path.replacing("_p0", with: "_p99"),
            path.replacing("_p0", with: "-0123456789abcdef0123456789abcdef_p0"), path.replacing("_p0", with: "_p00"),
            path.replacing("/20", with: "/19"), path + "/", "/c/1x1" + path,
        ] {
            #expect(universe.picture(at: wrong, now: noon) == nil, "\(wrong)")
        }
    }

    private var subject: PictureSubject {
        PictureSubject(scene: 5, title: "題", author: "a", place: "daily", rank: 3, page: 0, pageCount: 2)
    }

    private struct Undecodable: Error {
        let reason: String
    }

    /// Decodes every pixel with TurboJPEG, whose warnings count as errors.
    private func decodedSize(_ bytes: [UInt8]) throws -> PixelSize {
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
        return PixelSize(width: Int(width), height: Int(height))
    }

    /// Walks all chunks with their checksums, then decodes with libpng.
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
        var rest = bytes[...]
        let surface = withUnsafeMutablePointer(to: &rest) { rest in
            cairo_image_surface_create_from_png_stream(
                { closure, data, length in
                    guard let rest = closure?.assumingMemoryBound(to: ArraySlice<UInt8>.self), let data,
                        rest.pointee.count >= Int(length)
                    else { return CAIRO_STATUS_READ_ERROR }
                    for index in 0..<Int(length) { data[index] = rest.pointee.popFirst() ?? 0 }
                    return CAIRO_STATUS_SUCCESS
                }, rest)
        }
        defer { cairo_surface_destroy(surface) }
        guard cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS else { throw Undecodable(reason: "libpng") }
        return PixelSize(
            width: Int(cairo_image_surface_get_width(surface)), height: Int(cairo_image_surface_get_height(surface)))
    }
}
