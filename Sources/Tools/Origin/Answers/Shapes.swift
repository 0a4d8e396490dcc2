import Rankings

/// Names and values of an object, in the order in which a service writes them.
typealias Members = [(name: String, value: JSON?)]

/// The answers of the services, as templates of `shapes.json`.
///
/// A variable is written as `$name`: alone for the value, as `$$name` for the value as a text, or within a text. A name without
/// a value is replaced by the shape of that name; without such a shape, the member is omitted.
enum Shapes {
    private static let all = JSON(PackageResources.shapes_json) ?? .null

    /// The shape of a name, with values for its variables.
    static func fill(_ name: String, _ values: (String) -> JSON?) -> JSON {
        filled(all[name], values) ?? .null
    }

    /// The shape of a name, with a table of values.
    static func fill(_ name: String, _ values: [String: JSON] = [:]) -> JSON {
        fill(name) { values[$0] }
    }

    private static let mark = UInt8(ascii: "$")

    private static func filled(_ shape: JSON, _ values: (String) -> JSON?) -> JSON? {
        switch shape {
        case .string(let text) where text.utf8.contains(mark): return filled(text, values)
        case .array(let elements): return .array(elements.compactMap { filled($0, values) })
        case .object(let members): return .members(members.map { ($0.name, filled($0.value, values)) })
        default: return shape
        }
    }

    private static func filled(_ text: String, _ values: (String) -> JSON?) -> JSON? {
        func value(_ name: Substring) -> JSON? {
            values(String(name)) ?? all.members.first { $0.name == name }.flatMap { filled($0.value, values) }
        }
        let parts = text.split(separator: "$" as Character, omittingEmptySubsequences: false)
        func isName(_ part: Substring) -> Bool { part.utf8.allSatisfy(continuesName) && !part.isEmpty }
        if parts.count == 2, parts[0].isEmpty, isName(parts[1]) { return value(parts[1]) }
        if parts.count == 3, parts[0].isEmpty, parts[1].isEmpty, isName(parts[2]) {
            return value(parts[2]).map { .string($0.plain) }
        }
        var output = String(parts[0])
        for part in parts.dropFirst() {
            let name = part.utf8.prefix(while: continuesName)
            output += value(Substring(name))?.plain ?? ""
            output += part[name.endIndex...]
        }
        return .string(output)
    }

    private static func continuesName(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
    }
}

/// The words of titles, names, tags and captions, from `words.json`: their order determines the random choices.
enum Words {
    /// All lists by their names.
    static let all = JSON(PackageResources.words_json) ?? .null

    /// A list of texts.
    static func list(_ name: String) -> [String] {
        all[name].elements.compactMap(\.string)
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
    package init(stringLiteral value: String) {
        self = .string(value)
    }

    package init(booleanLiteral value: Bool) {
        self = .bool(value)
    }

    package init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    /// A number.
    static func int(_ value: some BinaryInteger) -> JSON {
        .integer(Int64(value))
    }

    /// A list of texts.
    static func texts(_ texts: some Sequence<String>) -> JSON {
        .array(texts.map(JSON.string))
    }

    /// A map as PHP encodes it: an object, or `[]` if it is empty.
    static func mapping(_ members: Members) -> JSON {
        members.isEmpty ? .array([]) : .members(members)
    }

    /// The text of a string, or the JSON notation of any other value.
    var plain: String {
        if case .string(let text) = self { text } else { line }
    }

    /// The JSON text in ASCII, with other characters as `\uXXXX`, and `/` as `\/` where the service writes it so.
    func bytes(escapingSlashes: Bool = true) -> [UInt8] {
        var output: [UInt8] = []
        for unit in line.utf16 {
            switch unit {
            case 0x2f where escapingSlashes: output += [0x5c, 0x2f]
            case 0..<0x80: output.append(UInt8(truncatingIfNeeded: unit))
            default: output += "\\u\(unit.padded(4, radix: 16))".utf8
            }
        }
        return output
    }
}

extension JSON {
    /// Parses a text; nil if it is no JSON.
    init?(_ bytes: [UInt8]) {
        guard let value = try? JSONReader.read(bytes) else { return nil }
        self = value
    }

    /// The text of a string; nil for any other value.
    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The elements of an array, or the values of an object.
    var children: [JSON] { elements + members.map(\.value) }
}

extension BinaryInteger {
    /// The digits, padded with zeros on the left.
    func padded(_ width: Int, radix: Int = 10) -> String {
        let digits = String(self, radix: radix)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
