import CZlib

/// The file format of a picture, by its extension; pixiv has only the first two, and archives.
enum Format: String, CaseIterable, Sendable {
    case jpg, png, gif, webp, avif, mp4, webm, zip

    /// The media type that the image hosts declare; Danbooru's nginx knows no type for AVIF (reference, 3.3).
    var mediaType: String {
        switch self {
        case .jpg: "image/jpeg"
        case .png, .gif, .webp: "image/\(rawValue)"
        case .avif: "application/octet-stream"
        case .mp4, .webm: "video/\(rawValue)"
        case .zip: "application/zip"
        }
    }

    /// Whether the format holds one still picture.
    var isStill: Bool { [.jpg, .png, .webp, .avif].contains(self) }

    /// The duration of the films of this format in seconds; nil for still pictures.
    var duration: Double? { self == .zip ? 0.48 : isStill ? nil : 1 }

    // MARK: - Padding

    /// A unit that every reader of the format skips: it pads files to their length, and makes each file unique.
    ///
    /// Comments in JPEG (ITU-T T.81, B.2.4.5) and GIF (89a, 24), a private ancillary chunk in PNG (PNG specification, 5.4), a chunk
    /// of its own in WebP (RFC 9649, 2.7), `free` boxes in MP4 and AVIF (ISO/IEC 14496-12, 8.1.2), Void elements in WebM (RFC 8794,
    /// 11.3.2), and the archive's comment in ZIP (APPNOTE.TXT, 4.3.16).
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
        case .zip: return count.little(2) + payload
        }
    }

    /// The first bytes of every file of the format, so that a range of one byte costs no drawing.
    var opening: [UInt8] {
        switch self {
        case .jpg: [0xff, 0xd8]
        case .png: [0x89, 0x50]
        case .gif: Array("GI".utf8)
        case .webp: Array("RI".utf8)
        case .avif, .mp4: [0, 0]
        case .webm: [0x1a, 0x45]
        case .zip: Array("PK".utf8)
        }
    }

    /// The last bytes of a file of the format, after the last unit.
    var closing: [UInt8] {
        switch self {
        case .jpg: [0xff, 0xd9]
        case .png: [0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82]
        case .gif: [0x3b]
        case .webp, .avif, .mp4, .webm, .zip: []
        }
    }

    /// A file padded to a length with units of noise; nil if it is too long or the missing length is shorter than a unit.
    ///
    /// The units follow the picture itself, so that viewers receive all visible data early.
    func padded(_ file: [UInt8], to length: Int, salt: UInt64) -> [UInt8]? {
        // A comment in GIF has one byte for its length; units of WebP are even.
        let (most, overhead) = (self == .gif ? 255 : 4096, unit([]).count)
        var (rest, salt) = (length - file.count - overhead, salt)
        guard rest >= 0 else { return nil }
        var bytes = Array(file.dropLast(closing.count))
        bytes.reserveCapacity(length)
        while rest > most {
            let count = min(most, rest - overhead)
            bytes += unit(Self.noise(count, salt: salt))
            rest -= count + overhead
            salt &+= 1
        }
        bytes += unit(Self.noise(rest, salt: salt)) + closing
        if self == .webp { bytes.replaceSubrange(4..<8, with: (length - 8).little(4)) }
        return bytes
    }

    /// Pseudorandom bytes; none is above 0x7f, so that no marker is among them.
    static func noise(_ count: Int, salt: UInt64) -> ArraySlice<UInt8> {
        let start = Int(Chance.mix(salt) % UInt64(sea.count - count))
        return sea[start..<start + count]
    }

    private static let sea: [UInt8] = (0..<UInt64(1 << 17)).flatMap { place in
        Int(Chance.mix(place) & 0x7f7f_7f7f_7f7f_7f7f).little(8)
    }

    /// The CRC-32 of PNG's chunks and of entries of archives.
    static func checksum(_ bytes: [UInt8]) -> UInt32 {
        unsafe bytes.withUnsafeBufferPointer {
            unsafe UInt32(truncatingIfNeeded: crc32(0, $0.baseAddress, UInt32($0.count)))
        }
    }
}

extension Int {
    /// The bytes of a number, the most significant first.
    func big(_ bytes: Int) -> [UInt8] { little(bytes).reversed() }

    /// The bytes of a number, the least significant first.
    func little(_ bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) }
    }
}
