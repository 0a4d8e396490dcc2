internal import Glibc

/// The errno(3) of a system call that failed.
package struct SystemError: Error, Hashable, Sendable {
    package let code: Int32

    package init(code: Int32) {
        self.code = code
    }

    /// That of the call that this thread made last; to be taken before any other call.
    package static func last() -> SystemError { SystemError(code: errno) }

    /// The text of strerror(3): `No such file or directory`.
    package var text: String { unsafe String(cString: strerror(code)) }
}
