/// A part of a picture in at most 256 colours, found by a median cut.
///
/// Source: Heckbert, "Color Image Quantization for Frame Buffer Display", 1982. Colours between them are drawn by an ordered
/// pattern, which does not flicker from frame to frame.
struct IndexedPicture {
    /// The most colours.
    static let most = 256

    /// Red, green and blue of each colour.
    private(set) var colours: [UInt8] = []
    /// The colour of each pixel, row by row.
    private(set) var indices: [UInt8] = []

    /// Converts a part that lies within the picture.
    init(_ pixels: Pixels, _ area: PixelArea) {
        let cells = Self.cells(of: pixels, area)
        let palette = Self.cut(cells)
        colours = palette.flatMap { colour in (0..<3).map { UInt8(clamping: colour[$0]) } }
        var known = [Int16](repeating: -1, count: Self.cellCount)
        indices.reserveCapacity(area.width * area.height)
        for y in area.y..<area.y + area.height {
            var at = y * pixels.stride + area.x * Pixels.pixelBytes
            for x in area.x..<area.x + area.width {
                let shift = Self.pattern[(y & 3) << 2 | x & 3]
                let (red, green, blue) = (
                    Self.cell(pixels.bytes[at + 2], shift), Self.cell(pixels.bytes[at + 1], shift),
                    Self.cell(pixels.bytes[at], shift)
                )
                let cell = red << 10 | green << 5 | blue
                if known[cell] < 0 { known[cell] = Self.nearest(red, green, blue, in: palette) }
                indices.append(UInt8(truncatingIfNeeded: known[cell]))
                at += Pixels.pixelBytes
            }
        }
    }

    // MARK: -

    /// Cells of a cube of colours with 5 bits for each side.
    private static let cellCount = 1 << 15

    /// The offsets added to pixels before their cell is found (Bayer, 1973), as wide as a cell.
    private static let pattern = [-4, 0, -3, 1, 2, -2, 3, -1, -3, 1, -4, 0, 3, -1, 2, -2]

    private static func cell(_ value: UInt8, _ shift: Int) -> Int { min(max(Int(value) + shift, 0), 255) >> 3 }

    /// The pixels of one or several cells: their number, and the sums of red, green and blue.
    private struct Cell {
        var count = 0
        var sum = SIMD4<Int32>()

        mutating func add(_ other: Cell) {
            count += other.count
            sum &+= other.sum
        }

        var mean: SIMD4<Int32> { sum / Int32(truncatingIfNeeded: max(1, count)) }
    }

    private static func cells(of pixels: Pixels, _ area: PixelArea) -> [Cell] {
        var cells = [Cell](repeating: Cell(), count: cellCount)
        for y in area.y..<area.y + area.height {
            var at = y * pixels.stride + area.x * Pixels.pixelBytes
            for _ in 0..<area.width {
                let (red, green, blue) = (pixels.bytes[at + 2], pixels.bytes[at + 1], pixels.bytes[at])
                let cell = Int(red >> 3) << 10 | Int(green >> 3) << 5 | Int(blue >> 3)
                cells[cell].count += 1
                cells[cell].sum &+= SIMD4(Int32(red), Int32(green), Int32(blue), 0)
                at += Pixels.pixelBytes
            }
        }
        return cells.filter { $0.count > 0 }
    }

    /// A box of cells, and the side along which it is cut next.
    private struct Box {
        let range: Range<Int>
        let side: Int
        /// Pixels times length: the box with the largest weight is cut first.
        let weight: Int

        init(_ range: Range<Int>, of cells: [Cell]) {
            self.range = range
            var least = SIMD4<Int32>(repeating: .max)
            var most = SIMD4<Int32>(repeating: .min)
            var count = 0
            for cell in cells[range] {
                least = pointwiseMin(least, cell.mean)
                most = pointwiseMax(most, cell.mean)
                count += cell.count
            }
            let lengths = most &- least
            side = lengths[0] > lengths[1] ? (lengths[0] > lengths[2] ? 0 : 2) : lengths[1] < lengths[2] ? 2 : 1
            weight = count * Int(lengths[side])
        }
    }

    /// Returns the means of boxes with about equally many pixels each: red, green and blue.
    private static func cut(_ cells: [Cell]) -> [SIMD4<Int32>] {
        var cells = cells
        var boxes = [Box(cells.indices, of: cells)]
        while boxes.count < most, let largest = boxes.indices.max(by: { boxes[$0].weight < boxes[$1].weight }),
            boxes[largest].weight > 0
        {
            let (range, side) = (boxes[largest].range, boxes[largest].side)
            cells[range].sort { $0.mean[side] < $1.mean[side] }
            let half = cells[range].reduce(0) { $0 + $1.count } / 2
            var (middle, before) = (range.lowerBound, 0)
            repeat {
                before += cells[middle].count
                middle += 1
            } while before < half && middle < range.upperBound - 1
            boxes[largest] = Box(range.lowerBound..<middle, of: cells)
            boxes.append(Box(middle..<range.upperBound, of: cells))
        }
        return boxes.map { box in cells[box.range].reduce(into: Cell()) { $0.add($1) }.mean }
    }

    /// Returns the colour nearest to the middle of a cell; the eye is most sensitive to green (ITU-R BT.601).
    private static func nearest(_ red: Int, _ green: Int, _ blue: Int, in palette: [SIMD4<Int32>]) -> Int16 {
        let middle = SIMD4(Int32(red * 8 + 4), Int32(green * 8 + 4), Int32(blue * 8 + 4), 0)
        var (nearest, least) = (0, Int32.max)
        for (index, colour) in palette.enumerated() {
            let apart = middle &- colour
            let distance = (apart &* apart &* SIMD4(3, 6, 1, 0)).wrappedSum()
            if distance < least { (nearest, least) = (index, distance) }
        }
        return Int16(nearest)
    }
}
