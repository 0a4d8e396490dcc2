import CLinux
import Dispatch
import Glibc
import Rankings
import Synchronization
import System

/// The program's log: one line per event, the newest warnings and errors kept for the status.
///
/// Lines go to the standard error stream, in the journal's form if the journal reads it, or to a bounded file.
///
/// ## Concurrency
///
/// Any thread may call; lines are written on a serial queue of the log's own, so that no caller waits for a slow terminal.
/// One mutex guards the level and the recent errors, and nothing else happens under it; the file is that queue's.
final class Log: Sendable {
    /// A warning or an error that status displays show, with its time in Unix seconds.
    typealias Recent = (time: Int64, level: LogLevel, message: String)

    private struct State {
        /// The least important level that is written now.
        var level: LogLevel
        var recent: [Recent] = []
        var counts = (warnings: 0, errors: 0)
        var waiting = 0
        var dropped = 0
    }

    /// The number of warnings and errors kept for status displays: a screenful.
    static let recentBound = 20
    /// The number of lines that may wait to be written; further lines are counted and dropped, because memory is bounded.
    private static let waitingBound = 1000

    private let level: LogLevel
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "rankfs.log")
    private let forJournal: Bool
    private let file = Mutex<(log: LogFile, size: Int)?>(nil)
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - level: The least important level that is written.
    ///   - forJournal: Whether the standard error stream is the journal's (JOURNAL_STREAM, systemd.exec(5)).
    ///   - now: The wall clock, in Unix seconds.
    init(level: LogLevel, forJournal: Bool, now: @escaping @Sendable () -> Int64) {
        self.level = level
        state = Mutex(State(level: level))
        self.forJournal = forJournal
        self.now = now
    }

    func warning(_ message: @autoclosure () -> String) { write(.warning, message) }
    func info(_ message: @autoclosure () -> String) { write(.info, message) }
    func debug(_ message: @autoclosure () -> String) { write(.debug, message) }

    private func write(_ level: LogLevel, _ message: () -> String) {
        guard level <= state.withLock(\.level) else { return }
        let text = LogText.escaped(message(), limit: LogText.longestLine)
        let time = now()
        let dropped: Int? = state.withLock { state in
            if level <= .warning {
                if level == .error { state.counts.errors += 1 } else { state.counts.warnings += 1 }
                if state.recent.count == Self.recentBound { state.recent.removeFirst() }
                state.recent.append((time, level, text))
            }
            guard state.waiting < Self.waitingBound else {
                state.dropped += 1
                return nil
            }
            state.waiting += 1
            defer { state.dropped = 0 }
            return state.dropped
        }
        guard let dropped else { return }
        queue.async { [self] in
            if dropped > 0 {
                put(.warning, "\(dropped) lines were not written because the log was too slow", at: time)
            }
            put(level, text, at: time)
            state.withLock { $0.waiting -= 1 }
        }
    }

    /// Switches debug lines on, or back off.
    func toggleDebug() {
        let now = state.withLock { state in
            state.level = state.level == .debug ? min(level, .info) : .debug
            return state.level
        }
        info("log level is now \(now.name)")
    }

    /// The newest warnings and errors, oldest first.
    var recent: [Recent] { state.withLock { $0.recent } }

    /// Warnings and errors since the start.
    var counts: (warnings: Int, errors: Int) { state.withLock { $0.counts } }

    /// Sends all further lines to a file instead of the terminal, after the warnings that the terminal has.
    func move(to file: LogFile) {
        queue.sync {
            self.file.withLock { $0 = (file, Self.take(file)) }
            for line in recent { put(line.level, line.message, at: line.time) }
        }
    }

    /// Waits until every line submitted so far is written.
    func flush() {
        queue.sync {}
    }

    // MARK: Output

    /// The size in bytes at which a file becomes `.1` and a new one begins: enough for weeks, and at most 2 MiB on disk.
    private static let fileBound = 1 << 20

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

    private func put(_ level: LogLevel, _ message: String, at time: Int64) {
        file.withLock { file in
            let line = Self.line(level, message, at: time, isFile: file != nil, forJournal: forJournal) + "\n"
            if var open = file {
                open.size = (Self.renewed(open.log) ?? open.size) + line.utf8.count
                // A full file is set aside; a device is not.
                if open.log.isRegular, open.size > Self.fileBound {
                    open.size = line.utf8.count + Self.turn(open.log.path)
                }
                file = open
            }
            Files.write(Array(line.utf8), to: 2)
        }
    }

    /// Opens a file anew that was removed or moved, once its folder is there; returns its size in bytes, or nil for a file in its place.
    private static func renewed(_ log: LogFile) -> Int? {
        guard log.isRegular, fileStatus(link: log.path)?.st_ino != fileStatus(open: 2)?.st_ino else { return nil }
        return (try? LogFile(opening: log.path)).map(take)
    }

    /// Sets a full file aside and begins a new one; returns the size of the new one in bytes.
    private static func turn(_ path: String) -> Int {
        unsafe _ = rename(path, path + ".1")
        // If that fails, the lines are discarded: a mount in use is worth more than its log.
        guard let log = (try? LogFile(opening: path)) ?? (try? LogFile(opening: LogFile.nowhere)) else { return 0 }
        return take(log)
    }

    /// Makes the file the standard error stream, so that a crash report of the runtime is written there too; returns its size in bytes.
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
        if let status = fileStatus(link: path) { try Self.check(status, path) }
        let flags = O_WRONLY | creating | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor = unsafe open(path, flags, 0o600)
        guard descriptor >= 0, let status = fileStatus(open: descriptor) else {
            throw .unusable(SystemError.last().text)
        }
        self.path = path
        self.descriptor = descriptor
        isRegular = status.st_mode.isFile
        do throws(Failure) { try Self.check(status, path) } catch {
            close(descriptor)
            throw error
        }
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
            throw .usage("the log file \(shown) lies inside the mount point; set log_file to another one.")
        }
        do throws(Failure) {
            try self.init(opening: path)
        } catch {
            throw .cannotCreate(
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
