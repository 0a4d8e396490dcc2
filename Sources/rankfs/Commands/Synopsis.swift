/// The synopsis of a command, by which its words are parsed, completed, and shown in help.
struct Synopsis: Hashable, Sendable {
    /// The placeholder of a value.
    enum Operand: Hashable, Sendable {
        /// One of these words: `info`.
        case words([String])
        case source
        /// A folder to mount on.
        case folder
        /// A folder that is mounted.
        case mounted
        case command
        case file
    }

    /// A flag of this command alone: `--json`.
    struct Flag: Hashable, Sendable {
        let name: String
        /// Nil if the flag takes no value.
        let value: Operand?
    }

    let command: String
    /// Whether the command takes the options of the table and `-o`.
    private(set) var takesOptions = false
    private(set) var flags: [Flag] = []
    private(set) var operands: [Operand] = []
    /// The least and the greatest number of words for the operands.
    private var (fewest, most) = (0, 0)

    /// Parses the text after a command's name.
    init(command: String, written: String) {
        self.command = command
        var rest = written.split(separator: " ").map(String.init)[...]
        while let next = rest.popFirst() {
            // In `[--all] PATH` the path is not the flag's value, in `[--to DIR]` it is.
            let endsHere = next.hasSuffix("]")
            let word = next.filter { !"[]…".contains($0) }
            if word == "-o" || word == "--option" {
                takesOptions = true
                _ = rest.popFirst()
            } else if word.hasPrefix("-"), word != "-" {
                let value = endsHere || !word.hasPrefix("--") ? nil : rest.popFirst()
                flags.append(Flag(name: word, value: value.map { Self.operand($0, of: command) }))
            } else if !["", "-", "|"].contains(word) {
                let isPlaceholder = word.utf8.allSatisfy { (65...90).contains($0) || $0 == 44 }
                let words = word.split(separator: "|").map(String.init)
                operands.append(isPlaceholder ? Self.operand(word, of: command) : .words(words))
                if !next.hasPrefix("[") { fewest += 1 }
                most = next.contains("…") ? .max : most + 1
            }
        }
    }

    /// Whether there are as many words as operands, none of them empty, and the first is one of those that it may be.
    func admits(_ positions: [String]) -> Bool {
        guard (fewest...most).contains(positions.count), !positions.contains("") else { return false }
        guard case .words(let words)? = operands.first, let first = positions.first else { return true }
        return words.contains(first)
    }

    private static func operand(_ placeholder: String, of command: String) -> Operand {
        switch placeholder.filter({ !"[]…".contains($0) }) {
        case "SOURCE": .source
        // These two commands create a mount; the others need an existing one.
        case "MOUNTPOINT": ["mount", "demo"].contains(command) ? .folder : .mounted
        case "DIR", "FOLDER": .folder
        case "COMMAND": .command
        case "SIZE": .words([])
        default: .file
        }
    }
}
