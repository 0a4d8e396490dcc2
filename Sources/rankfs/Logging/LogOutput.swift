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
        /// Whether it may be set aside when it is full: a device may not.
        var isRegular: Bool
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
                if open.isRegular, open.size > Self.fileBound { open.size = line.utf8.count + Self.turn(open.path) }
                file = open
            }
            LocalFiles.write(Array(line.utf8), to: 2)
        }
    }

    /// Makes a file the standard error stream, so that what the runtime says of a crash lands there too.
    func move(to log: LogFile) {
        file.withLock { $0 = File(path: log.path, size: Self.take(log), isRegular: log.isRegular) }
    }

    /// Sets a full file aside and begins a new one; returns the new one's size.
    private static func turn(_ path: String) -> Int {
        unsafe _ = rename(path, path + ".1")
        // Where that fails in the middle of serving, what serves is worth more than its log.
        guard let log = (try? LogFile(opening: path)) ?? (try? LogFile(opening: LogFile.nowhere)) else { return 0 }
        return take(log)
    }

    /// Makes the file descriptor 2 and returns its size.
    private static func take(_ log: LogFile) -> Int {
        dup2(log.descriptor, 2)
        if log.descriptor != 2 { close(log.descriptor) }
        return log.isRegular ? Int(lseek(2, 0, SEEK_END)) : 0
    }
}
