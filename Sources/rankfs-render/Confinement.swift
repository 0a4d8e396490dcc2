import CLinux
import Glibc
import Render

/// Gives up every right that decoding does not need, permanently.
///
/// Each step is tried even if another one failed: containers and old kernels refuse some. The order is that in which each step is
/// still allowed.
enum Confinement {
    /// The most memory of all mappings together.
    ///
    /// Two frames of 4K, their copies in libwebp and a result of 64 MiB are some 400 MB.
    private static let memory: rlim_t = 1 << 30
    /// The most seconds of processor time in all: the longest job may take ten minutes.
    private static let time: rlim_t = 900
    /// The socket, the pipe, three times /dev/null, and the file of a job.
    private static let descriptors: rlim_t = 8
    /// The namespaces of the network, of System V IPC and of host names.
    private static let apart = CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS

    /// Takes all steps; the process must have one thread.
    ///
    /// - Returns: The measures that succeeded.
    static func begin() -> Protection {
        var protection: Protection = []
        // Opened before the change of user, after which the process may no longer open it.
        let empty = unsafe open("/proc/self/fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if unshare(CLONE_NEWUSER | Self.apart) == 0 {
            protection.formUnion([.users, .network])
        } else if unshare(CLONE_NEWUSER) == 0 {
            protection.insert(.users)
        } else if unshare(Self.apart) == 0 {
            // Root in a container may do this without a user namespace.
            protection.insert(.network)
        }
        // A mount namespace of its own would hold every mount of the system, rankfs's own too, which could then not end. This
        // folder of the kernel holds a file for each descriptor and leads nowhere.
        if empty >= 0 {
            if rankfs_change_root(empty) == 0 { protection.insert(.root) }
            close(empty)
        }
        if giveUpPrivileges() { protection.insert(.privileges) }
        if limit() { protection.insert(.limits) }
        if filterCalls() { protection.insert(.calls) }
        return protection
    }

    private static func giveUpPrivileges() -> Bool {
        let hasNoCapability = rankfs_clear_capabilities() == 0
        let isHidden = rankfs_prctl(PR_SET_DUMPABLE, 0) == 0
        return rankfs_prctl(PR_SET_NO_NEW_PRIVS, 1) == 0 && hasNoCapability && isHidden
    }

    private static func limit() -> Bool {
        let limits: [(__rlimit_resource, rlim_t)] = [
            (RLIMIT_CORE, 0), (RLIMIT_FSIZE, 0), (__RLIMIT_NPROC, 0), (__RLIMIT_MEMLOCK, 0), (__RLIMIT_MSGQUEUE, 0),
            (RLIMIT_NOFILE, descriptors), (RLIMIT_CPU, time), (RLIMIT_AS, memory),
        ]
        return limits.allSatisfy { resource, bound in
            var limit = rlimit(rlim_cur: bound, rlim_max: bound)
            return unsafe setrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0
        }
    }
}
