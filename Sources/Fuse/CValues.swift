internal import CFuse3
import Glibc

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
