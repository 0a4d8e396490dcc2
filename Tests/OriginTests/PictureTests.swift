import CTurboJPEG
import Testing

@testable import Origin

@Suite struct PictureTests {
    private let universe = Universe(seed: 1)

    @Test(arguments: [
        PageRendition.regular, .preview(size: "480x960"), .preview(size: "240x480"),
        .square(size: "250x250_80_a2", custom: false), .square(size: "48x48", custom: false),
    ])
    func jpegsDecodeAndHaveTheirLength(rendition: PageRendition) throws {
        for entry in universe.day("2024-05-01", ranks: 1...4) {
            let picture = try #require(universe.picture(at: rendition.path(entry.work, 0)))
            let bytes = try #require(picture.file())
            #expect(bytes.count == picture.bytes)
            #expect(bytes.prefix(2) == [0xff, 0xd8])
            #expect(bytes.suffix(2) == [0xff, 0xd9])
            #expect(try decoded(bytes).size == picture.pixels)
            #expect(max(picture.pixels.width, picture.pixels.height) <= 1200)
        }
    }

    /// People, and what tests desktops, tell the pictures of a day apart by their looks.
    @Test func noTwoPicturesOfADayLookAlike() throws {
        var looks: [[Int]] = []
        for entry in universe.day("2024-05-01", ranks: 1...60) {
            let path = PageRendition.square(size: "48x48", custom: false).path(entry.work, 0)
            let bytes = try #require(universe.picture(at: path)?.file())
            looks.append(try decoded(bytes).dots.map { Int($0) })
        }
        for (place, look) in looks.enumerated() {
            for other in looks[..<place] {
                let difference = zip(look, other).reduce(0) { $0 + abs($1.0 - $1.1) } / look.count
                #expect(difference > 7)
            }
        }
    }

    @Test func sizesAreAsOnTheRealHost() {
        var (regular, originals): ([Int], [Int]) = ([], [])
        for entry in universe.day("2024-05-01") {
            for rendition in [PageRendition.regular, .preview(size: "480x960"), .original] {
                let path = rendition.path(entry.work, 0)
                guard let picture = universe.picture(at: path) else {
                    Issue.record("\(path) leads nowhere")
                    continue
                }
                switch rendition {
                case .regular: regular.append(picture.bytes)
                case .preview: #expect((20_000...80_000).contains(picture.bytes))
                default: originals.append(picture.bytes)
                }
            }
        }
        #expect(regular.allSatisfy { (100_000...900_000).contains($0) })
        #expect(originals.allSatisfy { (300_000...12_000_000).contains($0) })
        #expect((250_000...450_000).contains(regular.reduce(0, +) / regular.count))
        #expect((1_000_000...2_500_000).contains(originals.reduce(0, +) / originals.count))
    }

    @Test func onlyTheOneTruePathLeadsToAPicture() throws {
        let found = universe.newest(.original) { work, _ in
            work.hash == nil && work.format == .jpg && work.kind != .animation
        }
        let path = try #require(found).path
        #expect(universe.picture(at: path) != nil)
        for wrong in [
            path.replacing(".jpg", with: ".png"), path.replacing("_p0", with: "_p99"),
            path.replacing("_p0", with: "-0123456789abcdef0123456789abcdef_p0"), path.replacing("_p0", with: "_p00"),
            path.replacing("/20", with: "/19"), path + "/", "/c/1x1" + path,
        ] {
            #expect(universe.picture(at: wrong) == nil, "\(wrong)")
        }
    }

    private struct Undecodable: Error {
        let reason: String
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
}
