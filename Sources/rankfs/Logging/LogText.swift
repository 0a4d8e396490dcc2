/// Text from outside made safe for one line of a log or a terminal.
enum LogText {
    /// Bytes of one log line; longer ones are cut.
    static let longestLine = 2048

    /// Characters of a path or a name within a sentence; of longer ones the middle is left out.
    static let longestShown = 200

    /// A path or a name for a sentence: its beginning and its end tell most.
    static func escaped(_ text: String) -> String {
        let whole = text.unicodeScalars.lazy.map { needsEscape($0) ? escape($0) : String($0) }.joined().unicodeScalars
        let count = whole.count
        guard count > longestShown else { return String(whole) }
        let end = longestShown * 2 / 5
        return String(whole.prefix(longestShown - 1 - end)) + "…" + String(whole.suffix(end))
    }

    /// The text with control, formatting and line-separating characters written as `\u{…}`, cut at `limit` bytes.
    static func escaped(_ text: String, limit: Int) -> String {
        var result = ""
        var length = 0
        for scalar in text.unicodeScalars {
            let piece = needsEscape(scalar) ? escape(scalar) : String(scalar)
            length += piece.utf8.count
            if length > limit { return result + "…" }
            result += piece
        }
        return result
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String { "\\u{\(String(scalar.value, radix: 16))}" }

    /// Controls move cursors and end lines; format characters (bidirectional overrides, zero widths) hide what a line says.
    private static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }
}
