import CWebP
package import Render

/// The chunks of a WebP file (RFC 9649, section 2.7), each picture lossy and made with libwebp.
package struct WebPContainer: AnimationContainer {
    /// The longest side of a picture, in pixels: VP8 has 14 bits for it (RFC 6386, 9.1).
    static let longestSide = 16_383

    private var bytes: [UInt8] = []

    /// Makes a file without frames that repeats without end.
    init(width: Int, height: Int) throws(MediaError) {
        guard (1...Self.longestSide).contains(width), (1...Self.longestSide).contains(height) else {
            throw .animation("WebP holds no \(width) x \(height) pixels")
        }
        begin(width, height, flags: Self.isAnimation)
        chunk("ANIM", size: 6)
        bytes.append(littleEndian: Self.white, bytes: 4)
        bytes.append(littleEndian: Self.forEver, bytes: 2)
    }

    var length: Int { bytes.count }

    /// Appends a frame; its area begins at even coordinates.
    mutating func append(_ pixels: Pixels, _ area: PixelArea, delay: Int) throws(MediaError) {
        let picture = try Self.compressed(pixels, area)
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
    /// The background, which frames cover completely.
    private static let white = 0xffff_ffff
    private static let forEver = 0
    /// The frame is not blended with the picture below, and is kept under the next.
    private static let overwrites: UInt8 = 0x02

    /// Makes a file of one picture, the chunks of which are already made.
    private init(still picture: [UInt8], width: Int, height: Int) {
        begin(width, height, flags: 0)
        bytes += picture
    }

    private mutating func begin(_ width: Int, _ height: Int, flags: Int) {
        bytes = Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBP".utf8)
        chunk("VP8X", size: 10)
        bytes.append(littleEndian: flags, bytes: 4)
        bytes.append(littleEndian: width - 1, bytes: 3)
        bytes.append(littleEndian: height - 1, bytes: 3)
    }

    private mutating func chunk(_ name: String, size: Int) {
        bytes += Array(name.utf8)
        bytes.append(littleEndian: size, bytes: 4)
    }

    // MARK: - Pictures

    /// A file of one still picture in the extended format, which allows more chunks after the picture's, from a JPEG.
    ///
    /// - Throws: `MediaError` for data that is no JPEG or too large.
    package static func still(jpeg: [UInt8]) throws(MediaError) -> [UInt8] {
        let pixels = try JPEG.decode(jpeg)
        let picture = try compressed(pixels, PixelArea(x: 0, y: 0, width: pixels.width, height: pixels.height))
        return WebPContainer(still: picture, width: pixels.width, height: pixels.height).finished()
    }

    /// Compresses a part of a picture, which must lie within it.
    ///
    /// - Returns: The chunks of the picture with their padding, without the head of a file.
    private static func compressed(_ pixels: Pixels, _ area: PixelArea) throws(MediaError) -> [UInt8] {
        var config = WebPConfig()
        var picture = unsafe WebPPicture()
        guard unsafe WebPConfigInit(&config) != 0, unsafe WebPPictureInit(&picture) != 0 else {
            throw .animation("libwebp is of another version than the one this was built with")
        }
        config.quality = quality
        config.method = method
        // Further threads would only delay the waiters for other files.
        config.thread_level = 0
        unsafe picture.width = Int32(area.width)
        unsafe picture.height = Int32(area.height)
        defer { unsafe WebPPictureFree(&picture) }
        let start = area.y * pixels.stride + area.x * Pixels.pixelBytes
        let isImported = unsafe pixels.bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return false }
            return unsafe WebPPictureImportBGRX(&picture, base + start, Int32(pixels.stride)) != 0
        }
        guard isImported else { throw .noMemory }
        var writer = unsafe WebPMemoryWriter()
        unsafe WebPMemoryWriterInit(&writer)
        defer { unsafe WebPMemoryWriterClear(&writer) }
        let isEncoded = unsafe withUnsafeMutablePointer(to: &writer) { writer in
            unsafe picture.writer = WebPMemoryWrite
            unsafe picture.custom_ptr = UnsafeMutableRawPointer(writer)
            return unsafe WebPEncode(&config, &picture) != 0
        }
        guard isEncoded, unsafe writer.size > fileHead, let bytes = unsafe writer.mem else {
            throw unsafe picture.error_code == VP8_ENC_ERROR_OUT_OF_MEMORY
                || picture.error_code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY
                ? .noMemory : .animation("libwebp refuses a frame (error \(unsafe picture.error_code.rawValue))")
        }
        return unsafe Array(UnsafeBufferPointer(start: bytes + fileHead, count: writer.size - fileHead))
    }

    private static let quality: Float = 80
    /// From 0, the fastest, to 6.
    private static let method: Int32 = 1
    /// `RIFF`, length and `WEBP`, which the container replaces with its own.
    private static let fileHead = 12
}
