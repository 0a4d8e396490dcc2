import CLinux
import Glibc

/// Starts programs without forking: a task never runs in a forked child.
package enum ChildProcess {
    /// Starts a program by its path, or by a name that is searched for in PATH.
    ///
    /// The program gets the standard streams and the given descriptors, and no others.
    ///
    /// - Parameters:
    ///   - path: The program; a name without a slash is searched for in PATH.
    ///   - arguments: The arguments, with argument 0.
    ///   - inheriting: Descriptors that become 3, 4 and so on.
    ///   - output: The descriptor for its standard output; nil for none.
    ///   - errors: The descriptor for its standard error stream; nil for this process's stream.
    ///   - environment: The variables, each `NAME=value`; nil for this process's environment.
    /// - Returns: The process id.
    /// - Throws: The errno of posix_spawn(3).
    package static func start(
        _ path: String, _ arguments: [String], inheriting: [Int32], output: Int32? = nil, errors: Int32? = nil,
        environment: [String]? = nil
    ) throws(SystemError) -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe _ = posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        if let output { unsafe posix_spawn_file_actions_adddup2(&actions, output, 1) }
        if let errors { unsafe posix_spawn_file_actions_adddup2(&actions, errors, 2) }
        // Moved to high numbers first, so that no descriptor is overwritten before it is copied.
        let copies = inheriting.map { fcntl($0, F_DUPFD_CLOEXEC, 16) }
        defer { for copy in copies where copy >= 0 { close(copy) } }
        guard !copies.contains(where: { $0 < 0 }) else { throw .last() }
        for (index, copy) in copies.enumerated() {
            unsafe posix_spawn_file_actions_adddup2(&actions, copy, 3 + Int32(index))
        }
        unsafe _ = rankfs_spawn_without_descriptors(&actions, 3 + Int32(copies.count))
        let words = Words(arguments)
        let variables = environment.map { Words($0) }
        defer {
            words.free()
            variables?.free()
        }
        var process: pid_t = 0
        let code = unsafe posix_spawnp(
            &process, path, &actions, nil, words.pointers, unsafe variables?.pointers ?? environ)
        guard code == 0 else { throw SystemError(code: code) }
        return process
    }

    /// Texts in the form of C programs' arguments, with a null pointer after the last.
    @safe private struct Words {
        let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
        private let count: Int

        init(_ texts: [String]) {
            count = texts.count
            unsafe pointers = .allocate(capacity: count + 1)
            for (index, text) in texts.enumerated() {
                unsafe (pointers + index).initialize(to: strdup(text))
            }
            unsafe (pointers + count).initialize(to: nil)
        }

        func free() {
            for index in 0..<count { unsafe Glibc.free(pointers[index]) }
            unsafe pointers.deallocate()
        }
    }

    /// Runs a program, reads one of its streams, and ends it at a deadline; without that stream its error output is discarded.
    ///
    /// - Parameters:
    ///   - path: The program; a name without a slash is searched for in PATH.
    ///   - arguments: The arguments, with argument 0.
    ///   - stream: The standard output, or the standard error stream.
    ///   - limit: The most bytes of the stream that are kept.
    ///   - deadline: The moment at which the program is ended; nil for none.
    /// - Returns: The exit status, nil if a signal ended the program, and the beginning of the stream.
    /// - Throws: ETIMEDOUT at the deadline, or the errno of posix_spawn(3).
    package static func run(
        _ path: String, _ arguments: [String], reading stream: Int32 = STDERR_FILENO, upTo limit: Int = 4096,
        by deadline: ContinuousClock.Instant? = nil
    ) throws(SystemError) -> (status: Int32?, text: [UInt8]) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw .last() }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let process = try start(path, arguments, writing: stream, to: ends[1])
        do throws(SystemError) {
            let text = try read(ends[0], upTo: limit, by: deadline)
            return (wait(for: process).status, text)
        } catch {
            kill(process, SIGKILL)
            _ = wait(for: process)
            throw error
        }
    }

    /// Starts a program with one of its streams, whose descriptor is closed here.
    private static func start(
        _ path: String, _ arguments: [String], writing stream: Int32, to pipe: Int32
    ) throws(SystemError) -> Int32 {
        let null = Descriptors.own.open("/dev/null", O_WRONLY)
        defer { for descriptor in [pipe, null] { close(descriptor) } }
        let isOutput = stream == STDOUT_FILENO
        return try start(
            path, arguments, inheriting: [], output: isOutput ? pipe : nil, errors: isOutput ? null : pipe)
    }

    /// Reads a pipe to its end.
    private static func read(
        _ pipe: Int32, upTo limit: Int, by deadline: ContinuousClock.Instant?
    ) throws(SystemError) -> [UInt8] {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: limit)
        while true {
            var ready = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
            // A minute at most at once, in milliseconds.
            let left = deadline.map { min(max(ContinuousClock.now.duration(to: $0) / .milliseconds(1), 0), 60_000) }
            if unsafe poll(&ready, 1, left.map { Int32($0) } ?? -1) == 0 {
                guard let deadline, ContinuousClock.now >= deadline else { continue }
                throw SystemError(code: ETIMEDOUT)
            }
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(pipe, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return text }
            // Further output is read and discarded, so that the program can end.
            text += buffer[..<min(count, limit - text.count)]
        }
    }

    /// Waits for a child's end.
    ///
    /// - Returns: Its exit status, or nil with the number of the signal that ended it.
    package static func wait(for process: Int32) -> (status: Int32?, signal: Int32) {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { return (nil, 0) }
        }
        // WIFEXITED and WEXITSTATUS of wait(2), which are macros.
        let signal = status & 0x7f
        return signal == 0 ? ((status >> 8) & 0xff, 0) : (nil, signal)
    }
}
