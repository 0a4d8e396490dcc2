import Glibc
import Posix

/// Starts programs with posix_spawn(3): in a child forked after any task ran, no task ever runs.
enum ChildProcess {
    /// Starts a program by its path, with the present environment.
    ///
    /// - Parameters:
    ///   - path: The program; no search.
    ///   - arguments: With argument 0.
    ///   - inheriting: Descriptors that become 3, 4 and so on.
    ///   - errors: What becomes the standard error stream; inherited unless it is given.
    /// - Returns: The process id.
    /// - Throws: the errno of posix_spawn(3).
    static func start(
        _ path: String, _ arguments: [String], inheriting: [Int32], errors: Int32? = nil
    ) throws(Files.Failure) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe _ = posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        if let errors { unsafe posix_spawn_file_actions_adddup2(&actions, errors, 2) }
        // Out of the way first, so that none is written over before it is copied.
        let copies = inheriting.map { fcntl($0, F_DUPFD_CLOEXEC, 16) }
        defer { for copy in copies where copy >= 0 { close(copy) } }
        guard !copies.contains(where: { $0 < 0 }) else { throw .last() }
        for (index, copy) in copies.enumerated() {
            unsafe posix_spawn_file_actions_adddup2(&actions, copy, 3 + Int32(index))
        }
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        defer { unsafe pointers.forEach { unsafe free($0) } }
        var process: pid_t = 0
        let code = unsafe posix_spawn(&process, path, &actions, nil, pointers, environ)
        guard code == 0 else { throw Files.Failure(code: code) }
        return process
    }

    /// How a program ended.
    struct End: Hashable {
        /// Nil if a signal ended it.
        var status: Int32?
        /// The beginning of what it wrote to its standard error stream.
        var errors: String
    }

    /// Bytes of a program's complaints that are kept.
    private static let longestErrors = 4096

    /// Runs a program to its end.
    static func run(_ path: String, _ arguments: [String]) throws(Files.Failure) -> End {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw .last() }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let process: pid_t
        do throws(Files.Failure) {
            process = try start(path, arguments, inheriting: [], errors: ends[1])
        } catch {
            close(ends[1])
            throw error
        }
        close(ends[1])
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: longestErrors)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(ends[0], $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            // What comes behind it is read all the same, so that the program can end.
            text += buffer[..<min(count, longestErrors - text.count)]
        }
        return End(status: wait(for: process).status, errors: String(decoding: text, as: UTF8.self))
    }

    /// Waits for a child's end.
    ///
    /// - Returns: Its exit status, or nil with the number of the signal that ended it.
    static func wait(for process: pid_t) -> (status: Int32?, signal: Int32) {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { return (nil, 0) }
        }
        // WIFEXITED and WEXITSTATUS of wait(2), which are macros.
        let signal = status & 0x7f
        return signal == 0 ? ((status >> 8) & 0xff, 0) : (nil, signal)
    }
}
