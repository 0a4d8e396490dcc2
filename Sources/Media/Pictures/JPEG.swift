import CTurboJPEG
package import Render

/// Writes and reads JPEG files with libjpeg-turbo.
///
/// ## Concurrency
/// Each call has a handle of its own and keeps the thread busy until it is done.
package enum JPEG {
    /// The most pixels that are decoded: 4K, 33 MB in memory; animations have at most 1920 x 1080.
    package static let mostPixels = 3840 * 2160

    /// Compresses pixels in rows of blue, green, red and an unused byte.
    ///
    /// - Parameters:
    ///   - pixels: At least `height` rows.
    ///   - width: The width in pixels.
    ///   - height: The height in pixels.
    ///   - stride: Bytes from one row to the next, at least 4 for each pixel.
    ///   - quality: The quality, from 1 to 100.
    /// - Returns: Nil if memory runs out, or if the pixels are fewer than declared.
    package static func encode(
        _ pixels: UnsafeRawBufferPointer, width: Int, height: Int, stride: Int, quality: Int
    ) -> [UInt8]? {
        guard (1...FrameLimits.longestSide).contains(width), (1...FrameLimits.longestSide).contains(height),
            stride >= width * Pixels.pixelBytes, pixels.count >= (height - 1) * stride + width * Pixels.pixelBytes,
            (1...100).contains(quality), let rows = pixels.baseAddress, let handle = unsafe tjInitCompress()
        else { return nil }
        defer { unsafe tjDestroy(handle) }
        var output: UnsafeMutablePointer<UInt8>?
        var size: UInt = 0
        let status = unsafe tjCompress2(
            handle, rows.assumingMemoryBound(to: UInt8.self), Int32(width), Int32(stride), Int32(height),
            Int32(TJPF_BGRX.rawValue), &output, &size, Int32(TJSAMP_420.rawValue), Int32(quality), TJFLAG_FASTDCT)
        defer { unsafe tjFree(output) }
        guard status == 0, let output = unsafe output else { return nil }
        return unsafe Array(UnsafeBufferPointer(start: output, count: Int(size)))
    }

    /// Compresses a picture; nil if memory runs out.
    package static func encode(_ pixels: Pixels, quality: Int) -> [UInt8]? {
        unsafe pixels.bytes.withUnsafeBytes { bytes in
            unsafe encode(
                bytes, width: pixels.width, height: pixels.height, stride: pixels.stride, quality: quality)
        }
    }

    /// Decodes a JPEG.
    ///
    /// A truncated or damaged picture is decoded as far as possible, as viewers do.
    ///
    /// - Parameters:
    ///   - bytes: The whole file.
    ///   - limit: The most pixels, which bounds the memory that a small file can require.
    ///   - edge: The length in pixels that the longest edge needs: a larger picture is decoded in fewer eighths
    ///     of its size, which is quicker.
    /// - Returns: The pixels, none of them transparent.
    /// - Throws: `.picture` for data that is no JPEG or too large, `.noMemory`.
    package static func decode(
        _ bytes: [UInt8], limit: Int = mostPixels, covering edge: Int? = nil
    ) throws(MediaError) -> Pixels {
        guard let handle = unsafe tjInitDecompress() else { throw .noMemory }
        defer { unsafe tjDestroy(handle) }
        var width: Int32 = 0
        var height: Int32 = 0
        var sampling: Int32 = 0
        var colours: Int32 = 0
        guard unsafe tjDecompressHeader3(handle, bytes, UInt(bytes.count), &width, &height, &sampling, &colours) == 0,
            width > 0, height > 0
        else { throw .picture("it is no JPEG") }
        guard Int(width) * Int(height) <= limit else {
            throw .picture("it has \(width) x \(height) pixels, and at most \(limit) are read")
        }
        if let edge {
            // Scaled sizes are rounded up (TJSCALED in turbojpeg.h).
            func scaled(_ side: Int32, _ eighths: Int32) -> Int32 { (side * eighths + 7) / 8 }
            let eighths = (1...8).first { scaled(max(width, height), $0) >= edge } ?? 8
            (width, height) = (scaled(width, eighths), scaled(height, eighths))
        }
        var pixels = Pixels(width: Int(width), height: Int(height))
        let status = unsafe tjDecompress2(
            handle, bytes, UInt(bytes.count), &pixels.bytes, width, Int32(pixels.stride), height,
            Int32(TJPF_BGRX.rawValue), TJFLAG_LIMITSCANS)
        guard unsafe status == 0 || tjGetErrorCode(handle) == Int32(TJERR_WARNING.rawValue) else {
            throw .picture(unsafe String(cString: tjGetErrorStr2(handle)))
        }
        return pixels
    }

    /// The size in pixels from a JPEG's header.
    ///
    /// - Parameter bytes: The whole file or its beginning.
    /// - Returns: Nil if it is no JPEG, or if the beginning ends before the first scan, which profiles and thumbnails of some
    ///   64 KiB each may precede (ITU-T T.81, B.2.2).
    package static func size(of bytes: [UInt8]) -> (width: Int, height: Int)? {
        guard let handle = unsafe tjInitDecompress() else { return nil }
        defer { unsafe tjDestroy(handle) }
        var (width, height, sampling, colours): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
        // A header with a warning has a size too.
        _ = unsafe tjDecompressHeader3(handle, bytes, UInt(bytes.count), &width, &height, &sampling, &colours)
        return width > 0 && height > 0 ? (Int(width), Int(height)) : nil
    }
}
