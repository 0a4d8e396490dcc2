/// Text from outside made safe for one line of a log or a terminal.
enum LogText {
    /// Bytes of one log line; longer ones are cut.
    static let longestLine = 2048

    /// The text with control, formatting and line-separating characters written as `\u{…}`, cut at `limit` bytes.
    static func escaped(_ text: String, limit: Int = longestLine) -> String {
        var result = ""
        var length = 0
        for scalar in text.unicodeScalars {
            let piece = needsEscape(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
            length += piece.utf8.count
            if length > limit { return result + "…" }
            result += piece
        }
        return result
    }

    /// Controls move cursors and end lines; format characters (bidirectional overrides, zero widths) hide what a line says.
    private static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }
}
