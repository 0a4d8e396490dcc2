import Glibc
import System

/// An errno value, open-ended as in the kernel.
package struct Errno: Error, RawRepresentable, Hashable, Sendable {
    /// The positive number of errno(3).
    package let rawValue: Int32

    /// Wraps a number that a C function stored in `errno`.
    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }
}

// Named as in errno(3), so that a user finds the name in the manual.
extension Errno {
    /// Permission denied.
    package static let EACCES = Errno(rawValue: Glibc.EACCES)
    /// The mount point is in use.
    package static let EBUSY = Errno(rawValue: Glibc.EBUSY)
    /// The request was interrupted.
    package static let EINTR = Errno(rawValue: Glibc.EINTR)
    /// Input/output error.
    package static let EIO = Errno(rawValue: Glibc.EIO)
    /// The extended attribute does not exist.
    package static let ENODATA = Errno(rawValue: Glibc.ENODATA)
    /// No such file or directory.
    package static let ENOENT = Errno(rawValue: Glibc.ENOENT)
    /// Not connected: the daemon of the mount is gone.
    package static let ENOTCONN = Errno(rawValue: Glibc.ENOTCONN)
    /// Not a command of this file.
    package static let ENOTTY = Errno(rawValue: Glibc.ENOTTY)
    /// Not permitted.
    package static let EPERM = Errno(rawValue: Glibc.EPERM)
    /// The deadline passed.
    package static let ETIMEDOUT = Errno(rawValue: Glibc.ETIMEDOUT)
}

extension Errno: CustomStringConvertible {
    /// The system's message for the number, for example "No such file or directory".
    package var description: String { SystemError(code: rawValue).text }
}
