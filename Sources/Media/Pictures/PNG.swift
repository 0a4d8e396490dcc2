import CPNG

extension Pixels {
    /// A PNG file of the picture, eight bits for each of red, green and blue; nil if memory runs out.
    ///
    /// It is made with libpng (libpng-manual, "simplified API").
    package func png() -> [UInt8]? {
        var rows = [UInt8](repeating: 0, count: width * height * Self.samples)
        var from = 0
        var to = 0
        while to < rows.count {
            rows[to] = bytes[from]
            rows[to + 1] = bytes[from + 1]
            rows[to + 2] = bytes[from + 2]
            from += Self.pixelBytes
            to += Self.samples
        }
        var image = unsafe png_image()
        unsafe image.version = png_uint_32(PNG_IMAGE_VERSION)
        unsafe image.width = png_uint_32(width)
        unsafe image.height = png_uint_32(height)
        unsafe image.format = png_uint_32(PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_BGR)
        // The user waits for a screenful: speed is worth a file that is a third larger.
        unsafe image.flags = png_uint_32(PNG_IMAGE_FLAG_FAST)
        defer { unsafe png_image_free(&image) }
        // Incompressible data grows by some bytes for each 16 KiB (RFC 1951), plus chunks: a sixteenth is ample.
        var size = rows.count + rows.count / 16 + height + 4096
        var file = [UInt8](repeating: 0, count: size)
        guard unsafe png_image_write_to_memory(&image, &file, &size, 0, rows, 0, nil) != 0 else { return nil }
        file.removeSubrange(size...)
        return file
    }

    /// Bytes of a pixel as libpng receives it.
    private static let samples = 3
}
