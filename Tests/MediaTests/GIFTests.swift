import Testing

@testable import Media

@Suite struct GIFTests {
    /// Frames of one colour each.
    private func gif(delays: [Int], side: Int = 8) throws -> [UInt8] {
        try AnimatedPicture.encode(as: .gif, delays: delays, bound: 1 << 20) { index in
            try #require(
                JPEG.encode(Pixels(width: side, height: side, filledWith: UInt8(index * 16)), quality: 95))
        }
    }

    /// The hundredths of a second in its graphic control extensions (GIF89a, 23).
    private func hundredths(_ file: [UInt8]) -> [Int] {
        file.indices.dropLast(6).filter { file[$0..<$0 + 4].elementsEqual([0x21, 0xF9, 4, 4]) }
            .map { Int(file[$0 + 4]) | Int(file[$0 + 5]) << 8 }
    }

    @Test func roundedDelaysAddUpAndNoneIsTooShort() throws {
        #expect(try hundredths(gif(delays: [33, 33, 34, 100])) == [3, 4, 3, 10])
        #expect(try hundredths(gif(delays: [0, 10, 600_000])) == [2, 2, 59_998])
        let file = try gif(delays: [40])
        #expect(file.starts(with: Array("GIF89a".utf8) + [8, 0, 8, 0]) && file.last == 0x3B)
    }

    @Test func itIsSmallerThanItsFramesAndKeepsTheirColours() throws {
        let file = try gif(delays: [40, 40], side: 1300)
        // Within 600 pixels.
        #expect(file[6..<10].elementsEqual([0x58, 2, 0x58, 2]) && file.count < 20_000)
        var pixels = Pixels(width: 256, height: 4)
        for x in 0..<256 { for y in 0..<4 { pixels.set(x, y, red: UInt8(x), green: 0, blue: UInt8(255 - x)) } }
        let picture = IndexedPicture(pixels, PixelArea(x: 0, y: 0, width: 256, height: 4))
        #expect(picture.indices.count == 1024 && picture.colours.count <= 768)
        for (place, index) in picture.indices.enumerated() {
            let red = Int(picture.colours[Int(index) * 3])
            #expect(abs(red - place % 256) <= 16 && picture.colours[Int(index) * 3 + 1] == 0)
        }
    }
}
