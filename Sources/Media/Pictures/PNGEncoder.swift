import CPNG

/// PNG files made with libpng (libpng-manual, "simplified API").
package enum PNGEncoder {
    /// Compresses a picture, eight bits for each of red, green and blue; nil if memory runs out.
    package static func encode(_ pixels: Pixels) -> [UInt8]? {
        var rows = [UInt8](repeating: 0, count: pixels.width * pixels.height * samples)
        var from = 0
        var to = 0
        while to < rows.count {
            rows[to] = pixels.bytes[from]
            rows[to + 1] = pixels.bytes[from + 1]
            rows[to + 2] = pixels.bytes[from + 2]
            from += Pixels.pixelBytes
            to += samples
        }
        var image = unsafe png_image()
        unsafe image.version = png_uint_32(PNG_IMAGE_VERSION)
        unsafe image.width = png_uint_32(pixels.width)
        unsafe image.height = png_uint_32(pixels.height)
        unsafe image.format = png_uint_32(PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_BGR)
        // The user waits for a screenful: speed is worth a file that is a third larger.
        unsafe image.flags = png_uint_32(PNG_IMAGE_FLAG_FAST)
        defer { unsafe png_image_free(&image) }
        // Incompressible data grows by some bytes for each 16 KiB (RFC 1951), plus chunks: a sixteenth is ample.
        var size = rows.count + rows.count / 16 + pixels.height + 4096
        var file = [UInt8](repeating: 0, count: size)
        guard unsafe png_image_write_to_memory(&image, &file, &size, 0, rows, 0, nil) != 0 else { return nil }
        file.removeSubrange(size...)
        return file
    }

    /// Bytes of a pixel as libpng receives it.
    private static let samples = 3
}
