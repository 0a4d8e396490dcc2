import Synchronization

/// The right to answer one request, once.
///
/// Dropping the reply answers EIO; answering twice traps.
///
/// After ``later(_:)`` is called, or after the method that received the request returns, an interrupt by the kernel (EINTR), the
/// hard deadline (ETIMEDOUT) or the end of the session (EINTR) may answer first. The owner's answer is then discarded and its
/// counts are undone: an undelivered entry is forgotten, an undelivered handle is released.
///
/// ## Concurrency
///
/// Any thread or task may hold and use a reply. Any answer may release the kernel's last reference to the inode, so answer
/// outside locks.
package class Reply: @unchecked Sendable {
    // `@unchecked` because a class with subclasses requires it; all stored properties here and in the subclasses are immutable
    // or, in DirectoryReply, protected by a Mutex.

    /// The request to answer.
    final let request: PendingRequest
    /// Undoes the counts of an answer that did not arrive.
    final let undo: Undo

    /// Creates a reply to the kernel, or to a test.
    package init(_ request: PendingRequest, undo: Undo = Undo()) {
        self.request = request
        self.undo = undo
    }

    deinit {
        request.settle(.EIO)
    }

    /// Answers with an error.
    package final func fail(_ errno: Errno) {
        request.answer(.failure(errno))
    }

    /// Answers later, from a task that is cancelled when the kernel interrupts the request.
    ///
    /// An `Errno` thrown by `work` becomes the answer, unless there is one already. An interrupt answers EINTR and cancels the
    /// task. The session's hard deadline cancels the task and answers ETIMEDOUT, whatever the task does. `work` must answer
    /// through the reply or throw; the answers of a cancelled task are discarded.
    package final func later(_ work: @escaping @Sendable () async throws(Errno) -> Void) {
        request.park()
        request.keep(
            Task {
                do throws(Errno) {
                    try await work()
                } catch {
                    self.request.settle(error)
                }
            })
    }

    /// Simulates an interrupt by the kernel: answers EINTR from another thread and cancels the task.
    package final func interrupt() {
        request.interrupt()
    }

    /// The actions that undo an answer that did not arrive.
    package struct Undo: Sendable {
        /// Drops one lookup of an inode.
        var forget: @Sendable (UInt64) -> Void = { _ in }
        /// Closes a handle.
        var release: @Sendable (UInt64) -> Void = { _ in }
    }
}

/// Answers lookup.
package final class EntryReply: Reply, @unchecked Sendable {
    /// Answers with an entry, and raises the lookup count of its inode by one.
    ///
    /// Raise the count before the call: the kernel may forget the entry before this method returns.
    package func entry(_ attributes: Attributes, entryTimeout: Duration, attributesTimeout: Duration) {
        let answer = Answer.entry(attributes, entryTimeout: entryTimeout, attributesTimeout: attributesTimeout)
        if !request.answer(answer) {
            undo.forget(attributes.inode)
        }
    }

    /// Answers "no such name", which the kernel remembers for `timeout` (zero: not at all).
    package func absent(timeout: Duration) {
        request.answer(.absent(timeout: timeout))
    }
}

/// Answers getattr.
package final class AttributesReply: Reply, @unchecked Sendable {
    /// Answers with attributes, which the kernel may keep for `timeout`.
    package func attributes(_ attributes: Attributes, timeout: Duration) {
        request.answer(.attributes(attributes, timeout: timeout))
    }
}

/// Answers readlink.
package final class LinkReply: Reply, @unchecked Sendable {
    /// Answers with the target of the link.
    package func target(_ path: String) {
        request.answer(.link(path))
    }
}

/// Answers open and opendir.
package final class OpenReply: Reply, @unchecked Sendable {
    /// Answers that the file or directory is open.
    ///
    /// - Parameters:
    ///   - handle: The number that the kernel sends with each read and the release.
    ///   - keepCache: Whether the page cache (or cached directory) of earlier opens is still valid. If false, the kernel drops
    ///     the pages during the open. If a reader waits for one of those pages, the open waits too, and no signal interrupts it.
    ///   - directIO: Whether reads bypass the page cache: for files of a length that is unknown before reading.
    ///   - cacheDirectory: Whether the kernel may cache the entries of this directory.
    package func opened(handle: UInt64, keepCache: Bool, directIO: Bool, cacheDirectory: Bool) {
        let answer = Answer.opened(
            handle: handle, keepCache: keepCache, directIO: directIO, cacheDirectory: cacheDirectory)
        if !request.answer(answer) {
            undo.release(handle)
        }
    }
}

