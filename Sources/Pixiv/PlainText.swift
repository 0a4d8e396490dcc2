import Sourcing

/// Plain text from the service's HTML and other text of its users: a few tags, links through `/jump.php` and character references.
///
/// The reader is tolerant: a character that belongs to no tag or reference is text, and open elements end at the end. Time is
/// bounded by the length read times the longest tag.
struct PlainText {
    private let scalars: [Unicode.Scalar]
    /// The index after the last `>`: no tag begins from here on.
    private let tagsEnd: Int
    private var index = 0
    private var output: [Unicode.Scalar] = []
    /// The open link: its target, and where its text begins in the output.
    private var link: (target: String, start: Int)?
    /// Whether a `<br>` was the last element read: a line feed that directly follows it in the source adds nothing.
    private var isBehindBreak = false

    /// The most scalars of a tag; longer ones are text.
    ///
    /// The target of a link has at most 2000 in browsers.
    private static let longestTag = 4096

    private init(_ html: String) {
        scalars = Array(html.unicodeScalars.prefix(PixivLimits.captionCharacters))
        tagsEnd = scalars.lastIndex(of: ">").map { $0 + 1 } ?? 0
    }

    // MARK: - Plain text

    /// Text from HTML: line breaks kept, links with their target, other tags dropped.
    ///
    /// Broken HTML only affects the appearance; at most `PixivLimits.captionCharacters` characters are read.
    static func fromHTML(_ html: String) -> String {
        var reader = PlainText(html)
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

    /// Whether a scalar is kept: carriage returns come with line feeds, other controls show nothing or move the cursor.
    static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory != .control || scalar == "\n" || scalar == "\t"
    }

    /// Removes blanks and line breaks at the end; those at the beginning may be part of a drawing in letters.
    private static func trimmed(_ scalars: [Unicode.Scalar]) -> String {
        var rest = scalars[...]
        while let last = rest.last, last.properties.isWhitespace { rest.removeLast() }
        return String(String.UnicodeScalarView(rest))
    }

    // MARK: - HTML

    private mutating func read() -> [Unicode.Scalar] {
        while index < scalars.count {
            if scalars[index] == "<", let end = tagEnd() {
                apply(scalars[(index + 1)..<end])
                index = end + 1
                continue
            }
            let (scalar, length) = Self.reference(scalars[index...]) ?? (scalars[index], 1)
            index += length
            if !(isBehindBreak && scalar == "\n"), Self.isShown(scalar) { output.append(scalar) }
            if scalar != "\r" { isBehindBreak = false }
        }
        closeLink()
        return output
    }

    /// The index of the `>` that ends the tag beginning here; nil if no tag begins here.
    private func tagEnd() -> Int? {
        guard index + 1 < tagsEnd else { return nil }
        let first = scalars[index + 1]
        guard first == "/" || first == "!" || first.isASCIILetter else { return nil }
        var quote: Unicode.Scalar?
        var inQuotes: Int?
        for place in (index + 1)..<min(tagsEnd, index + Self.longestTag) {
            let scalar = scalars[place]
            if scalar == ">" {
                if quote == nil { return place }
                inQuotes = inQuotes ?? place
            } else if scalar == quote {
                quote = nil
            } else if quote == nil, scalar == "\"" || scalar == "'" {
                quote = scalar
            }
        }
        // The quotation mark is never closed.
        return inQuotes
    }

    private mutating func apply(_ tag: ArraySlice<Unicode.Scalar>) {
        let name = String(String.UnicodeScalarView(tag.prefix { $0 == "/" || $0.isASCIILetter })).lowercased()
        switch name {
        case "br", "br/", "/br":
            output.append("\n")
            isBehindBreak = true
        case "a":
            closeLink()
            link = Self.href(in: tag).flatMap { Self.shown($0) }.map { ($0, output.count) }
        case "/a": closeLink()
        default: break
        }
    }

    /// Appends the target to a link's text unless the two are equal.
    private mutating func closeLink() {
        guard let (target, start) = link else { return }
        link = nil
        let text = output[start...]
        if text.allSatisfy(\.properties.isWhitespace) {
            output += target.unicodeScalars
        } else if !text.elementsEqual(target.unicodeScalars) {
            output += " (\(target))".unicodeScalars
        }
    }

