import Foundation
import Media
import Testing

@testable import RankFS
import TestSupport

/// What is in a thumbnail.
@Suite struct PictureTests {
    private let uri = "file:///m/%E7%8C%AB.jpg"

    @Test(arguments: [
        (480, 960, 64, 128), (960, 480, 128, 64), (480, 480, 128, 128), (100, 50, 100, 50), (128, 128, 128, 128),
        (4000, 3, 128, 1), (129, 128, 128, 127),
    ])
    func sizes(_ width: Int, _ height: Int, _ newWidth: Int, _ newHeight: Int) {
        #expect(Pixels.size(width, height, within: 128) == (newWidth, newHeight))
        let fitted = Pixels(width: width, height: height, filledWith: 77).fitted(within: 128)
        #expect((fitted.width, fitted.height) == (newWidth, newHeight))
        // A picture of one grey keeps it: the shares of every pixel add up.
        let channels = fitted.bytes.enumerated().filter { $0.offset % 4 != 3 }.map(\.element)
        #expect(channels.allSatisfy { $0 == 77 })
    }

    @Test func eachPixelIsTheMeanOfItsArea() {
        var pixels = Pixels(width: 3, height: 1)
        pixels.set(0, 0, red: 30, green: 0, blue: 0)
        pixels.set(1, 0, red: 60, green: 90, blue: 0)
        pixels.set(2, 0, red: 0, green: 0, blue: 255)
        let half = pixels.fitted(within: 2)
        #expect((half.width, half.height) == (2, 1))
        // (30 + 60 / 2) / 1.5 and so on; bytes are blue, green, red.
        #expect(Array(half.bytes[0..<3]) == [0, 30, 40])
        #expect(Array(half.bytes[4..<7]) == [170, 30, 20])
    }

    @Test func textsStandInFrontOfThePixels() throws {
        let file = try #require(thumbnail.file(of: picture(300, 200)))
        let chunks = self.chunks(file)
        #expect(chunks.first == "IHDR")
        #expect(chunks.last == "IEND")
        let pixels = try #require(chunks.firstIndex(of: "IDAT"))
        #expect(chunks.indices.filter { chunks[$0] == "tEXt" }.count == 4)
        #expect(chunks.indices.allSatisfy { chunks[$0] != "tEXt" || $0 < pixels })
        #expect(
            PNG.texts(of: file) == [
                "Thumb::URI": uri, "Thumb::MTime": "1714489200", "Thumb::Size": "12345", "Software": "rankfs",
            ])
    }

    /// A thumbnail of one store becomes one of the other by its texts alone.
    @Test func textsAreReplaced() throws {
        let image = try #require(picture(300, 200).png())
        let shared = Thumbnail(uri: "./x.jpg", size: .normal, modified: 5, length: nil)
        let file = try #require(thumbnail.file(of: image).flatMap { shared.file(of: $0) })
        #expect(file == shared.file(of: image))
        #expect(PNG.texts(of: file) == ["Thumb::URI": "./x.jpg", "Thumb::MTime": "5", "Software": "rankfs"])
        for broken in [[], Array("GIF89a".utf8), Array(file.prefix(33))] { #expect(shared.file(of: broken) == nil) }
        // Cut off in the middle of a text, by whatever damaged it: no crash.
        _ = shared.file(of: Array(file.prefix(50)))
    }

    /// Qt reads tEXt as Latin-1 and iTXt as UTF-8 (PNG specification, 11.3.4).
    @Test func textsOutsideOfASCIIAreInternational() throws {
        let image = try #require(picture(3, 3).png())
        let texts = [(key: "Thumb::URI", value: "file:///猫.jpg"), (key: "Thumb::MTime", value: "5")]
        let once = try #require(PNG.setting(texts, areInternational: true, of: image))
        #expect(PNG.texts(of: once) == ["Thumb::URI": "file:///猫.jpg", "Thumb::MTime": "5"])
        #expect(Array(once[37..<41]) == Array("iTXt".utf8))
        #expect(PNG.setting([("Thumb::MTime", "6")], of: once) == PNG.setting([("Thumb::MTime", "6")], of: image))
        // What is compressed is none that was written here.
        var compressed = once
        compressed[41 + "Thumb::URI".utf8.count + 1] = 1
        #expect(PNG.texts(of: compressed) == ["Thumb::MTime": "5"])
    }

    /// Another program's decoder checks every checksum and tells the pixels.
    @Test func anotherProgramReadsIt() throws {
        let file = try #require(thumbnail.file(of: picture(256, 128)))
        let folder = TemporaryFolder()
        try Data(file).write(to: folder.url.appending(path: "a.png"))
        let read = try Tool("ffmpeg").run([
            "-v", "error", "-xerror", "-err_detect", "crccheck+explode", "-i", "\(folder)/a.png", "-f", "rawvideo",
            "-pix_fmt", "rgb24", "-",
        ])
        #expect(read.status == 0)
        #expect(read.output.count == 128 * 64 * 3)
        #expect(Array(read.output.prefix(3)) == [200, 100, 50])
    }

    @Test func aThumbnailIsValidForOneStateOfOneFile() throws {
        let file = try #require(thumbnail.file(of: picture(20, 10)))
        #expect(thumbnail.isValid(file))
        #expect(Thumbnail(uri: uri, size: .large, modified: 1_714_489_200, length: nil).isValid(file))
        #expect(!Thumbnail(uri: uri, size: .normal, modified: 1_714_489_201, length: 12345).isValid(file))
        #expect(!Thumbnail(uri: uri, size: .normal, modified: 1_714_489_200, length: 12346).isValid(file))
        #expect(!Thumbnail(uri: uri + "x", size: .normal, modified: 1_714_489_200, length: 12345).isValid(file))
        #expect(!thumbnail.isValid([]))
        #expect(!thumbnail.isValid(Array(file.prefix(60))))
        #expect(!thumbnail.isValid(Array("GIF89a".utf8)))
    }

    private var thumbnail: Thumbnail {
        Thumbnail(uri: uri, size: .normal, modified: 1_714_489_200, length: 12345)
    }

    private func picture(_ width: Int, _ height: Int) -> Pixels {
        var pixels = Pixels(width: width, height: height)
        for y in 0..<height { for x in 0..<width { pixels.set(x, y, red: 200, green: 100, blue: 50) } }
        return pixels
    }

    private func chunks(_ file: [UInt8]) -> [String] {
        var names: [String] = []
        var offset = 8
        while offset + 8 <= file.count {
            names.append(String(decoding: file[offset + 4..<offset + 8], as: UTF8.self))
            offset += 12 + file[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        return names
    }
}
