import Render

/// An animation as a WebP file, made from JPEG frames.
///
/// Only what changed from one frame to the next is compressed; each frame stays a frame of its own with its delay. The
/// same input gives the same bytes, as long as libwebp is the same.
///
/// Source: RFC 9649, section 2.7 (the container).
package enum AnimatedWebP {
    /// Makes the file.
    ///
    /// Holds one frame, the one before and the result in memory. Keeps the thread busy for long: about 20 milliseconds
    /// for a frame of 600 x 600 pixels.
    ///
    /// - Parameters:
    ///   - delays: Milliseconds that each frame is shown, mended by `FrameLimits.shown`; their count is the frames'.
    ///   - bound: Most bytes of the result.
    ///   - isCancelled: Asked before each frame.
    ///   - frame: A frame's JPEG by its index; asked for once each, in order.
    /// - Returns: The whole file.
    /// - Throws: `MediaError`, or what `frame` throws.
    package static func encode(
        delays: [Int], bound: Int, isCancelled: () -> Bool = { false }, frame: (Int) throws -> [UInt8]
    ) throws -> [UInt8] {
        guard (1...FrameLimits.count).contains(delays.count) else {
            throw MediaError.animation("it has \(delays.count) frames, and 1 to \(FrameLimits.count) are possible")
        }
        var file: WebPContainer?
        var last: Pixels?
        for (index, delay) in delays.enumerated() {
            if isCancelled() { throw MediaError.cancelled }
            let pixels = try JPEG.decode(frame(index))
            let area: PixelArea
            if let last {
                guard pixels.width == last.width, pixels.height == last.height else {
                    throw MediaError.animation("its frames are of different sizes")
                }
                area = PixelArea.changed(from: last, to: pixels)
            } else {
                area = PixelArea(x: 0, y: 0, width: pixels.width, height: pixels.height)
                file = try WebPContainer(width: pixels.width, height: pixels.height)
            }
            let picture = try WebPEncoder.encode(pixels, area)
            file?.append(picture, area, delay: FrameLimits.shown(delay))
            guard let file, file.length <= bound else { throw MediaError.tooLarge(bound: bound) }
            last = pixels
        }
        return file?.finished() ?? []
    }
}
