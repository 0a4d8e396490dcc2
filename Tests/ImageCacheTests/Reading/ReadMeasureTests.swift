import Testing

@testable import ImageCache

@Suite struct ReadMeasureTests {
    /// What is told apart after reads of a picture: whether it is read, and whether through its beginning.
    @Test(
        arguments: [
            // A look at the beginning, and at the end.
            ([0..<81_920], 102_400, false, false), ([0..<81_920], 153_600, false, false),
            ([0..<81_920], 12_288_000, false, false),
            ([0..<4096, (12 << 20) - 65_536..<12 << 20], 12 << 20, false, false),
            ([(12 << 20) - 65_537..<12 << 20], 12 << 20, true, false),
            // Who goes on behind the beginning, which is half of a small one.
            ([0..<131_072], 12 << 20, false, false), ([0..<131_073], 12 << 20, true, true),
            ([0..<100_000], 200_000, false, false), ([0..<100_001], 200_000, true, true),
            // A byte in the middle is read, and asks for no more.
            ([131_072..<131_073], 200_000, true, false),
            // All of a small one.
            ([0..<4096], 4096, true, true), ([0..<4095], 4096, false, false),
            ([0..<65_536, 65_536..<70_000], 70_000, true, true),
        ] as [([Range<Int64>], Int64, Bool, Bool)])
    func looksAreNoReading(ranges: [Range<Int64>], length: Int64, isReal: Bool, isThrough: Bool) {
        var measure = ReadMeasure()
        for range in ranges { measure.note(range, of: length) }
        #expect((measure.isReal, measure.isThrough) == (isReal, isThrough))
    }
}
