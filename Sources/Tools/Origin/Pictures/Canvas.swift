import Media

/// A picture under construction, with the few strokes of the scenes.
///
/// Coordinates are in the units of the scene, in which the long side is 1200.
struct Canvas: Sendable {
    private(set) var pixels: PixelSize
    /// The rows of blue, green, red and an unused byte, without gaps, on little-endian machines.
    private var dots: [UInt32] = []
    /// Pixels per unit.
    private let scale: Double

    /// The long side of a scene in its units.
    private static let units = 1200.0

    var width: Double { Double(pixels.width) / scale }
    var height: Double { Double(pixels.height) / scale }

    /// A canvas filled with a sky: colours in sequence from top to bottom.
    init(_ pixels: PixelSize, sky colours: [Colour]) {
        self.pixels = pixels
        scale = Double(max(pixels.width, pixels.height)) / Self.units
        dots.reserveCapacity(pixels.width * pixels.height)
        for y in 0..<pixels.height {
            let place = Double(y) / Double(pixels.height) * Double(colours.count - 1)
            let above = colours[Int(place)].rgb
            let below = colours[min(Int(place) + 1, colours.count - 1)].rgb
            let share = place - place.rounded(.down)
            func mixed(_ high: Double, _ low: Double) -> Double { high + (low - high) * share }
            let dot = Self.dot((mixed(above.0, below.0), mixed(above.1, below.1), mixed(above.2, below.2)))
            dots += repeatElement(dot, count: pixels.width)
        }
    }

    // MARK: - Strokes

    /// A disc; a soft one fades out towards its edge.
    mutating func disc(_ x: Double, _ y: Double, radius: Double, soft: Bool = false, _ colour: Colour) {
        let (x, y, radius) = (x * scale, y * scale, max(radius * scale, 0.7))
        let dot = Self.dot(colour.rgb)
        for row in Self.within(y - radius, y + radius, pixels.height) {
            let above = Double(row) + 0.5 - y
            let half = max(0, radius * radius - above * above).squareRoot() + 1
            for column in Self.within(x - half, x + half, pixels.width) {
                let beside = Double(column) + 0.5 - x
                let distance = (beside * beside + above * above).squareRoot()
                let share = soft ? 1 - distance / radius : radius - distance + 0.5
                mix(dot, at: row * pixels.width + column, min(max(share, 0), 1) * colour.alpha)
            }
        }
    }

    /// Fills the area below a skyline, given by its height at each x.
    mutating func ground(_ colour: Colour, _ skyline: (Double) -> Double) {
        let dot = Self.dot(colour.rgb)
        let tops = (0..<pixels.width).map { skyline(Double($0) / scale) * scale }
        guard let highest = tops.min(), let lowest = tops.max() else { return }
        for row in Self.within(highest, Double(pixels.height), pixels.height) {
            let bottom = Double(row + 1)
            if bottom - lowest >= 1, colour.alpha >= 1 {
                let places = row * pixels.width..<(row + 1) * pixels.width
                dots.replaceSubrange(places, with: repeatElement(dot, count: pixels.width))
                continue
            }
            for column in 0..<pixels.width where tops[column] < bottom {
                mix(dot, at: row * pixels.width + column, min(bottom - tops[column], 1) * colour.alpha)
            }
        }
    }

    /// A rectangle, at least one pixel wide and high.
    mutating func box(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ colour: Colour) {
        let dot = Self.dot(colour.rgb)
        let rows = Self.within(y * scale, max((y + height) * scale, y * scale + 1) - 1, pixels.height)
        for row in rows {
            for column in Self.within(x * scale, max((x + width) * scale, x * scale + 1) - 1, pixels.width) {
                mix(dot, at: row * pixels.width + column, colour.alpha)
            }
        }
    }

    /// A number in white letters with a shadow, readable on any background; characters outside the font are blanks.
    mutating func letter(_ text: String, _ x: Double, _ y: Double, size: Double) {
        let cell = size / 5
        let strokes = [(cell / 3, Colour(hue: 0.65, saturation: 0.5, value: 0.1, alpha: 0.7)), (0, Colour.white)]
        for (shift, colour) in strokes {
            for (place, character) in text.enumerated() {
                let bits = Self.font[character] ?? 0
                for index in 0..<15 where bits >> (14 - index) & 1 == 1 {
                    box(
                        x + (Double(place * 4 + index % 3)) * cell + shift, y + Double(index / 3) * cell + shift, cell,
                        cell, colour)
                }
            }
        }
    }

    // MARK: - Files

