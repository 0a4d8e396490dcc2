import Fuse
import Glibc

/// `rankfs status`: lists the mounts and their activity.
enum StatusCommand {
    /// Prints the status of each mount; a mount without a status does not prevent the others.
    ///
    /// - Throws: `.unavailable` if nothing is mounted or a mount reported no status; the messages are printed by then.
    static func run(mountPoint: String?, json: Bool) throws(ProgramError) {
        let mountPoints = try named(mountPoint)
        var isFirst = true
        var hasFailed = false
        for path in mountPoints {
            do throws(ProgramError) {
                let text = try text(of: path, json: json, now: WallClock.now(), read: MountedStatus.read)
                Output.print((isFirst || json ? "" : "\n") + text, terminator: "")
                isFirst = false
            } catch {
                Output.complain(error.message, as: "rankfs")
                hasFailed = true
            }
        }
        if hasFailed { throw ProgramError(.unavailable, "") }
    }

    /// The text that is printed for one mount.
    static func text(
        of path: String, json: Bool, now: Int64, read: (String) throws(ProgramError) -> [UInt8]
    ) throws(ProgramError) -> String {
        let text = try read(path)
        if json { return String(decoding: text, as: UTF8.self) }
        return summary(of: try MountedStatus.document(in: text, of: path), now: now) + "\n"
    }

    /// Watches the named mount, or the first one.
    static func watch(mountPoint: String?, json: Bool, variables: [String: String]) throws(ProgramError) {
        let mountPoints = try named(mountPoint)
        try WatchCommand.run(mountPoints[0], others: mountPoints.count - 1, json: json, variables: variables)
    }

    /// The named mount, or all mounts, at least one.
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

    /// The document as text for the terminal.
    static func summary(of document: StatusDocument, now: Int64) -> String {
        document.summary(at: now).joined(separator: "\n")
    }
}
