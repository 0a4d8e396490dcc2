import Fuse
import Glibc
import Sourcing

/// The list of all commands, and the command line as a whole.
enum CommandTable {
    /// All commands, in the order of help.
    static let all: [CommandDefinition] =
        [
            MountingCommand.definition, DemoCommand.definition, UnmountCommand.definition, StatusCommand.definition,
            FetchCommand.definition, CacheCommand.definition, TierCommand.definition, LoginCommand.definition,
            LogoutCommand.definition, DoctorCommand.definition,
        ] + ActCommand.definitions + [version, help, Completions.definition]

    /// The commands that help lists.
    static let listed = all.filter { $0.summary != nil }

    /// The definition of a command, by its name or alias.
    static func definition(named name: String) -> CommandDefinition? {
        all.first { $0.name == name || $0.alias == name }
    }

    /// Parses a command line without the program's name, without side effects.
    static func parse(_ arguments: [String]) throws(ProgramError) -> any Command {
        guard let first = arguments.first else { return Greeting(overview: overview) }
        let words = arguments.dropFirst()
        switch first {
        case "-h", "--help": return PrintedText(text: overview)
        case "-V", "--version": return try version.parse([])
        case "complete": return Completion(words: Array(words))
        case GuardedMount.command: return try GuardedMount(words: Array(words))
        default: break
        }
        guard let definition = definition(named: first) else {
            let nearest = OptionTable.nearest(to: first, among: listed.map(\.name))
            throw ProgramError(
                .usage,
                "there is no command \(LogText.escaped(first, limit: 80)); "
                    + (nearest.map { "did you mean `rankfs \($0)`?" } ?? "`rankfs help` lists all."))
        }
        return try definition.parse(words)
    }

    /// The candidates for the last of some words, printed for the shells' scripts; not listed in help.
    struct Completion: Command {
        let words: [String]

        func run() {
            for candidate in Completions.candidates(for: words, of: CommandTable.listed, .system) {
                Output.print(candidate.word + (candidate.help.isEmpty ? "" : "\t\(candidate.help)"))
            }
        }
    }

    /// `rankfs` without arguments: the overview, and the next step on this machine.
    struct Greeting: Command {
        let overview: String

        func run() {
            let mountPoints = MountTable.current().mountPoints(of: geteuid())
            Output.print(
                "\(overview)\nNext: \(Self.next(Finding.fuse(), mountPoints: mountPoints, read: MountedStatus.read))")
        }

        /// The next step: a remedy for what keeps this user from mounting, else a mount, else a directory of one that answers.
        static func next(
            _ findings: [Finding], mountPoints: [String], read: (String) throws(ProgramError) -> [UInt8]
        ) -> String {
            if let mountPoint = mountPoints.last {
                do throws(ProgramError) { _ = try read(mountPoint) } catch { return error.message }
                return "`ls \(LogText.escaped(mountPoint))/ranking/*/latest/`, or open that folder in a file manager."
            }
            if let wrong = findings.first(where: { $0.verdict == .wrong }) { return "\(wrong.subject): \(wrong.text)" }
            return "`rankfs mount ~/Rankings`, and open that folder; `rankfs demo` tries it without a network."
        }
    }

    // MARK: Version and help

    private static let version = CommandDefinition("version", summary: "", details: "Prints the version.") {
        _, _ in PrintedText(text: "rankfs \(Version.text)\n")
    }

    private static let help = CommandDefinition(
        "help", "[COMMAND]", summary: "more on a command", details: "Prints what a command does."
    ) { words, _ throws(ProgramError) in
        guard let topic = words.first else { return PrintedText(text: overview) }
        guard let definition = definition(named: topic) else {
            throw ProgramError(
                .usage, "there is no help on \(LogText.escaped(topic, limit: 80)); `rankfs help` lists all.")
        }
        return PrintedText(text: definition.help)
    }

    /// The column at which the overview describes a command.
    private static let column = 42

    private static var overview: String {
        let lines = listed.map { command in
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
