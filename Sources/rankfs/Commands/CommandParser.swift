import RankFS
import Rankings

/// Parses the arguments of `rankfs` into a `Command`, without side effects.
struct CommandParser {
    private var words: ArraySlice<String>
    /// The command's name as written.
    private let name: String
    private var positions: [String] = []
    private var request = MountRequest()
    private var json = false
    private var watch = false
    private var help = false
    /// Whether every further word is a position, as after `--`.
    private var onlyPositions = false

    /// Parses a command line without the program's name.
    static func parse(_ arguments: [String]) throws(ProgramError) -> Command {
        guard let first = arguments.first else { return .help(topic: nil) }
        var parser = CommandParser(words: arguments.dropFirst(), name: first)
        switch first {
        case "-h", "--help": return .help(topic: nil)
        case "-V", "--version": return .version
        case "complete": return .complete(words: Array(parser.words))
        case GuardedMount.command: return .guardMount(try GuardedMount(words: Array(parser.words)))
        default: break
        }
        guard let definition = CommandTable.definition(named: first) else {
            let nearest = UnknownOption.nearest(to: first, among: CommandTable.listed.map(\.name))
            throw ProgramError(
                .usage,
                "there is no command \(LogText.escaped(first, limit: 80)); "
                    + (nearest.map { "did you mean `rankfs \($0)`?" } ?? "`rankfs help` lists all."))
        }
        return try definition.parse(&parser)
    }

    private init(words: ArraySlice<String>, name: String) {
        self.words = words
        self.name = name
    }

    /// The words that are not parsed yet.
    var remaining: ArraySlice<String> { words }

    // MARK: Words

    private mutating func parseWords(mounts: Bool) throws(ProgramError) {
        while let word = words.popFirst() {
            if onlyPositions || !word.hasPrefix("-") || word == "-" {
                positions.append(word)
            } else if word == "--" {
                onlyPositions = true
            } else if word == "-h" || word == "--help" {
                help = true
            } else if mounts {
                try parseMountFlag(word)
            } else if word == "--json" {
                json = true
            } else if word == "--watch" {
                watch = true
            } else {
                throw ProgramError(.usage, "\(LogText.escaped(word, limit: 80)) is not an option of this command.")
            }
        }
    }

    private mutating func parseMountFlag(_ word: String) throws(ProgramError) {
        switch word {
        case "-f", "--foreground": request.foreground = true
        case "-d", "--debug":
            request.debug = true
            request.foreground = true
        case "-o": try request.options.add(list: try value(of: word))
        case _ where word.hasPrefix("-o"): try request.options.add(list: String(word.dropFirst(2)))
        case _ where word.hasPrefix("--"): try parseLongFlag(word)
        default: throw ProgramError(.usage, UnknownOption.sentence(for: word))
        }
    }

    /// `--name=value` or `--name value`.
    private mutating func parseLongFlag(_ word: String) throws(ProgramError) {
        let flag = word.dropFirst(2)
        let name = String(flag.prefix { $0 != "=" })
        let given = flag.count > name.count ? String(flag.dropFirst(name.count + 1)) : nil
        if name == "ready-fd" {
            guard let descriptor = given.flatMap({ Int32($0) }), descriptor > 2 else {
                throw ProgramError(.usage, "--ready-fd is for rankfs itself; leave it out.")
            }
            request.readyDescriptor = descriptor
            return
        }
        guard OptionTable.definition(named: name) != nil else {
            throw ProgramError(.usage, UnknownOption.sentence(for: name))
        }
        let text: String
        if let given { text = given } else { text = try value(of: word) }
        request.options.assignments.append(
            Assignment(name: OptionTable.normalised(name), value: text, place: .commandLine))
    }

    private mutating func value(of flag: String) throws(ProgramError) -> String {
        guard let value = words.popFirst() else { throw ProgramError(.usage, "\(flag) needs a value behind it.") }
        return value
    }

    /// Refuses words that may be a cookie, without repeating them: every process can read them, and shells keep them.
    private func refuseCookies() throws(ProgramError) {
        guard !words.contains(where: Secrets.mayBe) else {
            throw ProgramError(
                .usage,
                "a cookie may not stand on the command line, where every process can read it; `rankfs login` asks for it, "
                    + "`rankfs login FILE` takes it from a cookies.txt, `rankfs login -` from the standard input.")
        }
    }

