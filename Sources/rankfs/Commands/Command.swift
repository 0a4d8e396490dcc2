/// A command with its arguments, ready to run.
protocol Command: Hashable, Sendable {
    /// Runs the command; blocks the calling thread, which must not be a thread of the task pool.
    func run() throws(ProgramError)
}

/// A command that prints a text: help, the version, a script.
struct PrintedText: Command {
    let text: String

    func run() { Output.print(text, terminator: "") }
}

/// All of a command that the command line, help, completions and the test of the manual page use; it stands beside the command.
struct CommandDefinition: Sendable {
    /// The displayed name.
    let name: String
    /// An alternative name.
    let alias: String?
    /// The words after the name, by which they are parsed, completed and shown.
    let synopsis: Synopsis
    /// The part of the synopsis that the overview shows.
    let brief: String
    /// The line of the overview; nil for a command for scripts, which is not listed.
    let summary: String?
    /// The text of help below the synopsis.
    let details: String
    /// Parses the words after the name.
    private let parsed: @Sendable (ArraySlice<String>, CommandDefinition) throws(ProgramError) -> any Command

    /// Defines a command with words of its own kind.
    init(
        _ name: String, alias: String? = nil, _ words: String = "", brief: String? = nil, summary: String?,
        details: String,
        parse: @escaping @Sendable (ArraySlice<String>, CommandDefinition) throws(ProgramError) -> any Command
    ) {
        self.name = name
        self.alias = alias
        synopsis = Synopsis(command: name, written: words)
        self.brief = brief ?? words
        self.summary = summary
        self.details = details
        parsed = parse
    }

    /// Defines a command with the words of its synopsis, and short names of its flags; `make` is not called when help is requested.
    init(
        _ name: String, alias: String? = nil, _ words: String = "", short: [String: String] = [:],
        brief: String? = nil, summary: String?, details: String,
        make: @escaping @Sendable (Arguments) throws(ProgramError) -> any Command
    ) {
        self.init(name, alias: alias, words, brief: brief, summary: summary, details: details) {
            words, definition throws(ProgramError) in
            let arguments = try Arguments(words, of: definition.synopsis, short: short)
            return arguments.wantsHelp ? PrintedText(text: definition.help) : try make(arguments)
        }
    }

    /// The command that the words after its name mean.
    func parse(_ words: ArraySlice<String>) throws(ProgramError) -> any Command { try parsed(words, self) }

    /// The text of `rankfs help NAME`.
    var help: String {
        "rankfs \(name)\(synopsis.written.isEmpty ? "" : " \(synopsis.written)")\n\n\(details)\n"
    }
}
