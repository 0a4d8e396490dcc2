import Testing

@testable import Media

@Suite struct JPEGTests {
    private let film = Film(width: 50, height: 34, side: 12)

    @Test func whatIsCompressedIsReadAgain() throws {
        let pixels = film.pixels(2)
        let bytes = try film.jpeg(2)
        let read = try JPEG.decode(bytes)
        #expect((read.width, read.height) == (50, 34))
        let error = zip(pixels.bytes, read.bytes).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
        #expect(error / pixels.bytes.count < 6)
        #expect(try film.jpeg(2) == bytes)
    }

    @Test func theHeaderTellsTheSize() throws {
        let bytes = try film.jpeg(0)
        let size = try #require(JPEG.size(of: bytes))
        #expect(size == (50, 34))
        // a profile before it, fill bytes before a marker
        let profile: [UInt8] = [0xff, 0xff, 0xff, 0xe2, 0, 6, 0xff, 0xc0, 0, 0]
        let longer = Array(bytes[..<2]) + profile + Array(bytes[2...])
        #expect(try #require(JPEG.size(of: longer)) == (50, 34))
        #expect(JPEG.size(of: []) == nil)
        #expect(JPEG.size(of: Array("RIFF1234WEBP".utf8)) == nil)
        // known from where the frame header ends, and the same from there on
        let first = try #require(bytes.indices.first { JPEG.size(of: Array(bytes[..<$0])) != nil })
        for count in first...bytes.count { #expect(try #require(JPEG.size(of: Array(bytes[..<count]))) == (50, 34)) }
    }

    @Test func noTruncationAndNoMutationTraps() throws {
        let bytes = try film.jpeg(1)
        for count in bytes.indices {
            _ = JPEG.size(of: Array(bytes[..<count]))
            _ = try? JPEG.decode(Array(bytes[..<count]), limit: 100_000)
        }
        for index in bytes.indices {
            for value in [0, 0xff, bytes[index] ^ 1] as [UInt8] {
                var wrong = bytes
                wrong[index] = value
                _ = JPEG.size(of: wrong)
                if let read = try? JPEG.decode(wrong, limit: 100_000) { #expect(read.width * read.height <= 100_000) }
            }
        }
        #expect(throws: MediaError.picture("it is no JPEG")) { try JPEG.decode([]) }
    }

    @Test func whatIsTooLargeIsNotRead() throws {
        let bytes = try film.jpeg(0)
        #expect(throws: Never.self) { try JPEG.decode(bytes, limit: 50 * 34) }
        #expect(throws: MediaError.self) { try JPEG.decode(bytes, limit: 50 * 34 - 1) }
    }

    @Test func pixelsThatAreNotThereAreNotCompressed() {
        let bytes = [UInt8](repeating: 9, count: 100)
        func encode(_ width: Int, _ height: Int, _ stride: Int, _ quality: Int = 80) -> Bool {
            bytes.withUnsafeBytes {
                JPEG.encode($0, width: width, height: height, stride: stride, quality: quality) != nil
            }
        }
        #expect(encode(5, 5, 20))
        #expect(encode(1, 4, 32))
        #expect(!encode(5, 6, 20))
        #expect(!encode(5, 5, 19))
        #expect(!encode(0, 5, 20))
        #expect(!encode(5, -1, 20))
        #expect(!encode(5, 5, 20, 0))
        #expect(!encode(70_000, 1, 280_000))
    }

    @Test func theStandInIsASmallPicture() throws {
        #expect(StandIn.jpeg.count < 60_000)
        #expect(StandIn.jpeg.suffix(2) == [0xff, 0xd9])
        #expect(try #require(JPEG.size(of: StandIn.jpeg)) == (1200, 800))
        let pixels = try JPEG.decode(StandIn.jpeg)
        #expect(Set(pixels.bytes.prefix(100_000)).count > 30)
    }
}
