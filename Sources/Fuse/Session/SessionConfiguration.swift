/// What a session is mounted with.
package struct SessionConfiguration: Sendable {
    /// An existing directory.
    package var mountPoint: String
    /// `/dev/fuse` as somebody has mounted it for this process; then the session neither mounts nor unmounts.
    ///
    /// The session closes it at its end.
    package var device: Int32?
    /// Options of mount(8) and libfuse (`ro`, `nosuid`, `fsname=…`, `subtype=…`, `allow_other`, …).
    package var options: [String]
    /// When every request has been answered, whatever the file system does.
    package var deadline: Duration
    /// Log libfuse's debug output.
    package var debug: Bool
    /// The file system is asked for extended attributes that begin with this; it has no others (EOPNOTSUPP).
    ///
    /// `ls -l` asks for `security.selinux` and `system.posix_acl_access`, and after that answer not again.
    package var attributeNamespace = "user."

    /// Whether the file system hears of interrupted page reads, at the price of reading ahead one request at a time.
    ///
    /// With `false` the kernel reads ahead asynchronously: files that are not in the page cache are read about twice
    /// as fast, but no interrupt is sent for such a read. A signal that kills frees the reader at once either way; one
    /// that the reader handles frees it only with `true`, as does the cancellation of the work.
    package var interruptibleReads = true

    /// A configuration with the attributes of users only and interruptible reads.
    package init(mountPoint: String, options: [String], deadline: Duration, debug: Bool) {
        self.mountPoint = mountPoint
        self.options = options
        self.deadline = deadline
        self.debug = debug
    }
}

/// Why a session could not be mounted or served.
package struct SessionError: Error, Sendable {
    /// One sentence with cause and remedy.
    package let message: String
    /// errno where one is known.
    package let errno: Errno?

    /// An error with its sentence.
    package init(message: String, errno: Errno?) {
        self.message = message
        self.errno = errno
    }
}
