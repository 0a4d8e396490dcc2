package import Fuse
import Glibc

extension Reply {
    /// Creates a reply that passes its answer to a closure in place of the kernel.
    ///
    /// - Parameters:
    ///   - waiting: The table that sets the deadline of `later`; nil for no deadline.
    ///   - answer: Called once, on the answering thread.
    package convenience init(waiting: WaitingRequests? = nil, answer: @escaping @Sendable (Answer) -> Void) {
        self.init(PendingRequest(destination: RecordingDestination(record: answer), waiting: waiting))
    }
}

extension DirectoryReply {
    /// Creates a reply that passes its entries to a closure in place of the kernel.
    ///
    /// - Parameters:
    ///   - size: The size of the buffer, in bytes as the kernel counts them.
    ///   - wantsAttributes: Whether the request is a readdirplus.
    ///   - waiting: The table that sets the deadline of `later`; nil for no deadline.
    ///   - answer: Called once, on the answering thread.
    package convenience init(
        size: Int = 4096, wantsAttributes: Bool = true, waiting: WaitingRequests? = nil,
        answer: @escaping @Sendable (Answer) -> Void
    ) {
        let request = PendingRequest(destination: RecordingDestination(record: answer), waiting: waiting)
        let packer = RecordingPacker(size: size, wantsAttributes: wantsAttributes)
        self.init(request, wantsAttributes: wantsAttributes, packer: packer)
    }
}

/// Passes every answer to a closure.
package struct RecordingDestination: AnswerDestination {
    let record: @Sendable (Answer) -> Void

    package init(record: @escaping @Sendable (Answer) -> Void) {
        self.record = record
    }

    package func deliver(_ answer: Answer) -> Bool {
        record(answer)
        return true
    }

    package func watchInterrupts(of request: PendingRequest) {}

    package func unwatchInterrupts(of request: PendingRequest) {}
}

/// Keeps the entries as values, and counts bytes as the kernel does.
struct RecordingPacker: DirectoryPacker {
    private var room: Int
    private let fixedSize: Int
    private var entries: [DirectoryEntry] = []

    init(size: Int, wantsAttributes: Bool) {
        room = size
        // linux/fuse.h: struct fuse_dirent has 24 bytes before the name; struct fuse_direntplus has 128 more before those.
        fixedSize = wantsAttributes ? 152 : 24
    }

    package var answer: Answer { .directory(entries) }

    package var counted: [UInt64] { entries.compactMap(\.attributes?.inode) }

    package mutating func add(
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

// Errors that tests alone name.
extension Errno {
    /// Not an open handle.
    package static let EBADF = Errno(rawValue: Glibc.EBADF)
    /// The host cannot be reached.
    package static let EHOSTUNREACH = Errno(rawValue: Glibc.EHOSTUNREACH)
    /// Invalid argument.
    package static let EINVAL = Errno(rawValue: Glibc.EINVAL)
    /// Is a directory.
    package static let EISDIR = Errno(rawValue: Glibc.EISDIR)
    /// The name is longer than the file system allows.
    package static let ENAMETOOLONG = Errno(rawValue: Glibc.ENAMETOOLONG)
    /// Not a directory.
    package static let ENOTDIR = Errno(rawValue: Glibc.ENOTDIR)
    /// The file system is read-only.
    package static let EROFS = Errno(rawValue: Glibc.EROFS)
    /// The file has changed since it was opened.
    package static let ESTALE = Errno(rawValue: Glibc.ESTALE)
    /// Not implemented; the kernel remembers this and does not repeat the request.
    package static let ENOSYS = Errno(rawValue: Glibc.ENOSYS)
}
