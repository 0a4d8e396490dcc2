import Fuse
import Glibc
import Posix
import RankFS
import Rankings

/// `rankfs status`: what is mounted and what it is doing.
enum StatusCommand {
    /// Longer than a mount's own deadline for any answer is pointless.
    private static let patience: Duration = .seconds(5)
    /// A status is a few kilobytes.
    static let longest = 4 << 20
    /// Below the mount point.
    static let documentPath = HelperFile.statusPath.text

    /// Prints what each mount tells; one that tells nothing does not keep the others from it.
    ///
    /// - Throws: `.unavailable` if nothing is mounted or one of the mounts told nothing; the sentences are out then.
    static func run(mountPoint: String?, json: Bool) throws(ProgramError) {
        let mountPoints = try named(mountPoint)
        var isFirst = true
        var hasFailed = false
        for path in mountPoints {
            do throws(ProgramError) {
                let text = try text(of: path, json: json, now: WallClock.now(), read: read)
                Output.print((isFirst || json ? "" : "\n") + text, terminator: "")
                isFirst = false
            } catch {
                Output.complain(error.message, as: "rankfs")
                hasFailed = true
            }
        }
        if hasFailed { throw ProgramError(.unavailable, "") }
    }

    /// What is printed of one mount.
    static func text(
        of path: String, json: Bool, now: Int64, read: (String) throws(ProgramError) -> [UInt8]
    ) throws(ProgramError) -> String {
        let text = try read(path)
        if json { return String(decoding: text, as: UTF8.self) }
        return summary(of: try document(in: text, of: path), now: now) + "\n"
    }

    /// What a mount's text says.
    ///
    /// - Throws: `.unavailable` if that is another version's.
    static func document(in text: [UInt8], of path: String) throws(ProgramError) -> StatusDocument {
        guard let document = StatusDocument(json: text) else {
            throw ProgramError(
                .unavailable,
                "\(LogText.escaped(path)) is served by another version of rankfs; mount it again, or try --json.")
        }
        return document
    }

    /// Watches the named mount, or the first there is.
    static func watch(mountPoint: String?, json: Bool, variables: [String: String]) throws(ProgramError) {
        let mountPoints = try named(mountPoint)
        try WatchCommand.run(mountPoints[0], others: mountPoints.count - 1, json: json, variables: variables)
    }

    /// The named mount, or all there are, at least one.
    private static func named(_ mountPoint: String?) throws(ProgramError) -> [String] {
        if let mountPoint { [MountPoint.canonical(mountPoint) ?? mountPoint] } else { try mounted() }
    }

    private static func mounted() throws(ProgramError) -> [String] {
        let own = MountTable.current().mountPoints(of: geteuid())
        guard !own.isEmpty else {
            throw ProgramError(.unavailable, "nothing is mounted; `rankfs mount FOLDER` or `rankfs demo` does that.")
        }
        return own
    }

    /// What a mount says of itself; nil if it says nothing that this version understands.
    ///
    /// Blocks for some seconds if it does not answer.
    static func document(of mountPoint: String) -> StatusDocument? {
        (try? read(mountPoint)).flatMap(StatusDocument.init)
    }

    /// The text of a mount's status, or why it has none.
    static func read(_ mountPoint: String) throws(ProgramError) -> [UInt8] {
        let result = BlockingCall.run(within: patience) {
            Result { () throws(LocalFiles.Failure) in
                try LocalFiles.read("\(mountPoint)/\(documentPath)", limit: longest)
            }
        }
        switch result {
        case .success(let text): return text
        case .failure(let error): throw explanation(of: error, at: mountPoint)
        case nil:
            let shown = LogText.escaped(mountPoint)
            throw ProgramError(.unavailable, "\(shown) does not answer; `rankfs unmount \(shown)` or end its process.")
        }
    }

    /// Why a mount tells nothing.
    static func explanation(of failure: LocalFiles.Failure, at mountPoint: String) -> ProgramError {
        let shown = LogText.escaped(mountPoint)
        let reason =
            switch failure.code {
            case ENOTCONN: "the process behind \(shown) has died; `rankfs unmount \(shown)` clears the folder."
            case ENOENT: "\(shown) is not a mount of rankfs; `rankfs status` alone lists those there are."
            default: "\(shown) does not tell its status: \(failure.text)."
            }
        return ProgramError(.unavailable, reason)
    }

    /// The document for people.
    static func summary(of document: StatusDocument, now: Int64) -> String {
        document.summary(at: now).joined(separator: "\n")
    }

    /// `2 d 3 h`, `4 min 5 s`: the two largest units.
    static func duration(_ seconds: Int64) -> String {
        func text(_ unit: (Int64, String), _ next: (Int64, String)) -> String {
            let rest = seconds % unit.0 / next.0
            return "\(seconds / unit.0) \(unit.1)" + (rest == 0 ? "" : " \(rest) \(next.1)")
        }
        let (day, hour, minute) = ((Int64(86400), "d"), (Int64(3600), "h"), (Int64(60), "min"))
        if seconds >= day.0 { return text(day, hour) }
        if seconds >= hour.0 { return text(hour, minute) }
        return seconds >= minute.0 ? text(minute, (1, "s")) : "\(seconds) s"
    }
}
