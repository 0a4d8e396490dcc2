import Render

/// An opaque picture in memory: rows of blue, green, red and an unused byte, without gaps.
package struct Pixels: Hashable, Sendable {
    package let width: Int
    package let height: Int
    package var bytes: [UInt8]

    /// Bytes of one pixel.
    package static let pixelBytes = 4

    /// Makes a picture of one grey.
    package init(width: Int, height: Int, filledWith value: UInt8 = 0xff) {
        self.width = width
        self.height = height
        bytes = Array(repeating: value, count: width * height * Self.pixelBytes)
    }

    /// Bytes of one row.
    package var stride: Int {
        width * Self.pixelBytes
    }

    /// Sets a pixel, which must lie within the picture.
    package mutating func set(_ x: Int, _ y: Int, red: UInt8, green: UInt8, blue: UInt8) {
        let at = y * stride + x * Self.pixelBytes
        bytes[at] = blue
        bytes[at + 1] = green
        bytes[at + 2] = red
        bytes[at + 3] = 0xff
    }
}

// MARK: - Scaling

extension Pixels {
    /// The size that fits a square: the proportions are kept, and no side gets longer.
    package static func size(_ width: Int, _ height: Int, within edge: Int) -> (width: Int, height: Int) {
        let longest = max(width, height)
        guard longest > edge else { return (width, height) }
        func scaled(_ side: Int) -> Int { max(1, (side * edge + longest / 2) / longest) }
        return (scaled(width), scaled(height))
    }

    /// Returns the picture within a square, each pixel the mean of the area that it covers.
    package func fitted(within edge: Int) -> Pixels {
        let size = Self.size(width, height, within: edge)
        guard size != (width, height) else { return self }
        let columns = Self.shares(of: width, in: size.width)
        let rows = Self.shares(of: height, in: size.height)
        var result = Pixels(width: size.width, height: size.height)
        var sums = [UInt64](repeating: 0, count: stride)
        for (y, row) in rows.enumerated() {
            add(row, to: &sums)
            let whole = UInt64(width * height)
            var at = y * result.stride
            for column in columns {
                var (blue, green, red): (UInt64, UInt64, UInt64) = (whole / 2, whole / 2, whole / 2)
                var from = column.first * Self.pixelBytes
                for weight in column.weights {
                    blue += weight * sums[from]
                    green += weight * sums[from + 1]
                    red += weight * sums[from + 2]
                    from += Self.pixelBytes
                }
                result.bytes[at] = UInt8(blue / whole)
                result.bytes[at + 1] = UInt8(green / whole)
                result.bytes[at + 2] = UInt8(red / whole)
                at += Self.pixelBytes
            }
        }
        return result
    }

    /// The weighted sum of the rows that one new row covers.
    private func add(_ row: Share, to sums: inout [UInt64]) {
        unsafe sums.withUnsafeMutableBufferPointer { sums in
            unsafe self.bytes.withUnsafeBufferPointer { bytes in
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

    /// The contributions of a line's pixels to one pixel of the shorter line: the index of the first one, and the weight of each in
    /// parts of the line's length.
    private typealias Share = (first: Int, weights: [UInt64])

    /// Computes the shares; in units in which a new pixel is `length` wide and an old one `newLength`, all edges are whole.
    private static func shares(of length: Int, in newLength: Int) -> [Share] {
        (0..<newLength).map { index in
            let (start, end) = (index * length, (index + 1) * length)
            let first = start / newLength
            let last = (end - 1) / newLength
            let weights = (first...last).map { old in
                UInt64(min(end, (old + 1) * newLength) - max(start, old * newLength))
            }
            return (first, weights)
        }
    }
}

// MARK: - Pixel area

/// A rectangle within a picture, in pixels.
struct PixelArea: Hashable, Sendable {
    var x: Int
    var y: Int
    var width: Int
    var height: Int

    /// The smallest rectangle that contains every differing pixel; not empty.
    ///
    /// It begins at even coordinates, as WebP requires. Both pictures must have the same size.
    static func changed(from last: Pixels, to next: Pixels) -> PixelArea {
        let (width, height, stride) = (next.width, next.height, next.stride)
        return unsafe last.bytes.withUnsafeBytes { last in
            unsafe next.bytes.withUnsafeBytes { next in
                func isSame(_ from: Int, _ to: Int) -> Bool {
                    let (one, other) = (unsafe last[from..<to], unsafe next[from..<to])
                    return unsafe UnsafeRawBufferPointer(rebasing: one).elementsEqual(
                        UnsafeRawBufferPointer(rebasing: other))
                }
                let rows = 0..<height
                guard let top = rows.first(where: { !isSame($0 * stride, ($0 + 1) * stride) }),
                    let bottom = rows.last(where: { !isSame($0 * stride, ($0 + 1) * stride) })
                else { return PixelArea(x: 0, y: 0, width: 1, height: 1) }
                var left = width
                var right = 0
                for row in top...bottom {
                    let start = row * stride
                    func differs(_ x: Int) -> Bool {
                        let at = start + x * Pixels.pixelBytes
                        return !isSame(at, at + Pixels.pixelBytes)
                    }
                    if let first = (0..<left).first(where: differs) { left = first }
                    if let end = (right..<width).last(where: differs) { right = end + 1 }
                }
                let (x, y) = (left & ~1, top & ~1)
                return PixelArea(x: x, y: y, width: right - x, height: bottom + 1 - y)
            }
        }
    }
}

/// A file of frames that grows at its end.
protocol AnimationContainer {
    /// The bytes so far.
    var length: Int { get }

    /// Compresses and appends the part of a frame that changed.
    ///
    /// - Parameters:
    ///   - pixels: The frame.
    ///   - area: The part, within the frame.
    ///   - delay: The time that the frame is shown, in milliseconds, as `FrameLimits.shown` returns it.
    /// - Throws: The error of the encoder.
    mutating func append(_ pixels: Pixels, _ area: PixelArea, delay: Int) throws(MediaError)

    /// The whole file.
    consuming func finished() -> [UInt8]
}

/// Bounds of an animation in any format.
package enum FrameLimits {
    /// The most frames of an animation.
    ///
    /// The service accepts 150 from its users; the rest is room for later limits of the service.
    package static let count = Film.mostFrames
    /// The shortest time that a frame is shown, in milliseconds.
    ///
    /// Two frames must not begin at the same time: players drop one of them or stop there. 10 ms is GIF's unit of time and less
    /// than a screen's refresh, so the difference is invisible.
    package static let shortestDelay = 10
    /// The longest time that a frame is shown, in milliseconds; a longer time is an error of the record.
    ///
    /// 2000 such frames still fit the 31 bits of milliseconds that some players count in.
    package static let longestDelay = 600_000
    /// The longest side of a picture, in pixels (ITU-T T.81, B.2.2: 16 bits).
    package static let longestSide = 65_535

    /// The time that a frame with this recorded delay is shown; both in milliseconds.
    package static func shown(_ delay: Int) -> Int {
        min(max(delay, shortestDelay), longestDelay)
    }
}
