import RankFS

/// A command, as the parser, help, completions and the test of the manual page use it.
struct CommandDefinition: Sendable {
    /// The displayed name.
    let name: String
    /// An alternative name.
    var alias: String?
    /// The synopsis after the name, as help shows it and completions parse it.
    let words: String
    /// The part of `words` that the overview shows.
    let brief: String
    /// The line of the overview; nil for a command for scripts, which is not listed.
    let summary: String?
    /// The text of help below the synopsis.
    let details: String
    /// Parses the words after the name.
    let parse: @Sendable (inout CommandParser) throws(ProgramError) -> Command

    init(
        _ name: String, alias: String? = nil, _ words: String = "", brief: String? = nil, summary: String?,
        details: String, parse: @escaping @Sendable (inout CommandParser) throws(ProgramError) -> Command
    ) {
        self.name = name
        self.alias = alias
        self.words = words
        self.brief = brief ?? words
        self.summary = summary
        self.details = details
        self.parse = parse
    }

    /// The synopsis, without the program's name.
    var synopsis: String { words.isEmpty ? name : "\(name) \(words)" }
}

/// All commands, in the order of help: the only list of them.
enum CommandTable {
    static let all: [CommandDefinition] = [
        CommandDefinition(
            "mount", "[SOURCE] MOUNTPOINT [-o OPTION,…] [--option VALUE] [-f] [-d]", brief: "[SOURCE] MOUNTPOINT",
            summary: "mount; returns when the folder answers", details: CommandDetails.mount
        ) { parser throws(ProgramError) in try parser.mount() },
        CommandDefinition(
            "demo", "[SOURCE] [MOUNTPOINT] [-o OPTION,…]", brief: "[SOURCE] [MOUNTPOINT]",
            summary: "try it: an embedded source, no network needed", details: CommandDetails.demo
        ) { parser throws(ProgramError) in try parser.demo() },
        CommandDefinition(
            "unmount", alias: "umount", "MOUNTPOINT", summary: "unmount; also clears what a crash left",
            details: CommandDetails.unmount
        ) { parser throws(ProgramError) in try parser.unmount() },
        CommandDefinition(
            "status", "[MOUNTPOINT] [--watch] [--json]", brief: "[MOUNTPOINT] [--watch]",
            summary: "what is mounted and what it is doing", details: CommandDetails.status
        ) { parser throws(ProgramError) in try parser.status() },
        CommandDefinition(
            "fetch", "PATH… [--to FOLDER] [--sidecars] [--dry-run]", brief: "PATH… [--to FOLDER]",
            summary: "download ahead; with --to copy, and go on after a stop", details: CommandDetails.fetch
        ) { parser throws(ProgramError) in try CommandParser.fetch(parser.remaining) },
        CommandDefinition(
            "cache", "info|verify|prune|clear [SOURCE] [-o cache_dir=DIR]", brief: "info|verify|prune|clear",
            summary: "what is stored: look at, check, shrink or remove it", details: CommandDetails.cache
        ) { parser throws(ProgramError) in try parser.cache() },
        CommandDefinition(
            "tier", "info|verify|warm [SOURCE | PATH…] [-o OPTION,…]", brief: "info|verify|warm [PATH…]",
            summary: "what machines share: look at, check or fill it", details: CommandDetails.tier
        ) { parser throws(ProgramError) in try parser.tier() },
        CommandDefinition(
            "login", "[SOURCE] [FILE | -] [-o OPTION,…]", brief: "[FILE]",
            summary: "sign in, with a cookies.txt or by asking", details: CommandDetails.session
        ) { parser throws(ProgramError) in try parser.login() },
        CommandDefinition(
            "logout", "[SOURCE] [-o OPTION,…]", brief: "", summary: "sign out: removes the session",
            details: CommandDetails.session
        ) { parser throws(ProgramError) in try parser.logout() },
        CommandDefinition(
            "doctor", "[SOURCE] [--fix] [--service] [--record DIR] [--json] [-o OPTION,…]", brief: "[SOURCE] [--fix]",
            summary: "check what mounts need, and mend what is safe to mend", details: CommandDetails.doctor
        ) { parser throws(ProgramError) in try parser.doctor() },
        CommandDefinition(
            onPaths: .pin, summary: "download pictures and keep them",
            details: "Downloads pictures and keeps them, whatever else the cache must make room for."),
        CommandDefinition(
            onPaths: .unpin, summary: "let pinned pictures go again",
            details: "Lets pictures go again when room is needed."),
        CommandDefinition(
            onPaths: .evict, summary: "drop what is stored of pictures",
            details: "Drops what is stored of pictures; what is open stays."),
        CommandDefinition(
            onPaths: .refresh, summary: "ask the service again for a listing",
            details: "Asks the service again: a day, an author, a work, a search, a mode's newest day."),
        CommandDefinition(
            onPaths: .forget, summary: "drop a past search or another listing",
            details: "Drops a listing, as if it had never been opened: a past search, an author."),
        CommandDefinition("version", summary: "", details: "Prints the version.") { _ in .version },
        CommandDefinition(
            "help", "[COMMAND]", summary: "more on a command", details: "Prints what a command does."
        ) { parser in .help(topic: parser.remaining.first) },
        CommandDefinition(
            "completions", CompletionShell.allCases.map(\.rawValue).joined(separator: "|"), summary: nil,
            details:
                "Prints the script by which that shell completes command lines; `make install` and the package "
                + "put them in place."
        ) { parser throws(ProgramError) in try parser.completions() },
    ]

    /// The commands that help lists.
    static let listed = all.filter { $0.summary != nil }

    /// The definition of a command, by its name or alias.
    static func definition(named name: String) -> CommandDefinition? {
        all.first { $0.name == name || $0.alias == name }
    }
}

extension CommandDefinition {
    /// A command that applies to paths inside a mount.
    fileprivate init(onPaths command: MountCommand, summary: String, details: String) {
        self.init(
            command.name, "PATH…", summary: summary, details: "\(details)\n\n\(CommandDetails.paths)"
        ) { parser throws(ProgramError) in try parser.act(command) }
    }
}

// MARK: - Help text

/// The texts of `rankfs help`, generated from the table of commands.
enum HelpText {
    /// The text on a topic, or the overview for nil; nil for an unknown topic.
    static func text(for topic: String?) -> String? {
        guard let topic else { return overview }
        return CommandTable.definition(named: topic).map { "rankfs \($0.synopsis)\n\n\($0.details)\n" }
    }

    /// The column at which the overview describes a command.
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
