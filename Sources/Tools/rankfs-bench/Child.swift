import Glibc
import System

/// A process that the benchmark starts and ends.
struct Child {
    let pid: pid_t

    /// Starts a program with its output redirected to a file (by default /dev/null).
    init(_ arguments: [String], output: String = "/dev/null") {
        let file = unsafe open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(file) }
        do throws(SystemError) {
            pid = try ChildProcess.start(arguments[0], arguments, inheriting: [], output: file, errors: file)
        } catch {
            fatal("cannot start \(arguments[0]): \(error.text); is it built and installed?")
        }
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
        let end = ChildProcess.wait(for: pid)
        return end.status ?? 128 + end.signal
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
    /// stripped of debugging symbols, as they are installed; each is stripped into a file at `copy`.
    func ownFiles(strippedInto copy: String) -> Int {
        let mapped = contents(of: "/proc/\(pid)/maps").split(separator: "\n").compactMap { line in
            line.firstIndex(of: "/").map { String(line[$0...]) }
        }
        return Set(mapped).filter { path in
            (path.contains(".so") || path == executable) && !["/lib", "/usr/lib"].contains { path.hasPrefix($0) }
        }.reduce(0) { sum, path in
            let isStripped = isInstalled("strip") && Child(["strip", "-o", copy, path]).wait() == 0
            return sum + max(0, size(of: isStripped ? copy : path))
        }
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
