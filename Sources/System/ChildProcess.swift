package import CLinux
import Glibc
import Synchronization

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
    ///   - resetsSignals: Whether no signal is blocked or ignored in the program, as its author expects; threads of this process block
    ///     all of them.
    ///   - leadsGroup: Whether such a program leads a process group of its own, by which it is ended with all that it has started.
    /// - Returns: The process id.
    /// - Throws: The errno of posix_spawn(3).
    package static func start(
        _ path: String, _ arguments: [String], inheriting: [Int32], output: Int32? = nil, errors: Int32? = nil,
        environment: [String]? = nil, resetsSignals: Bool = false, leadsGroup: Bool = false
    ) throws(SystemError) -> Int32 {
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe _ = posix_spawnattr_destroy(&attributes) }
        if resetsSignals { resetSignals(in: &attributes, leadsGroup: leadsGroup) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe _ = posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        if let output { unsafe posix_spawn_file_actions_adddup2(&actions, output, 1) }
        if let errors { unsafe posix_spawn_file_actions_adddup2(&actions, errors, 2) }
        // Moved behind the numbers that they are to have, so that none is overwritten before it is copied.
        let lowest = 3 + Int32(inheriting.count)
        let copies = inheriting.map { fcntl($0, F_DUPFD_CLOEXEC, lowest) }
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
            &process, path, &actions, &attributes, words.pointers, unsafe variables?.pointers ?? environ)
        guard code == 0 else { throw SystemError(code: code) }
        return process
    }

    /// Lets a program start with no signal blocked or ignored: threads of a pool block all of them.
    package static func resetSignals(in attributes: inout posix_spawnattr_t, leadsGroup: Bool = false) {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe sigfillset(&signals)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        // The group has the number of the program.
        let group = leadsGroup ? Int32(POSIX_SPAWN_SETPGROUP) : 0
        unsafe posix_spawnattr_setflags(
            &attributes, Int16(Int32(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | group))
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

    /// Runs a program, reads one of its streams, and ends it at a deadline, without a terminal with all that it has started;
    /// without that stream its error output is discarded.
    ///
    /// - Parameters:
    ///   - path: The program; a name without a slash is searched for in PATH.
    ///   - arguments: The arguments, with argument 0.
    ///   - stream: The standard output, or the standard error stream.
    ///   - limit: The most bytes of the stream that are kept.
    ///   - deadline: The moment at which the program is ended; nil for none.
    ///   - stop: Ends the program from another thread; nil if none does.
    /// - Returns: The exit status, nil if a signal ended the program, and the beginning of the stream.
    /// - Throws: ETIMEDOUT at the deadline, or the errno of posix_spawn(3).
    package static func run(
        _ path: String, _ arguments: [String], reading stream: Int32 = STDERR_FILENO, upTo limit: Int = 4096,
        by deadline: ContinuousClock.Instant? = nil, stop: ProgramStop? = nil
    ) throws(SystemError) -> (status: Int32?, text: [UInt8]) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw .last() }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        // In a group of its own it could not ask for a password, and Ctrl-C would not reach it.
        let leadsGroup = (deadline != nil || stop != nil) && !hasTerminal
        let process = try start(path, arguments, writing: stream, to: ends[1], leadsGroup: leadsGroup)
        let target = leadsGroup ? -process : process
        stop?.watch(target)
        do throws(SystemError) {
            let text = try read(ends[0], upTo: limit, by: deadline)
            try waitForEnd(of: process, by: deadline)
            stop?.watch(nil)
            return (wait(for: process).status, text)
        } catch {
            stop?.watch(nil)
            kill(target, SIGKILL)
            _ = wait(for: process)
            throw error
        }
    }

    /// Whether a user is at the terminal of this process; a daemon has none (tty(4)).
    private static var hasTerminal: Bool {
        let terminal = Descriptors.own.open("/dev/tty", O_RDWR | O_NOCTTY)
        if terminal >= 0 { close(terminal) }
        return terminal >= 0
    }

    /// Starts a program with one of its streams, whose descriptor is closed here.
    private static func start(
        _ path: String, _ arguments: [String], writing stream: Int32, to pipe: Int32, leadsGroup: Bool
    ) throws(SystemError) -> Int32 {
        let null = Descriptors.own.open("/dev/null", O_WRONLY)
        defer { for descriptor in [pipe, null] { close(descriptor) } }
        let isOutput = stream == STDOUT_FILENO
        return try start(
            path, arguments, inheriting: [], output: isOutput ? pipe : nil, errors: isOutput ? null : pipe,
            resetsSignals: true, leadsGroup: leadsGroup)
    }

    /// Reads a pipe to its end.
    private static func read(
        _ pipe: Int32, upTo limit: Int, by deadline: ContinuousClock.Instant?
    ) throws(SystemError) -> [UInt8] {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: limit)
        while true {
            try Files.wait(pipe, for: POLLIN, by: deadline)
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(pipe, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return text }
            // Further output is read and discarded, so that the program can end.
            text += buffer[..<min(count, limit - text.count)]
        }
    }

    /// Waits for a child's end, which does not follow from that of its stream.
    private static func waitForEnd(of process: Int32, by deadline: ContinuousClock.Instant?) throws(SystemError) {
        let end = pidfd_open(process, 0)
        guard end >= 0 else { return }
        defer { close(end) }
        try Files.wait(end, for: POLLIN, by: deadline)
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

/// Ends the program that `ChildProcess.run` waits for, with all that it has started.
///
/// ## Concurrency
///
/// Any thread may call. A process is ended under the mutex, before its id can be another's.
package final class ProgramStop: Sendable {
    private let state = Mutex<(target: Int32?, isStopped: Bool)>((nil, false))

    package init() {}

    /// Ends the program, and each later one as soon as it has started.
    package func stop() {
        state.withLock { state in
            state.isStopped = true
            if let target = state.target { kill(target, SIGKILL) }
        }
    }

    /// Takes note of the running program, or of its group by the negative number (kill(2)); nil for none.
    fileprivate func watch(_ target: Int32?) {
        state.withLock { state in
            state.target = target
            if state.isStopped, let target { kill(target, SIGKILL) }
        }
    }
}

// MARK: - Waiting

extension Files {
    /// Waits until a descriptor is ready for events of poll(2), or has an error.
    ///
    /// - Throws: ETIMEDOUT at the deadline, however ready it is.
    static func wait(
        _ descriptor: Int32, for events: Int32, by deadline: ContinuousClock.Instant?
    ) throws(SystemError) {
        var waiting = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        while true {
            // A minute at most at once.
            let left = deadline.map { min(UptimeClock.now.duration(to: $0), .seconds(60)) }
            if let left, left <= .zero { throw SystemError(code: ETIMEDOUT) }
            let count = unsafe poll(&waiting, 1, left.map { Int32(($0 / .milliseconds(1)).rounded(.up)) } ?? -1)
            if count > 0 { return }
            guard count == 0 || errno == EINTR else { throw .last() }
        }
    }
}
