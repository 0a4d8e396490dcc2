/// A file that consists of bytes of its own and of whole frames stored elsewhere.
///
/// The same description always gives the same bytes.
package struct FilmLayout: Hashable, Sendable {
    /// A stretch of the file.
    package enum Piece: Hashable, Sendable {
        case literal(ArraySlice<UInt8>)
        /// Bytes of a frame, counted from the frame's beginning; all of them in a layout.
        case frame(index: Int, range: Range<Int64>)

        /// The length in bytes.
        package var length: Int64 {
            switch self {
            case .literal(let bytes): Int64(bytes.count)
            case .frame(_, let range): Int64(range.count)
            }
        }
    }

    /// The pieces of the whole file, in order, none of them empty.
    package let layout: [Piece]
    /// The bytes of the whole file.
    package let length: Int64
    /// The end of each piece; the last number is `length`.
    private let ends: [Int64]

    /// Makes a layout.
    ///
    /// - Parameter pieces: The pieces, none of negative length, and together shorter than 2^63 bytes; empty ones are left out.
    package init(_ pieces: [Piece]) {
        layout = pieces.filter { $0.length > 0 }
        var ends: [Int64] = []
        ends.reserveCapacity(layout.count)
        var end: Int64 = 0
        for piece in layout {
            end += piece.length
            ends.append(end)
        }
        self.ends = ends
        length = end
    }

    /// The parts of a range of the file, in order; bytes outside the file are left out.
    package func pieces(covering range: Range<Int64>) -> [Piece] {
        let wanted = range.clamped(to: 0..<length)
        var parts: [Piece] = []
        var index = firstPiece(endingBehind: wanted.lowerBound)
        while index < layout.count {
            let begin = index == 0 ? 0 : ends[index - 1]
            let here = wanted.clamped(to: begin..<ends[index])
            guard !here.isEmpty else { break }
            switch layout[index] {
            case .literal(let bytes):
                parts.append(.literal(bytes.dropFirst(Int(here.lowerBound - begin)).prefix(here.count)))
            case .frame(let frame, _):
                parts.append(.frame(index: frame, range: here.lowerBound - begin..<here.upperBound - begin))
            }
            index += 1
        }
        return parts
    }

    private func firstPiece(endingBehind offset: Int64) -> Int {
        var low = 0
        var high = ends.count
        while low < high {
            let middle = (low + high) / 2
            if ends[middle] > offset { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// A film with frames that lie in an archive.
package struct Film: Hashable, Sendable {
    package let layout: FilmLayout
    /// The range of each frame in the archive.
    package let frames: [Range<Int64>]

    /// The most frames of a film.
    package static let mostFrames = 2000
    /// The most pieces: one before each frame, the frames, and the end.
    static let mostPieces = 2 * mostFrames + 1
    /// The most bytes outside frames: some fifty for each frame.
    package static let longestLiterals = 1 << 20

    /// Checks the parts of a film, which may come from an untrusted process.
    ///
    /// - Returns: Nil if a frame lies outside the archive or differs in size from its piece, or if a bound is exceeded.
    package init?(pieces: [FilmLayout.Piece], frames: [Range<Int64>], archive length: Int64) {
        guard pieces.count <= Self.mostPieces, (1...Self.mostFrames).contains(frames.count),
            frames.allSatisfy({ $0.lowerBound >= 0 && $0.upperBound <= length && !$0.isEmpty })
        else { return nil }
        var literals = 0
        for piece in pieces {
            switch piece {
            case .literal(let bytes): literals += bytes.count
            case .frame(let index, let range):
                guard frames.indices.contains(index), range == 0..<Int64(frames[index].count) else { return nil }
            }
        }
        guard literals <= Self.longestLiterals, length <= Self.longestArchive else { return nil }
        layout = FilmLayout(pieces)
        self.frames = frames
    }

    /// Far above the largest zip archive without extensions; the sum of so many frames of this length does not overflow.
    private static let longestArchive: Int64 = 1 << 40
}
