import CLinux
import Glibc

/// The system calls that decoding makes; another one ends the process (seccomp(2)).
enum SystemCallFilter {
    /// Installs the filter for good.
    ///
    /// - Returns: False where the kernel has none, or the numbers of this machine's calls are not known here.
    static func install() -> Bool {
        guard rankfs_architecture() != 0 else { return false }
        var program = program
        return unsafe program.withUnsafeMutableBufferPointer { program in
            unsafe rankfs_filter_calls(program.baseAddress, UInt16(program.count)) == 0
        }
    }

    // MARK: - What may be called

    /// With whatever arguments: nothing of it reaches beyond the process and the descriptors that it was given.
    private static let allowed: [Int] = [
        // Jobs, answers, and the archive that comes with a job.
        SYS_recvmsg, SYS_sendmsg, SYS_pread64, SYS_close,
        // Memory.
        SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise,
        // Locks, clocks, randomness for hashing.
        SYS_futex, SYS_clock_gettime, SYS_getrandom, SYS_sched_yield, SYS_restart_syscall,
        SYS_exit, SYS_exit_group,
    ].map { Int($0) }

    /// Refused without an end, for libraries ask for it and can do without.
    private static let refused: [Int] = [SYS_openat, SYS_readlinkat, SYS_sysinfo, SYS_prlimit64].map { Int($0) }

    /// Memory is that of no file, and nothing in it is run.
    private static let conditional: [(call: Int, conditions: [Condition])] = [
        (
            Int(SYS_mmap),
            [
                Condition(argument: 2, mask: UInt32(PROT_EXEC), value: 0),
                Condition(argument: 3, mask: UInt32(MAP_ANONYMOUS), value: UInt32(MAP_ANONYMOUS)),
            ]
        ),
        (Int(SYS_mprotect), [Condition(argument: 2, mask: UInt32(PROT_EXEC), value: 0)]),
    ]

    /// What the bits of an argument that a mask leaves must be.
    private struct Condition {
        var argument: Int
        var mask: UInt32
        var value: UInt32
    }

    // MARK: - As a program of the kernel's (linux/filter.h)

    /// Looks at the machine, then compares the call's number with one rule after the other.
    private static var program: [sock_filter] {
        var program = [
            load(machine), sock_filter(code: compare, jt: 1, jf: 0, k: rankfs_architecture()), give(end), load(number),
        ]
        for call in allowed { program += [unless(UInt32(call), skip: 1), give(SECCOMP_RET_ALLOW)] }
        for call in refused { program += [unless(UInt32(call), skip: 1), give(SECCOMP_RET_ERRNO | UInt32(EACCES))] }
        for (call, conditions) in conditional {
            var rule: [sock_filter] = [give(SECCOMP_RET_ALLOW), give(end)]
            for condition in conditions.reversed() {
                // Behind the rest of the rule stands its last line, which ends the process.
                let rest = UInt8(rule.count - 1)
                rule =
                    [load(argument(condition.argument)), keep(condition.mask), unless(condition.value, skip: rest)]
                    + rule
            }
            program += [unless(UInt32(call), skip: UInt8(rule.count))] + rule
        }
        return program + [give(end)]
    }

    /// Places in what a program looks at, struct seccomp_data: an argument's lower half comes first on the machines known here.
    private static let number: UInt32 = 0
    private static let machine: UInt32 = 4
    private static func argument(_ index: Int) -> UInt32 { UInt32(16 + 8 * index) }

    private static let end = SECCOMP_RET_KILL_PROCESS
    private static let compare = UInt16(BPF_JMP | BPF_JEQ | BPF_K)

    private static func load(_ place: UInt32) -> sock_filter {
        sock_filter(code: UInt16(BPF_LD | BPF_W | BPF_ABS), jt: 0, jf: 0, k: place)
    }

    private static func keep(_ mask: UInt32) -> sock_filter {
        sock_filter(code: UInt16(BPF_ALU | BPF_AND | BPF_K), jt: 0, jf: 0, k: mask)
    }

    /// Skips so many lines unless what was loaded is this.
    private static func unless(_ value: UInt32, skip: UInt8) -> sock_filter {
        sock_filter(code: compare, jt: 0, jf: skip, k: value)
    }

    private static func give(_ verdict: UInt32) -> sock_filter {
        sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: verdict)
    }
}
