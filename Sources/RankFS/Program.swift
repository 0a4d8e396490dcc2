import Glibc

/// The program behind a request.
struct Program: Hashable, Sendable {
    /// Its process number, the same for all of its threads.
    var process: Int32
    /// The name of its main thread, of which Linux keeps 15 bytes.
    var name: String

    /// The program that a thread belongs to, as proc(5) tells; nil if it is gone, or of another process namespace.
    ///
    /// - Parameter thread: What the kernel tells of a request: the number of a thread.
    /// - Returns: The program.
    static func of(thread: Int32) -> Program? {
        guard thread > 0, let status = text(of: "/proc/\(thread)/status"), let process = process(in: status),
            let name = text(of: "/proc/\(process)/comm")
        else { return nil }
        return Program(process: process, name: String(name.prefix { $0 != "\n" }))
    }

    /// The process number in a text of `/proc/PID/status`.
    static func process(in status: String) -> Int32? {
        let line = status.split(separator: "\n").first { $0.hasPrefix("Tgid:") }
        return line.flatMap { Int32($0.drop { !$0.isNumber }) }
    }

    private static func text(of path: String) -> String? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        // What is asked for stands in the first lines.
        var buffer = [UInt8](repeating: 0, count: 512)
        let count = unsafe read(file, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
    }
}
