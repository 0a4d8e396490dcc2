import CLinux
import Fuse
import Glibc
import System

/// Removes mounts: with umount2(2) where that is allowed, otherwise with fusermount3(1).
enum Unmounter {
    /// The paths of fusermount3, which is setuid root and therefore never searched for in PATH.
    static let helpers = ["/usr/bin/fusermount3", "/bin/fusermount3", "/usr/local/bin/fusermount3"]

    /// The attempts at a busy mount, and the microseconds between them: half a second in all.
    private static let (busyTries, busyPause): (Int, UInt32) = (6, 100_000)

    /// Detaches a mount at once, even a dead or busy one.
    static func detach(_ path: String) throws(ProgramError) {
        let bytes = Array(path.utf8)
        guard geteuid() == 0 ? detach(where: { $0.path == bytes }) : MountTable.unmountLazily(path) else {
            let shown = LogText.escaped(path)
            throw ProgramError(.mountFailure, "\(shown) cannot be unmounted; run `umount -l \(shown)` as root.")
        }
    }

    /// Whether a mount is still there although its session has ended and no process serves it.
    ///
    /// Its device number may by now be that of a new mount, which does have a process. Blocks for two seconds at most.
    static func hasLeft(_ mount: MountTable.Mount, at path: String) -> Bool {
        guard isListed(mount, in: MountTable.current().stack(at: path)) else { return false }
        return BlockingCall.run(within: .seconds(2)) { MountTable.isStale(path) } ?? false
    }

    /// Whether the visible mount at a path is this one.
    static func isListed(_ mount: MountTable.Mount, in stack: [MountTable.Mount]) -> Bool {
        stack.last.map { $0.isOwn && $0.device == mount.device } ?? false
    }

    /// The error for a mount that could not be removed at the end.
    static func leftBehind(_ path: String) -> ProgramError {
        let shown = LogText.escaped(path)
        return ProgramError(
            .mountFailure,
            "\(shown) could not be unmounted and is left without a process; run `fusermount3 -u \(shown)` to see why, or "
                + "`umount -l \(shown)` as root.")
    }

    /// Unmounts; a busy mount stays.
    static func unmount(_ path: String) throws(ProgramError) {
        var failure = SystemError(code: EBUSY)
        // Programs that look into every mount, as indexers do, have it open for moments.
        for attempt in 0..<busyTries where failure.code == EBUSY {
            if attempt > 0 { usleep(busyPause) }
            // Never follows a link that was put in place of the folder.
            if unsafe umount2(path, Int32(UMOUNT_NOFOLLOW)) == 0 { return }
            failure = SystemError.last()
        }
        let shown = LogText.escaped(path)
        switch failure.code {
        case EBUSY: throw refusal(shown, "busy")
        case EINVAL: throw ProgramError(.mountFailure, "\(shown) is not mounted.")
        case EPERM where MountTable.current().isOthers(path):
            throw ProgramError(.mountFailure, "\(shown) is another user's mount; they or root can unmount it.")
        case EPERM: break
        default: throw ProgramError(.mountFailure, "\(shown) cannot be unmounted: \(failure.text).")
        }
        guard let helper = helpers.first(where: { unsafe access($0, X_OK) == 0 }) else {
            throw ProgramError(.unavailable, "\(shown) needs fusermount3 to be unmounted; install the package fuse3.")
        }
        let end: (status: Int32?, text: [UInt8])
        do throws(SystemError) {
            end = try ChildProcess.run(helper, ["fusermount3", "-u", "--", path])
        } catch {
            throw ProgramError(.mountFailure, "fusermount3 cannot be started: \(error.text); try again.")
        }
        if end.status != 0 { throw refusal(shown, String(decoding: end.text, as: UTF8.self)) }
    }

    /// The error for a refused unmount.
    ///
    /// - Parameters:
    ///   - shown: The path, escaped for a sentence.
    ///   - said: The error text of fusermount3(1), which does not translate the system's texts.
    /// - Returns: An error that says "in use" only if the text does.
    static func refusal(_ shown: String, _ said: String) -> ProgramError {
        let line = said.split(separator: "\n").first.map(String.init) ?? ""
        guard !line.lowercased().contains("busy") else {
            return ProgramError(
                .mountFailure,
                "\(shown) is in use; close the programs that use it (`fuser -vm \(shown)` lists them) and unmount it again."
            )
        }
        let reason = line.isEmpty ? "it does not say why" : LogText.escaped(line)
        return ProgramError(
            .mountFailure, "fusermount3 does not unmount \(shown): \(reason); mend that, or run `umount` as root.")
    }
}
