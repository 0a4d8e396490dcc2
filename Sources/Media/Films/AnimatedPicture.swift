package import Render

/// An animation as one file that picture viewers show and repeat, made from JPEG frames.
///
/// Only the part that changed from one frame to the next is compressed; each frame stays a frame of its own with its delay. The
/// same input gives the same bytes, as long as the libraries are the same.
package enum AnimatedPicture {
    /// The longest edge of a GIF, in pixels: the size at which the service's own pages show animations.
    ///
    /// Without the limit the longest animations would have hundreds of megabytes.
    static let longestGIFEdge = 600

    /// Makes the file.
    ///
    /// Memory holds one frame, the frame before and the result. The call keeps the thread busy for long: about 20 milliseconds
    /// for a frame of 600 x 600 pixels as WebP.
    ///
    /// - Parameters:
    ///   - format: The format of the file.
    ///   - delays: The milliseconds that each frame is shown, corrected by `FrameLimits.shown`; one for each frame.
    ///   - bound: The most bytes of the result.
    ///   - frame: Returns a frame's JPEG by its index; called once for each frame, in order.
    /// - Returns: The whole file.
    /// - Throws: `MediaError`, or the error of `frame`.
    package static func encode(
        as format: RenderJob.AnimationFormat, delays: [Int], bound: Int,
        frame: (Int) throws -> [UInt8]
    ) throws -> [UInt8] {
        guard (1...FrameLimits.count).contains(delays.count) else {
            throw MediaError.animation("it has \(delays.count) frames, and 1 to \(FrameLimits.count) are possible")
        }
        var file: (any AnimationContainer)?
        var last: Pixels?
        for (index, delay) in delays.enumerated() {
            var pixels = try JPEG.decode(frame(index))
            if format == .gif { pixels = pixels.fitted(within: longestGIFEdge) }
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

// MARK: - Frame places

/// The places of an animation's frames in their archive and their size, found from as little of the archive as possible.
struct FramePlaces: Hashable, Sendable {
    /// The frames' ranges in bytes from the beginning of the archive, in the order of the record.
    let frames: [Range<Int64>]
    /// The size of the first frame, in pixels.
    let width: Int
    let height: Int

    /// The result of a search.
    enum Found: Hashable, Sendable {
        case places(FramePlaces)
        /// The ranges of the archive that must be read first.
        case needs([Range<Int64>])
    }

    /// The bytes read of a frame for its size: tables precede it, 600 bytes as a rule; a thumbnail would fit too.
    private static let beginningLength: Int64 = 32 << 10
    /// The bytes read where the beginning was not enough: profiles of many parts precede the size there.
    private static let longestBeginning: Int64 = 4 << 20

    /// Finds the frames.
    ///
    /// - Parameters:
    ///   - names: The frames' files, in order.
    ///   - length: The bytes of the archive.
    ///   - read: Returns bytes of the archive; nil if they are not available.
    /// - Returns: The places, or the ranges that must be read to find them.
    /// - Throws: `.archive` or `.picture`.
    static func find(
        _ names: [String], inArchiveOf length: Int64, read: (Range<Int64>) throws(MediaError) -> [UInt8]?
    ) throws(MediaError) -> Found {
        guard length >= 0 else { throw .archive("it has no length") }
        let end = max(0, length - ZipArchive.tailLength)..<length
        guard let tail = try read(end) else { return .needs([end]) }
        let place = try ZipArchive.directoryPlace(inTail: tail, length: length)
        guard let directory = try read(place) else { return .needs([place]) }
        let archive = try ZipArchive(directory: directory, at: place)
        var frames: [Range<Int64>] = []
        var needs: [Range<Int64>] = []
        for name in names {
            guard let entry = archive.entry(named: name) else { throw .archive("it lacks the frame \(name)") }
            if let data = archive.data(of: entry) {
                frames.append(data)
                continue
            }
            let header = entry.header..<entry.header + ZipArchive.localHeaderLength
            guard let bytes = try read(header) else {
                needs.append(header)
                continue
            }
            let start = try archive.dataOffset(of: entry, localHeader: bytes)
            frames.append(start..<start + entry.size)
        }
        guard needs.isEmpty else { return .needs(needs) }
        guard let first = frames.first else { throw .animation("it has no frames") }
        for beginning in [beginningLength, longestBeginning] {
            let stretch = first.lowerBound..<min(first.upperBound, first.lowerBound + beginning)
            guard !stretch.isEmpty else { break }
            guard let bytes = try read(stretch) else { return .needs([stretch]) }
            if let size = JPEG.size(of: bytes) {
                return .places(FramePlaces(frames: frames, width: size.width, height: size.height))
            }
        }
        throw .picture("the first frame does not tell its size")
    }
}
