/// The texts of `rankfs help`, made from the table of commands.
enum HelpText {
    /// The text for a topic; nil where there is none.
    static func text(for topic: String?) -> String? {
        guard let topic else { return overview }
        return CommandTable.definition(named: topic).map { "rankfs \($0.synopsis)\n\n\($0.details)\n" }
    }

    /// The place in a line at which the overview says what a command does.
    private static let column = 42

    private static var overview: String {
        let lines = CommandTable.listed.map { command in
            let head = "  rankfs \(command.name) \(command.brief)"
            let padding = String(repeating: " ", count: max(2, column - head.count))
            return trimmed(head + padding + (command.summary ?? ""))
        }
        return "rankfs shows illustration rankings as files.\n\n\(lines.joined(separator: "\n"))\n"
    }

    private static func trimmed(_ line: String) -> String {
        String(line.reversed().drop { $0 == " " }.reversed())
    }
}
