internal import Glibc
internal import Synchronization

/// Allots the file descriptors of this process, and closes idle files when descriptors run out.
///
/// A new descriptor has the lowest free number (open(2)), so the number shows how many are in use. Descriptors opened here never
/// get the highest numbers. These are reserved for libraries, which open files on their own: libdispatch ends the process if it
/// cannot open a file of proc(5), which it does every second while work waits for its threads (src/event/workqueue.c); SQLite and
/// libc would fail in the middle of an operation.
///
/// ## Concurrency
///
/// Any thread may call. Nothing is opened or closed under the mutex.
package final class Descriptors: Sendable {
    /// The descriptors of this process.
    package static let own = Descriptors { mostUsable }

    /// The most numbers reserved for libraries below the limit: two for each thread that answers the kernel, and a few more.
    private static let mostKept: Int32 = 64
    /// The divisor of a small limit that gives the reserved numbers.
    private static let partKept: Int32 = 4
    /// The highest limit requested of the system.
    ///
    /// A few hundred descriptors are usually in use, and started programs may iterate over all numbers up to the limit.
    private static let mostAsked: rlim_t = 16384

    private let bound: @Sendable () -> Int32
    /// The files that may be closed while they are idle.
    private let files = Mutex<[ObjectIdentifier: any IdleFile]>([:])
    /// The opens so far: the time by which uses of files are compared.
    private let turn = Atomic(0)

    /// Makes an owner that gives out numbers below a bound.
    init(below bound: @escaping @Sendable () -> Int32) {
        self.bound = bound
    }

    /// The most descriptors that may be in use through this owner.
    package var usable: Int { Int(bound()) }

    private static var mostUsable: Int32 {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        let all = Int32(clamping: limit.rlim_cur)
        return all - min(mostKept, all / partKept)
    }

    /// Raises the limit as far as the system permits, since many systems begin with 1,024 (getrlimit(2)).
    package static func raiseLimit() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        let wanted = min(limit.rlim_max, mostAsked)
        guard limit.rlim_cur < wanted else { return }
        limit.rlim_cur = wanted
        unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Opens a descriptor; idle files are closed for it if there is no number left.
    ///
    /// - Parameter open: A system call that gives a descriptor, which is closed by execve(2), or a negative number with errno(3).
    /// - Returns: The descriptor, perhaps with another number; or -1 with errno(3).
    package func take(_ open: () -> Int32) -> Int32 {
        turn.add(1, ordering: .relaxed)
        var descriptor = open()
        while true {
            let code = descriptor < 0 ? errno : EMFILE
            guard descriptor < 0 ? SystemError(code: code).isLackOfDescriptors : descriptor >= bound() else {
                return descriptor
            }
            guard giveBack() else {
                if descriptor >= 0 { close(descriptor) }
                errno = code
                return -1
            }
            guard descriptor >= 0 else {
                descriptor = open()
                continue
            }
            // Not opened again, since the call may have made a file.
            let lower = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            guard lower >= 0 else { continue }
            close(descriptor)
            descriptor = lower
        }
    }

    /// Calls open(2) with `O_CLOEXEC`.
    package func open(_ path: String, _ flags: Int32, _ mode: UInt32 = 0) -> Int32 {
        take { unsafe Glibc.open(path, flags | O_CLOEXEC, mode) }
    }

    // MARK: - Files that may be closed

    /// The present time, which advances with every open.
    var now: Int { turn.load(ordering: .relaxed) }

    /// Adds a file that may be closed while it is idle.
    func add(_ file: any IdleFile) {
        files.withLock { $0[ObjectIdentifier(file)] = file }
    }

    /// Removes a file.
    func remove(_ file: any IdleFile) {
        files.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(file)) }
    }

    /// The divisor for the number of idle files closed at once, so that not every open has to search for one.
    private static let partGivenBack = 8

    /// Closes idle files, the least recently used first.
    ///
    /// - Returns: Whether a file was closed.
    private func giveBack() -> Bool {
        let idle = files.withLock { Array($0.values) }.compactMap { file in file.idleSince.map { ($0, file) } }
            .sorted { $0.0 < $1.0 }
        let wanted = max(1, idle.count / Self.partGivenBack)
        var closed = 0
        for (_, file) in idle where closed < wanted {
            if file.close() { closed += 1 }
        }
        return closed > 0
    }
}

/// A file that may be closed while it is idle.
protocol IdleFile: AnyObject, Sendable {
    /// The time of the last use; nil unless the file is open, can be opened again and is idle.
    var idleSince: Int? { get }
    /// Closes the file unless it is in use; false if it is.
    func close() -> Bool
}

extension SystemError {
    /// Whether there are too many open files, in this process (EMFILE) or in the system (ENFILE).
    package var isLackOfDescriptors: Bool { code == EMFILE || code == ENFILE }

    /// The reason for too many open files and a remedy, as a sentence without its full stop; nil for any other error.
    package var lackOfDescriptors: String? {
        switch code {
        case EMFILE:
            "rankfs is out of file descriptors; close some files, or raise its limit "
                + "(`LimitNOFILE=` of its systemd unit, or `ulimit -Hn`) and mount again"
        case ENFILE:
            "the system is out of file descriptors; end programs that use many, or raise fs.file-max (sysctl(8))"
        default: nil
        }
    }
}

// MARK: - File bytes

