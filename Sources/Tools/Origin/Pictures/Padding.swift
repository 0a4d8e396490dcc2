import CZlib

/// Bytes that every reader of a format skips: they make files as long as they are to be, and each another one.
///
/// Comments in JPEG (ITU-T T.81, B.2.4.5) and GIF (89a, 24), a private ancillary chunk in PNG (PNG specification, 5.4), a chunk
/// of its own in WebP (RFC 9649, 2.7), `free` boxes in MP4 and AVIF (ISO/IEC 14496-12, 8.1.2), Void elements in WebM (RFC 8794,
/// 11.3.2), an unknown tag in SWF, and the archive's comment in ZIP (APPNOTE.TXT, 4.3.16).
enum Padding {
    /// Bytes of one piece of what is between a file's head and its tail.
    static let piece = 256

    /// A piece of so many bytes whose content follows from its place.
    static func piece(_ format: ServedFormat, of bytes: Int = piece, index: Int, salt: UInt64) -> [UInt8] {
        unit(format, noise(bytes - overhead(format), salt: Chance.mix(salt &+ UInt64(index))))
    }

    /// A unit of the format that holds a payload of at most 255 bytes in GIF, 65,533 in JPEG and ZIP, an even number in WebP.
    static func unit(_ format: ServedFormat, _ payload: [UInt8]) -> [UInt8] {
        let count = payload.count
        switch format {
        case .jpg: return [0xff, 0xfe] + big(count + 2, bytes: 2) + payload
        case .png:
            let named = Array("rkPd".utf8) + payload
            let sum = unsafe named.withUnsafeBufferPointer { unsafe crc32(0, $0.baseAddress, UInt32($0.count)) }
            return big(count, bytes: 4) + named + big(Int(sum), bytes: 4)
        case .gif: return [0x21, 0xfe, UInt8(truncatingIfNeeded: count)] + payload + [0]
        case .webp: return Array("rkPd".utf8) + little(count, bytes: 4) + payload
        case .mp4, .avif: return big(count + 8, bytes: 4) + Array("free".utf8) + payload
        case .webm: return [0xec, 0x01] + big(count, bytes: 7) + payload
        case .swf: return little(77 << 6 | 0x3f, bytes: 2) + little(count, bytes: 4) + payload
        case .zip: return little(count, bytes: 2) + payload
        }
    }

    /// What a file of the format ends with, behind the last unit.
    static func closing(_ format: ServedFormat) -> [UInt8] {
        switch format {
        case .jpg: [0xff, 0xd9]
        case .png: [0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82]
        case .gif: [0x3b]
        case .swf: [0x40, 0, 0, 0]  // ShowFrame, End
        case .webp, .avif, .mp4, .webm, .zip: []
        }
    }

    /// Whether a file's head tells its length, so that all files of one head must be equally long.
    static func isFixed(_ format: ServedFormat) -> Bool {
        format == .webp || format == .swf || format == .zip
    }

    /// Bytes that look random; none is above 0x7f, so that no marker is among them.
    static func noise(_ count: Int, salt: UInt64) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var word: UInt64 = 0
            for index in 0..<count {
                if index & 7 == 0 { word = Chance.mix(salt &+ UInt64(index)) & 0x7f7f_7f7f_7f7f_7f7f }
                unsafe buffer[index] = UInt8(truncatingIfNeeded: word >> (UInt64(index & 7) * 8))
            }
            filled = count
        }
    }

    /// A number with its first byte first.
    static func big(_ number: Int, bytes: Int) -> [UInt8] {
        (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    /// A number with its last byte first.
    static func little(_ number: Int, bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    /// Bytes of a unit besides its payload.
    static func overhead(_ format: ServedFormat) -> Int {
        switch format {
        case .jpg, .gif: 4
        case .png: 12
        case .webp, .mp4, .avif: 8
        case .webm: 9
        case .swf: 6
        case .zip: 2
        }
    }
}
