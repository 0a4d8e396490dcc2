import CLinux
import Fuse
import Glibc
import RankFS
import Rankings
import System

extension Command {
    /// `rankfs pin`, `unpin`, `evict`, `refresh` and `forget`: ioctls for paths inside a mount.
    static let acts = [
        act(
            .pin, "pin", summary: "download pictures and keep them",
            "Downloads pictures and keeps them, whatever else the cache must make room for."),
        act(.unpin, "unpin", summary: "let pinned pictures go again", "Lets pictures go again when room is needed."),
        act(
            .evict, "evict", summary: "drop what is stored of pictures",
            "Drops what is stored of pictures, and of animations made of them; what is open stays. Nothing is requested."
        ),
        act(
            .refresh, "refresh", summary: "ask the service again for a listing",
            "Requests again: a day, an author, a work, a search, a mode's newest day; of a directory of such, what was opened."
        ),
        act(
            .forget, "forget", summary: "drop a past search or another listing",
            "Drops a listing, as if it had never been opened: a past search, an author, a list of names."),
    ]

    /// `rankfs tier forget`, which the command `tier` describes.
    static let unshare = act(.unshare, "tier forget", summary: nil, "")

    private static func act(
        _ command: MountCommand, _ name: String, summary: String?, _ details: String
    ) -> Command {
        Command(
            name: name, words: "PATH…", summary: summary,
            details: """
                \(details)

                Paths lie inside a mount: a picture, a whole directory, or a directory of such. Whoever may read the path may do this;
                with allow_other, only the owner and root.
                Exit status: 0 done, 1 \(command == .pin ? "not all of it is stored" : "a part was refused"), 64 usage, 69 unavailable.
                """,
            remedy: "name paths inside a mount",
            run: { arguments throws(ProgramError) in try act(command, on: arguments.positions) })
    }

    private static func act(_ command: MountCommand, on paths: [String]) throws(ProgramError) {
        try StatusDocument.checkAnswers(above: paths)
        let table = MountTable.current()
        let mounts = table.ownMountPoints
        var tally = ActTally()
        // All are found before anything is done: a command that is refused has changed nothing.
        let found = try paths.map { path throws(ProgramError) in
            let beginning = LocalFiles.canonicalBeginning(of: try LocalFiles.absolute(path))
            let place = LocalFiles.innermost(of: mounts, above: beginning)
            if let place, let complaint = SourceName.mounted(at: place.mount, table).complaint(about: place.way) {
                throw .usage(complaint)
            }
            let canonical: String
            do throws(SystemError) { canonical = try LocalFiles.resolved(path) } catch {
                let isMissing = error.code == ENOENT || error.code == ENOTDIR
                let reason =
                    isMissing ? " does not exist; look with ls" : ": \(command.complaint(error, at: beginning))"
                throw .unavailable("\(LogText.escaped(path))\(reason).")
            }
            guard mounts.contains(where: { canonical.way(from: $0) != nil }) else {
                throw .usage(
                    "\(LogText.escaped(path)) is not inside a mount of rankfs; `rankfs status` lists those there are.")
            }
            return canonical
        }
        for path in found { act(command, on: path, mounts, &tally) }
        if tally.done + tally.documents == 0, let refusal = tally.refusals.popLast() {
            for other in tally.refusals { Output.complain(other, as: "rankfs") }
            throw .unavailable(refusal)
        }
        if tally.isCut { tally.refusals.append("nothing gets through any more; the rest is left for another time.") }
        for refusal in tally.refusals { Output.complain(refusal, as: "rankfs") }
        if tally.failed > 0, let path = found.first, let mount = LocalFiles.innermost(of: mounts, above: path)?.mount {
            let status = StatusDocument.mounted(at: mount)
            tally.isDiskFull = tally.isFull && status?.flag("cache.is_storing") == false
            tally.isOffline = status?.flag("network.offline") == true
        }
        Output.print(command.outcome(tally))
        // What is missing is reported already; scripts check the exit status.
        if tally.failed + tally.partial + tally.refusals.count > 0 { throw .incomplete() }
    }

