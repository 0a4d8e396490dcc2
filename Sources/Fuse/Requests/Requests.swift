internal import CFuse3
import Glibc

/// Who asks: from fuse_req_ctx(3).
package struct Caller: Sendable {
    package var user: UInt32
    package var group: UInt32
    package var process: Int32

    /// Makes one, for tests and callers without a kernel.
    package init(user: UInt32, group: UInt32, process: Int32) {
        self.user = user
        self.group = group
        self.process = process
    }
}

/// A request that names an inode only.
package struct InodeRequest: Sendable {
    package var inode: UInt64
    package var caller: Caller

    /// Makes one, for tests and callers without a kernel.
    package init(inode: UInt64, caller: Caller) {
        self.inode = inode
        self.caller = caller
    }
}

/// A name in a directory.
package struct LookupRequest: Sendable {
    package var parent: UInt64
    /// The bytes as the kernel sent them, without the NUL; not always valid UTF-8.
    package var name: [UInt8]
    package var caller: Caller

    /// Makes one, for tests and callers without a kernel.
    package init(parent: UInt64, name: [UInt8], caller: Caller) {
        self.parent = parent
        self.name = name
        self.caller = caller
    }
}

/// An open file or directory.
package struct OpenRequest: Sendable {
    package var inode: UInt64
    /// open(2) flags.
    package var flags: Int32
    package var caller: Caller

    /// Makes one, for tests and callers without a kernel.
    package init(inode: UInt64, flags: Int32, caller: Caller) {
        self.inode = inode
        self.flags = flags
        self.caller = caller
    }
}

/// A piece of an open file, or the entries of an open directory from an offset on.
package struct ReadRequest: Sendable {
    package var inode: UInt64
    package var handle: UInt64
    package var offset: Int64
    package var size: Int
    package var caller: Caller
    /// Whether the kernel keeps the bytes as pages of the inode: only reads past the page cache carry an owner of locks
    /// (fuse_send_read and fuse_read_args_fill in the kernel's fs/fuse/file.c).
    package var isForPages: Bool

    /// Makes one, for tests and callers without a kernel.
    package init(
        inode: UInt64, handle: UInt64, offset: Int64, size: Int, caller: Caller, isForPages: Bool = false
    ) {
        self.inode = inode
        self.handle = handle
        self.offset = offset
        self.size = size
        self.caller = caller
        self.isForPages = isForPages
    }
}

/// The last close of a handle.
package struct ReleaseRequest: Sendable {
    package var inode: UInt64
    package var handle: UInt64

    /// Makes one, for tests and callers without a kernel.
    package init(inode: UInt64, handle: UInt64) {
        self.inode = inode
        self.handle = handle
    }
}

/// An extended attribute of an inode; `name` is empty for a list.
package struct ExtendedAttributeRequest: Sendable {
    package var inode: UInt64
    package var name: String
    /// 0 asks for the length only.
    package var size: Int
    package var caller: Caller

    /// Makes one, for tests and callers without a kernel.
    package init(inode: UInt64, name: String, size: Int, caller: Caller) {
        self.inode = inode
        self.name = name
        self.size = size
        self.caller = caller
    }
}

/// A command on an open file or directory.
package struct IoctlRequest: Sendable {
    package var inode: UInt64
    package var handle: UInt64
    package var command: UInt32
    package var input: [UInt8]
    package var outputSize: Int
    package var caller: Caller

    /// Makes one, for tests and callers without a kernel.
    package init(inode: UInt64, handle: UInt64, command: UInt32, input: [UInt8], outputSize: Int, caller: Caller) {
        self.inode = inode
        self.handle = handle
        self.command = command
        self.input = input
        self.outputSize = outputSize
        self.caller = caller
    }
}

/// What stat(2) shows.
///
/// Times are whole seconds: Tumbler compares them, fraction included, with the text `Thumb::MTime`, which has none.
package struct Attributes: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case directory
        case file
        case link
    }

    package var inode: UInt64
    package var kind: Kind
    /// Permission bits.
    package var permissions: UInt32
    package var size: Int64
    package var modified: Int64
    package var links: UInt32
    package var user: UInt32
    package var group: UInt32

    package init(
        inode: UInt64, kind: Kind, permissions: UInt32, size: Int64, modified: Int64, links: UInt32, user: UInt32,
        group: UInt32
    ) {
        self.inode = inode
        self.kind = kind
        self.permissions = permissions
        self.size = size
        self.modified = modified
        self.links = links
        self.user = user
        self.group = group
    }
}

/// What statvfs(3) shows, in blocks of 4 KiB.
///
/// Inodes are not counted: directories are made as they are looked up, so there is no total, and a file system with used inodes
/// and no free ones is full to df(1) and to monitors.
package struct Statistics: Hashable, Sendable {
    package var blocks: UInt64
    package var freeBlocks: UInt64
    package var longestName: UInt32

    package init(blocks: UInt64, freeBlocks: UInt64, longestName: UInt32) {
        self.blocks = blocks
        self.freeBlocks = freeBlocks
        self.longestName = longestName
    }
}

// MARK: - Answer

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

// MARK: - C values

extension Duration {
    /// As libfuse takes time-outs.
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}

extension Attributes.Kind {
    /// The file type bits of inode(7).
    var modeBits: mode_t {
        switch self {
        case .directory: S_IFDIR
        case .file: S_IFREG
        case .link: S_IFLNK
        }
    }
}

extension stat {
    /// What stat(2) answers.
    init(_ attributes: Attributes) {
        self.init()
        st_ino = ino_t(attributes.inode)
        st_mode = attributes.kind.modeBits | mode_t(attributes.permissions)
        st_nlink = nlink_t(attributes.links)
        st_uid = attributes.user
        st_gid = attributes.group
        st_size = off_t(attributes.size)
        // stat(2): st_blocks counts units of 512 bytes whatever st_blksize says.
        st_blocks = blkcnt_t(attributes.size / 512 + (attributes.size % 512 > 0 ? 1 : 0))
        st_blksize = 4096
        let time = timespec(tv_sec: Int(attributes.modified), tv_nsec: 0)
        st_atim = time
        st_mtim = time
        st_ctim = time
    }
}

extension fuse_entry_param {
    /// An entry that the kernel may keep for a time.
    init(_ attributes: Attributes, entryTimeout: Duration, attributesTimeout: Duration) {
        self.init()
        ino = attributes.inode
        attr = stat(attributes)
        entry_timeout = entryTimeout.inSeconds
        attr_timeout = attributesTimeout.inSeconds
    }

    /// An entry of readdirplus of which the kernel takes the name only.
    ///
    /// linux/fs/fuse/readdir.c: with nodeid 0 "the userspace fs just did not want to return entry"; inode number and
    /// type of the name are read from the attributes by fuse_add_direntry_plus.
    init(nameOf inode: UInt64, kind: Attributes.Kind) {
        self.init()
        attr.st_ino = ino_t(inode)
        attr.st_mode = kind.modeBits
    }
}

extension statvfs {
    /// What statvfs(3) answers.
    init(_ statistics: Statistics) {
        self.init()
        f_bsize = 4096
        f_frsize = 4096
        f_blocks = fsblkcnt_t(statistics.blocks)
        f_bfree = fsblkcnt_t(statistics.freeBlocks)
        f_bavail = fsblkcnt_t(statistics.freeBlocks)
        f_namemax = UInt(statistics.longestName)
    }
}
