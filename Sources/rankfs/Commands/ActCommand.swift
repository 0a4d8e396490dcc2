import CLinux
import Fuse
import Glibc
import RankFS
import Rankings
import System

/// `rankfs pin`, `unpin`, `evict`, `refresh` and `forget`: ioctls on paths inside a mount.
struct ActCommand: Command {
    let command: MountCommand
    let paths: [String]

    /// A definition for each of the commands, in the order of help.
    static let definitions = [
        definition(
            .pin, summary: "download pictures and keep them",
            "Downloads pictures and keeps them, whatever else the cache must make room for."),
        definition(
            .unpin, summary: "let pinned pictures go again", "Lets pictures go again when room is needed."),
        definition(
            .evict, summary: "drop what is stored of pictures",
            "Drops what is stored of pictures; what is open stays."),
        definition(
            .refresh, summary: "ask the service again for a listing",
            "Asks the service again: a day, an author, a work, a search, a mode's newest day."),
        definition(
            .forget, summary: "drop a past search or another listing",
            "Drops a listing, as if it had never been opened: a past search, an author."),
    ]

    /// `rankfs tier forget`, which the command `tier` describes.
    static let onTier = definition(.unshare, summary: nil, "")

    private static func definition(
        _ command: MountCommand, summary: String?, _ details: String
    ) -> CommandDefinition {
        CommandDefinition(
            command.name, "PATH…", summary: summary,
            details: """
                \(details)

                Paths lie inside a mount: a picture, a whole directory, or a directory of such. Whoever may read the path may do this.
                Exit status: 0 done, 1 pin could not download everything now, 64 usage, 69 unavailable.
                """
        ) { arguments throws(ProgramError) in
            guard !arguments.positions.isEmpty, !arguments.positions.contains("") else {
                throw ProgramError(.usage, "name paths inside a mount: rankfs \(command.name) PATH….")
            }
            return ActCommand(command: command, paths: arguments.positions)
        }
    }

    func run() throws(ProgramError) {
        let table = MountTable.current()
        let mounts = table.ownMountPoints
        var tally = Tally()
        for path in paths {
            guard let canonical = LocalFiles.canonical(path) else {
                let beginning = LocalFiles.canonicalBeginning(of: LocalFiles.absolute(path))
                if let complaint = WrongMode.complaint(
                    at: beginning, in: mounts, source: { SourceName.mounted(at: $0, table) })
                {
                    throw ProgramError(.usage, complaint)
                }
                throw ProgramError(.unavailable, "\(LogText.escaped(path)) does not exist; look with ls.")
            }
            guard mounts.contains(where: { canonical.way(from: $0) != nil }) else {
                throw ProgramError(
                    .usage,
                    "\(LogText.escaped(path)) is not inside a mount of rankfs; `rankfs status` lists those there are.")
            }
            try Self.act(command, on: canonical, mounts, &tally)
        }
        Output.print(command.outcome(tally))
        // The missing pictures are reported already; scripts check the exit status.
        if tally.failed > 0 { throw ProgramError(.incomplete, "") }
    }

    /// The result of a command.
    struct Tally: Hashable {
        /// The pictures or listings that the mount counted.
        var done = 0
        /// The pinned pictures that could not be downloaded.
        var failed = 0
        /// The documents of listings that were removed from the shared tier.
        var documents = 0
    }

    /// Applies the command to one path, or to every entry below a directory that the command does not apply to.
    private static func act(
        _ command: MountCommand, on path: String, _ mounts: [String], _ tally: inout Tally
    ) throws(ProgramError) {
        do throws(SystemError) {
            let count = try ask(command, path)
            if command == .unshare, (try? LocalFiles.isDirectory(path)) == true {
                tally.documents += count
            } else {
                tally.done += count
            }
        } catch {
            guard error.code == ENOTTY, let entries = try? MountedFiles.list(path) else {
                throw ProgramError(.unavailable, "\(LogText.escaped(path)): \(command.complaint(error)).")
            }
            let isRoot = mounts.contains(path)
            for entry in entries.sorted(by: { $0.name < $1.name })
            where entry.kind == .directory || entry.kind == .file && command.isForPictures {
                guard !FetchPath.isFurther(entry.name, in: path, isRoot: isRoot) else { continue }
                try act(command, on: "\(path)/\(entry.name)", mounts, &tally)
            }
            return
        }
        if command == .pin { tally.failed += download(path) }
    }

    private static func ask(_ command: MountCommand, _ path: String) throws(SystemError) -> Int {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw SystemError.last() }
        defer { close(file) }
        let result = rankfs_ioctl(file, UInt(command.rawValue))
        guard result >= 0 else { throw SystemError.last() }
        return Int(result)
    }

    /// Reads a picture, or every picture of a directory, so that the mount stores it; returns the number of failures.
    ///
    /// A picture of a directory that the service withholds is expected and no failure; a failure does not stop the other pictures.
    private static func download(_ path: String) -> Int {
        guard let names = try? LocalFiles.names(in: path) else { return failure(of: path) == nil ? 0 : 1 }
        let isTerminal = isatty(2) == 1
        var failed = 0
        for (index, name) in names.sorted().enumerated() {
            if isTerminal { FileBytes.write(Array("\rdownloaded \(index - failed) of \(names.count)".utf8), to: 2) }
            if let failure = failure(of: "\(path)/\(name)"), failure.code != EACCES { failed += 1 }
        }
        if isTerminal { FileBytes.write(Array("\r\u{1B}[K".utf8), to: 2) }
        return failed
    }

    /// The reason why a picture cannot be read; nil if it can.
    private static func failure(of path: String) -> SystemError? {
        do throws(SystemError) {
            _ = try FetchReader(mount: path, target: nil).read(path)
            return nil
        } catch {
            return error
        }
    }
}

extension MountCommand {
    /// Whether the command applies to a picture.
    fileprivate var isForPictures: Bool { self == .pin || self == .unpin || self == .evict || self == .unshare }

    /// The name on the command line.
    var name: String {
        switch self {
        case .pin: "pin"
        case .unpin: "unpin"
        case .evict: "evict"
        case .refresh: "refresh"
        case .forget: "forget"
        case .unshare: "tier forget"
        }
    }

    /// The result as a sentence for the terminal.
    func outcome(_ tally: ActCommand.Tally) -> String {
        let count = tally.done
        let missing =
            tally.failed > 0 ? ", \(tally.failed) could not be downloaded now; `rankfs status` tells why" : ""
        return switch self {
        case .pin: "pinned \(Counted.text(count, "picture"))\(missing)"
        case .unpin: "released \(Counted.text(count, "picture"))"
        case .evict: "dropped \(Counted.text(count, "stored picture"))"
        case .refresh: "refreshed \(Counted.text(count, "listing"))"
        case .forget: "forgot \(Counted.text(count, "listing"))"
        case .unshare:
            "removed from the tier: \(Counted.text(count, "picture")), \(Counted.text(tally.documents, "document"))"
        }
    }

    fileprivate func complaint(_ failure: SystemError) -> String {
        if failure.code == EPERM { return "only the mount's owner and root may do that; ask them, or for share=all" }
        guard failure.code == ENOTTY else { return "\(failure.text); `rankfs status` tells more" }
        return switch self {
        case .pin, .unpin, .evict: "it is no picture and no directory of pictures; name one of those"
        case .refresh, .forget: "it is no listing; name a day, an author, a work or a search"
        case .unshare: "it is no picture and no listing; name a picture, a day, an author or a work"
        }
    }
}