    /// Reads the words of a command that makes or names a mount; true if help is requested.
    private mutating func readMountWords() throws(ProgramError) -> Bool {
        try refuseCookies()
        try parseWords(mounts: true)
        guard help || name == "mount" || (request.options.account == nil && !request.options.remounts) else {
            throw ProgramError(.usage, "setuid and remount are for `rankfs mount`; leave them out.")
        }
        return help
    }

    /// Reads the words of a command that takes no options of a mount; true if help is requested.
    private mutating func readWords() throws(ProgramError) -> Bool {
        try parseWords(mounts: false)
        return help
    }
}

// MARK: - Commands

extension CommandParser {
    mutating func login() throws(ProgramError) -> Command {
        if try readMountWords() { return .help(topic: name) }
        takeSource()
        guard positions.count <= 1, positions.first != "" else {
            throw ProgramError(.usage, "name at most one file: rankfs login [SOURCE] [FILE] [-o OPTIONS].")
        }
        return .login(request, file: positions.first)
    }

    mutating func logout() throws(ProgramError) -> Command {
        if try readMountWords() { return .help(topic: name) }
        takeSource()
        guard positions.isEmpty else {
            throw ProgramError(.usage, "name a source at most: rankfs logout [SOURCE] [-o OPTIONS].")
        }
        return .logout(request)
    }

    /// Takes a source in front of the other positions; a file named like a source is written ./NAME.
    private mutating func takeSource() {
        guard let source = positions.first.flatMap({ try? SourceName(argument: $0) }) else { return }
        request.source = source
        positions.removeFirst()
    }

    mutating func mount() throws(ProgramError) -> Command {
        if try readMountWords() { return .help(topic: name) }
        switch positions.count {
        case 1 where SourceName(rawValue: positions[0]) != nil:
            throw ProgramError(
                .usage,
                "\(positions[0]) is a source; name the folder to mount it on too: rankfs mount \(positions[0]) FOLDER "
                    + "(or ./\(positions[0]) for a folder of that name).")
        case 1: request.mountPoint = positions[0]
        case 2:
            request.source = try SourceName(argument: positions[0])
            request.mountPoint = positions[1]
        default:
            throw ProgramError(.usage, "name one folder to mount on: rankfs mount [SOURCE] MOUNTPOINT [-o OPTIONS].")
        }
        guard !request.mountPoint.isEmpty else {
            throw ProgramError(.usage, "the mount point is empty; name a folder.")
        }
        return .mount(request)
    }

    mutating func demo() throws(ProgramError) -> Command {
        if try readMountWords() { return .help(topic: name) }
        // A folder named like a source is written ./NAME.
        var source = SourceName.standard
        if let named = positions.first.flatMap(SourceName.init(rawValue:)) {
            source = named
            positions.removeFirst()
        }
        guard positions.count <= 1 else {
            throw ProgramError(.usage, "name at most one folder: rankfs demo [SOURCE] [MOUNTPOINT].")
        }
        request.source = .demo(of: source)
        request.mountPoint = positions.first ?? ""
        request.foreground = true
        return .demo(request)
    }

    mutating func cache() throws(ProgramError) -> Command {
        if try readMountWords() { return .help(topic: name) }
        guard let action = positions.first.flatMap(CacheAction.init(rawValue:)), positions.count <= 2 else {
            let actions = CacheAction.allCases.map(\.rawValue).joined(separator: "|")
            throw ProgramError(.usage, "say what to do: rankfs cache \(actions) [SOURCE] [-o OPTIONS].")
        }
        if positions.count == 2 { request.source = try SourceName(argument: positions[1]) }
        return .cache(action, request)
    }

    mutating func tier() throws(ProgramError) -> Command {
        if words.first == "warm" {
            guard case .fetch(let request) = try Self.fetch(words.dropFirst()) else {
                return .help(topic: name)
            }
            guard request.target == nil else {
                throw ProgramError(.usage, "warm copies nothing; `rankfs fetch --to` does.")
            }
            return .tier(.warm(request))
        }
        if try readMountWords() { return .help(topic: name) }
        if positions.count == 2 { request.source = try SourceName(argument: positions[1]) }
        switch (positions.first, positions.count) {
        case ("info", 1...2): return .tier(.info(request))
        case ("verify", 1...2): return .tier(.verify(request))
        default:
            throw ProgramError(
                .usage, "say what to do: rankfs tier info|verify [SOURCE] [-o OPTIONS], or rankfs tier warm PATH….")
        }
    }

