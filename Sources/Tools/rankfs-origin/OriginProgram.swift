import Rankings
import Dispatch
import Glibc
import Origin

/// The program `rankfs-origin`: the embedded origin as a program of its own, for `rankfs demo`, tests and benchmarks.
@main
struct OriginProgram {
    static func main() {
        // sigwait below takes the signals; every thread started from here on inherits the mask.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGTERM)
        unsafe sigaddset(&signals, SIGINT)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        signal(SIGPIPE, SIG_IGN)

        let words = CommandLine.arguments.dropFirst()
        if words.contains("--help") || words.contains("-h") {
            write(String(decoding: PackageResources.help_txt, as: UTF8.self), to: STDOUT_FILENO)
            exit(EXIT_SUCCESS)
        }
        let options: Options
        do {
            options = try Options(words)
        } catch {
            write("rankfs-origin: \(error.cause)\n", to: STDERR_FILENO)
            exit(EX_USAGE)
        }
        if let parent = options.parent { leaveCaller(for: parent) }
        let server: OriginServer
        do {
            server = try OriginServer(options.configuration)
        } catch {
            write("rankfs-origin: \(error.cause)\n", to: options.parent ?? STDERR_FILENO)
            exit(EX_CANTCREAT)
        }
        write("listening on \(server.url)\n", to: options.parent ?? STDOUT_FILENO)
        if let parent = options.parent { endWithOtherEnd(of: parent) }
        var received: Int32 = 0
        repeat { unsafe sigwait(&signals, &received) } while options.parent != nil && received == SIGINT
        server.stop()
    }

    /// The exit codes of sysexits.h, which Glibc's module leaves out.
    private static let EX_USAGE: Int32 = 64
    private static let EX_CANTCREAT: Int32 = 73

    /// Detaches the program from its caller's terminal, working directory and error pipe: the parent may serve in the background.
    private static func leaveCaller(for parent: Int32) {
        signal(SIGHUP, SIG_IGN)
        signal(SIGQUIT, SIG_IGN)
        unsafe _ = chdir("/")
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        if null >= 0 { dup2(null, STDERR_FILENO) }
    }

    /// Ends the program when the other end of a socket is closed, for any cause.
    private static func endWithOtherEnd(of parent: Int32) {
        DispatchQueue.global().async {
            var byte: UInt8 = 0
            while true {
                let count = unsafe read(parent, &byte, 1)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { break }
            }
            kill(getpid(), SIGTERM)
        }
    }

    private static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
