/// The words of strangers as plain text.
enum PlainText {
    /// Text from HTML: line breaks kept, links with their target, other tags dropped.
    ///
    /// Broken HTML costs nothing but looks; at most `PixivLimits.captionCharacters` of it are read.
    static func fromHTML(_ html: String) -> String {
        var reader = HTMLText(html)
        return trimmed(reader.read())
    }

    /// Text without control characters, with line feeds for line breaks.
    static func lines(_ text: String) -> String {
        var kept: [Unicode.Scalar] = []
        for scalar in text.unicodeScalars.prefix(PixivLimits.captionCharacters) where isShown(scalar) {
            kept.append(scalar)
        }
        return trimmed(kept)
    }

    /// Whether a scalar stays: carriage returns come with line feeds, other controls show nothing or move the cursor.
    static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory != .control || scalar == "\n" || scalar == "\t"
    }

    /// Without blanks and line breaks at the end; those at the beginning may be part of a drawing in letters.
    private static func trimmed(_ scalars: [Unicode.Scalar]) -> String {
        var rest = scalars[...]
        while let last = rest.last, last.properties.isWhitespace { rest.removeLast() }
        return String(String.UnicodeScalarView(rest))
    }
}
