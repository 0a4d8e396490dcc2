import Rankings
import Dispatch
import Glibc
import Origin
import System

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

        let words = CommandLine.arguments.dropFirst()
        if words.contains("--help") || words.contains("-h") {
            Files.write(PackageResources.help_txt, to: STDOUT_FILENO)
            exit(EXIT_SUCCESS)
        }
        let options: Options
        do {
            options = try Options(words)
        } catch {
            Files.write(Array("rankfs-origin: \(error.cause)\n".utf8), to: STDERR_FILENO)
            exit(EX_USAGE)
        }
        let parent = options.parent.map { Channel($0) }
        if parent != nil { leaveCaller() }
        let server: OriginServer
        do {
            server = try OriginServer(options.configuration)
        } catch {
            say("rankfs-origin: \(error.cause)", to: parent, or: STDERR_FILENO)
            exit(EX_CANTCREAT)
        }
        say("listening on \(server.url)", to: parent, or: STDOUT_FILENO)
        if let parent { endWithOtherEnd(of: parent) }
        var received: Int32 = 0
        repeat { unsafe sigwait(&signals, &received) } while parent != nil && received == SIGINT
        server.stop()
    }

    /// The exit codes of sysexits.h, which Glibc's module leaves out.
    private static let EX_USAGE: Int32 = 64
    private static let EX_CANTCREAT: Int32 = 73

    /// Detaches the program from its caller's terminal, working directory and error pipe: the parent may serve in the background.
    private static func leaveCaller() {
        signal(SIGHUP, SIG_IGN)
        signal(SIGQUIT, SIG_IGN)
        unsafe _ = chdir("/")
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        if null >= 0 { dup2(null, STDERR_FILENO) }
    }

    /// Ends the program when the other end of a socket is closed, for any cause.
    private static func endWithOtherEnd(of parent: Channel) {
        DispatchQueue.global().async {
            _ = try? parent.receive(upTo: 0)
            kill(getpid(), SIGTERM)
        }
    }

    /// Sends a line to the parent, or writes it where there is none.
    private static func say(_ line: String, to parent: Channel?, or descriptor: Int32) {
        let bytes = Array(line.utf8)
        if let parent { try? parent.send(bytes) } else { Files.write(bytes + [10], to: descriptor) }
    }
}
