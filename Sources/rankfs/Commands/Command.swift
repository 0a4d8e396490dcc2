import Fuse
import Glibc
import Sourcing

/// A command: all that the command line, help, completions and the test of the manual page use; each stands in a file of its own.
struct Command: Sendable {
    typealias Check = @Sendable (inout Arguments) throws(ProgramError) -> Void
    typealias Run = @Sendable (Arguments) throws(ProgramError) -> Void

    /// The displayed name.
    let name: String
    /// An alternative name.
    var alias: String?
    /// The words after the name, as help shows them.
    var words = ""
    /// Short names of its flags.
    var short: [String: String] = [:]
    /// The part of the words that the overview shows; nil for all of them.
    var brief: String?
    /// The line of the overview; nil for a command for scripts, which is not listed.
    var summary: String?
    /// The text of help below the synopsis.
    var details = ""
    /// Whether the words are not parsed by the synopsis.
    var takesAnyWords = false
    /// What to do where the number of words does not fit, if the synopsis alone says too little.
    var remedy: String?
    /// Refuses or completes the arguments, without side effects; not called when help is requested.
    var check: Check = { _ in }
    /// Runs the command; blocks the calling thread, which must not be a thread of the task pool.
    let run: Run

    /// The words after the name, by which they are parsed, completed and shown.
    var synopsis: Synopsis { Synopsis(command: name, written: words) }

    /// The arguments that the words after the name mean.
    func parse(_ words: ArraySlice<String>) throws(ProgramError) -> Arguments {
        var arguments =
            takesAnyWords ? Arguments(positions: Array(words)) : try Arguments(words, of: synopsis, short: short)
        guard !arguments.wantsHelp else { return arguments }
        guard takesAnyWords || synopsis.admits(arguments.positions) else {
            throw .usage(remedy.map { "\($0): \(line)." } ?? "the arguments do not fit; write `\(line)`.")
        }
        try takeSource(&arguments)
        try check(&arguments)
        return arguments
    }

    /// Takes the source out of the words, where it may stand.
    ///
    /// In front of another operand it may be left out: a folder or a file that is named like a source is written ./NAME.
    private func takeSource(_ arguments: inout Arguments) throws(ProgramError) {
        let operands = synopsis.operands
        guard !takesAnyWords, let place = operands.firstIndex(of: .source), arguments.positions.count > place else {
            return
        }
        let mayBeOther = arguments.positions.count == place + 1 && operands.count > place + 1
        do throws(ProgramError) {
            arguments.request.source = try SourceName(argument: arguments.positions[place])
            arguments.positions.remove(at: place)
        } catch {
            if !mayBeOther { throw error }
        }
    }

    private var line: String { "rankfs \(name)\(words.isEmpty ? "" : " \(words)")" }

    /// The text of `rankfs help NAME`.
    var help: String {
        "\(line)\n\n\(details)\n"
    }

    // MARK: - All commands

    /// All commands, in the order of help.
    static let all: [Command] =
        [mount, demo, unmount, status, fetch, cache, tier, login, logout, doctor] + acts + [
            version, manual, completions,
        ]

    /// The commands that help lists.
    static let listed = all.filter { $0.summary != nil }

    /// The commands that help does not know.
    private static let hidden = [complete, mountGuard]

    /// The other words for commands.
    private static let flags = ["-h": "help", "--help": "help", "-V": "version", "--version": "version"]

    /// Parses a command line without the program's name, without side effects.
    static func parse(_ words: [String]) throws(ProgramError) -> (command: Command, arguments: Arguments) {
        guard let first = words.first else { return (greeting, Arguments()) }
        let flag = flags[first]
        guard let command = (all + hidden).first(where: { $0.name == flag ?? first || $0.alias == first }) else {
            let nearest = OptionTable.nearest(to: first, among: listed.map(\.name))
            throw .usage(
                "there is no command \(LogText.escaped(first, limit: 80)); "
                    + (nearest.map { "did you mean `rankfs \($0)`?" } ?? "`rankfs help` lists all."))
        }
        let arguments = try command.parse(words.dropFirst(flag == nil ? 1 : words.count))
        return arguments.wantsHelp ? (manual, Arguments(positions: [command.name])) : (command, arguments)
    }

    // MARK: Version and help

    private static let version = Command(
        name: "version", summary: "", details: "Prints the version.", takesAnyWords: true
    ) { _ in Output.print("rankfs \(Version.text)") }

    private static let manual = Command(
        name: "help", words: "[COMMAND]", summary: "more on a command", details: "Prints what a command does.",
        takesAnyWords: true,
        check: { arguments throws(ProgramError) in
            guard let topic = arguments.positions.first, help(on: topic) == nil else { return }
            throw .usage("there is no help on \(LogText.escaped(topic, limit: 80)); `rankfs help` lists all.")
        }, run: { Output.print($0.positions.first.flatMap(help) ?? overview, terminator: "") })

    /// The help of a command, by its name or alias.
    static func help(on topic: String) -> String? { all.first { $0.name == topic || $0.alias == topic }?.help }

    /// The column at which the overview describes a command.
    private static let column = 42

    /// The text of `rankfs help`.
    static var overview: String {
        let lines = listed.map { command in
            let head = "  rankfs \(command.name) \(command.brief ?? command.words)"
            let line = head + String(repeating: " ", count: max(2, column - head.count)) + (command.summary ?? "")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
        return "rankfs shows illustration rankings as files.\n\n\(lines.joined(separator: "\n"))\n"
    }

    // MARK: Next step

    /// `rankfs` without arguments: the overview, and the next step on this machine.
    private static let greeting = Command(name: "", takesAnyWords: true) { _ in
        let mountPoints = MountTable.current().mountPoints(of: geteuid())
        var findings = Finding.fuse()
        do throws(ProgramError) { _ = try SettingsLoader.load(MountRequest()) } catch {
            findings.append(.wrong("configuration", error.message))
        }
        Output.print("\(overview)\nNext: \(next(findings, mountPoints: mountPoints, read: StatusDocument.read))")
    }

    /// The next step: a remedy for what keeps this user from mounting, else a mount, else a directory of one that answers.
    static func next(
        _ findings: [Finding], mountPoints: [String], read: (String) throws(ProgramError) -> [UInt8]
    ) -> String {
        if let mountPoint = mountPoints.last {
            do throws(ProgramError) { _ = try read(mountPoint) } catch { return error.message }
            return
                "`ls \(LogText.word(mountPoint))/ranking/`, and of one of these `latest/`, or open that folder in a file manager."
        }
        if let wrong = findings.first(where: { $0.verdict == .wrong }) { return "\(wrong.subject): \(wrong.text)" }
        return "`rankfs mount ~/Rankings`, and open that folder; `rankfs demo` tries it without a network."
    }
}
