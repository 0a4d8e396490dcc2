import Glibc
package import Posix
package import Rankings

/// Reads, writes and removes session files.
package enum SessionFile {
    /// Bytes; a browser's whole jar has a few hundred kilobytes.
    package static let longest = 4 << 20

    /// What changes when a file does.
    package struct Stamp: Equatable, Sendable {
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
    package static func stamp(of path: String) -> Result<Stamp, SystemError> {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return .failure(SystemError(code: errno)) }
        return .success(Stamp(status, path: path))
    }

    /// The content of a file that may hold a session.
    package static func content(of place: SessionPlace) throws(SessionProblem) -> [UInt8] {
        // Without O_NONBLOCK a pipe in place of the file would hold up whoever asks.
        let descriptor = Descriptors.own.open(place.path, O_RDONLY | O_NONBLOCK)
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
        return try content(of: descriptor)
    }

    /// What can be read from a descriptor to its end, one byte more than a session file may have at most.
    package static func content(of descriptor: Int32) throws(SessionProblem) -> [UInt8] {
        do throws(SystemError) {
            return try FileBytes.read(descriptor, upTo: longest + 1)
        } catch { throw SessionProblem("cannot be read: \(error.text)") }
    }

    private static func unreadable() -> SessionProblem {
        SessionProblem("cannot be read: \(SystemError(code: errno).text)")
    }

    // MARK: Writing

    /// Stores a session in one step: a crash leaves the old file or the new.
    ///
    /// - Parameters:
    ///   - secrets: All that the file holds, as one line.
    ///   - path: In a directory that exists and is private.
    /// - Throws: why it could not be stored.
    package static func store(_ secrets: [String], at path: String) throws(SessionProblem) {
        let temporary = temporaryName(path)
        unsafe _ = unlink(temporary)
        let descriptor = Descriptors.own.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw unwritable() }
        let line = Array((secrets.joined(separator: "; ") + "\n").utf8)
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

    /// Looks at a file as a mount would, without keeping what is in it.
    ///
    /// - Parameters:
    ///   - place: The file and its rules.
    ///   - user: Reads the file, and tells whose session it is.
    /// - Returns: What it is.
    package static func examine(
        _ place: SessionPlace, user: (SessionPlace) throws(SessionProblem) -> UserID
    ) -> SessionExamination {
        var status = stat()
        guard unsafe stat(place.path, &status) == 0 else { return .missing }
        if place.mustBePrivate, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 { return .exposed }
        do throws(SessionProblem) { return .usable(try user(place)) } catch { return .unusable(error.reason) }
    }

    /// Overwrites and removes a session file.
    ///
    /// - Returns: False if there was none.
    package static func remove(_ path: String) throws(SessionProblem) -> Bool {
        _ = try erase(temporaryName(path))
        return try erase(path)
    }

    private static func erase(_ path: String) throws(SessionProblem) -> Bool {
        let descriptor = Descriptors.own.open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW)
        if descriptor >= 0 {
            var status = stat()
            if unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
                let zeros = [UInt8](repeating: 0, count: min(Int(status.st_size), longest))
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
        let descriptor = Descriptors.own.open(String(path[...slash]), O_RDONLY | O_DIRECTORY)
        guard descriptor >= 0 else { return }
        _ = fsync(descriptor)
        close(descriptor)
    }
}
