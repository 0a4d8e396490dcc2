import CLinux
import Glibc

/// The program `rankfs`.
@main
struct Program {
    static func main() {
        keepSecret()
        Output.open()
        // The background process is started as /proc/self/exe, and ps(1) would call it `exe`.
        unsafe rankfs_name_process("rankfs")
        // A limit on the size of files (`ulimit -f`) makes single writes fail.
        _ = signal(SIGXFSZ, SIG_IGN)
        if let what = areArgumentsText ? Home.misspelt() : "an argument" {
            Output.complain("\(what) is not UTF-8; rename what it names.", as: "rankfs")
            exit(ExitStatus.usage.rawValue)
        }
        exit(run(CommandLine.arguments).rawValue)
    }

    /// Protects this process's memory, which includes cookies, from all users but root, from now on.
    ///
    /// Core dumps are disabled, and so is inspection by other processes of the user (PR_SET_DUMPABLE of prctl(2)).
    ///
    /// The user still sees the state, name, command line and limits of the process below `/proc`. Started programs inherit the
    /// bound on core dumps; the rest ends with execve(2), and each program of this project begins with this call.
    private static func keepSecret() {
        // With a bound of 0 the kernel still feeds a program that collects dumps (core(5)), but not for such a process.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        _ = rankfs_prctl(PR_SET_DUMPABLE, 0)
    }

    /// Whether each argument is UTF-8: `CommandLine.arguments` would repair others, and name other folders.
    private static var areArgumentsText: Bool {
        (0..<Int(CommandLine.argc)).allSatisfy { index in
            unsafe CommandLine.unsafeArgv[index].map { unsafe String(validatingCString: $0) != nil } ?? true
        }
    }

    // MARK: - Command line

    /// Runs a command line and returns the exit status.
    ///
    /// Blocks the calling thread, which must not be a thread of the task pool.
    private static func run(_ arguments: [String]) -> ExitStatus {
        let name = String(arguments.first?.split(separator: "/").last ?? "rankfs")
        let words = Array(arguments.dropFirst())
        if HelperArguments.names.contains(name) || HelperArguments.isGiven(words) {
            return finish(as: name) { () throws(ProgramError) in try mountAsHelper(words) }.ofMountHelper
        }
        return finish(as: "rankfs") { () throws(ProgramError) in
            let (command, arguments) = try Command.parse(words)
            try command.run(arguments)
        }
    }

    /// Runs `work`, and writes the reason of a failure to the standard error stream.
    private static func finish(as name: String, _ work: () throws(ProgramError) -> Void) -> ExitStatus {
        do throws(ProgramError) {
            try work()
            try Output.check()
            return .success
        } catch {
            Output.complain(error.message, as: name)
            do throws(ProgramError) { try Output.check() } catch { Output.complain(error.message, as: name) }
            return error.status
        }
    }

    private static func mountAsHelper(_ arguments: [String]) throws(ProgramError) {
        let helper = try HelperArguments.parse(arguments)
        if helper.checkOnly {
            try helper.request.account()?.become()
            _ = try SettingsLoader.load(helper.request)
            return
        }
        try helper.request.mount()
        if helper.verbose {
            Output.print(
                "rankfs: \(helper.request.source.rawValue) mounted on \(LogText.escaped(helper.request.mountPoint)).")
        }
    }
}