/// Reads and writes whole files by read(2) and write(2), and continues after signals.
///
/// The calling thread waits for the disk, or for any other file of the descriptor.
package enum FileBytes {
    /// The bytes from the present place on, at most `limit` of them; fewer only at the end of the file.
    ///
    /// - Throws: The error of read(2); bytes read before the error are lost.
    package static func read(_ descriptor: Int32, upTo limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: max(1, min(limit, blockSize)))
        while bytes.count < limit {
            let wanted = min(piece.count, limit - bytes.count)
            let count = unsafe piece.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, wanted) }
            if count == 0 { break }
            if count > 0 {
                bytes += piece[..<count]
            } else if errno != EINTR {
                throw .last()
            }
        }
        return bytes
    }

    /// The content of a file, at most `limit` bytes of it.
    ///
    /// - Throws: The error of open(2) or read(2).
    package static func read(_ path: String, upTo limit: Int) throws(SystemError) -> [UInt8] {
        let descriptor = Descriptors.own.open(path, O_RDONLY)
        guard descriptor >= 0 else { throw .last() }
        defer { close(descriptor) }
        return try read(descriptor, upTo: limit)
    }

    /// Reads up to `count` bytes; fewer only at the end of the file.
    package static func read(_ descriptor: Int32, at offset: Int64, count: Int) throws(SystemError) -> [UInt8] {
        try [UInt8](capacity: count) { output throws(SystemError) in
            unsafe try output.withUnsafeMutableBufferPointer { buffer, filled throws(SystemError) in
                filled = unsafe try read(descriptor, at: offset, into: UnsafeMutableRawBufferPointer(buffer))
            }
        }
    }

    /// Fills a buffer from an offset of the file, as far as the file reaches; returns the number of bytes.
    package static func read(
        _ descriptor: Int32, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let got = unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(filled))
            if got > 0 {
                filled += got
            } else if got == 0 {
                break
            } else if errno != EINTR {
                throw SystemError("reading")
            }
        }
        return filled
    }

    /// Reads the first `length` bytes of a file in blocks.
    package static func readAll(
        _ descriptor: Int32, length: Int64, _ take: (UnsafeRawBufferPointer) -> Void
    ) throws(SystemError) {
        // The disk reads on while the first blocks are hashed (posix_fadvise(2)).
        _ = posix_fadvise(descriptor, 0, off_t(length), POSIX_FADV_WILLNEED)
        // One buffer for all blocks, small enough for a processor's cache.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 64)
        defer { unsafe buffer.deallocate() }
        var offset: Int64 = 0
        while offset < length {
            let wanted = Int(min(Int64(blockSize), length - offset))
            let count = unsafe try read(
                descriptor, at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
            guard count == wanted else { throw SystemError("reading", code: EIO) }
            unsafe take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }

    /// Writes all bytes at the present place.
    ///
    /// - Returns: False after an error, with errno(3) set.
    @discardableResult
    package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            var rest = unsafe bytes[...]
            while unsafe !rest.isEmpty {
                let part = unsafe UnsafeRawBufferPointer(rebasing: rest)
                let count = unsafe Glibc.write(descriptor, part.baseAddress, part.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                unsafe rest = rest.dropFirst(count)
            }
            return true
        }
    }

    /// Replaces a file in one step, so that a crash leaves the old content or the new.
    ///
    /// - Parameters:
    ///   - path: The file, in a directory that exists.
    ///   - bytes: The new content, which only the user may read.
    ///   - temporary: The file in the same directory that is written first; by default the path with `.new`.
    ///   - isSynced: Whether the content is on the disk before it has the name.
    /// - Throws: The error of the call that failed; the temporary file is removed then.
    package static func replace(
        _ path: String, with bytes: [UInt8], by temporary: String? = nil, isSynced: Bool = false
    ) throws(SystemError) {
        let temporary = temporary ?? path + ".new"
        unsafe _ = unlink(temporary)
        let descriptor = Descriptors.own.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .last() }
        do throws(SystemError) {
            defer { close(descriptor) }
            // Sets the mode again, since a umask may have removed bits of it.
            guard write(bytes, to: descriptor), fchmod(descriptor, 0o600) == 0 else { throw .last() }
            guard !isSynced || fsync(descriptor) == 0 else { throw .last() }
            guard unsafe rename(temporary, path) == 0 else { throw .last() }
        } catch {
            unsafe _ = unlink(temporary)
            throw error
        }
    }

    /// Bytes read at a time, few enough for a processor's cache.
    package static let blockSize = 128 << 10
}

// MARK: - System error

/// The errno(3) of a system call that failed.
package struct SystemError: Error, Hashable, Sendable {
    /// The attempt that failed, as the beginning of a sentence: `writing`; empty if its error says enough, all of it if that is 0.
    package let call: String
    package let code: Int32

    /// - Parameters:
    ///   - call: The attempt that failed.
    ///   - code: The errno(3); by default that of this thread's last call, which must be read before any other call.
    package init(_ call: String = "", code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    /// The error of this thread's last call; must be read before any other call.
    package static func last() -> SystemError { SystemError(code: errno) }

    /// The text of strerror(3), after the call: `writing: No space left on device`.
    package var text: String {
        code == 0 ? call : (call.isEmpty ? "" : "\(call): ") + (unsafe String(cString: strerror(code)))
    }
}
