import CLinux
import Glibc

/// The filter of system calls: any call that decoding does not make ends the process (seccomp(2)).
extension Confinement {
    /// Installs the filter permanently.
    ///
    /// - Returns: False if the kernel lacks filters, or if this machine's call numbers are unknown here.
    static func filterCalls() -> Bool {
        guard rankfs_architecture() != 0 else { return false }
        var program = program
        return unsafe program.withUnsafeMutableBufferPointer { program in
            unsafe rankfs_filter_calls(program.baseAddress, UInt16(program.count)) == 0
        }
    }

    // MARK: - Allowed calls

    /// Calls allowed with any arguments: none reaches beyond the process and its descriptors.
    private static let allowed: [Int] = [
        // Jobs, answers, and the archive that comes with a job.
        SYS_recvmsg, SYS_sendmsg, SYS_pread64, SYS_close,
        // Memory.
        SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise,
        // Locks, clocks, randomness for hashing.
        SYS_futex, SYS_clock_gettime, SYS_getrandom, SYS_sched_yield, SYS_restart_syscall,
        SYS_exit, SYS_exit_group,
    ].map { Int($0) }

    /// Calls that fail without ending the process, since libraries make them and can do without.
    private static let refused: [Int] = [SYS_openat, SYS_readlinkat, SYS_sysinfo, SYS_prlimit64].map { Int($0) }

    /// Calls allowed under conditions: memory is anonymous, and not executable.
    private static let conditional: [(call: Int, conditions: [Condition])] = [
        (
            Int(SYS_mmap),
            [
                (argument: 2, mask: UInt32(PROT_EXEC), value: 0),
                (argument: 3, mask: UInt32(MAP_ANONYMOUS), value: UInt32(MAP_ANONYMOUS)),
            ]
        ),
        (Int(SYS_mprotect), [(argument: 2, mask: UInt32(PROT_EXEC), value: 0)]),
    ]

    /// A condition on an argument: its value under a mask.
    private typealias Condition = (argument: Int, mask: UInt32, value: UInt32)

    // MARK: - The filter as a program of the kernel (linux/filter.h)

    /// The program: checks the machine, then compares the call's number with one rule after the other.
    private static var program: [sock_filter] {
        var program = [
            load(machine), sock_filter(code: compare, jt: 1, jf: 0, k: rankfs_architecture()), give(end), load(number),
        ]
        for call in allowed { program += [unless(UInt32(call), skip: 1), give(SECCOMP_RET_ALLOW)] }
        for call in refused { program += [unless(UInt32(call), skip: 1), give(SECCOMP_RET_ERRNO | UInt32(EACCES))] }
        for (call, conditions) in conditional {
            var rule: [sock_filter] = [give(SECCOMP_RET_ALLOW), give(end)]
            for condition in conditions.reversed() {
                // After the rest of the rule comes its last line, which ends the process.
                let rest = UInt8(rule.count - 1)
                rule =
                    [load(argument(condition.argument)), keep(condition.mask), unless(condition.value, skip: rest)]
                    + rule
            }
            program += [unless(UInt32(call), skip: UInt8(rule.count))] + rule
        }
        return program + [give(end)]
    }

    /// Offsets in the program's input, struct seccomp_data; an argument's lower half comes first on the machines known here.
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

    /// Skips lines of the program unless the loaded value equals `value`.
    private static func unless(_ value: UInt32, skip: UInt8) -> sock_filter {
        sock_filter(code: compare, jt: 0, jf: skip, k: value)
    }

    private static func give(_ verdict: UInt32) -> sock_filter {
        sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: verdict)
    }
}
