/// What a request was answered with, as a value: what tests look at in place of a mount.
package enum Answer: Hashable, Sendable {
    /// Any request: it failed.
    case failure(Errno)
    /// lookup: the entry.
    case entry(Attributes, entryTimeout: Duration, attributesTimeout: Duration)
    /// lookup: no such name, remembered for a time.
    case absent(timeout: Duration)
    /// getattr.
    case attributes(Attributes, timeout: Duration)
    /// readlink.
    case link(String)
    /// open and opendir.
    case opened(handle: UInt64, keepCache: Bool, directIO: Bool, cacheDirectory: Bool)
    /// read from memory.
    case bytes([UInt8])
    /// read from a descriptor, which is open while the answer is looked at and not for longer.
    case file(descriptor: Int32, offset: Int64, count: Int)
    /// readdir and readdirplus: the entries that found room.
    case directory([DirectoryEntry])
    /// statfs.
    case statistics(Statistics)
    /// getxattr and listxattr: the whole value, whatever size was asked for.
    case extendedAttribute([UInt8])
    /// ioctl.
    case ioctl(result: Int32, output: [UInt8])
}

/// A directory entry as it was added to a ``DirectoryReply``.
package struct DirectoryEntry: Hashable, Sendable {
    /// The name's bytes.
    package var name: [UInt8]
    /// The inode's number.
    package var inode: UInt64
    /// What `ls -F` shows.
    package var kind: Attributes.Kind
    /// Where the next read goes on after this entry.
    package var nextOffset: Int64
    /// The attributes if they were sent along: each entry with them counts as one lookup of its inode.
    package var attributes: Attributes?

    /// Makes an entry to compare with.
    package init(
        name: [UInt8], inode: UInt64, kind: Attributes.Kind, nextOffset: Int64, attributes: Attributes? = nil
    ) {
        self.name = name
        self.inode = inode
        self.kind = kind
        self.nextOffset = nextOffset
        self.attributes = attributes
    }
}
