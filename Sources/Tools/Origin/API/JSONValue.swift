/// A JSON value to be written, with the keys of objects in the order given.
enum JSONValue: Sendable {
    case string(String)
    case number(Int64)
    case bool(Bool)
    case null
    case array([JSONValue])
    case object([(String, JSONValue)])
    /// Bytes that are JSON already.
    case verbatim([UInt8])

    /// A number.
    static func int(_ value: Int) -> JSONValue {
        .number(Int64(value))
    }

    /// PHP's idea of a map: an object, and `[]` when there is nothing in it.
    static func map(_ pairs: [(String, JSONValue)]) -> JSONValue {
        pairs.isEmpty ? .array([]) : .object(pairs)
    }

    /// The text as the service sends it: `/` escaped, everything beyond ASCII as `\uXXXX`.
    var bytes: [UInt8] {
        bytes(escapingSlashes: true)
    }

    /// The text; without escaped slashes it is easier to search.
    func bytes(escapingSlashes: Bool) -> [UInt8] {
        var output: [UInt8] = []
        write(to: &output, escapingSlashes)
        return output
    }

    private func write(to output: inout [UInt8], _ escapingSlashes: Bool) {
        switch self {
        case .string(let text):
            Self.write(text, to: &output, escapingSlashes)
        case .number(let number):
            output.append(contentsOf: String(number).utf8)
        case .bool(let value):
            output.append(contentsOf: (value ? "true" : "false").utf8)
        case .null:
            output.append(contentsOf: "null".utf8)
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                element.write(to: &output, escapingSlashes)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let pairs):
            output.append(UInt8(ascii: "{"))
            for (index, pair) in pairs.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                Self.write(pair.0, to: &output, escapingSlashes)
                output.append(UInt8(ascii: ":"))
                pair.1.write(to: &output, escapingSlashes)
            }
            output.append(UInt8(ascii: "}"))
        case .verbatim(let bytes):
            output.append(contentsOf: bytes)
        }
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)

    private static func write(_ text: String, to output: inout [UInt8], _ escapingSlashes: Bool) {
        output.append(UInt8(ascii: "\""))
        for unit in text.utf16 {
            switch unit {
            case 0x2f where !escapingSlashes:
                output.append(UInt8(ascii: "/"))
            case 0x22, 0x5c, 0x2f:
                output.append(UInt8(ascii: "\\"))
                output.append(UInt8(truncatingIfNeeded: unit))
            case 0x0a:
                output.append(contentsOf: "\\n".utf8)
            case 0x0d:
                output.append(contentsOf: "\\r".utf8)
            case 0x09:
                output.append(contentsOf: "\\t".utf8)
            case 0x20...0x7e:
                output.append(UInt8(truncatingIfNeeded: unit))
            default:
                output.append(contentsOf: "\\u".utf8)
                for shift in [12, 8, 4, 0] as [UInt16] {
                    output.append(hexDigits[Int(unit >> shift & 0xf)])
                }
            }
        }
        output.append(UInt8(ascii: "\""))
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
    init(stringLiteral value: String) {
        self = .string(value)
    }

    init(booleanLiteral value: Bool) {
        self = .bool(value)
    }

    init(integerLiteral value: Int64) {
        self = .number(value)
    }
}
