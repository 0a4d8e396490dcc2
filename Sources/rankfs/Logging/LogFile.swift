import CLinux
import Glibc
import Posix
import Rankings

/// A file that log lines can go to, open.
///
/// It is opened before anything is mounted, while somebody still hears why it cannot be; moving to it then cannot fail.
struct LogFile: Sendable {
    /// Why a path is no log file, as a clause.
    struct Refusal: Error, Hashable {
        let reason: String
    }

    let path: String
    let descriptor: Int32
    let isRegular: Bool

    /// Where lines go that nobody wants; the only device there may be.
    static let nowhere = "/dev/null"

    /// Opens a regular file, made if it is missing, or /dev/null.
    ///
    /// Never waits: a FIFO without a reader is refused. A device is not even opened, because that alone may do something.
    init(opening path: String) throws(Refusal) {
        var status = stat()
        let isThere = unsafe lstat(path, &status) == 0
        if isThere { try Self.check(status, path) }
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor = unsafe open(path, flags, 0o600)
        guard descriptor >= 0 else { throw Refusal(reason: LocalFiles.Failure.last().text) }
        do throws(Refusal) {
            guard unsafe fstat(descriptor, &status) == 0 else { throw Refusal(reason: LocalFiles.Failure.last().text) }
            try Self.check(status, path)
        } catch {
            close(descriptor)
            throw error
        }
        self.path = path
        self.descriptor = descriptor
        isRegular = status.st_mode & S_IFMT == S_IFREG
    }

    /// The file that the option `log_file` names.
    ///
    /// - Parameters:
    ///   - path: Absolute.
    ///   - mountPoint: What will be covered by the mount, where no file could be written.
    /// - Throws: Why it cannot be used, with the remedy.
    init(named path: String, mountPoint: String) throws(ProgramError) {
        let shown = LogText.escaped(path)
        let place = LocalFiles.canonicalBeginning(of: path)
        guard place.way(from: mountPoint) == nil else {
            throw ProgramError(
                .usage, "the log file \(shown) lies inside the mount point; set log_file to another one.")
        }
        do throws(Refusal) {
            try self.init(opening: path)
        } catch {
            throw ProgramError(
                .cannotCreate,
                "the log file \(shown) cannot be written: \(error.reason); set log_file to a file that can be.")
        }
    }

    private static func check(_ status: stat, _ path: String) throws(Refusal) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFCHR where path == nowhere: return
        case S_IFDIR: throw Refusal(reason: "it is a folder")
        case S_IFLNK: throw Refusal(reason: "it is a link, which is not followed")
        default: throw Refusal(reason: "it is no regular file")
        }
    }
}
