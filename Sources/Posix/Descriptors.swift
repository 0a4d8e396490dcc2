internal import Glibc
internal import Synchronization

/// Who gets the file descriptors of this process, and who gives one back when they run out.
///
/// A new descriptor has the lowest free number (open(2)), so that the number tells how many are in use. What is opened here gets none
/// of the highest numbers. They are left to libraries that nobody asks: libdispatch ends the process if it cannot open a file of
/// proc(5), which it does every second while work waits for its threads (src/event/workqueue.c); SQLite and libc would fail in the
/// middle of something.
///
/// ## Concurrency
///
/// Any thread may call. Nothing is opened or closed under the mutex.
package final class Descriptors: Sendable {
    /// Those of this process.
    package static let own = Descriptors { mostUsable }

    /// Numbers below the limit that are left to libraries: two for each thread that answers the kernel, and a few more.
    private static let mostKept: Int32 = 64
    /// Of a small limit one in so many is left to them.
    private static let partKept: Int32 = 4
    /// No more are asked of the system: a few hundred are in use mostly, and programs that are started may go through all of them.
    private static let mostAsked: rlim_t = 16384

    private let bound: @Sendable () -> Int32
    /// What may be closed while nobody uses it.
    private let files = Mutex<[ObjectIdentifier: StoredFile.Slot]>([:])
    /// Opens so far: the time by which uses of files are compared.
    private let turn = Atomic(0)

    /// An owner that gives out numbers below a bound.
    init(below bound: @escaping @Sendable () -> Int32) {
        self.bound = bound
    }

    /// How many may be in use, as far as what is opened here is concerned.
    package var usable: Int { Int(bound()) }

    private static var mostUsable: Int32 {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        let all = Int32(clamping: limit.rlim_cur)
        return all - min(mostKept, all / partKept)
    }

    /// Raises the limit as far as the system lets this process, since many systems begin with 1,024 (getrlimit(2)).
    package static func raiseLimit() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        let wanted = min(limit.rlim_max, mostAsked)
        guard limit.rlim_cur < wanted else { return }
        limit.rlim_cur = wanted
        unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Opens something; files that nobody uses are closed for it if there is no number left.
    ///
    /// - Parameter open: A system call that gives a descriptor, which is closed by execve(2), or a negative number with errno(3).
    /// - Returns: What it gave, perhaps by another number; or -1 with errno(3).
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
            // Not opened again, since that may have made a file.
            let lower = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            guard lower >= 0 else { continue }
            close(descriptor)
            descriptor = lower
        }
    }

    /// open(2) with `O_CLOEXEC`.
    package func open(_ path: String, _ flags: Int32, _ mode: UInt32 = 0) -> Int32 {
        take { unsafe Glibc.open(path, flags | O_CLOEXEC, mode) }
    }

    // MARK: - Files that may be closed

    /// The present time, which passes with every open.
    var now: Int { turn.load(ordering: .relaxed) }

    /// Takes a file that may be closed while nobody uses it.
    func add(_ file: StoredFile.Slot) {
        files.withLock { $0[ObjectIdentifier(file)] = file }
    }

    /// Forgets one.
    func remove(_ file: StoredFile.Slot) {
        files.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(file)) }
    }

    /// Of many files that nobody uses one in so many is closed at once, so that not each open has to look for one.
    private static let partGivenBack = 8

    /// Closes files that nobody uses, those first that were used longest ago.
    ///
    /// - Returns: Whether there was one.
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

extension SystemError {
    /// Whether there are too many open files, in this process (EMFILE) or in the system (ENFILE).
    package var isLackOfDescriptors: Bool { code == EMFILE || code == ENFILE }

    /// Why there are too many open files and what helps, as a sentence without its full stop; nil for any other error.
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

/// Reads and writes whole files by read(2) and write(2), whatever signals arrive.
///
/// The calling thread waits for the disk, or for what else the descriptor leads to.
package enum FileBytes {
    /// The bytes from the present place on, at most `limit` of them; fewer only at the end of the file.
    ///
    /// - Throws: The error of read(2); what was read before it is lost.
    package static func read(_ descriptor: Int32, upTo limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: max(1, min(limit, pieceSize)))
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

    /// Writes all bytes at the present place.
    ///
    /// - Returns: False after an error, which errno(3) then tells.
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

    /// Bytes that are read at a time.
    private static let pieceSize = 64 << 10
}

// MARK: - System error

/// The errno(3) of a system call that failed.
package struct SystemError: Error, Hashable, Sendable {
    package let code: Int32

    package init(code: Int32) {
        self.code = code
    }

    /// That of the call that this thread made last; to be taken before any other call.
    package static func last() -> SystemError { SystemError(code: errno) }

    /// The text of strerror(3): `No such file or directory`.
    package var text: String { unsafe String(cString: strerror(code)) }
}