    /// Applies the command to one path, or to every entry below a directory that the command does not apply to.
    ///
    /// One that is refused does not stop the others, unless several in a row are.
    private static func act(
        _ command: MountCommand, on path: String, _ mounts: [String], _ tally: inout ActTally
    ) {
        guard !tally.isRefused else { return tally.isCut = true }
        do throws(SystemError) {
            let count = try LocalFiles.give(command, to: path, in: mounts)
            if command == .unshare, fileStatus(at: path)?.st_mode.isDirectory == true {
                tally.documents += count
            } else if command != .pin {
                tally.done += count
            }
            tally.isHeard()
        } catch {
            guard error.code == ENOTTY, let entries = try? Directory.entries(at: path) else {
                return tally.refuse("\(LogText.escaped(path)): \(command.complaint(error, at: path)).", for: error)
            }
            let isRoot = mounts.contains(path)
            let isTold = command != .pin && isatty(2) == 1
            for entry in entries.sorted(by: { $0.name < $1.name })
            where entry.kind == .directory || entry.kind == .file && command.isForPictures {
                guard !FetchPath.isFurther(entry.name, in: path, isRoot: isRoot),
                    command != .refresh || isAskedFor("\(path)/\(entry.name)", in: mounts)
                else { continue }
                if isTold { Files.write(Array("\r\u{1B}[K\(command.outcome(tally))".utf8), to: 2) }
                act(command, on: "\(path)/\(entry.name)", mounts, &tally)
            }
            if isTold { Files.write(Array("\r\u{1B}[K".utf8), to: 2) }
            return
        }
        guard command == .pin else { return }
        tally.pinned.formUnion(download(path, mounts, &tally))
        tally.done = tally.pinned.count
        do throws(SystemError) { tally.failed += try LocalFiles.give(.lacking, to: path, in: mounts) } catch {
            // Without a network the mount pins what it knows of a listing.
            if error.code == EHOSTUNREACH { return tally.partial += 1 }
            tally.refuse("\(LogText.escaped(path)): \(command.complaint(error, at: path)).", for: error)
        }
    }

    /// Whether a listing was requested before, of a mode that of its newest day; true for directories of listings.
    private static func isAskedFor(_ path: String, in mounts: [String]) -> Bool {
        let name = "user.rankfs.withheld"
        return switch LocalFiles.innermost(of: mounts, above: path).map({ TreePath($0.way) }) {
        case .mode: LocalFiles.attribute(name, of: "\(path)/latest") != nil
        case .listing, .own: LocalFiles.attribute(name, of: path) != nil
        default: true
        }
    }

    /// Reads a picture, or every picture of a directory, unless the mount has stored it; a failure does not stop the others.
    ///
    /// - Returns: The pinned ones.
    private static func download(_ path: String, _ mounts: [String], _ tally: inout ActTally) -> Set<String> {
        guard let names = try? LocalFiles.names(in: path) else {
            tally.store(path, in: mounts)
            return Set([pinnedPicture(at: path)].compactMap(\.self))
        }
        var pinned: Set<String> = []
        let isTerminal = isatty(2) == 1
        for (index, name) in names.sorted().enumerated() {
            if isTerminal { Files.write(Array("\rdownloaded \(index) of \(names.count)".utf8), to: 2) }
            tally.store("\(path)/\(name)", in: mounts)
            if let picture = pinnedPicture(at: "\(path)/\(name)") { pinned.insert(picture) }
        }
        if isTerminal { Files.write(Array("\r\u{1B}[K".utf8), to: 2) }
        return pinned
    }

    /// A text that is the same wherever a mount shows a picture: the renditions of a page differ by their length.
    ///
    /// - Returns: Nil if no picture is there that is pinned.
    private static func pinnedPicture(at path: String) -> String? {
        guard LocalFiles.attribute("user.rankfs.kept", of: path) == "yes",
            let work = LocalFiles.attribute("user.rankfs.work", of: path)
        else { return nil }
        let status = try? LocalFiles.status(of: path)
        let page = LocalFiles.attribute("user.rankfs.page", of: path) ?? ""
        return "\(status?.st_dev ?? 0) \(work) \(page) \(status?.st_size ?? -1)"
    }
}

// MARK: - Outcome

