/// A mounted file system: libfuse's session and its loop.
package final class Session: Sendable {
    /// What a session is mounted with.
    package struct Configuration: Sendable {
        package var mountPoint: String
        /// Options of mount(8) and libfuse (`ro`, `nosuid`, `fsname=…`, `subtype=…`, `allow_other`, …).
        package var options: [String]
        /// When every request has been answered, whatever the file system does.
        package var deadline: Duration
        /// Log libfuse's debug output.
        package var debug: Bool

        package init(mountPoint: String, options: [String], deadline: Duration, debug: Bool) {
            self.mountPoint = mountPoint
            self.options = options
            self.deadline = deadline
            self.debug = debug
        }
    }

    /// Mounts.
    ///
    /// Throws a sentence with cause and remedy.
    package init(_ configuration: Configuration, fileSystem: any FileSystem) throws(SessionError) {
        fatalError("written by the owner of Fuse: \(configuration) \(fileSystem)")
    }

    /// Serves requests on libfuse's worker threads until unmounted or stopped; blocks the calling thread, which must not be a task's.
    package func run() throws(SessionError) {
        fatalError("written by the owner of Fuse")
    }

    /// Answers everything that waits (EINTR), unmounts (lazily if it is busy) and lets `run` return.
    ///
    /// Any thread; async-signal-unsafe.
    package func stop() {
        fatalError("written by the owner of Fuse")
    }

    /// Tells the kernel to forget the attributes and the cached pages of an inode.
    ///
    /// Not from a file-system method.
    package func invalidate(inode: UInt64) {
        fatalError("written by the owner of Fuse: \(inode)")
    }

    /// Requests that wait for an answer, for status displays.
    package var waiting: Int {
        fatalError("written by the owner of Fuse")
    }
}

/// Why a session could not be mounted or served.
package struct SessionError: Error, Sendable {
    /// One sentence with cause and remedy.
    package let message: String
    /// errno where one is known.
    package let errno: Errno?

    package init(message: String, errno: Errno?) {
        self.message = message
        self.errno = errno
    }
}