    mutating func doctor() throws(ProgramError) -> Command {
        try refuseCookies()
        var flags: Set<String> = []
        let ownEnd = words.firstIndex(of: "--") ?? words.endIndex
        for flag in ["--fix", "--json", "--service"] where words[..<ownEnd].contains(flag) { flags.insert(flag) }
        words = words[..<ownEnd].filter { !flags.contains($0) } + words[ownEnd...]
        let folder = try takeRecordFolder()
        try parseWords(mounts: true)
        if help { return .help(topic: name) }
        guard positions.count <= 1 else {
            throw ProgramError(
                .usage,
                "name at most one source: rankfs doctor [SOURCE] [--fix | --service [--record DIR]] [--json] [-o OPTIONS]."
            )
        }
        guard folder == nil || flags.contains("--service") else {
            throw ProgramError(.usage, "--record keeps what the service answers: give it with --service.")
        }
        guard !flags.isSuperset(of: ["--fix", "--service"]) else {
            throw ProgramError(.usage, "--fix mends this machine, --service only asks the service; give one of them.")
        }
        if let source = positions.first { request.source = try SourceName(argument: source) }
        return .doctor(
            DoctorRequest(
                mount: request, fixes: flags.contains("--fix"), asksService: flags.contains("--service"),
                recordFolder: folder, json: flags.contains("--json")))
    }

    /// Removes `--record` and its folder from the words; returns the folder.
    private mutating func takeRecordFolder() throws(ProgramError) -> String? {
        let ownEnd = words.firstIndex(of: "--") ?? words.endIndex
        guard let place = words[..<ownEnd].firstIndex(where: { $0 == "--record" || $0.hasPrefix("--record=") }) else {
            return nil
        }
        let word = words.remove(at: place)
        if word != "--record" { return String(word.dropFirst("--record=".count)) }
        guard place < ownEnd - 1 else { throw ProgramError(.usage, "--record needs a folder: --record DIR.") }
        return words.remove(at: place)
    }

    mutating func unmount() throws(ProgramError) -> Command {
        if try readWords() { return .help(topic: name) }
        guard positions.count == 1, !positions[0].isEmpty, !json, !watch else {
            throw ProgramError(.usage, "name the folder: rankfs unmount MOUNTPOINT.")
        }
        return .unmount(mountPoint: positions[0])
    }

    mutating func act(_ command: MountCommand) throws(ProgramError) -> Command {
        if try readWords() { return .help(topic: name) }
        guard !positions.isEmpty, !positions.contains(""), !json, !watch else {
            throw ProgramError(.usage, "name paths inside a mount: rankfs \(name) PATH….")
        }
        return .act(command, paths: positions)
    }

    mutating func status() throws(ProgramError) -> Command {
        if try readWords() { return .help(topic: name) }
        guard positions.count <= 1 else {
            throw ProgramError(.usage, "name at most one folder: rankfs status [MOUNTPOINT].")
        }
        return watch
            ? .watch(mountPoint: positions.first, json: json) : .status(mountPoint: positions.first, json: json)
    }

    mutating func completions() throws(ProgramError) -> Command {
        if words.contains(where: { $0 == "-h" || $0 == "--help" }) { return .help(topic: name) }
        return .completions(try CompletionShell(arguments: words))
    }
}

// MARK: - Fetch

extension CommandParser {
    /// Parses the words after `rankfs fetch`.
    ///
    /// - Throws: `.usage`.
    static func fetch(_ words: ArraySlice<String>) throws(ProgramError) -> Command {
        var request = FetchRequest()
        var words = words
        var onlyPaths = false
        while let word = words.popFirst() {
            if onlyPaths || !word.hasPrefix("-") {
                request.paths.append(word)
                continue
            }
            switch word {
            case "--": onlyPaths = true
            case "-h", "--help": return .help(topic: "fetch")
            case "--sidecars": request.sidecars = true
            case "-n", "--dry-run": request.dryRun = true
            case "--to":
                guard let folder = words.popFirst() else {
                    throw ProgramError(.usage, "--to needs a folder behind it.")
                }
                request.target = folder
            default:
                if let folder = word.rest(after: "--to=") {
                    request.target = folder
                    continue
                }
                throw ProgramError(.usage, "\(LogText.escaped(word, limit: 80)) is not an option of this command.")
            }
        }
        guard !request.paths.isEmpty, request.paths.allSatisfy({ !$0.isEmpty }) else {
            throw ProgramError(
                .usage, "name what to fetch: rankfs fetch PATH… [--to FOLDER], for example ranking/daily/latest.")
        }
        if let target = request.target, target.isEmpty {
            throw ProgramError(.usage, "the folder behind --to is empty; name one.")
        }
        guard request.target != nil || !request.sidecars else {
            throw ProgramError(.usage, "--sidecars are written beside files: name a folder with --to too.")
        }
        return .fetch(request)
    }
}

