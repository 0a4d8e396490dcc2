import Glibc

/// What is painted: one of six scenes in colours of its own, or the frames of an animation.
enum Scene {
    /// Paints a subject; equal subjects give equal pictures.
    static func paint(_ subject: PictureSubject, _ pixels: PixelSize) -> Canvas {
        var chance = Chance(subject.scene)
        let draw = chance.pick([mountains, sea, city, lights, forest, planets])
        let base = Colour(
            hue: chance.unit(), saturation: chance.between(0.35, 0.7), value: chance.between(0.75, 0.98))
        var canvas = subject.frame.map { frame($0, base, pixels) } ?? draw(base, pixels, &chance)
        let unit = min(canvas.width, canvas.height) / 12
        canvas.letter(subject.label, unit * 0.7, unit * 0.7, size: unit * 1.8)
        if subject.pageCount > 1 {
            let text = "\(subject.page + 1)/\(subject.pageCount)"
            let width = Double(text.count * 4) * unit * 0.2
            canvas.letter(text, canvas.width - width - unit * 0.5, canvas.height - unit * 1.5, size: unit)
        }
        return canvas
    }

    // MARK: -

    /// A disc on its way round the picture, a bar that grows, and the frame's number; flat enough to be small as a JPEG.
    private static func frame(_ frame: PictureSubject.Frame, _ base: Colour, _ pixels: PixelSize) -> Canvas {
        var canvas = Canvas(pixels, sky: [base.moved(value: -0.45), base.moved(value: -0.1)])
        let (width, height) = (canvas.width, canvas.height)
        let angle = 2 * Double.pi * Double(frame.index) / Double(frame.count)
        let radius = min(width, height) * 0.11
        let (x, y) = (width * (0.5 + 0.36 * sin(angle)), height * (0.5 - 0.36 * cos(angle)))
        canvas.disc(x, y, radius: radius, base.moved(hue: 0.5, saturation: 0.2, value: 0.2))
        canvas.disc(x - radius * 0.3, y - radius * 0.3, radius: radius * 0.3, base.moved(saturation: -0.45, value: 0.2))
        let done = width * Double(frame.index + 1) / Double(frame.count)
        canvas.box(0, height * 0.97, done, height * 0.03, base.moved(hue: 0.3, value: 0.2))
        let text = "\(frame.index)"
        let size = min(width, height) / 4
        canvas.letter(text, width / 2 - Double(text.count) * size * 0.4, height / 2 - size / 2, size: size)
        return canvas
    }

    private static func mountains(_ base: Colour, _ pixels: PixelSize, _ chance: inout Chance) -> Canvas {
        let haze = base.moved(hue: 0.12, saturation: -0.3, value: 0.1)
        var canvas = Canvas(pixels, sky: [base, base.moved(hue: 0.06, saturation: -0.2), haze])
        let (width, height) = (canvas.width, canvas.height)
        let sun = (chance.between(0.15, 0.85) * width, chance.between(0.15, 0.4) * height)
        let light = base.moved(hue: 0.14, saturation: -0.3, value: 0.2)
        canvas.disc(sun.0, sun.1, radius: height * 0.4, soft: true, light.moved(alpha: 0.7))
        canvas.disc(sun.0, sun.1, radius: height * 0.07, light.moved(saturation: -0.1))
        for depth in [0, 0.25, 0.5, 0.75, 1] {
            let (phase, rough) = (chance.between(0, 6.28), chance.between(0.6, 1.4))
            let top = height * (0.42 + 0.42 * depth)
            let colour = base.moved(
                hue: 0.03 + 0.05 * depth, saturation: 0.25 * depth - 0.15, value: -0.12 - 0.6 * depth)
            canvas.ground(colour) { x in
                let turn = x / 1200 * 6.28
                let peaks = 34 * abs(sin(turn * 2.7 + phase * 2))
                return top - 70 * sin(turn * rough + phase) - peaks - 10 * sin(turn * 9 + phase)
            }
        }
        return canvas
    }

    private static func sea(_ base: Colour, _ pixels: PixelSize, _ chance: inout Chance) -> Canvas {
        let night = base.moved(value: -0.45)
        let glow = base.moved(hue: 0.15, saturation: -0.25, value: 0.1)
        var canvas = Canvas(pixels, sky: [night, base.moved(hue: 0.08), glow])
        let (width, height) = (canvas.width, canvas.height)
        let horizon = height * chance.between(0.42, 0.6)
        let moon = chance.between(0.2, 0.8) * width
        let light = base.moved(hue: 0.15, saturation: -0.45, value: 0.25)
        canvas.disc(moon, horizon * 0.55, radius: height * 0.35, soft: true, light.moved(alpha: 0.6))
        canvas.disc(moon, horizon * 0.55, radius: height * 0.06, light)
        for wave in 0..<12 {
            let depth = Double(wave) / 11
            let y = horizon + depth * depth * (height - horizon)
            let phase = chance.between(0, 6.28)
            let colour = night.moved(hue: 0.02 + 0.03 * depth, value: 0.18 - 0.24 * depth)
            canvas.ground(colour) { x in y + (1 + 12 * depth) * sin(x / (20 + 90 * depth) + phase) }
            for _ in 0..<4 {
                let reach = 20 + 90 * chance.unit()
                let (x, below) = (moon + chance.between(-40, 40) - reach / 2, y + chance.between(4, 30) * (depth + 0.2))
                canvas.box(x, below, reach, 1 + 4 * depth, light.moved(alpha: 0.5))
            }
        }
        return canvas
    }

