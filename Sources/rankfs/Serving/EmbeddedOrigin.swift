import CLinux
import Glibc
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
    private let connection: Int32

    private static let program = "rankfs-origin"
    /// The beginning of the line that it writes when it serves.
    private static let greeting = "listening on "
    /// Milliseconds until that line must come; the origin has nothing to read first.
    private static let patience: Int32 = 10_000
    /// Bytes of its first line: an address, or one sentence.
    private static let longestLine = 1024

    /// Starts the origin and waits until it serves.
    ///
    /// Blocks for some milliseconds; must not be called from a task.
    ///
    /// - Parameter service: The name of the source that the origin imitates.
    /// - Throws: unavailable or system, if it does not start.
    init(service: String) throws(ProgramError) {
        let path = try CompanionProgram.path(of: Self.program)
        let ends: (own: Channel, other: Channel)
        do throws(SystemError) { ends = try Channel.pair() } catch {
            throw ProgramError(.system, "no socket can be made: \(error.text).")
        }
        do throws(SystemError) {
            defer { ends.other.close() }
            // With pictures of every rating: the mount itself requests the ratings to show.
            process = try ChildProcess.start(
                path, [Self.program, "--parent", "3", "--service", service, "--unsafe"],
                inheriting: [ends.other.descriptor])
        } catch {
            ends.own.close()
            throw ProgramError(.system, "\(LogText.escaped(path)) cannot be started: \(error.text).")
        }
        connection = ends.own.descriptor
        let line = Self.line(from: connection)
        guard line.hasPrefix(Self.greeting) else {
            Self.end(process, connection)
            throw ProgramError(
                .unavailable,
                line.isEmpty
                    ? "\(LogText.escaped(path)) did not start; run it by itself to see why."
                    : LogText.escaped(line, limit: Self.longestLine))
        }
        url = String(line.dropFirst(Self.greeting.count))
    }

    /// Ends the origin; it holds nothing that needs to be kept.
    func stop() {
        Self.end(process, connection)
    }

    private static func end(_ process: pid_t, _ connection: Int32) {
        kill(process, SIGKILL)
        _ = ChildProcess.wait(for: process)
        close(connection)
    }

    /// The first line, without its end; only its beginning if no more comes in time.
    private static func line(from connection: Int32) -> String {
        var line: [UInt8] = []
        var waiting = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
        while line.count < longestLine, line.last != newline {
            let count = unsafe poll(&waiting, 1, patience)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            var byte: UInt8 = 0
            guard unsafe read(connection, &byte, 1) == 1 else { break }
            line.append(byte)
        }
        return String(decoding: line.prefix { $0 != newline }, as: UTF8.self)
    }

    private static let newline: UInt8 = 0x0a
}
