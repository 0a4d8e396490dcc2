import Glibc

/// How many bytes a picture has, decided before it is drawn, so that HEAD costs nothing.
///
/// Log-normal, like the sizes that the service was seen to have: of the 500 first pages of a day, 49 % were under 1 MB and 20
/// over 10 MB.
enum DrawnSize {
    /// Renditions of 1200 pixels, where benchmarks ask for the sizes of originals under them.
    static let large = 100_000...12_000_000
    /// Renditions of 1200 pixels.
    static let regular = 100_000...900_000
    /// Previews of 240 pixels and more.
    static let preview = 20_000...80_000
    /// Squares of 250 and 360 pixels.
    static let square = 8_000...60_000
    /// The smallest squares and portraits.
    static let tiny = 3_000...9_000
    /// Originals.
    static let original = 300_000...12_000_000

    /// The bytes of a picture: a pure function of the seed, its path and its pixels.
    static func bytes(
        seed: UInt64, path: String, kind: ServedPath.Kind, pixels: PixelSize, isLarge: Bool = false
    ) -> Int {
        var chance = Chance(seed ^ 0x51, text: path)
        let area = Double(pixels.width * pixels.height)
        switch kind {
        case .regular where isLarge:
            // mean 1.5 MB
            return logNormal(&chance, median: 1_050_000, sigma: 0.85, in: large)
        case .regular:
            return logNormal(&chance, median: 320_000, sigma: 0.5, in: regular)
        case .preview:
            return logNormal(&chance, median: 42_000, sigma: 0.35, in: preview)
        case .square where pixels.width <= smallSide:
            return logNormal(&chance, median: 5_000, sigma: 0.2, in: tiny)
        case .square:
            return logNormal(&chance, median: 20_000, sigma: 0.35, in: square)
        case .animation:
            // One frame: what the flattest drawing needs, and a little more for each.
            return max(smallestFrame, Int(area * 0.035)) + chance.below(frameSpread)
        case .original(.jpg):
            // what the flattest drawing needs sets the floor
            let bytes = logNormal(&chance, median: area * 0.22, sigma: 0.8, in: original)
            return min(max(bytes, Int(area * 0.12)), max(original.upperBound, Int(area * 0.12)))
        case .original:
            let bytes = logNormal(&chance, median: area * 0.6, sigma: 0.7, in: original)
            return min(max(bytes, Int(area * 0.35)), max(original.upperBound, Int(area * 0.35)))
        }
    }

    private static let smallSide = 128
    private static let smallestFrame = 10_000
    private static let frameSpread = 8_000

    /// Box and Muller's transformation of two even draws.
    private static func logNormal(
        _ chance: inout Chance, median: Double, sigma: Double, in bounds: ClosedRange<Int>
    ) -> Int {
        let radius = (-2 * log(1 - chance.unit())).squareRoot()
        let normal = radius * cos(2 * Double.pi * chance.unit())
        return min(max(Int(median * exp(sigma * normal)), bounds.lowerBound), bounds.upperBound)
    }
}
