@_spi(_Unicode) import Swift

/// Untrusted text made fit for a file name: normalised, nothing invisible, nothing that a file system refuses.
package enum SafeText {
    /// The number of scalars read; far more than a name holds, so that a title of megabytes costs no more than a short one.
    private static let scalarsRead = 2048

    /// The text in NFC without the scalars that a name must not contain, edges trimmed; may be empty.
    static func make(_ text: String) -> String {
        // Removal comes first: it can bring a letter and its accent together, which NFC then joins. Twins come last: NFC has
        // `<` with a stroke through it as a letter of its own, but not the twin of `<`.
        let visible = String(String.UnicodeScalarView(withoutInvisible(text.unicodeScalars.prefix(scalarsRead))))
        var scalars = String.UnicodeScalarView()
        for scalar in visible._nfc {
            scalars.append(twins[scalar] ?? scalar)
        }
        return trimmed(String(scalars))
    }

    /// The text without blanks at both ends and dots at the end, which Windows and Samba drop or refuse.
    static func trimmed(_ text: String) -> String {
        var scalars = text.unicodeScalars[...]
        while let first = scalars.first, isBlank(first) || isJoiner(first) { scalars.removeFirst() }
        while let last = scalars.last, isBlank(last) || isJoiner(last) || last == "." { scalars.removeLast() }
        return String(scalars)
    }

    /// The longest beginning of at most `limit` bytes that ends between two characters.
    ///
    /// If the first character alone is longer (a letter under a hundred accents), the beginning ends between two scalars.
    package static func cut(_ text: String, toBytes limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var bytes = 0
        let characters = text.prefix { character in
            bytes += character.utf8.count
            return bytes <= limit
        }
        guard characters.isEmpty else { return String(characters) }
        return String(decoding: Array(text.utf8)[...].beginning(ofBytes: limit), as: UTF8.self)
    }

    /// The characters that Windows and Samba refuse, and the separator of paths, with twins of the same appearance.
    private static let twins: [Unicode.Scalar: Unicode.Scalar] = [
        "/": "／", "\\": "＼", ":": "：", "*": "＊", "?": "？", "\"": "＂", "<": "＜", ">": "＞", "|": "｜",
    ]

    private static func withoutInvisible(_ scalars: Substring.UnicodeScalarView) -> [Unicode.Scalar] {
        var kept: [Unicode.Scalar] = []
        kept.reserveCapacity(scalars.count)
        var rest = scalars
        while let scalar = rest.popFirst() {
            if isAllowed(scalar, after: kept.last, before: rest.first) { kept.append(scalar) }
        }
        return kept
    }

    /// Whether a scalar may stay, given the last scalar that stayed and the next one.
    ///
    /// Invisible scalars are removed, because two names must not look alike and a name must not read backwards (Unicode
    /// Technical Report 36). Three kinds stay where they change the displayed text: joiners in emoji and in Arabic and Indic
    /// words, variation selectors (forms of kanji in Japanese names), and the tags that spell a flag.
    private static func isAllowed(
        _ scalar: Unicode.Scalar, after previous: Unicode.Scalar?, before next: Unicode.Scalar?
    ) -> Bool {
        if scalar.value < 0x7F { return scalar.value >= 0x20 }
        let properties = scalar.properties
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: return false
        default: break
        }
        if properties.isNoncharacterCodePoint || annotations.contains(scalar.value) { return false }
        guard properties.isDefaultIgnorableCodePoint else { return true }
        if fillers.contains(scalar.value) { return true }
        guard let previous else { return false }
        if isJoiner(scalar) {
            guard let next, !isJoiner(previous), !next.properties.isDefaultIgnorableCodePoint else { return false }
            return joins(previous) && joins(next)
        }
        if properties.isVariationSelector {
            return !previous.properties.isVariationSelector && !isJoiner(previous) && !isBlank(previous)
        }
        if tags.contains(scalar.value) {
            return previous == blackFlag || tags.contains(previous.value)
        }
        return false
    }

    /// Whether a joiner beside this scalar can change the displayed text: only emoji and scripts from Hebrew on do.
    private static func joins(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x0590 && !isBlank(scalar) && !annotations.contains(scalar.value)
    }

    /// Zero-width non-joiner and joiner.
    private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\u{200C}" || scalar == "\u{200D}"
    }

    /// White space, and letters that show nothing: the fillers of Hangul and the empty Braille pattern.
    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar == "\u{3164}" || scalar == "\u{FFA0}" || scalar == "\u{2800}"
            || fillers.contains(scalar.value)
    }

    /// Stand for a missing part of a syllable in old Hangul.
    private static let fillers: ClosedRange<UInt32> = 0x115F...0x1160
    /// Marks of interlinear annotation.
    private static let annotations: ClosedRange<UInt32> = 0xFFF9...0xFFFB
    /// Letters of a flag's name, written after a black flag.
    private static let tags: ClosedRange<UInt32> = 0xE0020...0xE007F
    private static let blackFlag: Unicode.Scalar = "\u{1F3F4}"
}

// MARK: - Bytes of UTF-8

extension ArraySlice<UInt8> {
    /// The longest beginning of at most so many bytes that ends between two scalars of UTF-8.
    package func beginning(ofBytes most: Int) -> ArraySlice<UInt8> {
        guard count > most else { return self }
        var end = startIndex + most
        // A byte 10xxxxxx continues the scalar before it.
        while end > startIndex, self[end] & 0xC0 == 0x80 { end -= 1 }
        return self[..<end]
    }
}

// MARK: - Path text

/// Texts that are paths or words of a command line, by bytes.
///
/// To Swift a slash, a dash or a dot and a mark that combines with it are one character, and texts that differ in
/// normalisation are equal; to the kernel neither holds.
extension StringProtocol {
    /// The names between slashes; double slashes, and slashes at the ends, are ignored.
    package var pathNames: [String] {
        utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: Array($0), as: UTF8.self) }
    }

    /// Whether the text begins with a slash.
    package var isAbsolutePath: Bool { utf8.first == UInt8(ascii: "/") }

    /// The text after a given beginning; nil if the text does not begin with it.
    package func rest(after beginning: String) -> String? {
        guard utf8.starts(with: beginning.utf8) else { return nil }
        return String(decoding: Array(utf8.dropFirst(beginning.utf8.count)), as: UTF8.self)
    }

    /// The relative path from a directory to this path, without a leading slash; nil for a path that is not below the directory.
    package func way(from directory: String) -> String? {
        utf8.elementsEqual(directory.utf8) ? "" : rest(after: directory + "/")
    }
}

extension BidirectionalCollection {
    /// The elements between those at both ends that are blank.
    package func trimmed(_ isBlank: (Element) -> Bool) -> SubSequence {
        let rest = drop(while: isBlank)
        return rest[..<(rest.lastIndex { !isBlank($0) }.map { rest.index(after: $0) } ?? rest.startIndex)]
    }
}

extension Sequence {
    /// The elements without repetitions, in order; of equal ones the first.
    package func uniqued<Identity: Hashable>(by identity: (Element) -> Identity) -> [Element] {
        var seen: Set<Identity> = []
        return filter { seen.insert(identity($0)).inserted }
    }
}
