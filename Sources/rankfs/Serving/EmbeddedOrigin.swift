import Glibc
import HTTP
import System

/// `rankfs-origin` as a process of its own, which serves the source `demo` on the loopback and ends with this process.
///
/// ## Concurrency
///
/// Any thread may call.
final class EmbeddedOrigin: Sendable {
    /// `http://127.0.0.1:PORT`, for both `api_url` and `image_url`.
    let url: String
    private let process: pid_t
    /// The socket to the origin; the origin ends when it is closed, also by the end of this process.
    private let channel: Channel

    private static let program = "rankfs-origin"
    /// The beginning of the message that it sends when it serves.
    private static let greeting = "listening on "
    /// The time until that message must come; the origin has nothing to read first.
    private static let patience: Duration = .seconds(10)
    /// Bytes of its message: an address, or one sentence.
    private static let longestLine = 1024

    /// The path of its program.
    ///
    /// - Throws: unavailable, if it is missing.
    static func path() throws(ProgramError) -> String { try LocalFiles.program(named: program) }

    /// Starts the origin and waits until it serves.
    ///
    /// Blocks for some milliseconds; must not be called from a task.
    ///
    /// - Parameter service: The name of the source that the origin imitates.
    /// - Throws: unavailable or system, if it does not start.
    init(service: String) throws(ProgramError) {
        let path = try Self.path()
        // With pictures of every rating: the mount itself requests the ratings to show.
        let arguments = [Self.program, "--parent", "3", "--service", service, "--unsafe"]
        (process, channel) = try Channel.start(path, arguments, called: LogText.escaped(path))
        let deadline = TimeSource.system.now() + Self.patience
        let message = (try? channel.receive(upTo: Self.longestLine, by: deadline)) ?? []
        let line = String(decoding: message, as: UTF8.self)
        url = String(line.dropFirst(Self.greeting.count))
        guard line.hasPrefix(Self.greeting) else {
            stop()
            throw .unavailable(
                line.isEmpty
                    ? "\(LogText.escaped(path)) did not start; run it by itself to see why."
                    : LogText.escaped(line, limit: Self.longestLine))
        }
    }

    /// Ends the origin; it holds nothing that needs to be kept.
    func stop() {
        kill(process, SIGKILL)
        _ = ChildProcess.wait(for: process)
        channel.close()
    }
}
