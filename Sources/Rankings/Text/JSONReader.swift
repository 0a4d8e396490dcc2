/// Reads JSON (RFC 8259) from untrusted services: linear in time, bounded in depth, number of values and length of strings.
///
/// Foundation's decoder rejects a whole page for one lone surrogate (`\ud800`), and titles do contain them; here it becomes
/// U+FFFD. Strings longer than any caption are cut, numbers that overflow stay numbers.
package struct JSONReader {
    /// The deepest nesting of objects and arrays; services use 9.
    private static let deepest = 64
    /// The most values in one answer; an author with 100,000 works has as many.
    private static let mostValues = 500_000
    /// The bytes of UTF-8 kept of a string; a caption of 3000 characters full of links has less.
    private static let longestString = 65_536

    private let bytes: [UInt8]
    private var index = 0
    private var values = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads a whole answer.
    ///
    /// - Parameter bytes: UTF-8; broken sequences become U+FFFD.
    /// - Returns: The value that the bytes spell.
    /// - Throws: `.unreadable`, with the position in bytes, if the bytes are not JSON, end early or exceed the bounds.
    package static func read(_ bytes: [UInt8]) throws(Failure) -> JSON {
        var reader = JSONReader(bytes)
        if bytes.starts(with: byteOrderMark) { reader.index = byteOrderMark.count }
        let value = try reader.value(depth: 0)
        reader.skipBlanks()
        guard reader.index == bytes.count else { throw reader.failure("something follows the end") }
        return value
    }

    /// Whether the first byte after blanks opens an object, which is not so for an HTML page.
    package static func looksLikeObject(_ bytes: [UInt8]) -> Bool {
        var reader = JSONReader(bytes)
        if bytes.starts(with: byteOrderMark) { reader.index = byteOrderMark.count }
        reader.skipBlanks()
        return reader.peek == UInt8(ascii: "{")
    }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private var peek: UInt8? {
        index < bytes.count ? bytes[index] : nil
    }

    private func failure(_ reason: String) -> Failure {
        .unreadable("broken at byte \(index): \(reason)")
    }

    private mutating func skipBlanks() {
        while index < bytes.count {
            let byte = bytes[index]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            index += 1
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipBlanks()
        guard peek == byte else { return false }
        index += 1
        return true
    }

    private mutating func value(depth: Int) throws(Failure) -> JSON {
        guard depth < Self.deepest else { throw failure("nested too deeply") }
        values += 1
        guard values <= Self.mostValues else { throw failure("too many values") }
        skipBlanks()
        switch peek {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case nil: throw failure("the end in the middle")
        default: return try word()
        }
    }

    private mutating func object(depth: Int) throws(Failure) -> JSON {
        index += 1
        var members: [JSON.Member] = []
        if take(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipBlanks()
            guard peek == UInt8(ascii: "\"") else { throw failure("a name was expected") }
            let name = try string()
            guard take(UInt8(ascii: ":")) else { throw failure("a colon was expected") }
            members.append(JSON.Member(name: name, value: try value(depth: depth + 1)))
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw failure("the end of an object was expected") }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(Failure) -> JSON {
        index += 1
        var elements: [JSON] = []
        if take(UInt8(ascii: "]")) { return .array(elements) }
        repeat {
            elements.append(try value(depth: depth + 1))
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw failure("the end of an array was expected") }
        return .array(elements)
    }

    /// Numbers and the three words; `NaN` and infinities, which are not JSON, are read as null.
    private mutating func word() throws(Failure) -> JSON {
        let start = index
        while let byte = peek, Self.isWordByte(byte) { index += 1 }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        switch text {
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "null", "NaN", "Infinity", "-Infinity": return .null
        default:
            // Swift's own conversions accept more forms: a leading plus, hexadecimal, words.
            guard let first = text.utf8.first, first == UInt8(ascii: "-") || first.isDigit else {
                throw failure("a value was expected")
            }
            if let number = Int64(text) { return .integer(number) }
            guard text.utf8.allSatisfy(Self.isNumberByte), let number = Double(text) else {
                throw failure("a number was expected")
            }
            return number.isFinite ? .real(number) : .null
        }
    }

    private static func isNumberByte(_ byte: UInt8) -> Bool {
        byte.isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E")
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        isNumberByte(byte) || byte.isLetter
    }

    private mutating func string() throws(Failure) -> String {
        index += 1
        var start = index
        var kept: [UInt8] = []
        while let byte = peek {
            if byte == UInt8(ascii: "\"") {
                defer { index += 1 }
                if kept.isEmpty { return Self.cut(bytes[start..<index]) }
                keep(start..<index, in: &kept)
                return Self.cut(kept[...])
            }
            index += 1
            if byte == UInt8(ascii: "\\") {
                keep(start..<(index - 1), in: &kept)
                try escape(into: &kept)
                start = index
            }
        }
        throw failure("the end in a string")
    }

    private func keep(_ range: Range<Int>, in kept: inout [UInt8]) {
        // A little more than the limit is harmless, megabytes are not.
        if kept.count <= Self.longestString { kept += bytes[range].prefix(Self.longestString + 4) }
    }

    /// The text cut between scalars to the longest length.
    private static func cut(_ slice: ArraySlice<UInt8>) -> String {
        String(decoding: slice.beginning(ofBytes: longestString), as: UTF8.self)
    }

    /// Reads one escape after its backslash; an unknown escape stands for its own character.
    private mutating func escape(into kept: inout [UInt8]) throws(Failure) {
        guard let byte = peek else { throw failure("the end in an escape") }
        index += 1
        switch byte {
        case UInt8(ascii: "n"): kept.append(0x0A)
        case UInt8(ascii: "t"): kept.append(0x09)
        case UInt8(ascii: "r"): kept.append(0x0D)
        case UInt8(ascii: "b"): kept.append(0x08)
        case UInt8(ascii: "f"): kept.append(0x0C)
        case UInt8(ascii: "u"):
            guard kept.count <= Self.longestString else { return }
            kept += UTF8.encode(try escapedScalar()) ?? UTF8.encodedReplacementCharacter
        default: kept.append(byte)
        }
    }

    /// The scalar of `uXXXX`, of two such escapes if they are a surrogate pair, U+FFFD for half of one.
    private mutating func escapedScalar() throws(Failure) -> Unicode.Scalar {
        let unit = try codeUnit()
        guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) ?? "\u{FFFD}" }
        let afterLead = index
        if bytes[index...].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) {
            index += 2
            let trail = try codeUnit()
            if UTF16.isTrailSurrogate(trail) {
                return UTF16.decode(UTF16.EncodedScalar([unit, trail]))
            }
            index = afterLead
        }
        return "\u{FFFD}"
    }

    private mutating func codeUnit() throws(Failure) -> UInt16 {
        let digits = bytes[index...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ ($0 | 0x20).isHexDigit }),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw failure("four hexadecimal digits were expected") }
        index += 4
        return unit
    }
}
