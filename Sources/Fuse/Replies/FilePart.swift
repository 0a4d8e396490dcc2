internal import CFuse3
import Glibc

/// Bytes of an open file.
package struct FilePart: Sendable {
    package let descriptor: Int32
    /// Where they begin.
    package let offset: Int64
    /// How many there must be.
    package let count: Int
    /// Keeps the descriptor open.
    private let owner: any AnyObject & Sendable

    /// Bytes of a file that stays open as long as there is `owner`.
    package init(of owner: any AnyObject & Sendable, descriptor: Int32, offset: Int64, count: Int) {
        self.owner = owner
        self.descriptor = descriptor
        self.offset = offset
        self.count = count
    }
}

/// Sends parts of files as answers to reads, on the thread that calls.
enum FileAnswer {
    /// Sends the bytes, whole or as EIO: what is missing at the end would be read as zeros.
    ///
    /// - Returns: 0, or -errno if the kernel does not want them any more.
    static func send(_ descriptor: Int32, offset: Int64, count: Int, to request: fuse_req_t) -> Int32 {
        // Up to here a copy through memory costs less than setting up a splice.
        if count <= Int(RANKFS_COPY_LIMIT) {
            return unsafe rankfs_reply_copy(request, descriptor, off_t(offset), count)
        }
        // libfuse would splice what there is and send a short answer.
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
        // Without FUSE_BUF_SPLICE_MOVE: moving would take the pages out of the file's own page cache.
        return unsafe fuse_reply_data(request, &vector, fuse_buf_copy_flags(rawValue: 0))
    }
}

// MARK: - Reply phase

/// Who has answered a request: decides that the kernel hears exactly one answer, and which.
///
/// The owner of the reply answers once. An interrupt, the hard deadline or the end of the session may overtake it; the
/// owner, who cannot know, then still answers once, into the void.
enum ReplyPhase: Equatable {
    case waiting
    case overtaken
    case answered

    /// What to do with an answer.
    enum Verdict: Equatable {
        /// The kernel has to hear it.
        case deliver
        /// Somebody else was first, as may happen at any time.
        case discard
        /// The owner answered twice: a mistake in the file system.
        case trap
    }

    /// The owner answers.
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

    /// The owner is gone, or its work threw: answers only if nobody has.
    mutating func settle() -> Verdict {
        guard self == .waiting else { return .discard }
        self = .answered
        return .deliver
    }

    /// An interrupt, the deadline or the end of the session answers in the owner's place.
    mutating func overtake() -> Verdict {
        guard self == .waiting else { return .discard }
        self = .overtaken
        return .deliver
    }
}
