/// The synopsis of a command, parsed from the table of commands, which is the only source for help and for shells.
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
    /// One line that describes the command; empty if help has none.
    let help: String
    /// Whether the command takes the options of the table and `-o`.
    let takesOptions: Bool
    let flags: [Flag]
    let operands: [Operand]

    /// The synopses of every command, in the order of help.
    static let all: [Synopsis] = CommandTable.listed.map {
        Synopsis(command: $0.name, help: $0.summary ?? "", written: $0.words)
    }

    /// Parses the text after a command's name.
    init(command: String, help: String, written: String) {
        self.command = command
        self.help = help
        var flags: [Flag] = []
        var operands: [Operand] = []
        var takesOptions = false
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
            } else if Self.isPlaceholder(word) {
                operands.append(Self.operand(word, of: command))
            } else if !["", "-", "|"].contains(word) {
                operands.append(.words(word.split(separator: "|").map(String.init)))
            }
        }
        self.takesOptions = takesOptions
        self.flags = flags
        self.operands = operands
    }

    private static func isPlaceholder(_ word: String) -> Bool {
        !word.isEmpty && word.utf8.allSatisfy { (65...90).contains($0) || $0 == 44 }
    }

    private static func operand(_ placeholder: String, of command: String) -> Operand {
        switch placeholder.filter({ !"[]…".contains($0) }) {
        case "SOURCE": .source
        // These two commands create a mount; the others need an existing one.
        case "MOUNTPOINT": ["mount", "demo"].contains(command) ? .folder : .mounted
        case "DIR", "FOLDER": .folder
        case "COMMAND": .command
        default: .file
        }
    }
}

/// Properties of an option that completions need.
extension OptionDefinition {
    /// Whether the value is a path.
    var isPath: Bool { placeholder == "DIR" || placeholder == "FILE" }

    /// The flag as written on a command line: `--cache-size`.
    var flag: String { "--" + String(name.map { $0 == "_" ? "-" : $0 }) }
}

/// Words that every `-o` list takes besides those of the table.
extension MountOptions {
    /// The options of libfuse, with `=` after those that need a value.
    static let offered = passedOn.map { $0 == "max_read" ? "max_read=" : $0 } + ["uid=", "gid=", "umask=", "setuid="]
}
