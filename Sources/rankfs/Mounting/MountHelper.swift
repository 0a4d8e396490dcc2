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
        guard words.contains("dev") || words.contains("nodev"), words.contains("suid") || words.contains("nosuid")
        else {
            return false
        }
        return !takingOptions.contains(arguments[0]) || words.contains("dev") || words.contains("suid")
    }

    /// Commands after which a user may write a path and `-o`; commands that only print something are excluded.
    private static let byHand = Set(Command.listed.flatMap { [$0.name, $0.alias].compactMap(\.self) })
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
            // Letters without a value may stand together, a letter with a value ends the word.
            var flags = word.dropFirst()
            while let flag = flags.popFirst() {
                switch flag {
                case "f": parser.checkOnly = true
                case "v": parser.verbose = true
                case "s": sloppy = true
                case "n", "w", "r": break
                case "o", "t":
                    guard let value = flags.isEmpty ? words.popFirst() : String(flags) else {
                        throw .usage("-\(flag) needs a value behind it.")
                    }
                    if flag == "o" { lists.append(value) }
                    flags = ""
                default:
                    let shown = LogText.escaped(String(flag), limit: 8)
                    throw .usage("-\(shown) is not an option of this mount helper; leave it out.")
                }
            }
        }
        guard positions.count == 2, !positions[1].isEmpty else {
            throw .usage(
                "give a source and a folder: mount -t rankfs \(SourceName.standard.rawValue) FOLDER [-o OPTIONS].")
        }
        parser.request.source = try SourceName(argument: positions[0])
        parser.request.mountPoint = positions[1]
        for list in lists { try parser.request.options.add(list: list, sloppy: sloppy) }
        return parser
    }
}
