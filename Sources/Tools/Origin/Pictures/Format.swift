import CZlib

/// How a picture is stored, by its extension; pixiv has the first two only, and archives.
enum Format: String, CaseIterable, Sendable {
    case jpg
    case png
    case gif
    case webp
    case avif
    case mp4
    case webm
    case zip
    case swf

    /// What the image hosts call it; Danbooru's nginx knows no type for AVIF (reference, 3.3).
    var mediaType: String {
        switch self {
        case .jpg: "image/jpeg"
        case .png, .gif, .webp: "image/\(rawValue)"
        case .avif: "application/octet-stream"
        case .mp4, .webm: "video/\(rawValue)"
        case .zip: "application/zip"
        case .swf: "application/x-shockwave-flash"
        }
    }

    /// Whether it is one picture that does not move.
    var isStill: Bool { [.jpg, .png, .webp, .avif].contains(self) }

    /// Seconds that the films of this kind take; nil for what does not move.
    var duration: Double? { self == .zip ? 0.48 : isStill || self == .swf ? nil : 1 }

    // MARK: - Padding

    /// Whether a file's beginning tells its length, so that all files of one beginning must be equally long.
    var isFixed: Bool { [.webp, .swf, .zip].contains(self) }

    /// Bytes of a whole unit of padding, an even number; a comment in GIF has one byte for its length.
    var piece: Int { self == .gif ? 256 : 4096 }

    /// Bytes of a unit besides its payload.
    var overhead: Int { unit([]).count }

    /// A unit that every reader of the format skips: it makes files as long as they are to be, and each another one.
    ///
    /// Comments in JPEG (ITU-T T.81, B.2.4.5) and GIF (89a, 24), a private ancillary chunk in PNG (PNG specification, 5.4), a chunk
    /// of its own in WebP (RFC 9649, 2.7), `free` boxes in MP4 and AVIF (ISO/IEC 14496-12, 8.1.2), Void elements in WebM (RFC 8794,
    /// 11.3.2), an unknown tag in SWF, and the archive's comment in ZIP (APPNOTE.TXT, 4.3.16).
    func unit(_ payload: some Collection<UInt8>) -> [UInt8] {
        let count = payload.count
        switch self {
        case .jpg: return [0xff, 0xfe] + (count + 2).big(2) + payload
        case .png:
            let named = Array("rkPd".utf8) + payload
            return count.big(4) + named + Int(Self.checksum(named)).big(4)
        case .gif: return [0x21, 0xfe, UInt8(truncatingIfNeeded: count)] + payload + [0]
        case .webp: return Array("rkPd".utf8) + count.little(4) + payload
        case .mp4, .avif: return (count + 8).big(4) + Array("free".utf8) + payload
        case .webm: return [0xec, 0x01] + count.big(7) + payload
        case .swf: return (77 << 6 | 0x3f).little(2) + count.little(4) + payload
        case .zip: return count.little(2) + payload
        }
    }

    /// What a file of the format ends with, behind the last unit.
    var closing: [UInt8] {
        switch self {
        case .jpg: [0xff, 0xd9]
        case .png: [0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82]
        case .gif: [0x3b]
        case .swf: [0x40, 0, 0, 0]  // ShowFrame, End
        case .webp, .avif, .mp4, .webm, .zip: []
        }
    }

    /// The CRC-32 of PNG's chunks and of entries of archives.
    static func checksum(_ bytes: [UInt8]) -> UInt32 {
        unsafe bytes.withUnsafeBufferPointer {
            unsafe UInt32(truncatingIfNeeded: crc32(0, $0.baseAddress, UInt32($0.count)))
        }
    }
}

extension Int {
    /// A number with its first byte first.
    func big(_ bytes: Int) -> [UInt8] { little(bytes).reversed() }

    /// A number with its last byte first.
    func little(_ bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) }
    }
}

/// A whole picture file of an exact length: what was drawn, padding, and what the format ends with.
///
/// The padding is put together where it is read and stands after the picture itself, so that viewers have everything to show early.
struct PictureFile: Sendable {
    private let format: Format
    private let head: [UInt8]
    /// How many whole units of padding there are.
    private let pieces: Int
    private let tail: [UInt8]
    private let salt: UInt64

    /// A file put together from its parts.
    init(_ format: Format, head: [UInt8], pieces: Int = 0, tail: [UInt8] = [], salt: UInt64 = 0) {
        self.format = format
        self.head = head
        self.pieces = pieces
        self.tail = tail
        self.salt = salt
    }

    /// Pads a file of a format; nil if it is too long already or no padding is as short as what is missing.
    init?(_ file: [UInt8], _ format: Format, length: Int, salt: UInt64) {
        let rest = length - file.count - format.overhead
        guard rest >= 0 else { return nil }
        var head = Array(file.dropLast(format.closing.count))
        if format == .webp { head.replaceSubrange(4..<8, with: (length - 8).little(4)) }
        let last = Self.noise(rest % format.piece, salt: ~salt)
        self.init(
            format, head: head, pieces: rest / format.piece, tail: format.unit(last) + format.closing, salt: salt)
    }

    /// Bytes of the whole file.
    var length: Int { head.count + pieces * format.piece + tail.count }

    /// Bytes kept in memory for this picture.
    var cost: Int { head.count + tail.count }

    /// Appends a part of the file to a block.
    func append(_ range: Range<Int>, to block: inout [UInt8]) {
        var place = range.lowerBound
        let padding = head.count..<head.count + pieces * format.piece
        if place < padding.lowerBound {
            block += head[place..<min(range.upperBound, head.count)]
            place = head.count
        }
        while place < min(padding.upperBound, range.upperBound) {
            let (index, start) = (place - head.count).quotientAndRemainder(dividingBy: format.piece)
            let end = min(format.piece, start + range.upperBound - place)
            block += Self.piece(format, index, salt: salt)[start..<end]
            place += end - start
        }
        if place < range.upperBound {
            block += tail[place - padding.upperBound..<range.upperBound - padding.upperBound]
        }
    }

    /// A unit of padding whose content follows from its place.
    static func piece(_ format: Format, _ index: Int, salt: UInt64) -> [UInt8] {
        format.unit(noise(format.piece - format.overhead, salt: salt &+ UInt64(index)))
    }

    /// Bytes that look random; none is above 0x7f, so that no marker is among them.
    static func noise(_ count: Int, salt: UInt64) -> ArraySlice<UInt8> {
        let start = Int(Chance.mix(salt) % UInt64(sea.count - count))
        return sea[start..<start + count]
    }

    private static let sea: [UInt8] = (0..<UInt64(1 << 17)).flatMap { place in
        Int(Chance.mix(place) & 0x7f7f_7f7f_7f7f_7f7f).little(8)
    }
}
