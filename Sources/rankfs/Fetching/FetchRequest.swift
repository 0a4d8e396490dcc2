import Rankings

/// What `rankfs fetch` is asked for.
struct FetchRequest: Hashable, Sendable {
    /// As given, at least one.
    var paths: [String] = []
    /// Where files are written to; nil if they are only to be stored by the mount.
    var target: String?
    /// A JSON file beside each picture that is written.
    var sidecars = false
    /// Only the estimate.
    var dryRun = false
}

extension FetchRequest {
    /// The command of the words behind `rankfs fetch`.
    ///
    /// - Throws: usage.
    static func command(_ words: ArraySlice<String>) throws(ProgramError) -> Command {
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