    /// The value of the attribute `href`, with or without quotation marks.
    private static func href(in tag: ArraySlice<Unicode.Scalar>) -> String? {
        var rest = tag.drop { $0.isASCIILetter }
        while !rest.isEmpty {
            rest = rest.drop { $0.properties.isWhitespace || $0 == "/" || $0 == "=" }
            let name = rest.prefix { !$0.properties.isWhitespace && $0 != "=" && $0 != "/" }
            rest = rest[name.endIndex...].drop { $0.properties.isWhitespace }
            // The attribute has no value.
            guard rest.first == "=" else { continue }
            rest = rest.dropFirst().drop { $0.properties.isWhitespace }
            let value: ArraySlice<Unicode.Scalar>
            if let quote = rest.first, quote == "\"" || quote == "'" {
                value = rest.dropFirst().prefix { $0 != quote }
                rest = rest[value.endIndex...].dropFirst()
            } else {
                value = rest.prefix { !$0.properties.isWhitespace }
                rest = rest[value.endIndex...]
            }
            if String(String.UnicodeScalarView(name)).lowercased() == "href" { return decoded(value) }
        }
        return nil
    }

    private static func decoded(_ value: ArraySlice<Unicode.Scalar>) -> String {
        var text = String.UnicodeScalarView()
        var rest = value
        while let first = rest.first {
            let (scalar, length) = Self.reference(rest) ?? (first, 1)
            text.append(scalar)
            rest = rest.dropFirst(length)
        }
        return String(text)
    }

    // MARK: - Character references

    /// Character references such as `&amp;`; others are `&#39;` and `&#x27;`.
    private static let names: [String: Unicode.Scalar] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": " ",
    ]
    /// The most scalars from the ampersand to the semicolon; `&#x10FFFF;` has ten.
    private static let longestReference = 12

    /// The scalar of the reference that a text begins with, and the reference's length; nil if it begins with none.
    private static func reference(_ text: ArraySlice<Unicode.Scalar>) -> (Unicode.Scalar, Int)? {
        guard text.first == "&", let end = text.prefix(longestReference).firstIndex(of: ";") else { return nil }
        let name = String(String.UnicodeScalarView(text[(text.startIndex + 1)..<end]))
        guard let scalar = names[name] ?? number(name[...]) else { return nil }
        return (scalar, end - text.startIndex + 1)
    }

    /// The scalar of a numeric reference; numbers that stand for no character become U+FFFD, as in browsers.
    private static func number(_ text: Substring) -> Unicode.Scalar? {
        guard text.hasPrefix("#") else { return nil }
        let digits = text.dropFirst()
        let isHexadecimal = digits.first == "x" || digits.first == "X"
        let value = isHexadecimal ? digits.dropFirst() : digits
        guard value.first?.isHexDigit == true, let code = UInt32(value, radix: isHexadecimal ? 16 : 10) else {
            return nil
        }
        return code == 0 ? "\u{FFFD}" : Unicode.Scalar(code) ?? "\u{FFFD}"
    }

    // MARK: - Links

    /// The address that the service's `jump.php` page leads to; nil for a target that is no web address.
    private static func shown(_ href: String) -> String? {
        let text = String(String.UnicodeScalarView(href.unicodeScalars.filter { !$0.properties.isWhitespace }))
        for exit in ["/jump.php?", "https://www.pixiv.net/jump.php?", "//www.pixiv.net/jump.php?"]
        where text.hasPrefix(exit) {
            let rest = text.dropFirst(exit.count)
            return address(PercentCoding.decode(String(rest.hasPrefix("url=") ? rest.dropFirst(4) : rest)))
        }
        if text.hasPrefix("//") { return address("https:" + text) }
        if text.hasPrefix("/") { return address("https://www.pixiv.net" + text) }
        return address(text)
    }

    private static func address(_ text: String) -> String? {
        guard text.hasPrefix("https://") || text.hasPrefix("http://") else { return nil }
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { $0.properties.generalCategory != .control && !$0.properties.isWhitespace })
        )
    }
}

extension Unicode.Scalar {
    fileprivate var isASCIILetter: Bool {
        ("a"..."z").contains(self) || ("A"..."Z").contains(self)
    }
}
