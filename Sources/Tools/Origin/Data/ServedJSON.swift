package import Rankings

/// Names and values of an object, in the order in which a service writes them.
typealias Members = [(name: String, value: JSONText?)]

extension JSONText: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
    package init(stringLiteral value: String) {
        self = .text(value)
    }

    package init(booleanLiteral value: Bool) {
        self = .flag(value)
    }

    package init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    /// A number.
    static func int(_ value: Int) -> JSONText {
        .integer(Int64(value))
    }

    /// A number or null.
    static func optional(_ number: Int64?) -> JSONText {
        number.map(JSONText.integer) ?? .null
    }

    /// A list of tags as one string.
    static func words(_ names: [String]) -> JSONText {
        .text(names.joined(separator: " "))
    }

    /// PHP's idea of a map: an object, and `[]` when there is nothing in it.
    static func mapping(_ members: Members) -> JSONText {
        members.isEmpty ? .list([]) : .object(members)
    }

    /// The text in ASCII, everything beyond as `\uXXXX`, and `/` as `\/` where the service has it so.
    func bytes(escapingSlashes: Bool = true) -> [UInt8] {
        var output: [UInt8] = []
        for unit in line.utf16 {
            switch unit {
            case 0x2f where escapingSlashes: output += [0x5c, 0x2f]
            case 0..<0x80: output.append(UInt8(truncatingIfNeeded: unit))
            default:
                let digits = String(unit, radix: 16)
                output += "\\u\(String(repeating: "0", count: 4 - digits.utf8.count))\(digits)".utf8
            }
        }
        return output
    }
}

extension JSON {
    /// A text that is read; nil if it is no JSON.
    init?(_ bytes: [UInt8]) {
        guard let value = try? JSONReader.read(bytes) else { return nil }
        self = value
    }

    /// The member of an object; nil where there is none.
    subscript(key: String) -> JSON? {
        members.first { $0.name == key }?.value
    }

    /// The text of a string.
    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The elements of an array, or the values of an object.
    var children: [JSON] { elements + members.map(\.value) }
}
