import Fuse
import Glibc

/// `rankfs status`: lists the mounts and their activity.
struct StatusCommand: Command {
    /// Nil for all mounts.
    var mountPoint: String?
    /// Whether documents are printed as they are.
    var json = false
    /// Whether one mount is shown until Ctrl-C.
    var watch = false

    static let definition = CommandDefinition(
        "status", "[MOUNTPOINT] [--watch] [--json]", brief: "[MOUNTPOINT] [--watch]",
        summary: "what is mounted and what it is doing",
        details: """
            Prints what each mount (or the named one) is doing; --json prints MOUNTPOINT/.rankfs/status.json as it is.

            --watch shows one mount, the first unless one is named, until Ctrl-C: blue bars are pictures that somebody reads,
            green ones are preloads. Where the cursor cannot be moved it prints a line now and then. With --json it prints the
            document once a second, each in one line.

            Exit status 69 if nothing is mounted, a mount does not answer or is another version's, or its process dies while
            it is watched; 0 after Ctrl-C and when the watched mount is unmounted.
            """
    ) { arguments throws(ProgramError) in
        guard arguments.positions.count <= 1 else {
            throw ProgramError(.usage, "name at most one folder: rankfs status [MOUNTPOINT].")
        }
        return StatusCommand(
            mountPoint: arguments.positions.first, json: arguments.flags.contains("--json"),
            watch: arguments.flags.contains("--watch"))
    }

    /// Prints the status of each mount; a mount without a status does not prevent the others.
    ///
    /// - Throws: `.unavailable` if nothing is mounted or a mount reported no status; the messages are printed by then.
    func run() throws(ProgramError) {
        let mountPoints = try named()
        if watch {
            return try WatchCommand.run(
                mountPoints[0], others: mountPoints.count - 1, json: json, variables: ProcessEnvironment.variables())
        }
        var isFirst = true
        var hasFailed = false
        for path in mountPoints {
            do throws(ProgramError) {
                let text = try Self.text(of: path, json: json, now: WallClock.now(), read: MountedStatus.read)
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

    /// The named mount, or all mounts, at least one.
    private func named() throws(ProgramError) -> [String] {
        if let mountPoint { return [MountPoint.canonical(mountPoint) ?? mountPoint] }
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