/// The result of a command to a mount.
struct ActTally: Hashable {
    /// The pictures or listings that the mount counted.
    var done = 0
    /// The pinned pictures, each once in however many places it was named.
    var pinned: Set<String> = []
    /// The pinned pictures that could not be downloaded.
    var failed = 0
    /// The listings with pictures that are not known without the network.
    var partial = 0
    /// The documents of listings that were removed from the shared tier.
    var documents = 0
    /// The sentences about paths that were refused, and how many were in a row.
    var refusals: [String] = []
    private(set) var refusedInARow = 0
    /// Whether paths were left out after those.
    var isCut = false
    /// Whether the disk of the cache directory has no room.
    var isDiskFull = false
    /// Whether the mount has the option `offline`.
    var isOffline = false
    /// The pictures read last, up to `mostUnkept` of them in a row.
    private(set) var read: [String] = []
    /// Whether further pictures would be downloaded for nothing.
    private(set) var isFull = false

    /// The pictures in a row that find no room, after which no further ones are downloaded; a small one may fit where a large one does not.
    private static let mostUnkept = 8

    /// Whether so many paths in a row were refused that the others would be, too.
    var isRefused: Bool { refusedInARow >= FetchPlan.outage }

    /// Records a path that was refused; what it is, or that it is not there or not shown, says nothing about the others.
    mutating func refuse(_ sentence: String, for error: SystemError) {
        refusals.append(sentence)
        refusedInARow = [ENOTTY, ENOENT, EACCES].contains(error.code) ? 0 : refusedInARow + 1
    }

    /// Records a path that was not refused.
    mutating func isHeard() { refusedInARow = 0 }

    /// Reads a picture unless the mount has stored it, or has no room; a failure does not stop the others.
    mutating func store(_ path: String, in mounts: [String]) {
        guard !isFull else { return }
        let isRead = (try? FetchReader(mount: path, target: nil).store(path)) ?? nil != nil
        read = isRead ? read + [path] : []
        guard read.count == Self.mostUnkept else { return }
        // A picture is stored a moment after its last byte was read; the mount counts once it is.
        isFull = read.allSatisfy { (try? LocalFiles.give(.lacking, to: $0, in: mounts)) == 1 }
        read = []
    }
}

extension MountCommand {
    /// Whether the command applies to a picture.
    fileprivate var isForPictures: Bool { self == .pin || self == .unpin || self == .evict || self == .unshare }

    /// The result as a sentence for the terminal.
    func outcome(_ tally: ActTally) -> String {
        let reason =
            tally.isOffline
            ? "; the mount is offline: mount without `offline`"
            : tally.isDiskFull
                ? "; the disk of the cache directory is full: make room there, or lower cache_free"
                : tally.isFull
                    ? "; there is no room: `rankfs unpin` others, or mount with a larger cache_size"
                    : ", for lack of room or of an answer; `rankfs status` shows both"
        let missing = tally.failed > 0 ? ", \(tally.failed) are not stored\(reason)" : ""
        let (done, noun) =
            switch self {
            case .pin, .lacking: ("pinned", "picture")
            case .unpin: ("released", "picture")
            case .evict: ("dropped", "stored picture")
            case .refresh: ("refreshed", "listing")
            case .forget: ("forgot", "listing")
            case .unshare: ("removed from the tier:", "picture")
            }
        let partial =
            tally.partial > 0
            ? "; of \(tally.partial.counted("listing")) not all is stored, and no request brings the rest" : ""
        let documents = self == .unshare ? ", \(tally.documents.counted("document"))" : ""
        return "\(done) \(tally.done.counted(noun))\(missing)\(partial)\(documents)"
    }

    fileprivate func complaint(_ failure: SystemError, at path: String) -> String {
        if failure.code == EPERM { return "only the mount's owner and root may do that; ask them, or for share=all" }
        if failure.code == EKEYREJECTED { return "the tier's key lacks the right to list or remove objects; give it" }
        if failure.code == EACCES, MountTable.current().isOthers(path) {
            return "the mount is another user's; ask them, or for allow_other and share=all"
        }
        if failure.code == EACCES { return "\(failure.text); what only signed-in users see needs `rankfs login`" }
        guard failure.code == ENOTTY else { return "\(failure.text); `rankfs status` tells more" }
        return switch self {
        case .pin, .unpin, .evict, .lacking: "it is no picture and no directory of pictures; name one of those"
        case .refresh, .forget: "it is no listing; name a day, an author, a work or a search"
        case .unshare: "it is no picture and no listing; name a picture, a day, an author or a work"
        }
    }
}
