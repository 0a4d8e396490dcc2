/// The picture shown where there is no other yet: a framed landscape in soft colours, as picture viewers mark a place.
package enum StandIn {
    /// The picture as a JPEG, 1200 x 800 pixels; always the same bytes.
    ///
    /// Drawn when it is first asked for, which takes some 10 milliseconds.
    package static let jpeg: [UInt8] = JPEG.encode(drawn(), quality: quality) ?? []

    // MARK: -

    /// In pixels; a landscape format that fills a screen without looking coarse.
    private static let width = 1200
    private static let height = 800
    /// Gradients show no steps and the file stays far below 60 KB.
    private static let quality = 90
    /// The sign in the middle.
    private static let outer = (left: 420, top: 280, right: 780, bottom: 520)
    private static let line = 14
    private static let sun = (x: 510, y: 360, radius: 34)
    /// Peaks of the hills within the frame, each as high as its slopes of 45 degrees reach.
    private static let peaks = [(x: 560, y: 430), (x: 670, y: 360)]

    private static func drawn() -> Pixels {
        var pixels = Pixels(width: width, height: height)
        for y in 0..<height {
            for x in 0..<width {
                let part = 256 * (x + 2 * y) / (width + 2 * height)
                let lift = isSign(x, y) ? 48 : 0
                pixels.set(
                    x, y, red: mix(92, 186, part) + UInt8(lift), green: mix(112, 160, part) + UInt8(lift),
                    blue: mix(150, 170, part) + UInt8(lift))
            }
        }
        return pixels
    }

    private static func mix(_ first: Int, _ second: Int, _ part: Int) -> UInt8 {
        UInt8(first + (second - first) * part / 256)
    }

    private static func isSign(_ x: Int, _ y: Int) -> Bool {
        guard (outer.left..<outer.right).contains(x), (outer.top..<outer.bottom).contains(y) else { return false }
        let isInside =
            (outer.left + line..<outer.right - line).contains(x) && (outer.top + line..<outer.bottom - line).contains(y)
        guard isInside else { return true }
        let (across, down) = (x - sun.x, y - sun.y)
        if across * across + down * down <= sun.radius * sun.radius { return true }
        return peaks.contains { y >= $0.y + abs(x - $0.x) }
    }
}
