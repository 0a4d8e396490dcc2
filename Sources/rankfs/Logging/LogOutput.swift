import CLinux
import Glibc
import System
import Rankings
import Synchronization

/// The destination of log lines: the standard error stream, in the journal's form if the journal reads it, or a bounded file.
///
/// ## Concurrency
///
/// Called on the log's queue only; the mutex makes that safe rather than fast.
final class LogOutput: Sendable {
    /// The size in bytes at which a file becomes `.1` and a new one begins: enough for weeks, and at most 2 MiB on disk.
    static let fileBound = 1 << 20

    private let forJournal: Bool
    private let file = Mutex<(log: LogFile, size: Int)?>(nil)

    /// Creates an output to the standard error stream.
    ///
    /// - Parameter forJournal: Whether the stream is the journal's (JOURNAL_STREAM, systemd.exec(5)).
    init(forJournal: Bool) {
        self.forJournal = forJournal
    }

    /// Whether JOURNAL_STREAM names the standard error stream by device and inode (systemd.exec(5)).
    static func isJournal(_ variables: [String: String], descriptor: Int32 = 2) -> Bool {
        guard let stream = variables["JOURNAL_STREAM"], let status = fileStatus(open: descriptor) else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    /// One line without its terminator.
    static func line(_ level: LogLevel, _ message: String, at time: Int64, isFile: Bool, forJournal: Bool) -> String {
        if isFile { return "\(timestamp(time)) \(level.name): \(message)" }
        return forJournal ? level.journalPrefix + message : "rankfs: \(level.name): \(message)"
    }

    /// A time in UTC: `2026-11-21T02:13:40Z`.
    static func timestamp(_ seconds: Int64) -> String { Timestamp.text(seconds) ?? "\(seconds)" }

    func write(_ level: LogLevel, _ message: String, at time: Int64) {
        file.withLock { file in
            let line = Self.line(level, message, at: time, isFile: file != nil, forJournal: forJournal) + "\n"
            if var open = file {
                open.size += line.utf8.count
                // A full file is set aside; a device is not.
                if open.log.isRegular, open.size > Self.fileBound {
                    open.size = line.utf8.count + Self.turn(open.log.path)
                }
                file = open
            }
            Files.write(Array(line.utf8), to: 2)
        }
    }

    /// Makes a file the standard error stream, so that a crash report of the runtime is written there too.
    func move(to log: LogFile) {
        file.withLock { $0 = (log, Self.take(log)) }
    }

    /// Sets a full file aside and begins a new one; returns the size of the new one in bytes.
    private static func turn(_ path: String) -> Int {
        unsafe _ = rename(path, path + ".1")
        // If that fails, the lines are discarded: a mount in use is worth more than its log.
        guard let log = (try? LogFile(opening: path)) ?? (try? LogFile(opening: LogFile.nowhere)) else { return 0 }
        return take(log)
    }

    /// Makes the file descriptor 2 and returns its size in bytes.
    private static func take(_ log: LogFile) -> Int {
        dup2(log.descriptor, 2)
        if log.descriptor != 2 { close(log.descriptor) }
        return log.isRegular ? Int(lseek(2, 0, SEEK_END)) : 0
    }
}

// MARK: - Log file

/// An open file for log lines.
///
/// It is opened before anything is mounted, while an error can still be reported to the user; moving to it then cannot fail.
struct LogFile: Sendable {
    let path: String
    let descriptor: Int32
    let isRegular: Bool

    /// The destination that discards lines; the only device that is accepted.
    static let nowhere = "/dev/null"

    /// Opens a regular file, created if it is missing, or /dev/null.
    ///
    /// Never waits: a FIFO without a reader is refused. Another device is not opened, because that alone may have an effect.
    init(opening path: String) throws(Failure) {
        try self.init(path, creating: O_CREAT)
    }

    /// The reason why `init(opening:)` would fail; nil if it would not.
    ///
    /// Makes no file.
    static func obstacle(at path: String) -> String? {
        if fileStatus(link: path) == nil, errno == ENOENT {
            let folder = LocalFiles.parent(of: path) ?? "/"
            return unsafe access(folder, W_OK | X_OK) == 0 ? nil : SystemError.last().text
        }
        do throws(Failure) {
            close(try LogFile(path, creating: 0).descriptor)
            return nil
        } catch { return error.cause }
    }

    private init(_ path: String, creating: Int32) throws(Failure) {
        var status = stat()
        if unsafe lstat(path, &status) == 0 { try Self.check(status, path) }
        let flags = O_WRONLY | creating | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor = unsafe open(path, flags, 0o600)
        guard descriptor >= 0 else { throw .unusable(SystemError.last().text) }
        do throws(Failure) {
            guard unsafe fstat(descriptor, &status) == 0 else { throw .unusable(SystemError.last().text) }
            try Self.check(status, path)
        } catch {
            close(descriptor)
            throw error
        }
        self.path = path
        self.descriptor = descriptor
        isRegular = status.st_mode.isFile
    }

    /// Opens the file that the option `log_file` names.
    ///
    /// - Parameters:
    ///   - path: The absolute path.
    ///   - mountPoint: The folder that the mount will cover, in which no file could be written.
    /// - Throws: The reason why the file cannot be used, with the remedy.
    init(named path: String, mountPoint: String) throws(ProgramError) {
        let shown = LogText.escaped(path)
        let place = LocalFiles.canonicalBeginning(of: path)
        guard place.way(from: mountPoint) == nil else {
            throw ProgramError(
                .usage, "the log file \(shown) lies inside the mount point; set log_file to another one.")
        }
        do throws(Failure) {
            try self.init(opening: path)
        } catch {
            throw ProgramError(
                .cannotCreate,
                "the log file \(shown) cannot be written: \(error.cause); set log_file to a file that can be.")
        }
    }

    private static func check(_ status: stat, _ path: String) throws(Failure) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFCHR where path == nowhere: return
        case S_IFDIR: throw .unusable("it is a folder")
        case S_IFLNK: throw .unusable("it is a link, which is not followed")
        default: throw .unusable("it is no regular file")
        }
    }
}
