internal import CFuse3
import Glibc

/// The process that made a request, from fuse_req_ctx(3).
package struct Caller: Sendable {
    package var user: UInt32
    package var process: Int32
}

/// A request with an inode as its only argument.
package struct InodeRequest: Sendable {
    package var inode: UInt64
    package var caller: Caller
}

/// A request for a name in a directory.
package struct LookupRequest: Sendable {
    package var parent: UInt64
    /// The bytes as the kernel sent them, without the NUL; not always valid UTF-8.
    package var name: [UInt8]
    package var caller: Caller
}

/// A request to open a file or directory.
package struct OpenRequest: Sendable {
    package var inode: UInt64
    /// open(2) flags.
    package var flags: Int32
    package var caller: Caller
}

/// A request for a part of an open file, or for the entries of an open directory from an offset on.
package struct ReadRequest: Sendable {
    package var inode: UInt64
    package var handle: UInt64
    package var offset: Int64
    package var size: Int
    package var caller: Caller
    /// Whether the kernel keeps the bytes as pages of the inode.
    ///
    /// Only reads past the page cache carry an owner of locks (fuse_send_read and fuse_read_args_fill in the kernel's
    /// fs/fuse/file.c).
    package var isForPages = false
}

/// A request for an extended attribute of an inode; `name` is empty for a list.
package struct ExtendedAttributeRequest: Sendable {
    package var inode: UInt64
    package var name: String
    package var caller: Caller
}

/// A request to run a command on an open file or directory.
package struct IoctlRequest: Sendable {
    package var inode: UInt64
    package var handle: UInt64
    package var command: UInt32
    package var input: [UInt8]
    package var outputSize: Int
    package var caller: Caller
}

/// The attributes that stat(2) reports.
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
    /// The permission bits.
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

// MARK: - Answer

/// The answer to a request, as a value: tests examine it in place of a mount.
package enum Answer: Hashable, Sendable {
    /// The failure of any request.
    case failure(Errno)
    /// The entry that a lookup found.
    case entry(Attributes, entryTimeout: Duration, attributesTimeout: Duration)
    /// The answer to a lookup without such a name, which the kernel remembers for `timeout`.
    case absent(timeout: Duration)
    /// The answer to getattr.
    case attributes(Attributes, timeout: Duration)
    /// The answer to readlink: the target.
    case link(String)
    /// The answer to open and opendir.
    case opened(handle: UInt64, keepCache: Bool, directIO: Bool, cacheDirectory: Bool)
    /// The answer to a read from memory, or the packed entries of a directory that fit.
    case bytes([UInt8])
    /// The answer to a read, from a descriptor that is open only while the answer is delivered.
    case file(descriptor: Int32, offset: Int64, count: Int)
    /// The answer to statfs: the figures that statvfs(3) reports, in blocks of 4 KiB.
    ///
    /// Inodes are not counted. Directories are created by lookups, so there is no total, and df(1) and monitors report a file
    /// system with used inodes and no free inodes as full.
    case statistics(blocks: UInt64, freeBlocks: UInt64, longestName: UInt32)
    /// The answer to getxattr and listxattr: the whole value, whatever size was requested.
    case extendedAttribute([UInt8])
    /// The answer to ioctl.
    case ioctl(result: Int32, output: [UInt8])
}

// MARK: - C values

extension Duration {
    /// The duration in seconds, in the form of libfuse's time-outs.
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
    /// The record that stat(2) returns.
    init(_ attributes: Attributes) {
        self.init()
        st_ino = ino_t(attributes.inode)
        st_mode = attributes.kind.modeBits | mode_t(attributes.permissions)
        st_nlink = nlink_t(attributes.links)
        st_uid = attributes.user
        st_gid = attributes.group
        st_size = off_t(attributes.size)
        // stat(2): st_blocks counts units of 512 bytes, whatever st_blksize says.
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

    /// An entry of readdirplus from which the kernel takes only the name.
    ///
    /// linux/fs/fuse/readdir.c: with nodeid 0 "the userspace fs just did not want to return entry"; fuse_add_direntry_plus reads
    /// the inode number and the type of the name from the attributes.
    init(nameOf inode: UInt64, kind: Attributes.Kind) {
        self.init()
        attr.st_ino = ino_t(inode)
        attr.st_mode = kind.modeBits
    }
}

extension statvfs {
    /// The record that statvfs(3) returns.
    init(blocks: UInt64, freeBlocks: UInt64, longestName: UInt32) {
        self.init()
        f_bsize = 4096
        f_frsize = 4096
        f_blocks = fsblkcnt_t(blocks)
        f_bfree = fsblkcnt_t(freeBlocks)
        f_bavail = fsblkcnt_t(freeBlocks)
        f_namemax = UInt(longestName)
    }
}
