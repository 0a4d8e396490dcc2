package import Glibc
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
    private let files = Mutex<[ObjectIdentifier: KnownFile]>([:])
    /// The opens so far: the time by which uses of files are compared.
    private let turn = Atomic(0)

    private struct KnownFile: Sendable {
        weak let file: StoredFile?
    }

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
    func add(_ file: StoredFile) {
        files.withLock { $0[ObjectIdentifier(file)] = KnownFile(file: file) }
    }

    /// Removes a file.
    func remove(_ file: ObjectIdentifier) {
        files.withLock { _ = $0.removeValue(forKey: file) }
    }

    /// The divisor for the number of idle files closed at once, so that not every open has to search for one.
    private static let partGivenBack = 8

    /// Closes idle files, the least recently used first.
    ///
    /// - Returns: Whether a file was closed.
    private func giveBack() -> Bool {
        let idle = files.withLock { Array($0.values) }.compactMap(\.file)
            .compactMap { file in file.idleSince.map { ($0, file) } }.sorted { $0.0 < $1.0 }
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

// MARK: - Status of files

/// The status of the file at a path, through links (stat(2)); nil, with errno, if there is none.
package func fileStatus(at path: String) -> stat? {
    var status = stat()
    return unsafe fstatat(AT_FDCWD, path, &status, 0) == 0 ? status : nil
}

/// The status of the file at a path, of a link itself too (lstat(2)); nil, with errno, if there is none.
package func fileStatus(link path: String, in directory: Int32 = AT_FDCWD) -> stat? {
    var status = stat()
    return unsafe fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
}

/// The status of an open file (fstat(2)); nil, with errno, if it is not open.
package func fileStatus(open descriptor: Int32) -> stat? {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 ? status : nil
}

extension mode_t {
    package var isFile: Bool { self & S_IFMT == S_IFREG }
    package var isDirectory: Bool { self & S_IFMT == S_IFDIR }
    package var isLink: Bool { self & S_IFMT == S_IFLNK }
}

// MARK: - Files that are opened again

/// A descriptor that is closed when the last reference goes.
package final class OpenFile: Sendable {
    package let descriptor: Int32

    package init(owning descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }
}

/// A file that is kept for long and is open while it is used.
///
/// While it is idle, ``Descriptors`` may close it. The next use opens it again; it is then the same file, or an error.
///
/// ## Concurrency
///
/// Any thread may call.
package final class StoredFile: Sendable {
    /// Opens the file again: a descriptor, or a negative number with errno(3).
    package typealias Reopening = @Sendable () -> Int32

    private struct State {
        var file: OpenFile?
        var reopen: Reopening?
        /// The time of the last use, by the owner's time.
        var lastUse = 0
    }

    private let owner: Descriptors
    /// Device and inode of the file, which do not depend on its name (inode(7)).
    private let identity: [UInt64]?
    private let state: Mutex<State>

    /// Takes over a descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: The open file.
    ///   - owner: The object that may close it.
    ///   - reopen: Opens the file again; nil for a file that must stay open, since it has no name.
    package init(owning descriptor: Int32, of owner: Descriptors = .own, reopen: Reopening? = nil) {
        let file = OpenFile(owning: descriptor)
        self.owner = owner
        identity = Self.identity(of: file)
        state = Mutex(State(file: file, reopen: reopen, lastUse: owner.now))
        if reopen != nil { owner.add(self) }
    }

    deinit {
        owner.remove(ObjectIdentifier(self))
    }

    /// The file, which stays open while the result is referenced.
    ///
    /// - Throws: The errno(3) of open(2), or ESTALE if there is another file in its place.
    package func opened() throws(SystemError) -> OpenFile {
        if let file = current { return file }
        let descriptor = state.withLock { $0.reopen }.map { owner.take($0) }
        guard let descriptor else { throw SystemError(code: ESTALE) }
        guard descriptor >= 0 else {
            let failure = SystemError.last()
            // Another thread may have opened it first, or the file has got its other name since.
            if let file = current { return file }
            throw failure
        }
        let file = OpenFile(owning: descriptor)
        guard let identity, Self.identity(of: file) == identity else { throw SystemError(code: ESTALE) }
        return state.withLock { state in
            let current = state.file ?? file
            state.file = current
            return current
        }
    }

    /// The file if it is open.
    private var current: OpenFile? {
        state.withLock { state in
            state.lastUse = owner.now
            return state.file
        }
    }

    /// Runs a function with the descriptor of the file, which is opened if necessary.
    package func use<Value>(_ work: (Int32) throws(SystemError) -> Value) throws(SystemError) -> Value {
        let file: OpenFile
        do throws(SystemError) { file = try opened() } catch {
            throw SystemError("opening a file of the cache again", code: error.code)
        }
        defer { withExtendedLifetime(file) {} }
        return try work(file.descriptor)
    }

    /// Records that the file has another name, by which it is opened from now on; it must be open.
    package func move(_ reopen: @escaping Reopening) {
        state.withLock { $0.reopen = reopen }
    }

    /// Keeps the file open from now on, because it is about to lose its name.
    package func keepOpen() {
        // A file that cannot be opened is lost to its user.
        let file = try? opened()
        state.withLock { $0.reopen = nil }
        withExtendedLifetime(file) {}
    }

    /// The time of the last use; nil unless the file is open, can be opened again and is idle.
    var idleSince: Int? {
        state.withLock { $0.reopen != nil && isKnownUniquelyReferenced(&$0.file) ? $0.lastUse : nil }
    }

    /// Closes the file unless it is in use; false if it is.
    func close() -> Bool {
        let idle = state.withLock { state -> OpenFile? in
            guard state.reopen != nil, isKnownUniquelyReferenced(&state.file) else { return nil }
            return state.file.take()
        }
        return idle != nil
    }

    private static func identity(of file: OpenFile) -> [UInt64]? {
        fileStatus(open: file.descriptor).map { [UInt64($0.st_dev), UInt64($0.st_ino)] }
    }
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
