import Fuse
import Glibc

/// `rankfs unmount`: unmounts a folder, and clears the remains of a crash.
enum UnmountCommand {
    private static let patience: Duration = .seconds(5)

    static func run(_ path: String) throws(ProgramError) {
        let shown = LogText.escaped(path)
        guard let canonical = MountPoint.canonical(path) else {
            throw ProgramError(.mountFailure, "\(shown) does not exist; `rankfs status` lists what is mounted.")
        }
        let mounts = MountTable.current().stack(at: canonical)
        guard mounts.last?.isOwn == true else {
            throw ProgramError(
                .mountFailure, "\(shown) is not a mount of rankfs; `rankfs status` lists those there are.")
        }
        if case .failed(ENOTCONN) = MountPoint.look(at: canonical, mounts: mounts, patience: patience) {
            try Unmounter.detach(canonical)
        } else {
            try Unmounter.unmount(canonical)
        }
    }
}
