import Glibc
import Posix

/// A file that may hold a session.
package struct SessionPlace: Hashable, Sendable {
    package let path: String
    /// Whether a value alone is enough: only where the file is of this API's host by its name.
    let takesBare: Bool
    /// Whether a file that others may read is refused; systemd guards its credentials in its own ways.
    let mustBePrivate: Bool
    /// Whether it is worth a warning that the file is not there.
    let isExpected: Bool

    package init(_ path: String, takesBare: Bool, mustBePrivate: Bool = true, isExpected: Bool = false) {
        self.path = path
        self.takesBare = takesBare
        self.mustBePrivate = mustBePrivate
        self.isExpected = isExpected
    }
}

/// Reads, writes and removes session files.
package enum SessionFile {
    /// What changes when a file does.
    struct Stamp: Equatable {
        let path: String
        let device: UInt64
        let inode: UInt64
        let size: Int64
        /// Seconds and nanoseconds of the content's last change and of the permissions'.
        let times: [Int]

        fileprivate init(_ status: stat, path: String) {
            self.path = path
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            times = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
        }
    }

    /// The present stamp of a file, or the errno.
    static func stamp(of path: String) -> Result<Stamp, SystemError> {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return .failure(SystemError(code: errno)) }
        return .success(Stamp(status, path: path))
    }

    /// The session that a file holds, and the stamp of what was read.
    static func read(_ place: SessionPlace, host: String, now: Int64) throws(SessionProblem) -> SessionCookie {
        // Without O_NONBLOCK a pipe in place of the file would hold up whoever asks.
        let descriptor = unsafe open(place.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw unreadable() }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw unreadable() }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SessionProblem("is no file; name a cookies.txt")
        }
        guard !place.mustBePrivate || status.st_mode & 0o077 == 0 else {
            throw SessionProblem("can be read by others; protect it with `chmod 600`")
        }
        let bytes = try content(of: descriptor)
        return try SessionText.cookie(in: bytes, host: host, takesBare: place.takesBare, now: now)
    }

    /// What can be read from a descriptor to its end, one byte more than a cookie file may have at most.
    package static func content(of descriptor: Int32) throws(SessionProblem) -> [UInt8] {
        do throws(SystemError) {
            return try FileBytes.read(descriptor, upTo: SessionText.longest + 1)
        } catch { throw SessionProblem("cannot be read: \(error.text)") }
    }

    private static func unreadable() -> SessionProblem {
        SessionProblem("cannot be read: \(SystemError(code: errno).text)")
    }

    // MARK: Writing

    /// Stores a session in one step: a crash leaves the old file or the new.
    ///
    /// - Parameters:
    ///   - cookie: Its value and a newline are all that the file holds.
    ///   - path: In a directory that exists and is private.
    /// - Throws: why it could not be stored.
    package static func store(_ cookie: SessionCookie, at path: String) throws(SessionProblem) {
        let temporary = temporaryName(path)
        unsafe _ = unlink(temporary)
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw unwritable() }
        let line = Array((cookie.value + "\n").utf8)
        let count = unsafe line.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        // The mode again, since a umask may have taken from it.
        let written = count == line.count && fchmod(descriptor, 0o600) == 0 && fsync(descriptor) == 0
        guard written, unsafe rename(temporary, path) == 0 else {
            let problem = unwritable()
            close(descriptor)
            unsafe _ = unlink(temporary)
            throw problem
        }
        close(descriptor)
        syncDirectory(of: path)
    }

    /// Overwrites and removes a session file.
    ///
    /// - Returns: False if there was none.
    package static func remove(_ path: String) throws(SessionProblem) -> Bool {
        _ = try erase(temporaryName(path))
        return try erase(path)
    }

    private static func erase(_ path: String) throws(SessionProblem) -> Bool {
        let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        if descriptor >= 0 {
            var status = stat()
            if unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
                let zeros = [UInt8](repeating: 0, count: min(Int(status.st_size), SessionText.longest))
                // A disk that keeps old blocks is beyond reach; the file's own bytes go in any case.
                unsafe _ = zeros.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
                _ = fsync(descriptor)
            }
            close(descriptor)
        } else if errno == ENOENT || errno == ENOTDIR {
            return false
        }
        guard unsafe unlink(path) == 0 else {
            throw SessionProblem("cannot be removed: \(SystemError(code: errno).text)")
        }
        syncDirectory(of: path)
        return true
    }

    /// Beside the file, so that a rename can put it in its place.
    private static func temporaryName(_ path: String) -> String { path + ".new" }

    private static func unwritable() -> SessionProblem {
        SessionProblem("cannot be written: \(SystemError(code: errno).text)")
    }

    private static func syncDirectory(of path: String) {
        guard let slash = path.lastIndex(of: "/") else { return }
        let descriptor = unsafe open(String(path[...slash]), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = fsync(descriptor)
        close(descriptor)
    }
}
