/// The importance of a log line.
enum LogLevel: Int, Comparable, Sendable, CaseIterable {
    case error = 3
    case warning = 4
    case info = 6
    case debug = 7

    static func < (left: LogLevel, right: LogLevel) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The name in options and log lines.
    var name: String { "\(self)" }

    /// The prefix that marks the level for the journal (sd-daemon(3)): the numbers of syslog.
    var journalPrefix: String { "<\(rawValue)>" }
}

// MARK: - Log text

/// External text made safe for one line of a log or a terminal.
enum LogText {
    /// Bytes of one log line; longer lines are cut.
    static let longestLine = 2048

    /// Characters of a path or a name within a sentence; the middle of a longer one is omitted.
    static let longestShown = 200

    /// Scalars of a character that is kept whole; a letter under a hundred accents is taken apart.
    private static let longestSign = 8

    /// A path or a name for a sentence; its beginning and its end are the most informative parts.
    static func escaped(_ text: String) -> String {
        let pieces = pieces(of: text)
        guard pieces.reduce(0, { $0 + $1.unicodeScalars.count }) > longestShown else { return pieces.joined() }
        let end = longestShown * 2 / 5
        let beginning = fitting(pieces, longestShown - 1 - end)
        return beginning.joined() + "…" + fitting(pieces.reversed(), end).reversed().joined()
    }

    /// A path as a word of a command that a shell takes (sh(1), "Quoting").
    static func word(_ path: String) -> String {
        let isPlain = path.unicodeScalars.allSatisfy { scalar in
            scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                || "/._-+=:@%,~".unicodeScalars.contains(scalar)
        }
        return isPlain
            ? escaped(path)
            : "'\(escaped(path).split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
    }

    /// The first pieces that together have at most so many scalars.
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

    /// Whether a character is an emoji made by joiners (Unicode Technical Standard 51, "ZWJ sequence"), or a flag spelled by tags;
    /// its invisible scalars hide nothing.
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

    /// Whether a scalar is an emoji that can be joined: digits and signs of ASCII have an emoji form too, but join with nothing.
    private static func isEmoji(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isEmoji && !scalar.isASCII
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String { "\\u{\(String(scalar.value, radix: 16))}" }

    /// Whether a scalar is escaped: controls move cursors and end lines; format characters (bidirectional overrides, zero widths)
    /// hide parts of a line.
    private static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }
}
