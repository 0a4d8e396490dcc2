import Glibc
import Media

/// The content of a picture; all renditions of a page share it.
struct PictureSubject: Hashable, Sendable {
    /// The seed of the scene and its colours.
    let scene: UInt64
    /// The text in the picture, such as `12` for rank 12; only characters in the font of ``Canvas`` are visible.
    var label = ""
    /// The page, counted from 0.
    var page = 0
    var pageCount = 1
    /// The frame of an animation, counted from 0; nil for a still picture.
    var frame: Int?
    var frames = 1

    /// The same content with another frame.
    func at(_ frame: Int, of frames: Int) -> PictureSubject {
        var subject = self
        subject.frame = frame
        subject.frames = frames
        return subject
    }
}

/// Paints one of six scenes in its own colours, or the frames of an animation.
enum Scene {
    /// The largest number of dots drawn, and the qualities to try until a picture fits.
    private static let mostDots = 3_000_000
    private static let qualities = [88, 77, 60, 40, 20, 5]

    /// A picture of at most `most` bytes with a unit of padding; nil if none fits or memory is short.
    static func file(_ subject: PictureSubject, _ pixels: PixelSize, _ format: Format, upTo most: Int) -> [UInt8]? {
        // Larger dots are quicker to draw and need fewer bytes.
        for dot in [1, 2, 4, 8] where pixels.width * pixels.height / (dot * dot) < mostDots {
            let canvas = paint(subject, pixels, dot: dot)
            for quality in format == .png ? [100] : qualities {
                guard let file = canvas.file(format, quality: quality) else { return nil }
                if file.count + format.unit([]).count <= most { return file }
            }
        }
        return nil
    }

    /// Paints a subject in dots of the given pixels; equal subjects give equal pictures.
    static func paint(_ subject: PictureSubject, _ pixels: PixelSize, dot: Int) -> Canvas {
        let small = PixelSize(width: (pixels.width + dot - 1) / dot, height: (pixels.height + dot - 1) / dot)
        var chance = Chance(subject.scene)
        let kind = chance.below(6)
        let base = Colour(
            hue: chance.unit(), saturation: chance.between(0.35, 0.7), value: chance.between(0.75, 0.98))
        var canvas =
            subject.frame.map { frame($0, subject.frames, base, small) }
            ?? (kind < 5 ? landscape(kind, base, small, &chance) : lights(base, small, &chance))
        let unit = min(canvas.width, canvas.height) / 12
        canvas.letter(subject.label, unit * 0.7, unit * 0.7, size: unit * 1.8)
        if subject.pageCount > 1 {
            let text = "\(subject.page + 1)/\(subject.pageCount)"
            let width = Double(text.count * 4) * unit * 0.2
            canvas.letter(text, canvas.width - width - unit * 0.5, canvas.height - unit * 1.5, size: unit)
        }
        return canvas.enlarged(to: pixels, by: dot)
    }

    /// A sky with a sun or moon over five ranges, each nearer and darker: mountains, hills, waves, firs or houses.
    private static func landscape(
        _ kind: Int, _ base: Colour, _ pixels: PixelSize, _ chance: inout Chance
    ) -> Canvas {
        let isNight = kind == 4 || chance.oneIn(4)
        let sky = base.moved(0, -0.1, isNight ? -0.6 : 0)
        var canvas = Canvas(pixels, sky: [sky, sky.moved(0.06, -0.1, 0.05), sky.moved(0.14, -0.3, 0.25)])
        let (width, height) = (canvas.width, canvas.height)
        for _ in 0..<(isNight ? 120 : 0) {
            let (x, y) = (chance.unit() * width, chance.unit() * height * 0.7)
            canvas.disc(x, y, radius: chance.between(0.6, 2.4), Colour.white.moved(alpha: chance.between(0.3, 1)))
        }
        let (x, y) = (chance.between(0.15, 0.85) * width, chance.between(0.15, 0.35) * height)
        let light = base.moved(0.14, -0.4, 0.25)
        canvas.disc(x, y, radius: height * 0.4, soft: true, light.moved(alpha: 0.6))
        canvas.disc(x, y, radius: height * 0.065, light.moved(0, -0.1))
        for depth in [0, 0.25, 0.5, 0.75, 1] {
            let (phase, rough, row) = (chance.between(0, 6.28), chance.between(0.6, 1.4), chance.next())
            let dark = isNight ? -0.35 - 0.5 * depth : -0.1 - 0.62 * depth
            let (top, far) = (height * (0.42 + 0.42 * depth), 0.3 + 0.7 * depth)
            canvas.ground(base.moved(0.03 + 0.05 * depth, 0.25 * depth - 0.15, dark)) { x in
                let turn = x / 1200 * 6.28
                let hills = top - 50 * sin(turn * rough + phase)
                // Firs and houses stand one beside the other.
                let place = x / (kind == 4 ? 80 : 140 * far) + rough
                var one = Chance(row, UInt64(place))
                let tall = one.between(0.4, 1) * height * 0.3 * far
                let side = abs(place - place.rounded(.down) - 0.5) * 2
                switch kind {
                case 0: return hills - 90 * abs(sin(turn * 2.7 + phase * 2)) - 12 * abs(sin(turn * 11 + phase))
                case 1: return hills - 30 * sin(turn * 2.3 * rough)
                case 2: return top + 60 + 14 * far * sin(x / (20 + 70 * depth) + phase)
                case 3: return hills + 40 - tall * max(0, 1 - side - 0.12 * abs(sin(side * 12)))
                default: return top + 80 - (side > 0.94 ? 0 : tall)
                }
            }
        }
        return canvas
    }

    /// Lights out of focus.
    private static func lights(_ base: Colour, _ pixels: PixelSize, _ chance: inout Chance) -> Canvas {
        let sky = [base.moved(0, 0, -0.75), base.moved(0.1, 0, -0.45), base.moved(0.2, 0, -0.65)]
        var canvas = Canvas(pixels, sky: sky)
        for index in 0..<40 {
            let (x, y) = (chance.unit() * canvas.width, chance.unit() * canvas.height)
            let colour = base.moved(chance.between(-0.2, 0.2), 0, 0.1, alpha: chance.between(0.1, 0.4))
            canvas.disc(x, y, radius: chance.between(18, 170), soft: index % 3 == 0, colour)
        }
        return canvas
    }

    /// A disc on its way round the picture, a bar that grows, and the frame's number; flat enough to be small as a JPEG.
    private static func frame(_ index: Int, _ count: Int, _ base: Colour, _ pixels: PixelSize) -> Canvas {
        var canvas = Canvas(pixels, sky: [base.moved(0, 0, -0.45), base.moved(0, 0, -0.1)])
        let (width, height) = (canvas.width, canvas.height)
        let angle = 2 * Double.pi * Double(index) / Double(count)
        let radius = min(width, height) * 0.11
        let (x, y) = (width * (0.5 + 0.36 * sin(angle)), height * (0.5 - 0.36 * cos(angle)))
        canvas.disc(x, y, radius: radius, base.moved(0.5, 0.2, 0.2))
        canvas.disc(x - radius * 0.3, y - radius * 0.3, radius: radius * 0.3, base.moved(0, -0.45, 0.2))
        canvas.box(0, height * 0.97, width * Double(index + 1) / Double(count), height * 0.03, base.moved(0.3, 0, 0.2))
        let (text, size) = ("\(index)", min(width, height) / 4)
        canvas.letter(text, width / 2 - Double(text.count) * size * 0.4, height / 2 - size / 2, size: size)
        return canvas
    }
}
