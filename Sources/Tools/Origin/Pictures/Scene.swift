import Glibc

/// What is painted behind the lettering: one of seven scenes in colours of its own.
enum Scene: Int, CaseIterable {
    case mountains
    case sea
    case city
    case bokeh
    case flower
    case forest
    case planets

    /// Paints the scene that a number stands for.
    static func paint(_ number: UInt64, with brush: borrowing Brush) {
        var chance = Chance(number)
        let scene = allCases[chance.below(allCases.count)]
        let base = Colour(
            hue: chance.unit(), saturation: chance.between(0.35, 0.7), value: chance.between(0.75, 0.98))
        switch scene {
        case .mountains: mountains(base, brush, &chance)
        case .sea: sea(base, brush, &chance)
        case .city: city(base, brush, &chance)
        case .bokeh: bokeh(base, brush, &chance)
        case .flower: flower(base, brush, &chance)
        case .forest: forest(base, brush, &chance)
        case .planets: planets(base, brush, &chance)
        }
    }

    private static func mountains(_ base: Colour, _ brush: borrowing Brush, _ chance: inout Chance) {
        brush.sky([base, base.moved(hue: 0.06, saturation: -0.2), base.moved(hue: 0.12, saturation: -0.3, value: 0.1)])
        let sun = (chance.between(0.15, 0.85) * brush.width, chance.between(0.15, 0.4) * brush.height)
        let light = base.moved(hue: 0.14, saturation: -0.3, value: 0.2)
        brush.glow(sun.0, sun.1, radius: brush.height * 0.4, light.moved(alpha: 0.7))
        brush.disc(sun.0, sun.1, radius: brush.height * 0.07, light.moved(saturation: -0.1))
        let ranges = 5
        for range in 0..<ranges {
            let depth = Double(range) / Double(ranges - 1)
            let phase = chance.between(0, 6.28)
            let rough = chance.between(0.6, 1.4)
            let top = brush.height * (0.42 + 0.42 * depth)
            let colour = base.moved(
                hue: 0.03 + 0.05 * depth, saturation: 0.25 * depth - 0.15, value: -0.12 - 0.6 * depth)
            brush.ground(step: 6, colour) { x in
                let turn: Double = x / 1200 * 6.28
                let broad: Double = 70 * sin(turn * rough + phase)
                let peaks: Double = 34 * abs(sin(turn * 2.7 + phase * 2))
                return top - broad - peaks - 10 * sin(turn * 9 + phase)
            }
        }
    }

    private static func sea(_ base: Colour, _ brush: borrowing Brush, _ chance: inout Chance) {
        let night = base.moved(value: -0.45)
        brush.sky([night, base.moved(hue: 0.08), base.moved(hue: 0.15, saturation: -0.25, value: 0.1)])
        let horizon = brush.height * chance.between(0.42, 0.6)
        let moon = chance.between(0.2, 0.8) * brush.width
        let light = base.moved(hue: 0.15, saturation: -0.45, value: 0.25)
        brush.glow(moon, horizon * 0.55, radius: brush.height * 0.35, light.moved(alpha: 0.6))
        brush.disc(moon, horizon * 0.55, radius: brush.height * 0.06, light)
        brush.box(0, horizon, brush.width, brush.height - horizon, night.moved(hue: 0.02, saturation: 0.1))
        for wave in 0..<26 {
            let depth = Double(wave) / 25
            let y = horizon + depth * depth * (brush.height - horizon)
            let phase = chance.between(0, 6.28)
            let colour = night.moved(hue: 0.03 * depth, saturation: -0.1, value: 0.05 + 0.25 * (1 - depth), alpha: 0.35)
            brush.ground(step: 8, colour) { x in y + (2 + 14 * depth) * sin(x / (20 + 90 * depth) + phase) }
            brush.box(
                moon - 30 - 50 * chance.unit(), y, 60 + 100 * chance.unit(), 1 + 3 * depth, light.moved(alpha: 0.5))
        }
    }

    private static func city(_ base: Colour, _ brush: borrowing Brush, _ chance: inout Chance) {
        brush.sky([base.moved(value: -0.7), base.moved(hue: 0.1, value: -0.35), base.moved(hue: 0.2, saturation: -0.1)])
        for _ in 0..<60 {
            brush.disc(
                chance.unit() * brush.width, chance.unit() * brush.height * 0.5, radius: chance.between(0.6, 2.2),
                Colour(hue: 0.15, saturation: 0.1, value: 1, alpha: 0.8))
        }
        for row in 0..<3 {
            let depth = Double(row) / 2
            let wall = base.moved(hue: 0.05, saturation: 0.1, value: -0.35 - 0.25 * depth)
            var x = -20.0
            while x < brush.width {
                let width = chance.between(50, 130)
                let top = brush.height * (chance.between(0.35, 0.62) + 0.14 * depth)
                brush.box(x, top, width, brush.height - top, wall)
                if row > 0 { windows(x, top, width, base, brush, &chance) }
                x += width + chance.between(-6, 18)
            }
        }
    }

