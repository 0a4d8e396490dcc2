import CCairo

/// The words on a picture: a large rank, and a band with title, author and place.
enum Lettering {
    /// Writes the subject over the scene.
    static func write(_ subject: PictureSubject, with brush: borrowing Brush) {
        let short = min(brush.width, brush.height)
        let unit = max(short / 12, 34)
        let band = unit * 3.1
        let context = unsafe brush.context
        brush.box(
            0, brush.height - band, brush.width, band, Colour(hue: 0, saturation: 0, value: 0.05, alpha: 0.62))
        let room = brush.width - unit * 1.2
        let top = brush.height - band
        let title = shown(subject.title)
        unsafe line(
            title.allSatisfy(\.isWhitespace) ? "(no title)" : title, at: (unit * 0.6, top + unit * 1.1),
            size: unit * 0.82, room: room, context)
        unsafe line(shown(subject.author), at: (unit * 0.6, top + unit * 1.95), size: unit * 0.55, room: room, context)
        unsafe line(subject.place, at: (unit * 0.6, top + unit * 2.7), size: unit * 0.5, room: room * 0.75, context)
        if subject.pageCount > 1 {
            let text = "p\(subject.page) / \(subject.pageCount)"
            unsafe line(
                text, at: (brush.width - unit * 2.6, top + unit * 2.7), size: unit * 0.5, room: unit * 2.4, context)
        }
        if let rank = subject.rank {
            unsafe big("#\(rank)", at: (unit * 0.5, unit * 2.3), size: unit * 2.2, context)
        }
    }

    /// Writes a large number into the middle of the scene.
    static func number(_ number: Int, with brush: borrowing Brush) {
        let size = min(brush.width, brush.height) / 3
        let context = unsafe brush.context
        unsafe big("\(number)", at: (brush.width / 2 - size * 0.6, brush.height / 2 + size * 0.35), size: size, context)
    }

    // MARK: -

    /// Which font has the glyphs of a run.
    private enum Face: String {
        /// Latin, Greek, Cyrillic, Arabic and many symbols.
        case general = "DejaVu Sans"
        /// Chinese, Japanese and Korean.
        case ideographs = "Droid Sans Fallback"
    }

    /// The longest text that is worth measuring: no line holds more.
    private static let longest = 60

    private static func shown(_ text: String) -> String {
        String(text.unicodeScalars.prefix(longest).compactMap(drawable).map(Character.init))
    }

    /// Signs without a glyph of their own in these fonts are replaced or left out.
    private static func drawable(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0: return " "
        case 0x200b...0x200f, 0x202a...0x202e, 0x2060...0x206f, 0xfe00...0xfe0f, 0xfeff: return nil
        case 0x1f3fb...0x1f3ff: return nil  // skin tones
        case 0x1f000...0x1faff, 0x26c4, 0x2b1b: return "\u{2605}"  // emoji become stars
        case 0x20000...: return "\u{3013}"
        default: return scalar
        }
    }

    private static func face(of scalar: Unicode.Scalar) -> Face {
        switch scalar.value {
        case 0x1100...0x11ff, 0x2e80...0xa4cf, 0xac00...0xd7ff, 0xf900...0xfaff, 0xfe30...0xfe4f, 0xff00...0xffef:
            .ideographs
        default: .general
        }
    }

    private static func runs(_ text: String) -> [(Face, String)] {
        var runs: [(Face, String)] = []
        for scalar in text.unicodeScalars {
            let face = face(of: scalar)
            if runs.last?.0 == face || scalar == " " && !runs.isEmpty {
                runs[runs.count - 1].1.unicodeScalars.append(scalar)
            } else {
                runs.append((face, String(scalar)))
            }
        }
        return runs
    }

    /// One line, made smaller if it is too long, then cut at the edge of the picture.
    private static func line(
        _ text: String, at point: (Double, Double), size: Double, room: Double, _ context: OpaquePointer
    ) {
        let runs = runs(text)
        var width = 0.0
        for (face, run) in runs {
            unsafe select(face, size: size, bold: false, context)
            width += unsafe advance(run, context)
        }
        let fitted = size * min(1, max(0.45, room / max(width, 1)))
        unsafe cairo_set_source_rgb(context, 1, 1, 1)
        unsafe cairo_move_to(context, point.0, point.1)
        for (face, run) in runs {
            unsafe select(face, size: fitted, bold: false, context)
            unsafe cairo_show_text(context, run)
        }
    }

    /// White letters with a dark rim, readable on anything.
    private static func big(_ text: String, at point: (Double, Double), size: Double, _ context: OpaquePointer) {
        unsafe select(.general, size: size, bold: true, context)
        unsafe cairo_move_to(context, point.0, point.1)
        unsafe cairo_text_path(context, text)
        unsafe cairo_set_line_join(context, CAIRO_LINE_JOIN_ROUND)
        unsafe cairo_set_line_width(context, size / 9)
        unsafe cairo_set_source_rgba(context, 0.05, 0.05, 0.1, 0.75)
        unsafe cairo_stroke_preserve(context)
        unsafe cairo_set_source_rgb(context, 1, 1, 1)
        unsafe cairo_fill(context)
    }

    private static func select(_ face: Face, size: Double, bold: Bool, _ context: OpaquePointer) {
        unsafe cairo_select_font_face(
            context, face.rawValue, CAIRO_FONT_SLANT_NORMAL, bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL)
        unsafe cairo_set_font_size(context, size)
    }

    private static func advance(_ text: String, _ context: OpaquePointer) -> Double {
        var extents = cairo_text_extents_t()
        unsafe cairo_text_extents(context, text, &extents)
        return extents.x_advance
    }
}
