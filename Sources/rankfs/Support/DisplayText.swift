/// Text measured in columns of a terminal.
enum DisplayText {
    /// Columns of a text: two for wide characters of East Asia, none for combining marks.
    static func width(of text: String) -> Int {
        text.reduce(0) { $0 + width(of: $1) }
    }

    /// The text cut to the given columns, with `…` for the missing part.
    static func cut(_ text: String, to columns: Int) -> String {
        guard width(of: text) > columns else { return text }
        return columns > 0 ? String(beginning(of: text, columns - 1)) + "…" : ""
    }

    private static func beginning(of text: some Sequence<Character>, _ columns: Int) -> [Character] {
        var left = columns
        return text.prefix { character in
            left -= width(of: character)
            return left >= 0
        }
    }

    /// The end of a text in the given columns, after `…` for the missing part; the end of a path says most.
    static func ending(of text: String, to columns: Int) -> String {
        guard width(of: text) > columns else { return text }
        return columns > 0 ? "…" + String(beginning(of: text.reversed(), columns - 1).reversed()) : ""
    }

    /// The text in lines of at most the given columns, broken at spaces where possible; the last line is cut if it is too long.
    ///
    /// - Parameters:
    ///   - text: One line of text.
    ///   - columns: Columns of each line; at least 2, the width of the widest character.
    ///   - most: The largest number of lines, at least one.
    /// - Returns: At least one line.
    static func wrapped(_ text: String, to columns: Int, most: Int) -> [String] {
        var lines: [String] = []
        var rest = text[...]
        while lines.count < most - 1, width(of: String(rest)) > columns {
            var end = rest.startIndex
            var space: String.Index?
            var used = 0
            while end < rest.endIndex {
                used += width(of: rest[end])
                guard used <= columns else { break }
                if rest[end] == " " { space = end }
                end = rest.index(after: end)
            }
            guard end > rest.startIndex else { break }
            // A space just after the line is as good as a space in it.
            let cut = end < rest.endIndex && rest[end] == " " ? end : space ?? end
            lines.append(String(rest[..<cut]))
            rest = rest[cut...].drop { $0 == " " }
        }
        return lines + [cut(String(rest), to: columns)]
    }

    /// The width of a character, which is that of its widest scalar: joined emoji count as one.
    private static func width(of character: Character) -> Int {
        let scalars = character.unicodeScalars
        // U+FE0F selects the emoji where there is also a narrow sign, such as hearts (Unicode Technical Standard 51).
        if scalars.first?.properties.isEmoji == true, scalars.contains("\u{FE0F}") { return 2 }
        return scalars.map(width).max() ?? 0
    }

    /// The wide and full-width ranges of Unicode's East Asian Width (UAX #11), joined where no narrow character lies between.
    ///
    /// Other emoji are recognised by their own property.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x231A...0x231B, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0xA4CF,
        0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
        0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F2FF,
        0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF,
        0x20000...0x3FFFD,
    ]

    private static func width(of scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: 0
        default: scalar.properties.isEmojiPresentation || wide.contains { $0.contains(scalar.value) } ? 2 : 1
        }
    }

    /// `2 d 3 h`, `4 min 5 s`: the two largest units.
    static func duration(_ seconds: Int64) -> String {
        func text(_ unit: (Int64, String), _ next: (Int64, String)) -> String {
            let rest = seconds % unit.0 / next.0
            return "\(seconds / unit.0) \(unit.1)" + (rest == 0 ? "" : " \(rest) \(next.1)")
        }
        let (day, hour, minute) = ((Int64(86400), "d"), (Int64(3600), "h"), (Int64(60), "min"))
        if seconds >= day.0 { return text(day, hour) }
        if seconds >= hour.0 { return text(hour, minute) }
        return seconds >= minute.0 ? text(minute, (1, "s")) : "\(seconds) s"
    }
}

// MARK: - Counted

extension BinaryInteger {
    /// `1 picture`, `2 pictures`; for nouns that take an s.
    func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}

// MARK: - Saturating

extension Int64 {
    /// The whole part of a number, or the nearest representable number; 0 for NaN.
    ///
    /// A quotient of figures from outside, or by a very short time, may exceed every whole number.
    init(saturating number: Double) {
        self = number.isNaN ? 0 : Int64(exactly: number.rounded(.towardZero)) ?? (number < 0 ? .min : .max)
    }
}
