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
