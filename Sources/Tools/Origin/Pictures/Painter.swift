/// Draws a picture and compresses it to at most the bytes that it is to have.
///
/// ## Concurrency
/// Everything is local to the call.
enum Painter {
    /// The file of a picture; nil only without memory.
    static func draw(_ picture: Picture) -> DrawnPicture? {
        switch picture.stored {
        case .post(let model, let file): return model.file(file)
        case .bytes(let bytes, _): return DrawnPicture(whole: bytes)
        case nil: break
        }
        if !picture.frames.isEmpty { return Archive.draw(picture) }
        var chance = Chance(picture.subject.scene, text: picture.path)
        let salt = chance.next()
        // Larger dots are quicker to draw and need fewer bytes.
        for dot in [1, 2, 4, 8] where picture.pixels.width * picture.pixels.height / (dot * dot) < mostDots {
            let canvas = canvas(picture.subject, picture.pixels, dot: dot)
            for quality in picture.format == .jpg ? qualities : [qualities[0]] {
                guard let file = canvas.file(picture.format, quality: quality) else { return nil }
                if let padded = DrawnPicture(file, picture.format, length: picture.bytes, salt: salt) { return padded }
            }
        }
        return nil
    }

    /// A subject on a canvas of some size, in dots of so many pixels.
    static func canvas(_ subject: PictureSubject, _ pixels: PixelSize, dot: Int) -> Canvas {
        let small = PixelSize(width: (pixels.width + dot - 1) / dot, height: (pixels.height + dot - 1) / dot)
        return Scene.paint(subject, small).enlarged(to: pixels, by: dot)
    }

    /// Dots that are drawn at most.
    private static let mostDots = 3_000_000
    /// Tried one after the other until the picture fits.
    private static let qualities = [88, 77, 60, 40, 20, 5]
}
