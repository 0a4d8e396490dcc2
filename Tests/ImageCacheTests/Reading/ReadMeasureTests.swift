import Testing

@testable import ImageCache

@Suite struct ReadMeasureTests {
    /// What is told apart after these reads of a picture so long.
    private func measure(_ ranges: [Range<Int64>], of length: Int64) -> ReadMeasure {
        var measure = ReadMeasure()
        for range in ranges { measure.note(range, of: length) }
        return measure
    }

    @Test(arguments: [100, 150, 300, 12_000] as [Int64]) func aLookAtTheBeginningIsNoReading(kilobytes: Int64) {
        let look = measure([0..<80 * 1024], of: kilobytes * 1024)
        #expect(!look.isReal && !look.isThrough)
    }

    @Test func aLookAtTheEndIsNoReading() {
        let length: Int64 = 12 << 20
        let look = measure([0..<4096, length - 65_536..<length], of: length)
        #expect(!look.isReal && !look.isThrough)
        #expect(measure([length - 65_537..<length], of: length).isReal)
    }

    @Test func whoGoesOnBehindTheBeginningReads() {
        #expect(!measure([0..<131_072], of: 12 << 20).isReal)
        #expect(measure([0..<131_073], of: 12 << 20).isReal)
        #expect(measure([0..<131_073], of: 12 << 20).isThrough)
        #expect(!measure([0..<100_000], of: 200_000).isReal)
        #expect(measure([0..<100_001], of: 200_000).isReal, "half of a small one")
        let one = measure([131_072..<131_073], of: 200_000)
        #expect(one.isReal && !one.isThrough, "a byte in the middle is read, and asks for no more")
    }

    @Test func allOfASmallPictureIsReading() {
        #expect(measure([0..<4096], of: 4096).isReal)
        #expect(!measure([0..<4095], of: 4096).isReal)
        #expect(measure([0..<65_536, 65_536..<70_000], of: 70_000).isThrough)
    }
}
