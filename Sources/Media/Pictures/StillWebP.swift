package import Render

/// A WebP file of one picture that does not move (RFC 9649, section 2.7).
package enum StillWebP {
    /// Makes the file from a JPEG, in the extended format, which allows more chunks behind the picture's.
    ///
    /// Throws `MediaError` for what is no JPEG or too large.
    package static func encode(jpeg: [UInt8]) throws(MediaError) -> [UInt8] {
        let pixels = try JPEG.decode(jpeg)
        let picture = try WebPEncoder.encode(
            pixels, PixelArea(x: 0, y: 0, width: pixels.width, height: pixels.height))
        var bytes = Array("RIFF".utf8)
        bytes.append(littleEndian: fileName.count + extendedHead + picture.count, bytes: 4)
        bytes += fileName + Array("VP8X".utf8)
        bytes.append(littleEndian: extendedHead - chunkHead, bytes: 4)
        bytes.append(littleEndian: 0, bytes: 4)
        bytes.append(littleEndian: pixels.width - 1, bytes: 3)
        bytes.append(littleEndian: pixels.height - 1, bytes: 3)
        return bytes + picture
    }

    private static let fileName = Array("WEBP".utf8)
    private static let chunkHead = 8
    /// The chunk VP8X whole.
    private static let extendedHead = 18
}
