/// The configuration file: `key = value` lines, `#` comments, blank lines.
enum ConfigurationFile {
    /// Larger files are mistakes.
    static let longest = 64 << 10

    /// The assignments of a file's text; a `#` begins a comment at the start of a line or behind a blank.
    ///
    /// - Throws: every wrong line, one sentence a line, each with its number.
    static func parse(_ text: String, path: String) throws(ProgramError) -> [Assignment] {
        var assignments: [Assignment] = []
        var mistakes: [String] = []
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
        for (index, line) in lines.enumerated() {
            let place = OptionPlace.file(path: path, line: index + 1)
            let content = trimmed(withoutComment(line))
            if content.isEmpty { continue }
            let name = trimmed(content.prefix { $0 != "=" })
            guard content.contains("="), !name.isEmpty else {
                mistakes.append(place.prefix + "expected `key = value`.")
                continue
            }
            guard OptionTable.definition(named: String(name)) != nil else {
                mistakes.append(place.prefix + UnknownOption.sentence(for: String(name)))
                continue
            }
            let value = trimmed(content.drop { $0 != "=" }.dropFirst())
            assignments.append(Assignment(name: String(name), value: String(value), place: place))
        }
        guard mistakes.isEmpty else { throw ProgramError(.configuration, mistakes.joined(separator: "\n")) }
        return assignments
    }

    private static func withoutComment(_ line: Substring) -> Substring {
        var previousIsBlank = true
        for index in line.indices {
            if line[index] == "#", previousIsBlank { return line[..<index] }
            previousIsBlank = line[index].isWhitespace
        }
        return line
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0.isWhitespace }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
