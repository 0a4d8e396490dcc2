import Glibc

/// The frames of animations: a disc on its way round the picture, a bar that grows, and the frame's number.
enum MovingScene {
    /// Paints one frame; flat enough to be small as a JPEG.
    static func paint(_ subject: PictureSubject, _ frame: PictureSubject.Frame, with brush: borrowing Brush) {
        var chance = Chance(subject.scene)
        let base = Colour(hue: chance.unit(), saturation: 0.45, value: 0.8)
        brush.sky([base.moved(value: -0.35), base])
        let done = Double(frame.index) / Double(frame.count)
        let angle = 2 * Double.pi * done
        let x = brush.width * (0.5 + 0.36 * sin(angle))
        let y = brush.height * (0.5 - 0.36 * cos(angle))
        let radius = min(brush.width, brush.height) * 0.11
        brush.disc(x, y, radius: radius, base.moved(hue: 0.5, saturation: 0.2, value: 0.2))
        brush.disc(x - radius * 0.3, y - radius * 0.3, radius: radius * 0.3, base.moved(saturation: -0.45, value: 0.2))
        let bar = brush.height * 0.03
        let width = brush.width * Double(frame.index + 1) / Double(frame.count)
        brush.box(0, brush.height - bar, width, bar, base.moved(hue: 0.3, value: 0.2))
        Lettering.number(frame.index, with: brush)
    }
}
