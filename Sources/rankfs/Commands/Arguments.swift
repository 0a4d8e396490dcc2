/// The words after a command's name, parsed by its synopsis, without side effects.
struct Arguments: Hashable, Sendable {
    /// The words that are no flags, in the order given.
    var positions: [String] = []
    /// The flags of the command without a value.
    var flags: Set<String> = []
    /// The flags of the command with a value.
    var values: [String: String] = [:]
    /// The options of a mount, if the command takes them.
    var request = MountRequest()
    private(set) var wantsHelp = false
    private var words: ArraySlice<String> = []

    /// Commands for which the options may name the serving user, or an existing mount.
    private static let takingAccounts: Set<String> = ["mount", "doctor"]

    /// Arguments without flags.
    init(positions: [String] = []) { self.positions = positions }

    /// - Parameters:
    ///   - words: The words after the command's name.
    ///   - synopsis: The synopsis of the command.
    ///   - short: Short names of its flags.
    /// - Throws: `.usage`, for a word that the command does not take.
    init(_ words: ArraySlice<String>, of synopsis: Synopsis, short: [String: String]) throws(ProgramError) {
        self.words = words
        if synopsis.takesOptions { try refuseCookies() }
        while let word = self.words.popFirst() {
            if !word.hasPrefix("-") || word == "-" {
                positions.append(word)
            } else if word == "--" {
                positions += self.words
                self.words = []
            } else if word == "-h" || word == "--help" {
                wantsHelp = true
            } else if try takesFlag(short[word] ?? word, of: synopsis) {
                continue
            } else if synopsis.takesOptions {
                try parseMountFlag(word)
            } else {
                throw .usage("\(LogText.escaped(word, limit: 80)) is not an option of this command.")
            }
        }
        guard
            wantsHelp || Self.takingAccounts.contains(synopsis.command)
                || (request.options.account == nil && !request.options.remounts)
        else { throw .usage("setuid and remount are for `rankfs mount`; leave them out.") }
    }

    /// Parses a flag of the command alone; false for another word.
    private mutating func takesFlag(_ word: String, of synopsis: Synopsis) throws(ProgramError) -> Bool {
        let (name, value) = OptionTable.parts(of: word)
        guard let flag = synopsis.flags.first(where: { $0.name == name && $0.name.hasPrefix("--") }) else {
            return false
        }
        if flag.value == nil {
            guard value == nil else { return false }
            flags.insert(name)
        } else {
            values[name] = if let value { value } else { try self.value(of: name) }
        }
        return true
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
        default: throw .usage(OptionTable.complaint(unknown: word))
        }
    }

    /// `--name=value` or `--name value`.
    private mutating func parseLongFlag(_ word: String) throws(ProgramError) {
        let (name, given) = OptionTable.parts(of: String(word.dropFirst(2)))
        if name == "ready-fd" {
            guard let descriptor = given.flatMap({ Int32($0) }), descriptor > 2 else {
                throw .usage("--ready-fd is for rankfs itself; leave it out.")
            }
            request.readyDescriptor = descriptor
            return
        }
        guard OptionTable.definition(named: name) != nil else {
            throw .usage(OptionTable.complaint(unknown: name))
        }
        let text: String
        if let given { text = given } else { text = try value(of: word) }
        request.options.assignments.append(
            Assignment(name: OptionTable.normalised(name), value: text, place: .commandLine))
    }

    private mutating func value(of flag: String) throws(ProgramError) -> String {
        guard let value = words.popFirst() else { throw .usage("\(flag) needs a value behind it.") }
        return value
    }

    /// Refuses words that may be a cookie, without repeating them: every process can read them, and shells keep them.
    private func refuseCookies() throws(ProgramError) {
        guard !words.contains(where: SourceRegistry.mayBeSecret) else {
            throw .usage(
                "a cookie may not stand on the command line, where every process can read it; `rankfs login` asks for it, "
                    + "`rankfs login FILE` takes it from a cookies.txt, `rankfs login -` from the standard input.")
        }
    }
}
