/// How much a log line matters.
enum LogLevel: Int, Comparable, Sendable, CaseIterable {
    case error = 3
    case warning = 4
    case info = 6
    case debug = 7

    static func < (left: LogLevel, right: LogLevel) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The word that options and lines use.
    var name: String {
        switch self {
        case .error: "error"
        case .warning: "warning"
        case .info: "info"
        case .debug: "debug"
        }
    }

    /// The prefix by which the journal knows the level (sd-daemon(3)): syslog's numbers.
    var journalPrefix: String { "<\(rawValue)>" }
}

// MARK: - Log text

/// Text from outside made safe for one line of a log or a terminal.
enum LogText {
    /// Bytes of one log line; longer ones are cut.
    static let longestLine = 2048

    /// Characters of a path or a name within a sentence; of longer ones the middle is left out.
    static let longestShown = 200

    /// Scalars of a sign that is not taken apart; letters under a hundred accents are.
    private static let longestSign = 8

    /// A path or a name for a sentence: its beginning and its end tell most.
    static func escaped(_ text: String) -> String {
        let pieces = pieces(of: text)
        guard pieces.reduce(0, { $0 + $1.unicodeScalars.count }) > longestShown else { return pieces.joined() }
        let end = longestShown * 2 / 5
        let beginning = fitting(pieces, longestShown - 1 - end)
        return beginning.joined() + "…" + fitting(pieces.reversed(), end).reversed().joined()
    }

    /// The first pieces that have so many characters at most.
    private static func fitting(_ pieces: some Sequence<String>, _ most: Int) -> [String] {
        var left = most
        return pieces.prefix { piece in
            left -= piece.unicodeScalars.count
            return left >= 0
        }
    }

    /// The text with control, formatting and line-separating characters written as `\u{…}`, cut at `limit` bytes.
    static func escaped(_ text: String, limit: Int) -> String {
        var result = ""
        var length = 0
        for piece in pieces(of: text) {
            length += piece.utf8.count
            if length > limit { return result + "…" }
            result += piece
        }
        return result
    }

    /// The text in pieces that are shown whole or not at all.
    private static func pieces(of text: String) -> [String] {
        text.flatMap { character in
            let scalars = character.unicodeScalars
            let isPlain = scalars.count <= longestSign && !scalars.contains(where: needsEscape)
            if isPlain || isJoinedEmoji(scalars) { return [String(character)] }
            return scalars.map { needsEscape($0) ? escape($0) : String($0) }
        }
    }

    /// Whether a character is emoji that joiners make one of (Unicode Technical Standard 51, "ZWJ sequence"), or a flag that tags
    /// spell: what is invisible in it hides nothing.
    private static func isJoinedEmoji(_ scalars: Character.UnicodeScalarView) -> Bool {
        guard scalars.count > 1, let first = scalars.first, isEmoji(first) else { return false }
        var last = first
        for scalar in scalars.dropFirst() {
            let isFine =
                switch scalar {
                case "\u{FE0F}", joiner: last != joiner && last != scalar
                case "\u{E0020}"..."\u{E007E}", "\u{E007F}": first == "\u{1F3F4}" && last != joiner
                default: scalar.properties.isEmojiModifier || last == joiner && isEmoji(scalar)
                }
            guard isFine else { return false }
            last = scalar
        }
        return last != joiner
    }

    private static let joiner: Unicode.Scalar = "\u{200D}"

    /// Digits and signs of ASCII have an emoji form too; they join with nothing.
    private static func isEmoji(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isEmoji && !scalar.isASCII
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
