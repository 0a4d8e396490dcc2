/// Makes pictures smaller.
package enum Scaling {
    /// The size that fits a square: the proportions are kept, and nothing gets larger.
    package static func size(_ width: Int, _ height: Int, within edge: Int) -> (width: Int, height: Int) {
        let longest = max(width, height)
        guard longest > edge else { return (width, height) }
        func scaled(_ side: Int) -> Int { max(1, (side * edge + longest / 2) / longest) }
        return (scaled(width), scaled(height))
    }

    /// The picture within a square, each pixel the mean of the area that it covers.
    package static func fit(_ pixels: Pixels, within edge: Int) -> Pixels {
        let (width, height) = size(pixels.width, pixels.height, within: edge)
        guard (width, height) != (pixels.width, pixels.height) else { return pixels }
        let columns = shares(of: pixels.width, in: width)
        let rows = shares(of: pixels.height, in: height)
        var result = Pixels(width: width, height: height)
        var sums = [UInt64](repeating: 0, count: pixels.stride)
        for (y, row) in rows.enumerated() {
            add(pixels, row, to: &sums)
            let whole = UInt64(pixels.width * pixels.height)
            var at = y * result.stride
            for column in columns {
                var (blue, green, red): (UInt64, UInt64, UInt64) = (whole / 2, whole / 2, whole / 2)
                var from = column.first * Pixels.pixelBytes
                for weight in column.weights {
                    blue += weight * sums[from]
                    green += weight * sums[from + 1]
                    red += weight * sums[from + 2]
                    from += Pixels.pixelBytes
                }
                result.bytes[at] = UInt8(blue / whole)
                result.bytes[at + 1] = UInt8(green / whole)
                result.bytes[at + 2] = UInt8(red / whole)
                at += Pixels.pixelBytes
            }
        }
        return result
    }

    /// The weighted sum of the rows that one new row covers.
    private static func add(_ pixels: Pixels, _ row: Share, to sums: inout [UInt64]) {
        let stride = pixels.stride
        unsafe sums.withUnsafeMutableBufferPointer { sums in
            unsafe pixels.bytes.withUnsafeBufferPointer { bytes in
                unsafe sums.update(repeating: 0)
                for (offset, weight) in row.weights.enumerated() {
                    let start = (row.first + offset) * stride
                    var index = 0
                    while index < stride {
                        unsafe sums[index] &+= weight &* UInt64(truncatingIfNeeded: bytes[start + index])
                        index += 1
                    }
                }
            }
        }
    }

    /// What the pixels of a line contribute to one pixel of the shorter line.
    private struct Share {
        /// The first that contributes.
        var first: Int
        /// How much of each, in parts of the line's length.
        var weights: [UInt64]
    }

    /// In units in which a new pixel is `length` wide and an old one `newLength`, all edges are whole numbers.
    private static func shares(of length: Int, in newLength: Int) -> [Share] {
        (0..<newLength).map { index in
            let (start, end) = (index * length, (index + 1) * length)
            let first = start / newLength
            let last = (end - 1) / newLength
            let weights = (first...last).map { old in
                UInt64(min(end, (old + 1) * newLength) - max(start, old * newLength))
            }
            return Share(first: first, weights: weights)
        }
    }
}
