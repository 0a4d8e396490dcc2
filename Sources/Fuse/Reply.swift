/// The right to answer one request, once. Dropping it answers EIO; answering twice traps.
///
/// ## Concurrency
///
/// May be handed to any thread or task. Every answer may be the kernel's last reference to the inode, so give it outside locks.
package class Reply: @unchecked Sendable {
    package init() {}

    /// Answers with an error.
    package final func fail(_ errno: Errno) {
        fatalError("written by the owner of Fuse: \(errno)")
    }

    /// Answers later, from a task that is cancelled when the kernel interrupts the request.
    ///
    /// An `Errno` thrown by `work` is the answer; a cancelled task answers EINTR; at the session's hard deadline the task is
    /// cancelled and ETIMEDOUT answered whatever the task does. `work` must answer through the reply or throw.
    package final func later(_ work: @escaping @Sendable () async throws(Errno) -> Void) {
        fatalError("written by the owner of Fuse")
    }
}

/// Answers lookup.
package final class EntryReply: Reply, @unchecked Sendable {
    /// The entry; its inode's lookup count grows by one when this is called.
    package func entry(_ attributes: Attributes, entryTimeout: Duration, attributesTimeout: Duration) {
        fatalError("written by the owner of Fuse: \(attributes)")
    }

    /// "No such name", remembered by the kernel for a time (zero: not remembered).
    package func absent(timeout: Duration) {
        fatalError("written by the owner of Fuse: \(timeout)")
    }
}

/// Answers getattr.
package final class AttributesReply: Reply, @unchecked Sendable {
    package func attributes(_ attributes: Attributes, timeout: Duration) {
        fatalError("written by the owner of Fuse: \(attributes)")
    }
}

/// Answers readlink.
package final class LinkReply: Reply, @unchecked Sendable {
    package func target(_ path: String) {
        fatalError("written by the owner of Fuse: \(path)")
    }
}

/// Answers open and opendir.
package final class OpenReply: Reply, @unchecked Sendable {
    /// - Parameters:
    ///   - handle: Comes back with each read and the release.
    ///   - keepCache: The page cache (or cached directory) of earlier opens is still right.
    ///   - directIO: Bypass the page cache: for files whose length is not known before reading.
    ///   - cacheDirectory: The kernel may cache the entries of this directory.
    package func opened(handle: UInt64, keepCache: Bool, directIO: Bool, cacheDirectory: Bool) {
        fatalError("written by the owner of Fuse: \(handle)")
    }
}

/// Answers read.
package final class DataReply: Reply, @unchecked Sendable {
    /// Bytes from memory.
    package func bytes(_ bytes: [UInt8]) {
        fatalError("written by the owner of Fuse: \(bytes.count)")
    }

    /// Bytes of an open file, without copying; the descriptor must stay open until this returns.
    package func file(_ descriptor: Int32, offset: Int64, count: Int) {
        fatalError("written by the owner of Fuse: \(descriptor)")
    }
}

/// Answers readdir and readdirplus alike: entries are added until the buffer is full.
package final class DirectoryReply: Reply, @unchecked Sendable {
    /// Whether the kernel wants attributes with the names (readdirplus).
    package var wantsAttributes: Bool {
        fatalError("written by the owner of Fuse")
    }

    /// Adds a name; false if the buffer is full and the entry must come first in the next answer.
    ///
    /// - Parameters:
    ///   - name: The name's bytes.
    ///   - inode: Its number.
    ///   - kind: Its kind, so that `ls` without `-l` needs no stat.
    ///   - nextOffset: Where the next read goes on after this entry.
    ///   - attributes: With readdirplus, the attributes if they are known; an entry added with them counts as one lookup of its inode, one without counts nothing.
    package func add(
        _ name: [UInt8], inode: UInt64, kind: Attributes.Kind, nextOffset: Int64,
        attributes: (attributes: Attributes, entryTimeout: Duration, attributesTimeout: Duration)?
    ) -> Bool {
        fatalError("written by the owner of Fuse: \(name)")
    }

    /// Sends what was added; nothing added means the end of the directory.
    package func send() {
        fatalError("written by the owner of Fuse")
    }
}

/// Answers statfs.
package final class StatisticsReply: Reply, @unchecked Sendable {
    package func statistics(_ statistics: Statistics) {
        fatalError("written by the owner of Fuse: \(statistics)")
    }
}

/// Answers getxattr and listxattr: the length alone if that is what was asked, ERANGE if the buffer is too small.
package final class ExtendedAttributeReply: Reply, @unchecked Sendable {
    package func value(_ bytes: [UInt8]) {
        fatalError("written by the owner of Fuse: \(bytes.count)")
    }
}

/// Answers ioctl.
package final class IoctlReply: Reply, @unchecked Sendable {
    package func result(_ result: Int32, output: [UInt8]) {
        fatalError("written by the owner of Fuse: \(result)")
    }
}
