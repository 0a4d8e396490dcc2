import CCairo

/// A cairo image surface of opaque pixels, and the context that draws on it.
///
/// ## Concurrency
/// Belongs to the thread that made it. Its pointers are valid from `init` to `deinit`, which is why it counts as safe.
@safe struct Canvas: ~Copyable {
    let pixels: PixelSize
    private let surface: OpaquePointer
    let context: OpaquePointer

    /// An empty canvas; nil if cairo has no memory for it.
    init?(_ pixels: PixelSize) {
        guard
            let surface = unsafe cairo_image_surface_create(
                CAIRO_FORMAT_RGB24, Int32(pixels.width), Int32(pixels.height)),
            let context = unsafe cairo_create(surface)
        else { return nil }
        guard unsafe cairo_status(context) == CAIRO_STATUS_SUCCESS else {
            unsafe cairo_destroy(context)
            unsafe cairo_surface_destroy(surface)
            return nil
        }
        self.pixels = pixels
        unsafe self.surface = surface
        unsafe self.context = context
    }

    deinit {
        unsafe cairo_destroy(context)
        unsafe cairo_surface_destroy(surface)
    }

    /// Another canvas of some size with the same picture, smoothly made larger; nil without memory.
    func enlarged(to size: PixelSize) -> Canvas? {
        guard let large = Canvas(size) else { return nil }
        let context = unsafe large.context
        unsafe cairo_scale(
            context, Double(size.width) / Double(pixels.width), Double(size.height) / Double(pixels.height))
        unsafe cairo_set_source_surface(context, surface, 0, 0)
        unsafe cairo_pattern_set_filter(cairo_get_source(context), CAIRO_FILTER_BILINEAR)
        unsafe cairo_pattern_set_extend(cairo_get_source(context), CAIRO_EXTEND_PAD)
        unsafe cairo_paint(context)
        return large
    }

    /// The pixels as rows of blue, green, red and an unused byte, which is what RGB24 is on little-endian machines.
    func withPixels<Result>(_ body: (UnsafeMutablePointer<UInt8>, _ stride: Int) -> Result) -> Result? {
        unsafe cairo_surface_flush(surface)
        guard let data = unsafe cairo_image_surface_get_data(surface) else { return nil }
        return unsafe body(data, Int(unsafe cairo_image_surface_get_stride(surface)))
    }

    /// The canvas as a PNG; nil if cairo fails.
    func png() -> [UInt8]? {
        var output: [UInt8] = []
        let status = unsafe withUnsafeMutablePointer(to: &output) { output in
            unsafe cairo_surface_write_to_png_stream(
                surface,
                { closure, data, length in
                    guard let closure = unsafe closure, let data = unsafe data else { return CAIRO_STATUS_WRITE_ERROR }
                    let output = unsafe closure.assumingMemoryBound(to: [UInt8].self)
                    unsafe output.pointee.append(
                        contentsOf: unsafe UnsafeBufferPointer(start: data, count: Int(length)))
                    return CAIRO_STATUS_SUCCESS
                }, output)
        }
        return status == CAIRO_STATUS_SUCCESS ? output : nil
    }
}
