/// JSON values as text (RFC 8259): the same value always gives the same bytes.
extension JSON {
    /// The value as a file: two blanks for each level, a line break at the end.
    package var document: String { document(colon: ": ") }

    /// The value as a file, with a given text between names and values.
    package func document(colon: String) -> String {
        var output = ""
        write(to: &output, depth: 0, colon: colon)
        return output + "\n"
    }

    /// The value on one line, without a line break at the end.
    package var line: String {
        var output = ""
        write(to: &output, depth: nil, colon: ":")
        return output
    }

    /// Appends the value; without a depth, all on one line.
    private func write(to output: inout String, depth: Int?, colon: String) {
        switch self {
        case .string(let text): Self.quote(text, to: &output)
        case .integer(let number): output += String(number)
        // A number that is not finite is written as null.
        case .real(let number): output += number.isFinite ? Self.text(of: number) : "null"
        case .null: output += "null"
        case .bool(let flag): output += flag ? "true" : "false"
        case .array(let elements):
            Self.block("[", elements, "]", to: &output, depth: depth) { element, output in
                element.write(to: &output, depth: depth.map { $0 + 1 }, colon: colon)
            }
        case .object(let members):
            Self.block("{", members, "}", to: &output, depth: depth) { member, output in
                Self.quote(member.name, to: &output)
                output += colon
                member.value.write(to: &output, depth: depth.map { $0 + 1 }, colon: colon)
            }
        }
    }

    /// The shortest text that reads back the same (`Double.description`), without the fraction of a whole number.
    private static func text(of number: Double) -> String {
        let text = number.description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Appends elements one to a line, or all on one; nothing stands between the brackets of an empty block.
    private static func block<Element>(
        _ opening: String, _ elements: [Element], _ closing: String, to output: inout String, depth: Int?,
        write: (Element, inout String) -> Void
    ) {
        func lineBreak(_ level: Int) -> String { "\n" + String(repeating: "  ", count: level) }
        output += opening
        for (index, element) in elements.enumerated() {
            if index > 0 { output += "," }
            if let depth { output += lineBreak(depth + 1) }
            write(element, &output)
        }
        if !elements.isEmpty, let depth { output += lineBreak(depth) }
        output += closing
    }

    private static func quote(_ text: String, to output: inout String) {
        output.unicodeScalars.append("\"")
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            case "\n": output += "\\n"
            case "\r": output += "\\r"
            case "\t": output += "\\t"
            // JSON allows the two separators, but JavaScript long treated them as the end of a line.
            case "\u{0}"..<"\u{20}", "\u{7F}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                output += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            default: output.unicodeScalars.append(scalar)
            }
        }
        output.unicodeScalars.append("\"")
    }
}
