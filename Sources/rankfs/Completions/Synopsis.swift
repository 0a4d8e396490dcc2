/// How a command is written, read from the first lines of its help: one place says it, for people and for shells.
struct Synopsis: Hashable, Sendable {
    /// What stands where a value does.
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
        /// Nil if no value belongs to it.
        let value: Operand?
    }

    let command: String
    /// One line on what it does; empty where help has none.
    let help: String
    /// Whether the options of the table and `-o` are taken.
    let takesOptions: Bool
    let flags: [Flag]
    let operands: [Operand]

    /// The synopses of every command, in the order of help.
    static let all: [Synopsis] = CommandParser.commands.map { command in
        Synopsis(
            command: command, help: summary(of: command, in: HelpText.text(for: nil) ?? ""),
            text: HelpText.text(for: command) ?? "")
    }

    /// Reads the line of `text` that begins with `rankfs` and the command.
    init(command: String, help: String, text: String) {
        self.command = command
        self.help = help
        let lines = text.split(separator: "\n").prefix { $0.hasPrefix("rankfs ") }
        // One line may name several commands that are written alike: `rankfs pin | unpin PATH…`.
        let line = lines.map(Self.split).first { $0.commands.contains(command) }
        var flags: [Flag] = []
        var operands: [Operand] = []
        var takesOptions = false
        var rest = (line?.words ?? [])[...]
        while let next = rest.popFirst() {
            // In `[--all] PATH` the path is no value of the flag, in `[--to DIR]` it is.
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

    /// The commands that a line begins with, and the words behind them up to a wide gap, where prose begins.
    private static func split(_ line: Substring) -> (commands: [String], words: [String]) {
        let synopsis = line.firstRange(of: "  ").map { line[..<$0.lowerBound] } ?? line
        var words = synopsis.split(separator: " ").dropFirst().map(String.init)[...]
        var commands = words.popFirst().map { [$0] } ?? []
        while words.first == "|", words.count > 1 {
            words.removeFirst()
            commands.append(words.removeFirst())
        }
        return (commands, Array(words))
    }

    private static func isPlaceholder(_ word: String) -> Bool {
        !word.isEmpty && word.utf8.allSatisfy { (65...90).contains($0) || $0 == 44 }
    }

    private static func operand(_ placeholder: String, of command: String) -> Operand {
        switch placeholder.filter({ !"[]…".contains($0) }) {
        case "SOURCE": .source
        // These two make a mount; to all others it is there.
        case "MOUNTPOINT": ["mount", "demo"].contains(command) ? .folder : .mounted
        case "DIR", "FOLDER": .folder
        case "COMMAND": .command
        default: .file
        }
    }

    /// What the overview says behind the wide gap in a command's line.
    private static func summary(of command: String, in overview: String) -> String {
        for line in overview.split(separator: "\n") {
            guard let gap = line.dropFirst(2).firstRange(of: "  ") else { continue }
            let names = line[..<gap.lowerBound].prefix { $0 != "[" }.split(separator: " ").dropFirst()
            if names.contains(command[...]) { return String(line[gap.upperBound...].drop { $0 == " " }) }
        }
        return ""
    }
}

/// What the value of an option is, as shells complete it.
extension OptionDefinition {
    /// Whether the value is a path.
    var isPath: Bool { placeholder == "DIR" || placeholder == "FILE" }

    /// The flag, as people write it: `--cache-size`.
    var flag: String { "--" + String(name.map { $0 == "_" ? "-" : $0 }) }
}

/// Words that every `-o` list takes besides the table's.
extension MountOptions {
    /// libfuse's own, with `=` behind those that need a value.
    static let offered = passedOn.map { $0 == "max_read" ? "max_read=" : $0 } + ["uid=", "gid=", "umask=", "setuid="]
}