    /// The same picture enlarged, each dot of this one as a square of several.
    func enlarged(to size: PixelSize, by factor: Int) -> Canvas {
        guard factor > 1 else { return self }
        var large = self
        (large.pixels, large.dots) = (size, [])
        large.dots.reserveCapacity(size.width * size.height)
        for y in 0..<size.height {
            let row = y / factor * pixels.width
            if y % factor > 0 {
                large.dots += Array(large.dots.suffix(size.width))
            } else {
                for x in 0..<size.width { large.dots.append(dots[row + x / factor]) }
            }
        }
        return large
    }

    /// The picture as a file of a format that can be drawn; nil if memory is short.
    func file(_ format: Format, quality: Int) -> [UInt8]? {
        switch format {
        case .png:
            var picture = Pixels(width: pixels.width, height: pixels.height)
            picture.bytes = unsafe dots.withUnsafeBytes { unsafe Array($0) }
            return picture.png()
        case .webp: return file(.jpg, quality: quality).flatMap { try? WebPContainer.still(jpeg: $0) }
        default:
            return unsafe dots.withUnsafeBytes { bytes in
                unsafe JPEG.encode(
                    bytes, width: pixels.width, height: pixels.height, stride: pixels.width * Pixels.pixelBytes,
                    quality: quality)
            }
        }
    }

    // MARK: -

    /// Digits of three by five dots, row by row from the highest bit.
    private static let font: [Character: Int] = [
        "0": 0x7b6f, "1": 0x2c97, "2": 0x73e7, "3": 0x73cf, "4": 0x5bc9, "5": 0x79cf, "6": 0x79ef, "7": 0x7249,
        "8": 0x7bef, "9": 0x7bcf, "/": 0x12a4,
    ]

    /// The whole numbers from `low` to `high` that are valid positions in a row or column of `count`.
    private static func within(_ low: Double, _ high: Double, _ count: Int) -> Range<Int> {
        let first = min(max(Int(low), 0), count)
        return first..<max(first, min(Int(high) + 1, count))
    }

    private static func dot(_ rgb: (Double, Double, Double)) -> UInt32 {
        func byte(_ share: Double) -> UInt32 { UInt32(min(max(share, 0), 1) * 255) }
        return byte(rgb.0) << 16 | byte(rgb.1) << 8 | byte(rgb.2)
    }

    private mutating func mix(_ dot: UInt32, at index: Int, _ share: Double) {
        guard share < 1 else {
            dots[index] = dot
            return
        }
        let share = UInt32(share * 256)
        let old = dots[index]
        let outer = ((old & 0xff00ff) * (256 - share) + (dot & 0xff00ff) * share) >> 8 & 0xff00ff
        let middle = ((old & 0xff00) * (256 - share) + (dot & 0xff00) * share) >> 8 & 0xff00
        dots[index] = outer | middle
    }
}

/// A colour in the HSV model, in which harmonious colours are easy to choose.
struct Colour: Sendable {
    var hue: Double
    var saturation: Double
    var value: Double
    var alpha = 1.0

    static let white = Colour(hue: 0, saturation: 0, value: 1)

    /// The red, green and blue parts, from 0 to 1.
    var rgb: (Double, Double, Double) {
        // Each part is the value, less the saturation's share where the hue is far from it.
        func part(_ shift: Double) -> Double {
            let turned = ((hue - hue.rounded(.down)) * 6 + shift).truncatingRemainder(dividingBy: 6)
            return value - value * saturation * max(0, min(turned, 4 - turned, 1))
        }
        return (part(5), part(3), part(1))
    }

    /// The colour shifted; saturation and value stay within 0 and 1.
    func moved(_ hue: Double = 0, _ saturation: Double = 0, _ value: Double = 0, alpha: Double? = nil) -> Colour {
        Colour(
            hue: self.hue + hue, saturation: min(max(self.saturation + saturation, 0), 1),
            value: min(max(self.value + value, 0), 1), alpha: alpha ?? self.alpha)
    }
}

/// A width and a height in pixels.
struct PixelSize: Hashable, Sendable {
    let width: Int
    let height: Int

    /// The same shape scaled down to fit into a box; never larger than before.
    func fitted(into box: PixelSize) -> PixelSize {
        let scale = min(1, Double(box.width) / Double(width), Double(box.height) / Double(height))
        return PixelSize(
            width: max(1, Int((Double(width) * scale).rounded())),
            height: max(1, Int((Double(height) * scale).rounded())))
    }

    /// The same shape scaled down to fit into a square box.
    func fitted(into side: Int) -> PixelSize { fitted(into: PixelSize(width: side, height: side)) }
}
