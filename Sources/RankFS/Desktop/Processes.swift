import Glibc
import Posix

/// What is asked of the programs that call; each call reads some small files of proc(5).
struct Processes: Sendable {
    /// The program that a thread belongs to; nil if it is gone, or of another process namespace.
    var program: @Sendable (_ thread: Int32) -> CallingProgram?
    /// Whether a process watches an inode with inotify(7).
    var watches: @Sendable (_ process: Int32, _ inode: UInt64) -> Bool
    /// The words of the command line of a thread's program.
    var arguments: @Sendable (_ thread: Int32) -> [String]
    /// The programs that started a thread's program, the nearest first.
    var starters: @Sendable (_ thread: Int32) -> [CallingProgram]

    /// Those of this machine.
    static let system = Processes(
        program: program(of:), watches: { Watches.contain($1, of: $0) }, arguments: arguments(of:),
        starters: starters(of:))

    /// Programs between a file manager and what it starts: sandboxes, each of which forks.
    private static let mostStarters = 4

    private static func program(of thread: Int32) -> CallingProgram? {
        guard thread > 0, let process = number("Tgid:", of: thread), let name = text(of: "/proc/\(process)/comm")
        else { return nil }
        return CallingProgram(process: process, name: String(name.prefix { $0 != "\n" }))
    }

    private static func arguments(of thread: Int32) -> [String] {
        text(of: "/proc/\(thread)/cmdline").map { $0.split(separator: "\0").map(String.init) } ?? []
    }

    private static func starters(of thread: Int32) -> [CallingProgram] {
        var starters: [CallingProgram] = []
        var process = thread
        while starters.count < mostStarters, let parent = number("PPid:", of: process), parent > 1,
            let program = program(of: parent)
        {
            starters.append(program)
            process = parent
        }
        return starters
    }

    private static func number(_ key: String, of thread: Int32) -> Int32? {
        text(of: "/proc/\(thread)/status").flatMap { number(key, in: $0) }
    }

    /// A number of a text of `/proc/PID/status`.
    static func number(_ key: String, in status: String) -> Int32? {
        let line = status.split(separator: "\n").first { $0.hasPrefix(key) }
        return line.flatMap { Int32($0.drop { !$0.isNumber }) }
    }

    private static func text(of path: String) -> String? {
        // What is asked for stands in the first lines.
        guard let bytes = try? FileBytes.read(path, upTo: 512), !bytes.isEmpty else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
