/// A shell for which there is a completion script.
enum CompletionShell: String, Hashable, Sendable, CaseIterable {
    case bash
    case zsh
    case fish

    /// The shell that the words behind `rankfs completions` name.
    ///
    /// - Throws: usage, naming the shells there are.
    init(arguments: ArraySlice<String>) throws(ProgramError) {
        guard arguments.count == 1, let name = arguments.first, let shell = CompletionShell(rawValue: name) else {
            let known = CompletionShell.allCases.map(\.rawValue).joined(separator: "|")
            throw ProgramError(.usage, "name one shell: rankfs completions \(known).")
        }
        self = shell
    }

    /// The whole script, made from the table of options and the synopses of help.
    var script: String {
        switch self {
        case .bash: BashCompletion.script
        case .zsh: ZshCompletion.script
        case .fish: FishCompletion.script
        }
    }
}