    private static func city(_ base: Colour, _ pixels: PixelSize, _ chance: inout Chance) -> Canvas {
        let dusk = base.moved(hue: 0.2, saturation: -0.1)
        var canvas = Canvas(pixels, sky: [base.moved(value: -0.7), base.moved(hue: 0.1, value: -0.35), dusk])
        let (width, height) = (canvas.width, canvas.height)
        stars(60, &canvas, &chance)
        for depth in [0, 0.5, 1] {
            let wall = base.moved(hue: 0.05, saturation: 0.1, value: -0.35 - 0.25 * depth)
            var x = -20.0
            while x < width {
                let house = chance.between(50, 130)
                let top = height * (chance.between(0.35, 0.62) + 0.14 * depth)
                canvas.box(x, top, house, height - top, wall)
                let lit = Colour(hue: 0.12 + chance.between(-0.04, 0.04), saturation: 0.45, value: 1, alpha: 0.85)
                for y in stride(from: top + 12, to: depth > 0 ? height : 0, by: 26) {
                    for left in stride(from: x + 8, to: x + house - 9, by: 17) where chance.oneIn(3) {
                        canvas.box(left, y, 9, 13, lit)
                    }
                }
                x += house + chance.between(-6, 18)
            }
        }
        return canvas
    }

    private static func lights(_ base: Colour, _ pixels: PixelSize, _ chance: inout Chance) -> Canvas {
        var canvas = Canvas(pixels, sky: [base.moved(value: -0.55), base.moved(hue: 0.15, value: -0.3)])
        for index in 0..<40 {
            let (x, y) = (chance.unit() * canvas.width, chance.unit() * canvas.height)
            let radius = chance.between(18, 150)
            let colour = base.moved(hue: chance.between(-0.12, 0.18), value: 0.1, alpha: chance.between(0.08, 0.35))
            canvas.disc(x, y, radius: index % 3 == 0 ? radius * 1.6 : radius, soft: index % 3 == 0, colour)
        }
        return canvas
    }

    private static func forest(_ base: Colour, _ pixels: PixelSize, _ chance: inout Chance) -> Canvas {
        let haze = base.moved(hue: -0.05, saturation: -0.3, value: 0.1)
        var canvas = Canvas(pixels, sky: [base.moved(saturation: -0.2, value: 0.1), haze])
        let (width, height) = (canvas.width, canvas.height)
        let light = base.moved(hue: 0.1, saturation: -0.4, value: 0.2, alpha: 0.8)
        canvas.disc(chance.unit() * width, height * 0.2, radius: height * 0.5, soft: true, light)
        for depth in [0, 0.25, 0.5, 0.75, 1] {
            let colour = base.moved(hue: 0.08 * depth, saturation: 0.2 * depth, value: -0.1 - 0.65 * depth)
            let bottom = height * (0.62 + 0.3 * depth)
            let tall = (130 + 330 * depth) * min(1, height / 900)
            let (row, shift, step) = (chance.next(), chance.unit(), tall * 0.34)
            canvas.ground(colour) { x in
                let place = x / step + shift
                var tree = Chance(row, UInt64(place))
                // Twigs: the further down, the wider, with steps.
                let side = abs(place - place.rounded(.down) - 0.5) * 2
                let twig = side + 0.12 * abs(sin(side * 12))
                return bottom - tall * tree.between(0.55, 1.1) * max(0, 1 - twig) - 12 * sin(x / 90 + depth * 5)
            }
        }
        return canvas
    }

    private static func planets(_ base: Colour, _ pixels: PixelSize, _ chance: inout Chance) -> Canvas {
        let dark = [base.moved(value: -0.8), base.moved(hue: 0.1, value: -0.6), base.moved(hue: 0.2, value: -0.7)]
        var canvas = Canvas(pixels, sky: dark)
        stars(160, &canvas, &chance)
        for _ in 0..<chance.within(2...4) {
            let (x, y) = (chance.unit() * canvas.width, chance.unit() * canvas.height * 0.8)
            let radius = chance.between(40, 230)
            let colour = base.moved(hue: chance.between(-0.3, 0.3))
            canvas.disc(x, y, radius: radius * 1.5, soft: true, colour.moved(alpha: 0.4))
            canvas.disc(x, y, radius: radius, colour.moved(value: -0.25))
            for band in 0..<5 {
                let inner = Double(band)
                canvas.disc(
                    x - radius * 0.07 * inner, y - radius * 0.09 * inner, radius: radius * (0.86 - 0.13 * inner),
                    colour.moved(value: 0.1, alpha: 0.22))
            }
        }
        return canvas
    }

    private static func stars(_ count: Int, _ canvas: inout Canvas, _ chance: inout Chance) {
        for _ in 0..<count {
            let (x, y) = (chance.unit() * canvas.width, chance.unit() * canvas.height * 0.7)
            let colour = Colour(hue: chance.unit(), saturation: 0.15, value: 1, alpha: chance.between(0.3, 1))
            canvas.disc(x, y, radius: chance.between(0.6, 2.4), colour)
        }
    }
}
