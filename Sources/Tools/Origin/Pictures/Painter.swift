import CCairo
import Media

/// Draws a picture and compresses it to at most the bytes that it is to have.
///
/// ## Concurrency
/// Everything is local to the call; cairo and libjpeg-turbo keep no shared state that matters here.
enum Painter {
    /// The drawn part of a picture: the file without what pads it to its length; nil only without memory.
    static func draw(_ picture: Picture) -> DrawnPicture? {
        switch picture.stored {
        case .post(let model, let file): return DrawnPicture(whole: model.bytes(file))
        case .bytes(let bytes, _): return DrawnPicture(whole: bytes)
        case nil: break
        }
        if !picture.frames.isEmpty { return Archive.draw(picture) }
        return switch picture.format {
        case .jpeg: jpeg(picture)
        case .png: png(picture)
        case .webp: webp(picture)
        }
    }

    // MARK: -

    /// The long side of a scene in its own units.
    private static let units = 1200.0
    /// The first quality tried; lower ones follow until the picture fits.
    private static let firstQuality = 88
    private static let qualityStep = 11

    /// The picture before it is compressed; nil without memory.
    static func canvas(_ picture: Picture, plain: Bool) -> Canvas? {
        guard let canvas = Canvas(picture.pixels) else { return nil }
        let pixels = picture.pixels
        let scale = Double(max(pixels.width, pixels.height)) / units
        let context = unsafe canvas.context
        unsafe cairo_scale(context, scale, scale)
        let brush = unsafe Brush(
            context: context, width: Double(pixels.width) / scale, height: Double(pixels.height) / scale)
        if let frame = picture.subject.frame {
            MovingScene.paint(picture.subject, frame, with: brush)
            return canvas
        }
        if plain {
            brush.sky([Colour(hue: Double(picture.subject.scene % 360) / 360, saturation: 0.4, value: 0.7)])
        } else {
            Scene.paint(picture.subject.scene, with: brush)
        }
        Lettering.write(picture.subject, with: brush)
        return canvas
    }

    private static func jpeg(_ picture: Picture) -> DrawnPicture? {
        guard let canvas = canvas(picture, plain: false) else { return nil }
        var quality = firstQuality
        while quality > 0 {
            if let bytes = compress(canvas, quality: quality), bytes.count <= picture.bytes {
                return DrawnPicture(jpeg: bytes, length: picture.bytes, salt: picture.salt)
            }
            quality -= qualityStep
        }
        // Even the coarsest is too large: the same size in pixels, but flat.
        guard let flat = Painter.canvas(picture, plain: true), let bytes = compress(flat, quality: 1) else {
            return nil
        }
        return DrawnPicture(jpeg: bytes, length: picture.bytes, salt: picture.salt)
    }

    /// A canvas as a JPEG; nil without memory.
    static func compress(_ canvas: borrowing Canvas, quality: Int) -> [UInt8]? {
        let pixels = canvas.pixels
        return unsafe canvas.withPixels { data, stride in
            let bytes = unsafe UnsafeRawBufferPointer(start: data, count: stride * pixels.height)
            return unsafe JPEG.encode(
                bytes, width: pixels.width, height: pixels.height, stride: stride, quality: quality)
        } ?? nil
    }

    private static func webp(_ picture: Picture) -> DrawnPicture? {
        for plain in [false, true] {
            guard let canvas = canvas(picture, plain: plain), let jpeg = compress(canvas, quality: firstQuality),
                let bytes = try? StillWebP.encode(jpeg: jpeg)
            else { return nil }
            if let padded = PostPadding.webp(bytes, length: picture.bytes) { return DrawnPicture(whole: padded) }
        }
        return nil
    }

    private static func png(_ picture: Picture) -> DrawnPicture? {
        for plain in [false, true] {
            guard let canvas = canvas(picture, plain: plain), let bytes = canvas.png() else { return nil }
            if bytes.count <= picture.bytes - DrawnPicture.pngOverhead {
                return DrawnPicture(png: bytes, length: picture.bytes, salt: picture.salt)
            }
        }
        return nil
    }
}

extension Picture {
    /// What decides the bytes of the padding.
    var salt: UInt64 {
        var chance = Chance(subject.scene, text: path)
        return chance.next()
    }
}
