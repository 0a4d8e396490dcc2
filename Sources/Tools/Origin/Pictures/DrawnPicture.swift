/// A whole picture file of an exact length: what was drawn, padding that every decoder skips, and what the format ends with.
///
/// The padding is computed where it is read and stands after the picture itself, so that viewers have everything to show early.
struct DrawnPicture: Sendable {
    private let format: ServedFormat
    private let head: [UInt8]
    /// How many units of padding of `piece` bytes there are.
    private let pieces: Int
    private let piece: Int
    private let tail: [UInt8]
    private let salt: UInt64

    /// Bytes of the whole file.
    var length: Int { head.count + pieces * piece + tail.count }

    /// Bytes kept in memory for this picture.
    var cost: Int { head.count + tail.count }

    /// A file put together from its parts.
    init(
        _ format: ServedFormat, head: [UInt8], pieces: Int, of piece: Int = Padding.piece, tail: [UInt8], salt: UInt64
    ) {
        self.format = format
        self.head = head
        self.pieces = pieces
        self.piece = piece
        self.tail = tail
        self.salt = salt
    }

    /// A file that is whole already.
    init(whole: [UInt8]) {
        self.init(.jpg, head: whole, pieces: 0, tail: [], salt: 0)
    }

    /// Pads a file of a format; nil if it is too long already or no padding is as short as what is missing.
    init?(_ file: [UInt8], _ format: ServedFormat, length: Int, salt: UInt64) {
        let rest = length - file.count
        let least = Padding.overhead(format)
        let closing = Padding.closing(format)
        var head = Array(file.dropLast(closing.count))
        if format == .webp { head.replaceSubrange(4..<8, with: Padding.little(length - 8, bytes: 4)) }
        // Any number of fill bytes may stand before a marker (T.81, B.1.1.2).
        if rest == 0 || format == .jpg && (0..<least).contains(rest) {
            self.init(
                format, head: head, pieces: 0, tail: [UInt8](repeating: 0xff, count: rest) + closing, salt: salt)
            return
        }
        guard rest >= least else { return nil }
        let pieces = (rest - least) / Self.largePiece
        let last = Padding.noise(rest - least - pieces * Self.largePiece, salt: ~salt)
        self.init(
            format, head: head, pieces: pieces, of: Self.largePiece, tail: Padding.unit(format, last) + closing,
            salt: salt)
    }

    /// The whole file; only for what is short.
    var bytes: [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            count = unsafe read(from: 0, into: UnsafeMutableRawBufferPointer(buffer))
        }
    }

    /// Copies the file from `offset` on into a buffer; answers how many bytes, 0 at the end.
    func read(from offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, length - offset)
        guard count > 0 else { return 0 }
        var done = 0
        while done < count {
            let (part, start) = part(at: offset + done)
            let some = min(count - done, part.count - start)
            unsafe part.withUnsafeBytes { bytes in
                let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + some])
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + some]))
            }
            done += some
        }
        return count
    }

    // MARK: -

    /// Bytes of a unit of padding: what every format's can have, and even, as WebP wants it.
    private static let largePiece = 16_384

    /// The part of the file that holds a place, and where in it that is.
    private func part(at offset: Int) -> ([UInt8], Int) {
        let place = offset - head.count
        if place < 0 { return (head, offset) }
        guard place < pieces * piece else { return (tail, place - pieces * piece) }
        return (Padding.piece(format, of: piece, index: place / piece, salt: salt), place % piece)
    }
}
