internal import CFuse3
import Dispatch
import Glibc
import System

/// Sends an answer to the kernel through libfuse's `fuse_reply_*` functions.
@safe struct KernelDestination: AnswerDestination, @unchecked Sendable {
    // `@unchecked` for the pointer: libfuse frees the request when it is answered. ReplyPhase lets exactly one answer through to
    // `deliver`. `watchInterrupts` runs only before that, under the lock that decides it, and `unwatchInterrupts` runs right
    // before `deliver` on the same thread. The functions themselves may be called from any thread.
    private let request: fuse_req_t
    /// The calling thread; 0 for one of another namespace.
    private let thread: pid_t
    /// The maximum length of a value or buffer, in bytes; for extended attributes, 0 requests the length.
    private let size: Int
    /// The group of open requests, entered by the creator and left after the answer; once empty, the session may be destroyed.
    private let outstanding: DispatchGroup

    init(_ request: fuse_req_t, size: Int, outstanding: DispatchGroup) {
        unsafe self.request = unsafe request
        thread = unsafe fuse_req_ctx(request).pointee.pid
        self.size = size
        self.outstanding = outstanding
    }

    func watchInterrupts(of pending: PendingRequest) {
        // libfuse holds this reference until unwatchInterrupts.
        let box = unsafe Unmanaged.passRetained(pending).toOpaque()
        unsafe fuse_req_interrupt_func(request, Self.interrupted, box)
    }

    func unwatchInterrupts(of pending: PendingRequest) {
        // fuse_req_interrupt_func takes the lock under which the callback runs: when it returns, no callback runs now or later,
        // and the reference from watchInterrupts can be released. The caller still holds a reference.
        unsafe fuse_req_interrupt_func(request, nil, nil)
        unsafe Unmanaged.passUnretained(pending).release()
    }

    /// The interrupt callback, which runs on a worker under libfuse's lock of the request and must not answer there.
    private static let interrupted: fuse_interrupt_func_t = { _, box in
        guard let box = unsafe box else { return }
        unsafe Unmanaged<PendingRequest>.fromOpaque(box).takeUnretainedValue().interrupt()
    }

    var isInterrupted: Bool {
        let status = try? Files.read("/proc/\(thread)/status", upTo: 8192)
        return status.map { CallerSignals.endWait(String(decoding: $0, as: UTF8.self)) } ?? true
    }

    func deliver(_ answer: Answer) -> Bool {
        defer { outstanding.leave() }
        return send(answer) == 0
    }

    /// Calls the libfuse function for an answer and returns 0, or -errno if the kernel no longer waits for the answer.
    private func send(_ answer: Answer) -> Int32 {
        switch answer {
        case .failure(let error):
            return unsafe fuse_reply_err(request, error.rawValue)
        case .entry(let attributes, let entryTimeout, let attributesTimeout):
            var entry = fuse_entry_param(attributes, entryTimeout: entryTimeout, attributesTimeout: attributesTimeout)
            return unsafe fuse_reply_entry(request, &entry)
        case .absent(let timeout):
            guard timeout > .zero else { return unsafe fuse_reply_err(request, ENOENT) }
            var entry = fuse_entry_param()
            entry.entry_timeout = timeout.inSeconds
            return unsafe fuse_reply_entry(request, &entry)
        case .attributes(let attributes, let timeout):
            var status = stat(attributes)
            return unsafe fuse_reply_attr(request, &status, timeout.inSeconds)
        case .link(let path):
            return unsafe fuse_reply_readlink(request, path)
        case .opened(let handle, let keepCache, let directIO, let cacheDirectory):
            var information = fuse_file_info()
            information.fh = handle
            information.keep_cache = keepCache ? 1 : 0
            information.direct_io = directIO ? 1 : 0
            information.cache_readdir = cacheDirectory ? 1 : 0
            // A read-only file has nothing to flush; this saves one request per close.
            information.noflush = 1
            return unsafe fuse_reply_open(request, &information)
        case .bytes(let bytes):
            return sendBytes(bytes)
        case .file(let descriptor, let offset, let count):
            return unsafe Self.send(descriptor, offset: offset, count: count, to: request)
        case .statistics(let blocks, let freeBlocks, let longestName):
            var status = statvfs(blocks: blocks, freeBlocks: freeBlocks, longestName: longestName)
            return unsafe fuse_reply_statfs(request, &status)
        case .extendedAttribute(let value):
            guard size > 0 else { return unsafe fuse_reply_xattr(request, value.count) }
            guard value.count <= size else { return unsafe fuse_reply_err(request, ERANGE) }
            return sendBytes(value)
        case .ioctl(let result, let output):
            // The kernel accepts no more bytes than the command's number declares.
            guard output.count <= size else { return unsafe fuse_reply_err(request, EIO) }
            return unsafe output.withUnsafeBytes { unsafe fuse_reply_ioctl(request, result, $0.baseAddress, $0.count) }
        }
    }

    /// Sends all bytes of a part of a file on the calling thread, or EIO if the file has fewer.
    ///
    /// The kernel would fill missing bytes at the end with zeros.
    ///
    /// - Returns: 0, or -errno if the kernel no longer waits for the answer.
    static func send(_ descriptor: Int32, offset: Int64, count: Int, to request: fuse_req_t) -> Int32 {
        // Up to this size a copy through memory costs less than setting up a splice.
        if count <= Int(RANKFS_COPY_LIMIT) {
            return unsafe rankfs_reply_copy(request, descriptor, off_t(offset), count)
        }
        // libfuse would splice the existing bytes and send a short answer.
        guard let status = fileStatus(open: descriptor), status.st_size >= offset + Int64(count) else {
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

    private func sendBytes(_ bytes: [UInt8]) -> Int32 {
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe fuse_reply_buf(request, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        }
    }
}

// MARK: - Parts of files

/// A range of bytes of an open file, all of which must exist, and the owner that keeps the descriptor open.
package typealias FilePart = (owner: any AnyObject & Sendable, descriptor: Int32, offset: Int64, count: Int)

// MARK: - Signals

/// The signals of a calling thread, as `/proc/PID/status` lists them (proc_pid_status(5)).
package enum CallerSignals {
    /// The signals that end a program, or make it end itself.
    ///
    /// A fatal signal is pending as SIGKILL as well, unless it dumps core. Others leave a program that reads files of a disk alone: it
    /// stops, goes on or runs their handler with the answer, and few programs expect EINTR there.
    private static let ending = [
        SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGTERM, SIGXCPU, SIGXFSZ,
        SIGSYS,
    ]

    /// Whether a signal is pending that ends the thread's wait.
    package static func endWait(_ status: String) -> Bool {
        var sets: [Substring: UInt64] = [:]
        for line in status.split(separator: "\n") where line.hasPrefix("S") {
            let parts = line.split(separator: ":")
            sets[parts[0]] = parts.last.flatMap { UInt64($0.drop { $0 == "\t" }, radix: 16) }
        }
        guard let own = sets["SigPnd"], let shared = sets["ShdPnd"], let blocked = sets["SigBlk"] else { return true }
        return ending.contains { (own | shared) & ~blocked & (1 << UInt64($0 - 1)) != 0 }
    }
}
