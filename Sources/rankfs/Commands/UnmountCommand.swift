import Fuse
import Glibc

/// `rankfs unmount`: unmounts a folder, and clears the remains of a crash.
struct UnmountCommand: Command {
    let mountPoint: String

    static let definition = CommandDefinition(
        "unmount", alias: "umount", "MOUNTPOINT", summary: "unmount; also clears what a crash left",
        details: """
            Unmounts, and clears a mount whose process has died. Exit status 32 if it is in use or not a mount of rankfs.
            """
    ) { arguments throws(ProgramError) in
        guard let folder = arguments.positions.first, arguments.positions.count == 1, !folder.isEmpty else {
            throw ProgramError(.usage, "name the folder: rankfs unmount MOUNTPOINT.")
        }
        return UnmountCommand(mountPoint: folder)
    }

    private static let patience: Duration = .seconds(5)

    func run() throws(ProgramError) {
        let shown = LogText.escaped(mountPoint)
        guard let canonical = MountPoint.canonical(try LocalFiles.absolute(mountPoint)) else {
            throw ProgramError(.mountFailure, "\(shown) does not exist; `rankfs status` lists what is mounted.")
        }
        let mounts = MountTable.current().stack(at: canonical)
        guard mounts.last?.isOwn == true else {
            throw ProgramError(
                .mountFailure, "\(shown) is not a mount of rankfs; `rankfs status` lists those there are.")
        }
        // Asked first, a mount that does not answer would be busy with the question.
        do throws(ProgramError) {
            try Unmounter.unmount(canonical)
        } catch {
            // Programs may still use a mount whose process has died.
            guard case .failed(ENOTCONN) = MountPoint.look(at: canonical, mounts: mounts, patience: Self.patience)
            else { throw error }
            try Unmounter.detach(canonical)
        }
    }
}
