import CWebP
import Render

/// One lossy WebP picture, made with libwebp.
enum WebPEncoder {
    /// Compresses a part of a picture, which must lie within it.
    ///
    /// - Returns: The chunks of the picture with their padding, without the head of a file.
    static func encode(_ pixels: Pixels, _ area: PixelArea) throws(MediaError) -> [UInt8] {
        var config = WebPConfig()
        var picture = unsafe WebPPicture()
        guard unsafe WebPConfigInit(&config) != 0, unsafe WebPPictureInit(&picture) != 0 else {
            throw .animation("libwebp is of another version than the one this was built with")
        }
        config.quality = quality
        config.method = method
        // Threads would only disturb those who wait for other files.
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

    // MARK: -

    private static let quality: Float = 80
    /// From 0, the fastest, to 6.
    private static let method: Int32 = 1
    /// `RIFF`, length and `WEBP`, which a container of its own replaces.
    private static let fileHead = 12
}
