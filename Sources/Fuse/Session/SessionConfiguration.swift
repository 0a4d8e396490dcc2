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

    package init(mountPoint: String, options: [String], deadline: Duration, debug: Bool) {
        self.mountPoint = mountPoint
        self.options = options
        self.deadline = deadline
        self.debug = debug
    }

    /// The largest read in bytes that options allow (`max_read`); 0 for the kernel's own.
    package static func longestRead(in options: [String]) -> UInt32 {
        options.compactMap { $0.hasPrefix("max_read=") ? UInt32($0.dropFirst(9)) : nil }.last ?? 0
    }
}
