/// A rectangle within a picture, in pixels.
struct PixelArea: Hashable, Sendable {
    var x: Int
    var y: Int
    var width: Int
    var height: Int

    /// The smallest rectangle at even coordinates, which WebP asks for, that contains every pixel that differs; not empty.
    ///
    /// Both pictures must be of one size.
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
