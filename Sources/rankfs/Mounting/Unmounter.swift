import CLinux
import Fuse
import Glibc

/// Takes mounts away: with umount2(2) where that is allowed, with fusermount3(1) where it is not.
enum Unmounter {
    /// fusermount3 is setuid root; it is never searched for in PATH.
    static let helpers = ["/usr/bin/fusermount3", "/bin/fusermount3", "/usr/local/bin/fusermount3"]

    /// Detaches a mount at once, also a dead or busy one.
    static func detach(_ path: String) throws(ProgramError) {
        if !Unmount.lazily(path) {
            let shown = LogText.escaped(path)
            throw ProgramError(.mountFailure, "\(shown) cannot be unmounted; run `umount -l \(shown)` as root.")
        }
    }

    /// Unmounts; a busy mount stays.
    static func unmount(_ path: String) throws(ProgramError) {
        // Never follows a link that was put in the folder's place.
        if unsafe umount2(path, Int32(UMOUNT_NOFOLLOW)) == 0 { return }
        let failure = Files.Failure.last()
        let shown = LogText.escaped(path)
        switch failure.code {
        case EBUSY: throw busy(shown)
        case EINVAL: throw ProgramError(.mountFailure, "\(shown) is not mounted.")
        case EPERM: break
        default: throw ProgramError(.mountFailure, "\(shown) cannot be unmounted: \(failure.text).")
        }
        guard let helper = helpers.first(where: { unsafe access($0, X_OK) == 0 }) else {
            throw ProgramError(.unavailable, "\(shown) needs fusermount3 to be unmounted; install the package fuse3.")
        }
        let arguments = ["fusermount3", "-u", "-q", "--", path]
        guard let process = try? ChildProcess.start(helper, arguments, inheriting: []),
            ChildProcess.wait(for: process).status == 0
        else { throw busy(shown) }
    }

    private static func busy(_ shown: String) -> ProgramError {
        ProgramError(
            .mountFailure,
            "\(shown) is in use; close the programs that use it (`fuser -vm \(shown)` lists them) and unmount it again."
        )
    }
}
