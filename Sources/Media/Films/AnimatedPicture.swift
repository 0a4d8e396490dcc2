package import Render

/// An animation as one file that picture viewers show and repeat, made from JPEG frames.
///
/// Only what changed from one frame to the next is compressed; each frame stays a frame of its own with its delay. The
/// same input gives the same bytes, as long as the libraries are the same.
package enum AnimatedPicture {
    /// The longest edge of a GIF, in pixels: that at which the service's own pages show animations.
    ///
    /// Without it the longest ones would have hundreds of megabytes.
    static let longestGIFEdge = 600

    /// Makes the file.
    ///
    /// Holds one frame, the one before and the result in memory. Keeps the thread busy for long: about 20 milliseconds
    /// for a frame of 600 x 600 pixels as WebP.
    ///
    /// - Parameters:
    ///   - format: Of the file.
    ///   - delays: Milliseconds that each frame is shown, mended by `FrameLimits.shown`; their count is the frames'.
    ///   - bound: Most bytes of the result.
    ///   - isCancelled: Asked before each frame.
    ///   - frame: A frame's JPEG by its index; asked for once each, in order.
    /// - Returns: The whole file.
    /// - Throws: `MediaError`, or what `frame` throws.
    package static func encode(
        as format: RenderJob.AnimationFormat, delays: [Int], bound: Int, isCancelled: () -> Bool = { false },
        frame: (Int) throws -> [UInt8]
    ) throws -> [UInt8] {
        guard (1...FrameLimits.count).contains(delays.count) else {
            throw MediaError.animation("it has \(delays.count) frames, and 1 to \(FrameLimits.count) are possible")
        }
        var file: (any AnimationContainer)?
        var last: Pixels?
        for (index, delay) in delays.enumerated() {
            if isCancelled() { throw MediaError.cancelled }
            var pixels = try JPEG.decode(frame(index))
            if format == .gif { pixels = Scaling.fit(pixels, within: longestGIFEdge) }
            let area: PixelArea
            if let last {
                guard pixels.width == last.width, pixels.height == last.height else {
                    throw MediaError.animation("its frames are of different sizes")
                }
                area = PixelArea.changed(from: last, to: pixels)
            } else {
                area = PixelArea(x: 0, y: 0, width: pixels.width, height: pixels.height)
                file =
                    switch format {
                    case .webP: try WebPContainer(width: pixels.width, height: pixels.height)
                    case .gif: GIFContainer(width: pixels.width, height: pixels.height)
                    }
            }
            try file?.append(pixels, area, delay: FrameLimits.shown(delay))
            guard let file, file.length <= bound else { throw MediaError.tooLarge(bound: bound) }
            last = pixels
        }
        return file?.finished() ?? []
    }
}

/// A file of frames that grows at its end.
protocol AnimationContainer {
    /// Bytes so far.
    var length: Int { get }

    /// Compresses and appends the part of a frame that changed.
    ///
    /// - Parameters:
    ///   - pixels: The frame.
    ///   - area: Within it.
    ///   - delay: In milliseconds, as `FrameLimits.shown` gives it.
    /// - Throws: What the encoder says.
    mutating func append(_ pixels: Pixels, _ area: PixelArea, delay: Int) throws(MediaError)

    /// The whole file.
    consuming func finished() -> [UInt8]
}
