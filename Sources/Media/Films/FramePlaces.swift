import Render

/// Where the frames of an animation lie in their archive, and how large they are, found out from as little of it as tells.
struct FramePlaces: Hashable, Sendable {
    /// In bytes from the beginning of the archive, in the order of the record.
    let frames: [Range<Int64>]
    /// The pixels of the first frame.
    let width: Int
    let height: Int

    /// What can be said of an archive.
    enum Found: Hashable, Sendable {
        case places(FramePlaces)
        /// These stretches must be read first.
        case needs([Range<Int64>])
    }

    /// Tables stand in front of a frame's size, 600 bytes as a rule; a thumbnail would fit too.
    private static let beginningLength: Int64 = 32 << 10
    /// Profiles of many parts stand there where the beginning was not enough.
    private static let longestBeginning: Int64 = 4 << 20

    /// Finds the frames.
    ///
    /// - Parameters:
    ///   - names: The frames' files, in order.
    ///   - length: Bytes of the archive.
    ///   - read: Bytes of the archive; nil if they are not at hand.
    /// - Returns: Their places, or what must be read to find them.
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
