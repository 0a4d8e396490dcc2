/// An animation of JPEG frames as a Matroska file (RFC 9559), whose frames are the JPEG files as they are.
package enum Matroska {
    /// Which bytes a Matroska file consists of, told by the frames' lengths alone.
    ///
    /// The same description always gives the same bytes: there is no date and no random identifier in them.
    package struct Layout: Hashable, Sendable {
        /// A stretch of the file.
        package enum Piece: Hashable, Sendable {
            case literal([UInt8])
            /// All bytes of a frame.
            case frame(index: Int, size: Int64)
        }

        /// What a range of the file consists of.
        package enum Part: Hashable, Sendable {
            case literal(ArraySlice<UInt8>)
            /// Bytes of a frame, counted from the frame's beginning.
            case frame(index: Int, range: Range<Int64>)

            /// In bytes.
            package var length: Int64 {
                switch self {
                case .literal(let bytes): Int64(bytes.count)
                case .frame(_, let range): Int64(range.count)
                }
            }
        }

        /// The whole file, in order.
        package let layout: [Piece]
        /// Bytes of the whole file.
        package let length: Int64
        /// Where each piece ends; the last number is `length`.
        private let ends: [Int64]

        /// Lays a file out.
        ///
        /// - Parameters:
        ///   - width: Of every frame, in pixels.
        ///   - height: Of every frame, in pixels.
        ///   - frames: Their lengths in bytes and the milliseconds that each is shown, mended by `FrameLimits.shown`.
        ///   - title: What players show as the name; none if nil or empty.
        /// - Throws: `.animation` for sizes and counts that no such file can have.
        package init(
            width: Int, height: Int, frames: [(size: Int64, delay: Int)], title: String? = nil
        ) throws(MediaError) {
            guard (1...FrameLimits.longestSide).contains(width), (1...FrameLimits.longestSide).contains(height) else {
                throw .animation("\(width) x \(height) pixels are no size of a picture")
            }
            guard (1...FrameLimits.count).contains(frames.count) else {
                throw .animation("it has \(frames.count) frames, and 1 to \(FrameLimits.count) are possible")
            }
            guard frames.allSatisfy({ (1...Self.longestFrame).contains($0.size) }) else {
                throw .animation("a frame is empty or larger than 4 GiB")
            }
            let writer = MatroskaWriter(width: width, height: height, frames: frames, title: title)
            layout = writer.pieces()
            var ends: [Int64] = []
            var end: Int64 = 0
            for piece in layout {
                end += piece.length
                ends.append(end)
            }
            self.ends = ends
            length = end
        }

        /// What a range of the file consists of, in order; what lies outside the file is left out.
        package func pieces(covering range: Range<Int64>) -> [Part] {
            let wanted = range.clamped(to: 0..<length)
            var parts: [Part] = []
            var index = firstPiece(endingBehind: wanted.lowerBound)
            while index < layout.count {
                let begin = index == 0 ? 0 : ends[index - 1]
                let here = wanted.clamped(to: begin..<ends[index])
                guard !here.isEmpty else { break }
                switch layout[index] {
                case .literal(let bytes):
                    parts.append(.literal(bytes[Int(here.lowerBound - begin)..<Int(here.upperBound - begin)]))
                case .frame(let frame, _):
                    parts.append(.frame(index: frame, range: here.lowerBound - begin..<here.upperBound - begin))
                }
                index += 1
            }
            return parts
        }

        // MARK: -

        /// What a zip archive without extensions can hold; the sum of all frames stays far below EBML's 2^56.
        private static let longestFrame: Int64 = 0xffff_ffff

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
}

extension Matroska.Layout.Piece {
    /// In bytes.
    package var length: Int64 {
        switch self {
        case .literal(let bytes): Int64(bytes.count)
        case .frame(_, let size): size
        }
    }
}
