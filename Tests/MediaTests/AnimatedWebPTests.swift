import Testing

@testable import Media

@Suite struct AnimatedWebPTests {
    private let film = Film(width: 97, height: 65, side: 20)

    private func encode(_ delays: [Int], bound: Int = 1 << 20) throws -> [UInt8] {
        try AnimatedWebP.encode(delays: delays, bound: bound) { try film.jpeg($0) }
    }

    /// The numbers behind a name in what `webpinfo` tells, in order.
    private func numbers(_ name: String, in text: String) -> [Int] {
        text.split(separator: "\n").compactMap { line in
            let words = line.split { $0 == " " || $0 == ":" }
            return words.first.map(String.init) == name ? words.last.flatMap { Int($0) } : nil
        }
    }

    @Test func everyFrameHasItsDelay() throws {
        let workplace = try Workplace()
        let delays = [70, 0, 6000, 70, 700_000]
        let text = try Tool.run("webpinfo", workplace.write(encode(delays), "x.webp"))
        #expect(text.contains("No error detected."))
        #expect(text.contains("Canvas size 97 x 65"))
        #expect(text.contains("Loop count      : 0"))
        #expect(numbers("Duration", in: text) == delays.map(FrameLimits.shown))
        // 1 is “not blended”
        #expect(numbers("Blend", in: text) == [1, 1, 1, 1, 1])
        #expect(numbers("Dispose", in: text) == [0, 0, 0, 0, 0])
    }

    /// What is shown after each frame is close to what the JPEG showed, though only a part of it was written.
    @Test func theFramesShowWhatTheirJPEGsShow() throws {
        let workplace = try Workplace()
        let path = try workplace.write(encode([70, 70, 70, 70]), "x.webp")
        let text = try Tool.run("webpinfo", path)
        let (lefts, tops) = (numbers("Offset_X", in: text), numbers("Offset_Y", in: text))
        #expect(lefts.count == 4 && lefts[1...].allSatisfy { $0 > 0 } && tops[1...].allSatisfy { $0 > 0 })
        var shown = Pixels(width: 97, height: 65, filledWith: 0)
        for index in 0..<4 {
            try Tool.run("webpmux", "-get", "frame", "\(index + 1)", path, "-o", workplace.path("f.webp"))
            try Tool.run("dwebp", workplace.path("f.webp"), "-ppm", "-o", workplace.path("f.ppm"))
            try draw(workplace.read("f.ppm"), lefts[index], tops[index], on: &shown)
            let wanted = try JPEG.decode(try film.jpeg(index))
            let errors = zip(shown.bytes, wanted.bytes).map { abs(Int($0) - Int($1)) }
            #expect(errors.reduce(0, +) / errors.count < 6, "frame \(index)")
        }
    }

    @Test func framesThatAreTheSameStayFrames() throws {
        let workplace = try Workplace()
        let jpeg = try film.jpeg(0)
        let bytes = try AnimatedWebP.encode(delays: [40, 50, 60], bound: 1 << 20) { _ in jpeg }
        let one = try AnimatedWebP.encode(delays: [40], bound: 1 << 20) { _ in jpeg }
        #expect(bytes.count < one.count + 250)
        let text = try Tool.run("webpinfo", workplace.write(bytes, "x.webp"))
        #expect(numbers("Duration", in: text) == [40, 50, 60])
    }

    @Test func theSameFramesGiveTheSameBytes() throws {
        #expect(try encode([70, 80, 90]) == encode([70, 80, 90]))
    }

    @Test func theSmallestPicturesWork() throws {
        let workplace = try Workplace()
        for (width, height) in [(1, 1), (2, 1), (1, 3)] {
            let bytes = try AnimatedWebP.encode(delays: [20, 20, 20], bound: 1 << 20) { index in
                let pixels = Pixels(width: width, height: height, filledWith: UInt8(index * 100))
                return JPEG.encode(pixels, quality: 90) ?? []
            }
            let text = try Tool.run("webpinfo", workplace.write(bytes, "x.webp"))
            #expect(numbers("Duration", in: text) == [20, 20, 20])
        }
    }

