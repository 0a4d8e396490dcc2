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
        self.init(request, wantsAttributes: wantsAttributes, size: size)
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

    package var isInterrupted: Bool { true }
}

/// A directory entry as the kernel reads it from an answer.
package struct DirectoryEntry: Hashable, Sendable {
    /// The name's bytes.
    package var name: [UInt8]
    /// The inode's number.
    package var inode: UInt64
    /// The kind that `ls -F` shows.
    package var kind: Attributes.Kind
    /// The offset at which the next read continues after this entry.
    package var nextOffset: Int64
    /// The attributes, if they were sent: each entry with attributes counts as one lookup of its inode.
    package var attributes: Attributes?

    package init(
        name: [UInt8], inode: UInt64, kind: Attributes.Kind, nextOffset: Int64, attributes: Attributes? = nil
    ) {
        (self.name, self.inode, self.kind) = (name, inode, kind)
        (self.nextOffset, self.attributes) = (nextOffset, attributes)
    }
}

extension Answer {
    /// The entries of an answer to readdirplus, or to readdir; nil for another answer.
    package func entries(plus: Bool = true) -> [DirectoryEntry]? {
        guard case .bytes(let bytes) = self else { return nil }
        // linux/fuse.h: struct fuse_direntplus has a fuse_entry_out of 128 bytes before the fuse_dirent of 24 and the name.
        let begin = plus ? 128 : 0
        var (entries, place): ([DirectoryEntry], Int) = ([], 0)
        func number<Number: FixedWidthInteger>(_ offset: Int, _ type: Number.Type = Number.self) -> Number {
            bytes[(place + offset)...].prefix(MemoryLayout<Number>.size).reversed().reduce(0) {
                $0 << 8 | Number(truncatingIfNeeded: $1)
            }
        }
        while place < bytes.count {
            let length = Int(number(begin + 16, UInt32.self))
            let attributes =
                plus && number(0) != 0
                ? Attributes(
                    inode: number(40), kind: Attributes.Kind(type: number(100, UInt32.self) >> 12),
                    permissions: number(100, UInt32.self) & 0o7777, size: number(48),
                    modified: number(72), links: number(104, UInt32.self), user: number(108, UInt32.self),
                    group: number(112, UInt32.self)) : nil
            entries.append(
                DirectoryEntry(
                    name: Array(bytes[(place + begin + 24)...].prefix(length)), inode: number(begin),
                    kind: Attributes.Kind(type: number(begin + 20, UInt32.self)), nextOffset: number(begin + 8),
                    attributes: attributes))
            // FUSE_DIRENT_ALIGN: entries begin at multiples of eight.
            place += (begin + 24 + length + 7) / 8 * 8
        }
        return entries
    }
}

extension Attributes.Kind {
    /// The kind of a type of readdir(3), DT_DIR and the like.
    fileprivate init(type: UInt32) { self = type == 4 ? .directory : type == 10 ? .link : .file }
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
}