    private static func windows(
        _ x: Double, _ top: Double, _ width: Double, _ base: Colour, _ brush: borrowing Brush, _ chance: inout Chance
    ) {
        let lit = Colour(hue: 0.12 + chance.between(-0.04, 0.04), saturation: 0.45, value: 1, alpha: 0.85)
        var y = top + 12
        while y < brush.height {
            var left = x + 8
            while left + 9 < x + width {
                if chance.oneIn(3) { brush.box(left, y, 9, 13, lit) }
                left += 17
            }
            y += 26
        }
    }

    private static func bokeh(_ base: Colour, _ brush: borrowing Brush, _ chance: inout Chance) {
        brush.sky([base.moved(value: -0.55), base.moved(hue: 0.15, value: -0.3)])
        for index in 0..<46 {
            let x = chance.unit() * brush.width
            let y = chance.unit() * brush.height
            let radius = chance.between(18, 150)
            let colour = base.moved(hue: chance.between(-0.12, 0.18), value: 0.1, alpha: chance.between(0.08, 0.35))
            if index % 3 == 0 {
                brush.glow(x, y, radius: radius * 1.6, colour)
            } else {
                brush.disc(x, y, radius: radius, colour)
                brush.ring(x, y, radius: radius, line: 2, colour.moved(saturation: -0.2, alpha: 0.4))
            }
        }
    }

    private static func flower(_ base: Colour, _ brush: borrowing Brush, _ chance: inout Chance) {
        brush.sky([base.moved(hue: 0.5, saturation: -0.25), base.moved(hue: 0.55, saturation: -0.35, value: 0.1)])
        let x = brush.width / 2
        let y = brush.height * 0.42
        let petals = chance.within(5...16)
        let size = min(brush.width, brush.height)
        for ring in 0..<6 {
            let inner = Double(ring)
            let length = size * (0.52 - 0.075 * inner)
            let step = 2 * Double.pi / Double(petals)
            let turn = chance.unit()
            let colour = base.moved(
                hue: 0.025 * inner, saturation: 0.2 - 0.09 * inner, value: -0.25 + 0.06 * inner, alpha: 0.75)
            for index in 0..<petals {
                let angle = (Double(index) + turn) * step
                brush.petal(x, y, angle: angle, length: length, width: length * 2.2 / Double(petals), colour)
            }
        }
        brush.disc(x, y, radius: size * 0.06, base.moved(hue: 0.12, saturation: 0.2))
    }

    private static func forest(_ base: Colour, _ brush: borrowing Brush, _ chance: inout Chance) {
        brush.sky([base.moved(saturation: -0.2, value: 0.1), base.moved(hue: -0.05, saturation: -0.3, value: 0.1)])
        brush.glow(
            chance.unit() * brush.width, brush.height * 0.2, radius: brush.height * 0.5,
            base.moved(hue: 0.1, saturation: -0.4, value: 0.2, alpha: 0.8))
        for row in 0..<5 {
            let depth = Double(row) / 4
            let colour = base.moved(hue: 0.08 * depth, saturation: 0.2 * depth, value: -0.1 - 0.65 * depth)
            let bottom = brush.height * (0.62 + 0.3 * depth)
            let tall = 130 + 330 * depth
            brush.ground(step: 12, colour) { x in bottom - 12 * sin(x / 90 + depth * 5) }
            var x = chance.between(-60, 0)
            while x < brush.width + 60 {
                let height = tall * chance.between(0.6, 1.15)
                for tier in 0..<4 {
                    let top = bottom - height + height * 0.2 * Double(tier)
                    let half = height * (0.09 + 0.055 * Double(tier))
                    brush.shape([(x, top), (x - half, top + height * 0.36), (x + half, top + height * 0.36)], colour)
                }
                x += tall * chance.between(0.25, 0.5)
            }
        }
    }

    private static func planets(_ base: Colour, _ brush: borrowing Brush, _ chance: inout Chance) {
        brush.sky([base.moved(value: -0.8), base.moved(hue: 0.1, value: -0.6), base.moved(hue: 0.2, value: -0.7)])
        for _ in 0..<160 {
            brush.disc(
                chance.unit() * brush.width, chance.unit() * brush.height, radius: chance.between(0.5, 2.4),
                Colour(hue: chance.unit(), saturation: 0.15, value: 1, alpha: chance.between(0.3, 1)))
        }
        for _ in 0..<chance.within(2...4) {
            let x = chance.unit() * brush.width
            let y = chance.unit() * brush.height * 0.8
            let radius = chance.between(40, 230)
            let colour = base.moved(hue: chance.between(-0.3, 0.3))
            brush.glow(x, y, radius: radius * 1.5, colour.moved(alpha: 0.4))
            brush.disc(x, y, radius: radius, colour.moved(value: -0.25))
            for band in 0..<5 {
                brush.disc(
                    x - radius * 0.07 * Double(band), y - radius * 0.09 * Double(band),
                    radius: radius * (0.86 - 0.13 * Double(band)), colour.moved(value: 0.1, alpha: 0.22))
            }
            if chance.oneIn(2) {
                brush.ring(x, y, radius: radius * 1.35, line: radius * 0.06, colour.moved(alpha: 0.55))
            }
        }
    }
}
