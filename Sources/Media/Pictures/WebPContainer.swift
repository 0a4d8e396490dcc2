import Render

/// The chunks of an animated WebP file (RFC 9649, section 2.7).
struct WebPContainer: AnimationContainer {
    /// Longest side of a picture, in pixels: VP8 has 14 bits for it (RFC 6386, 9.1).
    static let longestSide = 16_383

    private var bytes: [UInt8] = []

    /// A file without frames that repeats for ever.
    init(width: Int, height: Int) throws(MediaError) {
        guard (1...Self.longestSide).contains(width), (1...Self.longestSide).contains(height) else {
            throw .animation("WebP holds no \(width) x \(height) pixels")
        }
        bytes = Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBP".utf8)
        chunk("VP8X", size: 10)
        bytes.append(littleEndian: Self.isAnimation, bytes: 4)
        bytes.append(littleEndian: width - 1, bytes: 3)
        bytes.append(littleEndian: height - 1, bytes: 3)
        chunk("ANIM", size: 6)
        bytes.append(littleEndian: Self.white, bytes: 4)
        bytes.append(littleEndian: Self.forEver, bytes: 2)
    }

    var length: Int { bytes.count }

    /// Appends a frame, of which the area begins at even coordinates.
    mutating func append(_ pixels: Pixels, _ area: PixelArea, delay: Int) throws(MediaError) {
        let picture = try WebPEncoder.encode(pixels, area)
        chunk("ANMF", size: Self.frameHead + picture.count)
        bytes.append(littleEndian: area.x / 2, bytes: 3)
        bytes.append(littleEndian: area.y / 2, bytes: 3)
        bytes.append(littleEndian: area.width - 1, bytes: 3)
        bytes.append(littleEndian: area.height - 1, bytes: 3)
        bytes.append(littleEndian: delay, bytes: 3)
        bytes.append(Self.overwrites)
        bytes += picture
    }

    consuming func finished() -> [UInt8] {
        let size = bytes.count - Self.riffHead
        for index in 0..<4 { bytes[4 + index] = UInt8(truncatingIfNeeded: size >> (8 * index)) }
        return bytes
    }

    // MARK: -

    private static let riffHead = 8
    private static let frameHead = 16
    /// Flag A of VP8X.
    private static let isAnimation = 0x02
    /// The background, which no frame leaves free.
    private static let white = 0xffff_ffff
    private static let forEver = 0
    /// Not blended with what stood there, and left there.
    private static let overwrites: UInt8 = 0x02

    private mutating func chunk(_ name: String, size: Int) {
        bytes += Array(name.utf8)
        bytes.append(littleEndian: size, bytes: 4)
    }
}
