import CLinux
import Glibc

/// Keeps what a process has in its memory, cookies among it, from everybody who is not root.
enum Secrecy {
    /// From now on the process leaves no core dump, and no other process of its user may look into it (PR_SET_DUMPABLE of prctl(2)).
    ///
    /// What its user may know all the same: its state, name, command line and limits below `/proc`. The bound is inherited by the
    /// programs that it starts; the rest ends with execve(2), and each program of ours begins with this.
    static func begin() {
        // With a bound of 0 the kernel still feeds a program that collects dumps (core(5)), but not for such a process.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        _ = rankfs_prctl(PR_SET_DUMPABLE, 0)
    }
}
