import CLinux
import Glibc

/// A process that the benchmark starts and ends.
struct Child {
    let pid: pid_t

    /// Starts a program with its output redirected to a file (by default /dev/null).
    init(_ arguments: [String], output: String = "/dev/null") {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var words: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
        unsafe words.append(nil)
        defer { unsafe words.forEach { unsafe free($0) } }
        var pid: pid_t = 0
        let failure = unsafe posix_spawnp(&pid, arguments[0], &actions, nil, words, environ)
        guard failure == 0 else { fatal("cannot start \(arguments[0]): errno \(failure); is it built and installed?") }
        self.pid = pid
    }

    /// A process that has ended, as the initial value of a variable.
    static var ended: Child {
        let child = Child(["true"])
        child.wait()
        return child
    }

    /// Waits for the end; returns the exit status, or 128 + signal.
    @discardableResult
    func wait() -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(pid, &status, 0) == -1 && errno == EINTR {}
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    }

    func terminate() {
        kill(pid, SIGTERM)
        wait()
    }

    /// The resident memory now, its anonymous part (backed by no file), and the peak, in bytes, from proc_pid_status(5).
    var memory: (now: Int, own: Int, peak: Int) {
        let text = contents(of: "/proc/\(pid)/status")
        func kilobytes(_ key: String) -> Int {
            let line = text.split(separator: "\n").first { $0.hasPrefix(key) }
            return line?.split(separator: " ").compactMap { Int($0) }.first ?? 0
        }
        return (kilobytes("VmRSS:") * 1024, kilobytes("RssAnon:") * 1024, kilobytes("VmHWM:") * 1024)
    }

    /// Bytes of the program and of the libraries that it brings along: those outside the system's library directories,
    /// stripped of debugging symbols, as they are installed.
    var ownFiles: Int {
        let mapped = contents(of: "/proc/\(pid)/maps").split(separator: "\n").compactMap { line in
            line.firstIndex(of: "/").map { String(line[$0...]) }
        }
        return Set(mapped).filter { path in
            (path.contains(".so") || path == executable) && !["/lib", "/usr/lib"].contains { path.hasPrefix($0) }
        }.reduce(0) { $0 + max(0, Self.strippedSize(of: $1)) }
    }

    /// The size of a program as strip(1) leaves it.
    private static func strippedSize(of path: String) -> Int {
        var template = Array("/tmp/rankfs-bench-XXXXXX".utf8CString)
        let file = unsafe mkstemp(&template)
        guard file >= 0 else { return size(of: path) }
        defer { close(file) }
        let copy = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { unsafe unlink(copy) }
        return isInstalled("strip") && Child(["strip", "-o", copy, path]).wait() == 0 ? size(of: copy) : size(of: path)
    }

    private var executable: String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/\(pid)/exe", &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Processor time used so far, in seconds, from proc_pid_stat(5).
    var processorSeconds: Double {
        let fields = contents(of: "/proc/\(pid)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
