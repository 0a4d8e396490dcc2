import CLinux
import Glibc
import Synchronization

/// Where log lines go: the standard error stream, in the journal's form if that is what listens, or a file of bounded size.
///
/// ## Concurrency
///
/// Called on the log's queue only; the mutex makes that safe rather than fast.
final class LogOutput: Sendable {
    private struct File {
        var path: String
        var size: Int
    }

    /// A file this long becomes `.1` and a new one begins: enough for weeks, and 2 MiB at most on disk.
    static let fileBound = 1 << 20

    private let forJournal: Bool
    private let file = Mutex<File?>(nil)

    /// - Parameter forJournal: Whether the standard error stream is the journal's (JOURNAL_STREAM, systemd.exec(5)).
    init(forJournal: Bool) {
        self.forJournal = forJournal
    }

    /// Whether the standard error stream is the one that JOURNAL_STREAM names by device and inode (systemd.exec(5)).
    static func isJournal(_ variables: [String: String], descriptor: Int32 = 2) -> Bool {
        var status = stat()
        guard let stream = variables["JOURNAL_STREAM"], unsafe fstat(descriptor, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    /// One line without its end.
    static func line(_ level: LogLevel, _ message: String, at time: Int64, isFile: Bool, forJournal: Bool) -> String {
        if isFile { return "\(timestamp(time)) \(level.name): \(message)" }
        return forJournal ? level.journalPrefix + message : "rankfs: \(level.name): \(message)"
    }

    /// A moment in UTC: `2026-11-21T02:13:40Z`.
    static func timestamp(_ seconds: Int64) -> String {
        var time = time_t(seconds)
        var parts = unsafe tm()
        guard unsafe gmtime_r(&time, &parts) != nil else { return "\(seconds)" }
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (year, month, day) = unsafe (parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday)
        let (hour, minute, second) = unsafe (parts.tm_hour, parts.tm_min, parts.tm_sec)
        return "\(year)-\(two(month))-\(two(day))T\(two(hour)):\(two(minute)):\(two(second))Z"
    }

    func write(_ level: LogLevel, _ message: String, at time: Int64) {
        file.withLock { file in
            let line = Self.line(level, message, at: time, isFile: file != nil, forJournal: forJournal) + "\n"
            if var open = file {
                open.size += line.utf8.count
                if open.size > Self.fileBound { open.size = line.utf8.count + Self.turn(open.path) }
                file = open
            }
            Files.write(Array(line.utf8), to: 2)
        }
    }

    /// Makes a file the standard error stream, so that what the runtime says of a crash lands there too.
    func moveToFile(_ path: String) {
        file.withLock { $0 = File(path: path, size: Self.open(path)) }
    }

    /// Sets a full file aside and begins a new one; returns the new one's size.
    private static func turn(_ path: String) -> Int {
        unsafe _ = rename(path, path + ".1")
        return open(path)
    }

    /// Opens the file as descriptor 2 and returns its size; /dev/null if it cannot be written.
    private static func open(_ path: String) -> Int {
        var descriptor = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if descriptor < 0 { descriptor = unsafe Glibc.open("/dev/null", O_WRONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { return 0 }
        dup2(descriptor, 2)
        if descriptor != 2 { close(descriptor) }
        return Int(lseek(2, 0, SEEK_END))
    }
}
