/// A parsed JSON value that remembers where in its text it stands, so that parts of recordings can be sent on unchanged.
struct JSONNode: Sendable {
    enum Value: Sendable {
        case object([(key: String, node: JSONNode)])
        case array([JSONNode])
        case string(String)
        case number(String)
        case bool(Bool)
        case null
    }

    let value: Value
    /// Of the bytes that were parsed.
    let range: Range<Int>

    /// Parses a whole text; nil if it is no JSON or deeper than `Parser.maximumDepth`.
    init?(_ bytes: [UInt8]) {
        var parser = Parser(bytes: bytes)
        guard let node = parser.value(depth: 0) else { return nil }
        parser.skipSpace()
        guard parser.position == bytes.count else { return nil }
        self = node
    }

    fileprivate init(_ value: Value, _ range: Range<Int>) {
        self.value = value
        self.range = range
    }

    /// The member of an object.
    subscript(key: String) -> JSONNode? {
        guard case .object(let members) = value else { return nil }
        return members.first { $0.key == key }?.node
    }

    /// The text of a string.
    var string: String? {
        if case .string(let text) = value { text } else { nil }
    }

    /// A whole number, also one that is written as a string.
    var integer: Int64? {
        switch value {
        case .number(let text), .string(let text): Int64(text)
        default: nil
        }
    }

    /// The elements of an array, or the values of an object.
    var children: [JSONNode] {
        switch value {
        case .array(let elements): elements
        case .object(let members): members.map(\.node)
        default: []
        }
    }
}

private struct Parser {
    let bytes: [UInt8]
    var position = 0

    /// Recordings are a dozen levels deep.
    static let maximumDepth = 64

    mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x0a, 0x0d, 0x09].contains(bytes[position]) { position += 1 }
    }

    mutating func value(depth: Int) -> JSONNode? {
        skipSpace()
        guard depth < Self.maximumDepth, position < bytes.count else { return nil }
        let start = position
        let value: JSONNode.Value?
        switch bytes[position] {
        case UInt8(ascii: "{"): value = object(depth: depth)
        case UInt8(ascii: "["): value = array(depth: depth)
        case UInt8(ascii: "\""): value = string().map { .string($0) }
        case UInt8(ascii: "t"): value = word("true") ? .bool(true) : nil
        case UInt8(ascii: "f"): value = word("false") ? .bool(false) : nil
        case UInt8(ascii: "n"): value = word("null") ? .null : nil
        default: value = number()
        }
        return value.map { JSONNode($0, start..<position) }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func object(depth: Int) -> JSONNode.Value? {
        position += 1
        var members: [(key: String, node: JSONNode)] = []
        if take("}") { return .object(members) }
        repeat {
            skipSpace()
            guard position < bytes.count, bytes[position] == UInt8(ascii: "\""), let key = string(), take(":"),
                let node = value(depth: depth + 1)
            else { return nil }
            members.append((key, node))
        } while take(",")
        return take("}") ? .object(members) : nil
    }

    private mutating func array(depth: Int) -> JSONNode.Value? {
        position += 1
        var elements: [JSONNode] = []
        if take("]") { return .array(elements) }
        repeat {
            guard let node = value(depth: depth + 1) else { return nil }
            elements.append(node)
        } while take(",")
        return take("]") ? .array(elements) : nil
    }

    private mutating func word(_ word: String) -> Bool {
        guard bytes[position...].starts(with: word.utf8) else { return false }
        position += word.utf8.count
        return true
    }

    private mutating func number() -> JSONNode.Value? {
        let start = position
        while position < bytes.count, "+-.eE0123456789".utf8.contains(bytes[position]) { position += 1 }
        guard position > start else { return nil }
        return .number(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func string() -> String? {
        position += 1
        var text: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            guard escape(into: &text) else { return nil }
        }
        return nil
    }

    private mutating func escape(into text: inout [UInt8]) -> Bool {
        guard position < bytes.count else { return false }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "u"):
            guard let unit = hexUnit() else { return false }
            var units = [unit]
            if UTF16.isLeadSurrogate(unit), bytes[position...].starts(with: "\\u".utf8) {
                let before = position
                position += 2
                guard let second = hexUnit() else { return false }
                if UTF16.isTrailSurrogate(second) { units.append(second) } else { position = before }
            }
            text.append(contentsOf: String(decoding: units, as: UTF16.self).utf8)
        default: text.append(byte)
        }
        return true
    }

    private mutating func hexUnit() -> UInt16? {
        guard position + 4 <= bytes.count else { return nil }
        let digits = String(decoding: bytes[position..<position + 4], as: UTF8.self)
        position += 4
        return UInt16(digits, radix: 16)
    }
}
