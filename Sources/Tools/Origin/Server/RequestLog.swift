import Glibc
import Rankings

/// One JSON line per request, written when the request is over.
///
/// ## Concurrency
/// Called from any thread: each line is one write(2) to a file opened with O_APPEND, which keeps lines whole.
final class RequestLog: Sendable {
    /// What is known about a request that is over.
    struct Entry {
        /// Milliseconds since the origin started.
        let started: Int64
        let finished: Int64
        let connection: Int
        let request: Request
        let status: Int
        /// Of the body.
        let bytes: Int
        let completed: Bool
        let fault: String?
        let isSignedIn: Bool
    }

    private let descriptor: Int32

    /// Opens a file for appending.
    ///
    /// Throws one sentence with cause and remedy.
    init(path: String) throws(OriginError) {
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            let cause = unsafe String(cString: strerror(errno))
            throw OriginError(
                message: "The log \(path) cannot be opened (\(cause)): name a file in a writable directory.")
        }
    }

    deinit {
        close(descriptor)
    }

    /// Writes a line.
    ///
    /// A full disk loses lines, never requests.
    func write(_ entry: Entry) {
        var line = JSONText.object([
            ("t", .integer(entry.started)),
            ("end", .integer(entry.finished)),
            ("connection", .int(entry.connection)),
            ("method", .text(entry.request.method)),
            ("path", .text(entry.request.target)),
            ("range", entry.request.range.map(JSONText.text) ?? .null),
            ("status", .int(entry.status)),
            ("bytes", .int(entry.bytes)),
            ("completed", .flag(entry.completed)),
            ("fault", entry.fault.map(JSONText.text) ?? .null),
            ("signed_in", .flag(entry.isSignedIn)),
        ]).bytes(escapingSlashes: false)
        line.append(UInt8(ascii: "\n"))
        unsafe line.withUnsafeBytes { bytes in
            _ = unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        }
    }
}
