internal import CFuse3
import Glibc

/// A range of bytes of an open file.
package struct FilePart: Sendable {
    package let descriptor: Int32
    /// The position of the first byte in the file.
    package let offset: Int64
    /// The number of bytes, all of which must exist.
    package let count: Int
    /// Keeps the descriptor open.
    private let owner: any AnyObject & Sendable

    /// Creates a part of a file that stays open for the lifetime of `owner`.
    package init(of owner: any AnyObject & Sendable, descriptor: Int32, offset: Int64, count: Int) {
        self.owner = owner
        self.descriptor = descriptor
        self.offset = offset
        self.count = count
    }
}

/// Sends parts of files as answers to reads, on the calling thread.
enum FileAnswer {
    /// Sends all the bytes, or EIO if the file has fewer: the kernel would fill missing bytes at the end with zeros.
    ///
    /// - Returns: 0, or -errno if the kernel no longer waits for the answer.
    static func send(_ descriptor: Int32, offset: Int64, count: Int, to request: fuse_req_t) -> Int32 {
        // Up to this size a copy through memory costs less than setting up a splice.
        if count <= Int(RANKFS_COPY_LIMIT) {
            return unsafe rankfs_reply_copy(request, descriptor, off_t(offset), count)
        }
        // libfuse would splice the existing bytes and send a short answer.
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_size >= offset + Int64(count) else {
            return unsafe fuse_reply_err(request, EIO)
        }
        var vector = fuse_bufvec()
        vector.count = 1
        unsafe vector.buf.size = count
        unsafe vector.buf.flags = fuse_buf_flags(rawValue: FUSE_BUF_IS_FD.rawValue | FUSE_BUF_FD_SEEK.rawValue)
        unsafe vector.buf.fd = descriptor
        unsafe vector.buf.pos = off_t(offset)
        // No FUSE_BUF_SPLICE_MOVE: moving would take the pages out of the file's own page cache.
        return unsafe fuse_reply_data(request, &vector, fuse_buf_copy_flags(rawValue: 0))
    }
}

// MARK: - Reply phase

/// The phase of a reply, which decides that the kernel gets exactly one answer, and which one.
///
/// The owner of the reply answers once. An interrupt, the hard deadline or the end of the session may overtake the owner. The
/// owner does not know this and still answers once; that answer is discarded.
enum ReplyPhase: Equatable {
    case waiting
    case overtaken
    case answered

    /// The action to take for an answer.
    enum Verdict: Equatable {
        /// Send the answer to the kernel.
        case deliver
        /// Drop the answer: the request has been answered already, which can happen at any time.
        case discard
        /// Stop the program: the owner answered twice, a mistake in the file system.
        case trap
    }

    /// Records the owner's answer.
    mutating func answer() -> Verdict {
        switch self {
        case .waiting:
            self = .answered
            return .deliver
        case .overtaken:
            self = .answered
            return .discard
        case .answered:
            return .trap
        }
    }

    /// Records an answer after the owner is gone or its work threw, unless the request has been answered.
    mutating func settle() -> Verdict {
        guard self == .waiting else { return .discard }
        self = .answered
        return .deliver
    }

    /// Records an answer by an interrupt, the deadline or the end of the session in place of the owner's.
    mutating func overtake() -> Verdict {
        guard self == .waiting else { return .discard }
        self = .overtaken
        return .deliver
    }
}