    @Test func theBoundHolds() throws {
        let length = try encode([70, 70, 70]).count
        #expect(try encode([70, 70, 70], bound: length).count == length)
        var asked: [Int] = []
        #expect(throws: MediaError.tooLarge(bound: 60)) {
            try AnimatedWebP.encode(delays: [70, 70, 70], bound: 60) {
                asked.append($0)
                return try film.jpeg($0)
            }
        }
        #expect(asked == [0])
        #expect(throws: MediaError.tooLarge(bound: length - 1)) { try encode([70, 70, 70], bound: length - 1) }
    }

    @Test func cancellingEndsItBetweenFrames() throws {
        var asked: [Int] = []
        #expect(throws: MediaError.cancelled) {
            try AnimatedWebP.encode(delays: [70, 70, 70], bound: 1 << 20, isCancelled: { asked.count == 2 }) {
                asked.append($0)
                return try film.jpeg($0)
            }
        }
        #expect(asked == [0, 1])
    }

    @Test func whatCannotBeMadeIsRefused() throws {
        struct Lost: Error {}
        #expect(throws: Lost.self) { try AnimatedWebP.encode(delays: [70], bound: 1 << 20) { _ in throw Lost() } }
        #expect(throws: MediaError.self) { try AnimatedWebP.encode(delays: [], bound: 1 << 20) { _ in [] } }
        #expect(throws: MediaError.picture("it is no JPEG")) {
            try AnimatedWebP.encode(delays: [70], bound: 1 << 20) { _ in [1, 2, 3] }
        }
        #expect(throws: MediaError.animation("its frames are of different sizes")) {
            try AnimatedWebP.encode(delays: [70, 70], bound: 1 << 20) { index in
                JPEG.encode(Pixels(width: 8 + index, height: 8), quality: 80) ?? []
            }
        }
        #expect(throws: MediaError.self) {
            try AnimatedWebP.encode(delays: [70], bound: 1 << 20) { _ in
                JPEG.encode(Pixels(width: 16_384, height: 1), quality: 80) ?? []
            }
        }
    }

    @Test func whatChangedIsFoundToThePixel() {
        let last = Pixels(width: 11, height: 7)
        #expect(PixelArea.changed(from: last, to: last) == PixelArea(x: 0, y: 0, width: 1, height: 1))
        for y in 0..<7 {
            for x in 0..<11 {
                var next = last
                next.set(x, y, red: 255, green: 254, blue: 255)
                let area = PixelArea(x: x & ~1, y: y & ~1, width: 1 + (x & 1), height: 1 + (y & 1))
                #expect(PixelArea.changed(from: last, to: next) == area)
                next.set(10, 6, red: 0, green: 0, blue: 0)
                let wider = PixelArea(x: x & ~1, y: y & ~1, width: 11 - (x & ~1), height: 7 - (y & ~1))
                #expect(PixelArea.changed(from: last, to: next) == wider)
            }
        }
    }

    /// Draws a plain `P6` file of 8 bits.
    private func draw(_ ppm: [UInt8], _ left: Int, _ top: Int, on pixels: inout Pixels) throws {
        let words = ppm.prefix(40).split(maxSplits: 4) { $0 == 0x20 || $0 == 0x0a }
            .prefix(3).map { String(decoding: $0, as: UTF8.self) }
        let (width, height) = (try #require(Int(words[1])), try #require(Int(words[2])))
        let colours = ppm.suffix(width * height * 3)
        for (index, start) in stride(from: colours.startIndex, to: colours.endIndex, by: 3).enumerated() {
            pixels.set(
                left + index % width, top + index / width, red: colours[start], green: colours[start + 1],
                blue: colours[start + 2])
        }
    }
}
