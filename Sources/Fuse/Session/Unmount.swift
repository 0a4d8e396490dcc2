internal import CFuse3
import Glibc

/// Unmounting without libfuse's session: of a mount whose daemon died, or that cannot be closed in order.
package enum Unmount {
    /// Detaches a mount at once and tells whether it succeeded; processes that have files of it open keep them.
    ///
    /// As root with umount2(2), otherwise with fusermount3(1), which lets users unmount what is theirs. Blocks until done.
    @discardableResult
    package static func lazily(_ mountPoint: String) -> Bool {
        if geteuid() == 0 {
            return unsafe umount2(mountPoint, Int32(MNT_DETACH)) == 0
        }
        return run(["fusermount3", "-u", "-q", "-z", "--", mountPoint])
    }

    /// Runs a program, waits and tells whether it succeeded.
    ///
    /// posix_spawn(3), because a Swift process does not fork.
    private static func run(_ words: [String]) -> Bool {
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var process = pid_t()
        guard unsafe posix_spawnp(&process, words[0], nil, nil, &arguments, environ) == 0 else { return false }
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { return false }
        }
        return status == 0
    }
}
