import RankFS

/// A parsed command line.
enum Command: Hashable, Sendable {
    case mount(MountRequest)
    case demo(MountRequest)
    case unmount(mountPoint: String)
    case status(mountPoint: String?, json: Bool)
    case watch(mountPoint: String?, json: Bool)
    case cache(CacheAction, MountRequest)
    case doctor(DoctorRequest)
    /// The file that holds the cookie; nil to prompt on the terminal.
    case login(MountRequest, file: String?)
    /// A command on paths inside a mount.
    case act(MountCommand, paths: [String])
    case logout(MountRequest)
    case fetch(FetchRequest)
    case tier(TierAction)
    /// The script by which a shell completes command lines; for `make install`, not listed in help.
    case completions(CompletionShell)
    /// The candidates for the last of some words, printed for the shells' scripts; not listed in help.
    case complete(words: [String])
    /// The guard that `mount` starts before it gives up root's rights; not listed in help.
    case guardMount(GuardedMount)
    case version
    case help(topic: String?)
}

/// A shell that has a completion script.
enum CompletionShell: String, Hashable, Sendable, CaseIterable {
    case bash
    case zsh
    case fish

    /// The shell named by the words after `rankfs completions`.
    ///
    /// - Throws: `.usage`, with the names of the known shells.
    init(arguments: ArraySlice<String>) throws(ProgramError) {
        guard arguments.count == 1, let name = arguments.first, let shell = CompletionShell(rawValue: name) else {
            let known = CompletionShell.allCases.map(\.rawValue).joined(separator: "|")
            throw ProgramError(.usage, "name one shell: rankfs completions \(known).")
        }
        self = shell
    }
}
