import CCairo
import Glibc

/// The few strokes that scenes are made of.
///
/// Coordinates are in the units of the scene, in which the long side is 1200. A brush must not outlive its canvas.
@safe struct Brush: ~Copyable {
    let context: OpaquePointer
    let width: Double
    let height: Double

    /// Fills the whole scene with a vertical gradient.
    func sky(_ colours: [Colour]) {
        guard let pattern = unsafe cairo_pattern_create_linear(0, 0, 0, height) else { return }
        for (index, colour) in colours.enumerated() {
            let (red, green, blue) = colour.rgb
            unsafe cairo_pattern_add_color_stop_rgb(
                pattern, Double(index) / Double(max(1, colours.count - 1)), red, green, blue)
        }
        unsafe cairo_set_source(context, pattern)
        unsafe cairo_pattern_destroy(pattern)
        unsafe cairo_paint(context)
    }

    /// A disc.
    func disc(_ x: Double, _ y: Double, radius: Double, _ colour: Colour) {
        use(colour)
        unsafe cairo_arc(context, x, y, radius, 0, 2 * Double.pi)
        unsafe cairo_fill(context)
    }

    /// A disc that fades out towards its edge.
    func glow(_ x: Double, _ y: Double, radius: Double, _ colour: Colour) {
        guard let pattern = unsafe cairo_pattern_create_radial(x, y, 0, x, y, radius) else { return }
        let (red, green, blue) = colour.rgb
        unsafe cairo_pattern_add_color_stop_rgba(pattern, 0, red, green, blue, colour.alpha)
        unsafe cairo_pattern_add_color_stop_rgba(pattern, 1, red, green, blue, 0)
        unsafe cairo_set_source(context, pattern)
        unsafe cairo_pattern_destroy(pattern)
        unsafe cairo_arc(context, x, y, radius, 0, 2 * Double.pi)
        unsafe cairo_fill(context)
    }

    /// A ring.
    func ring(_ x: Double, _ y: Double, radius: Double, line: Double, _ colour: Colour) {
        use(colour)
        unsafe cairo_set_line_width(context, line)
        unsafe cairo_arc(context, x, y, radius, 0, 2 * Double.pi)
        unsafe cairo_stroke(context)
    }

    /// A filled polygon.
    func shape(_ points: [(Double, Double)], _ colour: Colour) {
        use(colour)
        for (index, point) in points.enumerated() {
            if index == 0 {
                unsafe cairo_move_to(context, point.0, point.1)
            } else {
                unsafe cairo_line_to(context, point.0, point.1)
            }
        }
        unsafe cairo_close_path(context)
        unsafe cairo_fill(context)
    }

    /// Everything below a skyline given by its height at each x.
    func ground(step: Double, _ colour: Colour, _ skyline: (Double) -> Double) {
        var points: [(Double, Double)] = [(0, height)]
        var x = 0.0
        while x < width + step {
            points.append((x, skyline(x)))
            x += step
        }
        points.append((width, height))
        shape(points, colour)
    }

    /// A rectangle.
    func box(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ colour: Colour) {
        use(colour)
        unsafe cairo_rectangle(context, x, y, width, height)
        unsafe cairo_fill(context)
    }

    /// A petal from the centre outwards.
    func petal(_ x: Double, _ y: Double, angle: Double, length: Double, width: Double, _ colour: Colour) {
        use(colour)
        unsafe cairo_save(context)
        unsafe cairo_translate(context, x, y)
        unsafe cairo_rotate(context, angle)
        unsafe cairo_move_to(context, 0, 0)
        unsafe cairo_curve_to(context, length * 0.3, -width, length * 0.8, -width, length, 0)
        unsafe cairo_curve_to(context, length * 0.8, width, length * 0.3, width, 0, 0)
        unsafe cairo_fill(context)
        unsafe cairo_restore(context)
    }

    private func use(_ colour: Colour) {
        let (red, green, blue) = colour.rgb
        unsafe cairo_set_source_rgba(context, red, green, blue, colour.alpha)
    }
}
