import Dispatch
import Glibc
import Origin

/// The program `rankfs-origin`: the embedded origin by itself, for tests and benchmarks.
@main
struct OriginProgram {
    static func main() {
        // Signals are taken by sigwait below; every thread started from here on inherits the mask.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGTERM)
        unsafe sigaddset(&signals, SIGINT)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        signal(SIGPIPE, SIG_IGN)

        let options: Options
        do {
            options = try Options(Array(CommandLine.arguments.dropFirst()))
        } catch {
            switch error {
            case .help:
                write(Options.help, to: STDOUT_FILENO)
                exit(EXIT_SUCCESS)
            case .usage(let sentence):
                write("rankfs-origin: \(sentence)\n", to: STDERR_FILENO)
                exit(EX_USAGE)
            }
        }
        let server: OriginServer
        do {
            server = try OriginServer(options.configuration)
        } catch {
            write("rankfs-origin: \(error.message)\n", to: STDERR_FILENO)
            exit(EX_CANTCREAT)
        }
        write("listening on \(server.url)\n", to: STDOUT_FILENO)
        var received: Int32 = 0
        unsafe sigwait(&signals, &received)
        server.stop()
    }

    /// sysexits.h, which Glibc's module leaves out.
    private static let EX_USAGE: Int32 = 64
    private static let EX_CANTCREAT: Int32 = 73

    private static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