// MARK: - Helper arguments

/// The arguments that mount(8) passes to a mount helper: `mount.rankfs SPEC DIR [-sfnv] [-N NS] [-o OPTIONS] [-t TYPE]`.
struct HelperArguments: Hashable, Sendable {
    var request: MountRequest
    /// `-f`: check without mounting.
    var checkOnly = false
    /// `-v`: report the actions.
    var verbose = false

    /// The names under which the program is a mount helper.
    static let names: Set<String> = ["mount.rankfs", "mount.fuse.rankfs"]

    /// Whether the arguments are those of a mount helper although the program runs under its own name.
    ///
    /// mount.fuse3(8) starts it this way for the type `fuse.rankfs` and for a source written `rankfs#demo`: with the source, the
    /// folder, `-o` and a list. The text after the `#` is a source, whatever its form, since mount(8) relies on the exit status.
    static func isGiven(_ arguments: [String]) -> Bool {
        guard arguments.count > 1, arguments[1].hasPrefix("/") else { return false }
        let isCommand = byHand.contains(arguments[0])
        if !isCommand, (try? SourceName(argument: arguments[0])) != nil { return true }
        guard arguments.count > 2, arguments[2] == "-o" else { return false }
        guard isCommand, let list = arguments.dropFirst(3).first else { return !isCommand }
        // mount.fuse3(8) always states whether devices and setuid are allowed; a user would at most forbid them.
        let words = Set(list.split(separator: ","))
        if words.contains("dev") || words.contains("suid") { return true }
        return !takingOptions.contains(arguments[0]) && words.contains("nodev") && words.contains("nosuid")
    }

    /// Commands after which a user may write a path and `-o`; commands that only print something are excluded.
    private static let byHand = Set(CommandTable.listed.flatMap { [$0.name, $0.alias].compactMap(\.self) })
        .subtracting(["version", "help"])
    /// Commands that take such a list.
    private static let takingOptions: Set<String> = ["mount", "demo"]

    /// Parses the arguments after the program's name.
    ///
    /// mount(8) always passes SPEC and then an absolute DIR first. Such a pair is recognised by its place and never parsed as
    /// options, whatever SPEC begins with: the text of fstab must not become options. Typed by hand, the options may come first.
    static func parse(_ arguments: [String]) throws(ProgramError) -> HelperArguments {
        var parser = HelperArguments(request: MountRequest())
        var words = arguments[...]
        var positions: [String] = []
        if arguments.count >= 2, arguments[1].hasPrefix("/") {
            positions = [arguments[0], arguments[1]]
            words = arguments.dropFirst(2)
        }
        var lists: [String] = []
        var sloppy = false
        while let word = words.popFirst() {
            guard word.hasPrefix("-"), word != "-" else {
                positions.append(word)
                continue
            }
            try parser.parse(flags: word.dropFirst(), words: &words, lists: &lists, sloppy: &sloppy)
        }
        guard positions.count == 2, !positions[1].isEmpty else {
            throw ProgramError(
                .usage,
                "give a source and a folder: mount -t rankfs \(SourceName.standard.rawValue) FOLDER [-o OPTIONS].")
        }
        parser.request.source = try SourceName(argument: positions[0])
        parser.request.mountPoint = positions[1]
        for list in lists { try parser.request.options.add(list: list, sloppy: sloppy) }
        return parser
    }

    /// Parses one word of flags: letters without a value may stand together, a letter with a value ends the word.
    private mutating func parse(
        flags: Substring, words: inout ArraySlice<String>, lists: inout [String], sloppy: inout Bool
    ) throws(ProgramError) {
        var flags = flags
        while let flag = flags.popFirst() {
            switch flag {
            case "f": checkOnly = true
            case "v": verbose = true
            case "s": sloppy = true
            case "n", "w", "r": break
            case "o", "t":
                guard let value = flags.isEmpty ? words.popFirst() : String(flags) else {
                    throw ProgramError(.usage, "-\(flag) needs a value behind it.")
                }
                if flag == "o" { lists.append(value) }
                flags = ""
            default:
                throw ProgramError(
                    .usage,
                    "-\(LogText.escaped(String(flag), limit: 8)) is not an option of this mount helper; leave it out.")
            }
        }
    }
}
