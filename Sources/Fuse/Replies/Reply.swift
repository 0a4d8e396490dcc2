import Synchronization

/// The right to answer one request, once.
///
/// Dropping it answers EIO; answering twice traps.
///
/// Once ``later(_:)`` was called, or the method that got the request has returned, the kernel's interrupt (EINTR), the hard
/// deadline (ETIMEDOUT) or the end of the session (EINTR) may answer first; the owner's answer then goes nowhere, and
/// what it had counted is taken back: an entry that did not arrive is forgotten, a handle that did not arrive is released.
///
/// ## Concurrency
///
/// May be handed to any thread or task. Every answer may be the kernel's last reference to the inode, so give it outside locks.
package class Reply: @unchecked Sendable {
    // `@unchecked` because a class that is inherited from must be; everything stored here and below is immutable or, in
    // DirectoryReply, behind a Mutex.

    /// The request that this answers.
    final let request: PendingRequest
    /// Takes back what an answer has counted that did not arrive.
    final let undo: Undo

    /// A reply that hands its answer to a closure in place of the kernel.
    ///
    /// - Parameters:
    ///   - waiting: The deadline that ``later(_:)`` is held to; without it none.
    ///   - answer: Called once, on the thread that answers.
    package convenience init(waiting: WaitingRequests? = nil, answer: @escaping @Sendable (Answer) -> Void) {
        self.init(PendingRequest(destination: RecordingDestination(record: answer), waiting: waiting))
    }

    /// A reply to the kernel.
    init(_ request: PendingRequest, undo: Undo = Undo()) {
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
    /// An `Errno` thrown by `work` is the answer, unless there is one already; an interrupted request is answered with EINTR
    /// and its task cancelled; at the session's hard deadline the task is cancelled and ETIMEDOUT answered whatever the task
    /// does. `work` must answer through the reply or throw; the answers of a cancelled task go nowhere.
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

    /// Does what the kernel does when a reader is interrupted: answers EINTR from another thread and cancels the task.
    package final func interrupt() {
        request.interrupt()
    }

    /// What has to be taken back when an answer did not arrive.
    struct Undo: Sendable {
        /// Drops one lookup of an inode.
        var forget: @Sendable (UInt64) -> Void = { _ in }
        /// Closes a handle.
        var release: @Sendable (UInt64) -> Void = { _ in }
    }
}

/// Answers lookup.
package final class EntryReply: Reply, @unchecked Sendable {
    /// The entry; its inode's lookup count grows by one when this is called.
    ///
    /// Count before calling: the kernel may forget the entry before this returns.
    package func entry(_ attributes: Attributes, entryTimeout: Duration, attributesTimeout: Duration) {
        let answer = Answer.entry(attributes, entryTimeout: entryTimeout, attributesTimeout: attributesTimeout)
        if !request.answer(answer) {
            undo.forget(attributes.inode)
        }
    }

    /// "No such name", remembered by the kernel for a time (zero: not remembered).
    package func absent(timeout: Duration) {
        request.answer(.absent(timeout: timeout))
    }
}

/// Answers getattr.
package final class AttributesReply: Reply, @unchecked Sendable {
    /// The attributes, which the kernel may keep for a time.
    package func attributes(_ attributes: Attributes, timeout: Duration) {
        request.answer(.attributes(attributes, timeout: timeout))
    }
}

/// Answers readlink.
package final class LinkReply: Reply, @unchecked Sendable {
    /// What the link points to.
    package func target(_ path: String) {
        request.answer(.link(path))
    }
}

/// Answers open and opendir.
package final class OpenReply: Reply, @unchecked Sendable {
    /// The file or directory is open.
    ///
    /// - Parameters:
    ///   - handle: Comes back with each read and the release.
    ///   - keepCache: The page cache (or cached directory) of earlier opens is still right. Without it the kernel drops the
    ///     pages while it opens, and for pages that somebody waits for it waits too, deaf to every signal.
    ///   - directIO: Bypass the page cache: for files whose length is not known before reading.
    ///   - cacheDirectory: The kernel may cache the entries of this directory.
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
    /// Bytes from memory: as many as were asked for, fewer only at the end of the file (the kernel fills up with zeros).
    package func bytes(_ bytes: [UInt8]) {
        request.answer(.bytes(bytes))
    }

    /// Bytes of an open file, without copying; the descriptor must stay open until this returns.
    ///
    /// If the file turns out to have fewer bytes there, EIO is answered.
    package func file(_ descriptor: Int32, offset: Int64, count: Int) {
        request.answer(.file(descriptor: descriptor, offset: offset, count: count))
    }
}

/// Answers statfs.
package final class StatisticsReply: Reply, @unchecked Sendable {
    /// The numbers of the file system.
    package func statistics(_ statistics: Statistics) {
        request.answer(.statistics(statistics))
    }
}

/// Answers getxattr and listxattr: the length alone if that is what was asked, ERANGE if the buffer is too small.
package final class ExtendedAttributeReply: Reply, @unchecked Sendable {
    /// The value, or for a list the names, each ended by a NUL.
    package func value(_ bytes: [UInt8]) {
        request.answer(.extendedAttribute(bytes))
    }
}

/// Answers ioctl.
package final class IoctlReply: Reply, @unchecked Sendable {
    /// What ioctl(2) returns, and the bytes it writes to its argument.
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

    /// A reply that hands its entries to a closure in place of the kernel.
    ///
    /// - Parameters:
    ///   - size: Room, in bytes as the kernel counts them.
    ///   - wantsAttributes: As in readdirplus.
    ///   - waiting: The deadline that ``later(_:)`` is held to; without it none.
    ///   - answer: Called once, on the thread that answers.
    package convenience init(
        size: Int = 4096, wantsAttributes: Bool = true, waiting: WaitingRequests? = nil,
        answer: @escaping @Sendable (Answer) -> Void
    ) {
        let request = PendingRequest(destination: RecordingDestination(record: answer), waiting: waiting)
        let packer = RecordingPacker(size: size, wantsAttributes: wantsAttributes)
        self.init(request, wantsAttributes: wantsAttributes, packer: packer)
    }

    /// A reply to the kernel.
    init(
        _ request: PendingRequest, undo: Undo = Undo(), wantsAttributes: Bool, packer: sending any DirectoryPacker
    ) {
        self.wantsAttributes = wantsAttributes
        self.packer = Mutex(packer)
        super.init(request, undo: undo)
    }

    /// The attributes that are told with a name, and for how long the kernel may keep the name and them.
    package typealias Known = (attributes: Attributes, entryTimeout: Duration, attributesTimeout: Duration)

    /// Adds a name; false if the buffer is full and the entry must come first in the next answer.
    ///
    /// Allocates nothing: a directory has hundreds of entries.
    ///
    /// - Parameters:
    ///   - name: The name, which has no NUL.
    ///   - inode: Its number.
    ///   - kind: Its kind, so that `ls` without `-l` needs no stat.
    ///   - nextOffset: Where the next read goes on after this entry.
    ///   - attributes: With readdirplus, the attributes if they are known; an entry added with them counts as one lookup of
    ///     its inode, one without counts nothing. Ignored if ``wantsAttributes`` is false.
    /// - Returns: Whether the entry found room.
    package func add(
        _ name: String, inode: UInt64, kind: Attributes.Kind, nextOffset: Int64, attributes: Known?
    ) -> Bool {
        // The kernel links no inode to "." and "..", and counts no lookup for them.
        let known = wantsAttributes && name != "." && name != ".." ? attributes : nil
        return packer.withLock { $0.add(name, inode: inode, kind: kind, nextOffset: nextOffset, known) }
    }

    /// Sends what was added; nothing added means the end of the directory.
    package func send() {
        let (answer, counted) = packer.withLock { ($0.answer, $0.counted) }
        guard !request.answer(answer) else { return }
        counted.forEach(undo.forget)
    }
}

/// Packs entries into the room that the kernel gave.
protocol DirectoryPacker {
    /// What was packed.
    var answer: Answer { get }
    /// The inodes whose lookup counts the answer raises.
    var counted: [UInt64] { get }
    /// Packs an entry; false if there is no room for it.
    mutating func add(
        _ name: String, inode: UInt64, kind: Attributes.Kind, nextOffset: Int64, _ known: DirectoryReply.Known?
    ) -> Bool
}

/// Keeps the entries as values, and counts bytes as the kernel would.
private struct RecordingPacker: DirectoryPacker {
    private var room: Int
    private let fixedSize: Int
    private var entries: [DirectoryEntry] = []

    init(size: Int, wantsAttributes: Bool) {
        room = size
        // linux/fuse.h: struct fuse_dirent is 24 bytes before the name, struct fuse_direntplus puts 128 before that.
        fixedSize = wantsAttributes ? 152 : 24
    }

    var answer: Answer { .directory(entries) }

    var counted: [UInt64] { entries.compactMap(\.attributes?.inode) }

    mutating func add(
        _ name: String, inode: UInt64, kind: Attributes.Kind, nextOffset: Int64, _ known: DirectoryReply.Known?
    ) -> Bool {
        // FUSE_DIRENT_ALIGN: entries begin at multiples of eight.
        let size = (fixedSize + name.utf8.count + 7) / 8 * 8
        guard size <= room else { return false }
        room -= size
        entries.append(
            DirectoryEntry(
                name: Array(name.utf8), inode: inode, kind: kind, nextOffset: nextOffset,
                attributes: known?.attributes))
        return true
    }
}
