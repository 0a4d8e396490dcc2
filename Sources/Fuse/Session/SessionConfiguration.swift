/// The parameters of a mount.
package struct SessionConfiguration: Sendable {
    /// An existing directory.
    package var mountPoint: String
    /// The descriptor of `/dev/fuse` of an existing mount made for this process; the session then neither mounts nor unmounts.
    ///
    /// The session closes it at its end.
    package var device: Int32?
    /// Options of mount(8) and libfuse (`ro`, `nosuid`, `fsname=…`, `subtype=…`, `allow_other`, …).
    package var options: [String]
    /// The time limit of every request, whatever the file system does.
    package var deadline: Duration
    /// Whether to log libfuse's debug output.
    package var debug: Bool
    /// The prefix of the extended attributes for which the file system is queried; all others answer EOPNOTSUPP.
    ///
    /// `ls -l` queries `security.selinux` and `system.posix_acl_access`, and does not repeat the query after that answer.
    package var attributeNamespace = "user."

    /// Whether the file system is notified of interrupted page reads; the kernel then reads ahead one request at a time.
    ///
    /// With `false` the kernel reads ahead asynchronously: files that are not in the page cache are read about twice as fast, but
    /// no interrupt is sent for such a read. A fatal signal frees the reader at once in both cases. A signal that the reader
    /// handles frees it, and cancels the work, only with `true`.
    package var interruptibleReads = true

    /// Creates a configuration with the `user.` attributes only and interruptible reads.
    package init(mountPoint: String, options: [String], deadline: Duration, debug: Bool) {
        self.mountPoint = mountPoint
        self.options = options
        self.deadline = deadline
        self.debug = debug
    }
}

/// The reason why a session could not be mounted or served.
package struct SessionError: Error, Sendable {
    /// One sentence with cause and remedy.
    package let message: String
    /// The value of errno, if known.
    package let errno: Errno?
}