/// Answers read.
package final class DataReply: Reply, @unchecked Sendable {
    /// Answers with bytes from memory: as many as requested.
    ///
    /// There may be fewer only at the end of the file: the kernel fills up with zeros.
    package func bytes(_ bytes: [UInt8]) {
        request.answer(.bytes(bytes))
    }

    /// Answers with bytes of an open file, without copying; the descriptor must stay open until this method returns.
    ///
    /// If the file has fewer bytes in that range, the answer is EIO.
    package func file(_ descriptor: Int32, offset: Int64, count: Int) {
        request.answer(.file(descriptor: descriptor, offset: offset, count: count))
    }
}

/// Answers statfs.
package final class StatisticsReply: Reply, @unchecked Sendable {
    /// Answers with the figures of the file system.
    package func statistics(_ statistics: Statistics) {
        request.answer(.statistics(statistics))
    }
}

/// Answers getxattr and listxattr: with the length alone if only that was requested, with ERANGE if the buffer is too small.
package final class ExtendedAttributeReply: Reply, @unchecked Sendable {
    /// Answers with the value, or for a list with the names, each ended by a NUL.
    package func value(_ bytes: [UInt8]) {
        request.answer(.extendedAttribute(bytes))
    }
}

/// Answers ioctl.
package final class IoctlReply: Reply, @unchecked Sendable {
    /// Answers with the return value of ioctl(2) and the bytes for its argument.
    package func result(_ result: Int32, output: [UInt8]) {
        request.answer(.ioctl(result: result, output: output))
    }
}

// MARK: - Directory reply

/// Answers readdir and readdirplus alike: entries are added until the buffer is full.
package final class DirectoryReply: Reply, @unchecked Sendable {
    /// Whether the kernel wants attributes with the names (readdirplus).
    package let wantsAttributes: Bool
    private let packer: Mutex<any DirectoryPacker>

    /// Creates a reply to the kernel, or to a test.
    package init(
        _ request: PendingRequest, undo: Undo = Undo(), wantsAttributes: Bool, packer: sending any DirectoryPacker
    ) {
        self.wantsAttributes = wantsAttributes
        self.packer = Mutex(packer)
        super.init(request, undo: undo)
    }

    /// The attributes sent with a name, and how long the kernel may keep the name and the attributes.
    package typealias Known = (attributes: Attributes, entryTimeout: Duration, attributesTimeout: Duration)

    /// Adds a name; false if the buffer is full and the entry must come first in the next answer.
    ///
    /// Allocates nothing: a directory has hundreds of entries.
    ///
    /// - Parameters:
    ///   - name: The name, without NUL.
    ///   - inode: The inode's number.
    ///   - kind: The kind of the inode, so that `ls` without `-l` needs no stat.
    ///   - nextOffset: The offset at which the next read continues after this entry.
    ///   - attributes: For readdirplus, the attributes if they are known. An entry with attributes counts as one lookup of its
    ///     inode, an entry without them counts as none. Ignored if ``wantsAttributes`` is false.
    /// - Returns: Whether the entry fits.
    package func add(
        _ name: String, inode: UInt64, kind: Attributes.Kind, nextOffset: Int64, attributes: Known?
    ) -> Bool {
        // The kernel links no inode to "." and "..", and counts no lookup for them.
        let known = wantsAttributes && name != "." && name != ".." ? attributes : nil
        return packer.withLock { $0.add(name, inode: inode, kind: kind, nextOffset: nextOffset, known) }
    }

    /// Sends the added entries; an empty answer marks the end of the directory.
    package func send() {
        let (answer, counted) = packer.withLock { ($0.answer, $0.counted) }
        guard !request.answer(answer) else { return }
        counted.forEach(undo.forget)
    }
}

/// Packs entries into the buffer size given by the kernel.
package protocol DirectoryPacker {
    /// The answer with the packed entries.
    var answer: Answer { get }
    /// The inodes whose lookup counts the answer raises.
    var counted: [UInt64] { get }
    /// Packs an entry; false if there is no room for it.
    mutating func add(
        _ name: String, inode: UInt64, kind: Attributes.Kind, nextOffset: Int64, _ known: DirectoryReply.Known?
    ) -> Bool
}
