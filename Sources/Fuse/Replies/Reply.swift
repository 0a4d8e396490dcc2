internal import CFuse3
import Dispatch
import Glibc
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
    /// Takes back what an answer that did not arrive gave out: a lookup of an inode, or a handle.
    final let undo: @Sendable (UInt64) -> Void

    /// Creates a reply to the kernel, or to a test.
    package init(_ request: PendingRequest, undo: @escaping @Sendable (UInt64) -> Void = { _ in }) {
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
    /// through the reply or throw; the answers of a cancelled task are discarded. `late` is called at the deadline.
    package final func later(
        late: @escaping @Sendable () -> Void = {}, _ work: @escaping @Sendable () async throws(Errno) -> Void
    ) {
        request.park(late: late)
        request.keep(
            Task {
                do throws(Errno) {
                    try await work()
                } catch {
                    self.request.settle(error)
                }
            })
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
            undo(attributes.inode)
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
            undo(handle)
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
    package func statistics(blocks: UInt64, freeBlocks: UInt64, longestName: UInt32) {
        request.answer(.statistics(blocks: blocks, freeBlocks: freeBlocks, longestName: longestName))
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
    private let packer: Mutex<KernelPacker>

    /// Creates a reply to the kernel, or to a test, whose entries have at most `size` bytes.
    package init(
        _ request: PendingRequest, undo: @escaping @Sendable (UInt64) -> Void = { _ in }, wantsAttributes: Bool,
        size: Int
    ) {
        self.wantsAttributes = wantsAttributes
        packer = Mutex(KernelPacker(size: size, withAttributes: wantsAttributes))
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
        counted.forEach(undo)
    }
}

// MARK: - Kernel packer

/// Packs entries in the kernel's format into one buffer, with `fuse_add_direntry` and `fuse_add_direntry_plus`.
struct KernelPacker {
    private var buffer: [UInt8]
    private var used = 0
    private let withAttributes: Bool
    /// The inodes whose lookup counts the answer raises.
    private(set) var counted: [UInt64] = []

    init(size: Int, withAttributes: Bool) {
        buffer = [UInt8](repeating: 0, count: size)
        self.withAttributes = withAttributes
        // linux/fuse.h: struct fuse_direntplus with a name of one byte takes 160 bytes.
        if withAttributes { counted.reserveCapacity(size / 160) }
    }

    /// The answer with the packed entries.
    var answer: Answer { .bytes([UInt8](buffer[..<used])) }

    /// Packs an entry; false if there is no room for it.
    ///
    /// The libfuse functions get no request, which they do not use: an interrupt may have answered it already.
    mutating func add(
        _ name: String, inode: UInt64, kind: Attributes.Kind, nextOffset: Int64, _ known: DirectoryReply.Known?
    ) -> Bool {
        let (used, room) = (used, buffer.count - used)
        let needed = unsafe buffer.withUnsafeMutableBytes { buffer in
            let target = unsafe buffer.baseAddress?.advanced(by: used).assumingMemoryBound(to: CChar.self)
            // A native string already ends with a NUL: no bytes are copied.
            return unsafe name.withCString { name in
                guard withAttributes else {
                    var status = stat()
                    status.st_ino = ino_t(inode)
                    status.st_mode = kind.modeBits
                    return unsafe fuse_add_direntry(nil, target, room, name, &status, off_t(nextOffset))
                }
                var parameters =
                    known.map {
                        fuse_entry_param(
                            $0.attributes, entryTimeout: $0.entryTimeout, attributesTimeout: $0.attributesTimeout)
                    } ?? fuse_entry_param(nameOf: inode, kind: kind)
                return unsafe fuse_add_direntry_plus(nil, target, room, name, &parameters, off_t(nextOffset))
            }
        }
        // Both functions return the size of the entry, and write nothing if it exceeds the room.
        guard needed <= room else { return false }
        self.used += needed
        if withAttributes, let known { counted.append(known.attributes.inode) }
        return true
    }
}

// MARK: - Pending requests

/// A request that gets exactly one answer: a ``Reply`` holds it, and interrupts and deadlines act on it.
///
/// ## Concurrency
///
/// Any thread may call. Answers are delivered and tasks are cancelled outside the lock, because both run foreign code. The task
/// holds the reply and the reply holds this object; the cycle ends with the task.
package final class PendingRequest: Sendable {
    private struct State {
        var phase = ReplyPhase.waiting
        /// Whether the deadline runs and the kernel's interrupts arrive.
        var isParked = false
        var task: Task<Void, Never>?
        /// Called when the deadline answers.
        var late: @Sendable () -> Void = {}
    }

    /// The queue on which interrupts take effect.
    ///
    /// libfuse reports them under its lock on the request, and cancelling may run code that answers, which takes the same lock.
    private static let interruptions = DispatchQueue(label: "fuse.interrupt")
    /// The interval at which the signals of a caller are read after one that ends no wait.
    private static let interval = DispatchTimeInterval.milliseconds(200)

    private let state = Mutex(State())
    private let destination: any AnswerDestination
    private let waiting: WaitingRequests?
    /// The read of this request, if its failure is to be remembered.
    private let read: ReadRequest?
    /// The directory whose lock the kernel holds until the answer: of a lookup, and of a read of entries; nil for other requests.
    fileprivate let directory: UInt64?

    package init(
        destination: any AnswerDestination, waiting: WaitingRequests?, read: ReadRequest? = nil,
        directory: UInt64? = nil
    ) {
        self.destination = destination
        self.waiting = waiting
        self.read = read
        self.directory = directory
    }

    /// Answers for the owner; false if the request had an answer already and this one was not sent.
    @discardableResult
    func answer(_ answer: Answer) -> Bool {
        conclude(with: answer) { $0.answer() }
    }

    /// Answers only if there is no answer yet: the reply was dropped, or its work threw.
    func settle(_ errno: Errno) {
        conclude(with: .failure(errno)) { $0.end(.answered) }
    }

    /// Answers in the owner's place and cancels the work.
    func overtake(_ errno: Errno) {
        let isSent = conclude(with: .failure(errno)) { $0.end(.overtaken) }
        let (task, late) = state.withLock { state in
            defer { state.task = nil }
            return (state.task, state.late)
        }
        if isSent, errno == .ETIMEDOUT { late() }
        task?.cancel()
    }

    /// Handles libfuse's interrupt callback: returns at once, and another thread answers EINTR as soon as a signal ends the wait.
    ///
    /// The kernel reports one signal of a request, and none that follows.
    func interrupt(after pause: DispatchTimeInterval = .seconds(0)) {
        Self.interruptions.asyncAfter(deadline: .now() + pause) {
            guard self.state.withLock({ $0.phase == .waiting }) else { return }
            if self.destination.isInterrupted { self.overtake(.EINTR) } else { self.interrupt(after: Self.interval) }
        }
    }

    /// Starts the deadline and the delivery of interrupts, once; for requests that are not answered at once.
    func park(late: @escaping @Sendable () -> Void = {}) {
        let isNew = state.withLock { state in
            guard state.phase == .waiting, !state.isParked else { return false }
            (state.isParked, state.late) = (true, late)
            // Under the lock: libfuse's request exists as long as it has no answer.
            destination.watchInterrupts(of: self)
            return true
        }
        guard isNew else { return }
        guard waiting?.add(self) ?? true else { return overtake(.EINTR) }
        // The answer may have come between the two steps, before there was an entry to remove.
        if state.withLock({ $0.phase != .waiting }) {
            waiting?.remove(self)
        }
    }

    /// Keeps the task that works on the answer, in order to cancel it.
    func keep(_ task: Task<Void, Never>) {
        let isLate = state.withLock { state in
            if state.phase == .waiting { state.task = task }
            return state.phase == .overtaken
        }
        if isLate { task.cancel() }
    }

    @discardableResult
    private func conclude(with answer: Answer, _ decide: (inout ReplyPhase) -> Bool?) -> Bool {
        let (delivers, wasParked) = state.withLock { state in
            let delivers = decide(&state.phase)
            if state.phase == .answered { state.task = nil }
            return (delivers, state.isParked)
        }
        guard let delivers else {
            preconditionFailure("A request was answered twice; the second answer was \(answer)")
        }
        guard delivers else { return false }
        if wasParked {
            waiting?.remove(self)
            destination.unwatchInterrupts(of: self)
            if let read, case .failure(let error) = answer { waiting?.remember(error, of: read) }
        }
        return destination.deliver(answer)
    }
}

/// The receiver of an answer: the kernel, or a test.
package protocol AnswerDestination: Sendable {
    /// Sends the answer; false if it can no longer arrive.
    func deliver(_ answer: Answer) -> Bool

    /// Starts the delivery of the kernel's interrupts to `request`; must not call `request` before returning.
    func watchInterrupts(of request: PendingRequest)

    /// Waits for an interrupt that is being reported, and ends the delivery of interrupts.
    func unwatchInterrupts(of request: PendingRequest)

    /// Whether the caller has a signal that ends its wait; may be read after the answer.
    var isInterrupted: Bool { get }
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

    /// Takes an answer of the owner.
    ///
    /// - Returns: Whether it is sent to the kernel; false if the request has been answered in the owner's place, which can happen at
    ///   any time; nil if the owner answered twice, a mistake in the file system.
    mutating func answer() -> Bool? {
        guard self != .answered else { return nil }
        defer { self = .answered }
        return self == .waiting
    }

    /// Takes an answer in the owner's place: `overtaken` if the owner will still answer, `answered` if it is gone or its work threw.
    ///
    /// - Returns: Whether the answer is sent to the kernel.
    mutating func end(_ phase: ReplyPhase) -> Bool? {
        guard self == .waiting else { return false }
        self = phase
        return true
    }
}

// MARK: - Deadlines

/// The requests that wait for an answer, and the hard deadline of each.
///
/// ## Concurrency
///
/// Any thread may call. The timer fires on a Dispatch queue of its own, never on Swift's cooperative pool: that pool has as many
/// threads as CPUs, and a deadline must take effect even when all of them are blocked.
package final class WaitingRequests: Sendable {
    /// The requests, and whether the timer is set and the session has ended.
    ///
    /// Requests share one deadline, so the timer is set for the oldest request and set again when it fires: a request that is
    /// answered in time costs one insertion and one removal, and no timer of its own.
    private struct State {
        var requests: [ObjectIdentifier: (request: PendingRequest, deadline: Duration)] = [:]
        var timerIsSet = false
        var isStopped = false
    }

    /// Microseconds between two looks at a directory's requests.
    private static let pause: UInt32 = 10_000

    private let state = Mutex(State())
    private let failedReads = Mutex(FailedReads())
    /// Whether any failed read is remembered: this is rare, and every read checks it.
    private let hasFailedReads = Atomic(false)
    private let deadline: Duration
    private let timer: DeadlineTimer

    /// Creates a table that answers its requests with ETIMEDOUT after `deadline`.
    package init(deadline: Duration, timer: DeadlineTimer = .dispatch()) {
        self.deadline = deadline
        self.timer = timer
    }

    /// The number of requests that wait for an answer.
    package var count: Int { state.withLock { $0.requests.count } }

    /// Whether a request that waits keeps the kernel's lock on a directory.
    func holds(_ directory: UInt64) -> Bool {
        state.withLock { $0.requests.values.contains { $0.request.directory == directory } }
    }

    /// Blocks until no request keeps the kernel's lock on a directory, for as long as a request may wait.
    func waitUntilFree(_ directory: UInt64) {
        let end = timer.now() + deadline
        while holds(directory), timer.now() < end { usleep(Self.pause) }
    }

    /// Answers every waiting request with EINTR, and from now on every request that would wait.
    package func stop() {
        let requests = state.withLock { state in
            state.isStopped = true
            defer { state.requests = [:] }
            return state.requests.values.map(\.request)
        }
        for request in requests { request.overtake(.EINTR) }
    }

    /// Remembers a read that failed after a wait, because the kernel repeats it at once.
    ///
    /// An interrupt concerns one reader only and is not remembered.
    func remember(_ error: Errno, of read: ReadRequest) {
        guard error != .EINTR else { return }
        failedReads.withLock { failures in
            failures.remember(error, of: read, at: timer.now())
            hasFailedReads.store(true, ordering: .releasing)
        }
    }

    /// Forgets the failed reads of an inode that is opened.
    func forgetFailures(of inode: UInt64) {
        guard hasFailedReads.load(ordering: .acquiring) else { return }
        failedReads.withLock { $0.forget(inode) }
    }

    /// The error of a read that has just failed after a wait; nil if there is none.
    func rememberedError(for read: ReadRequest) -> Errno? {
        guard hasFailedReads.load(ordering: .acquiring) else { return nil }
        return failedReads.withLock { failures in
            let now = timer.now()
            failures.expire(at: now)
            hasFailedReads.store(!failures.isEmpty, ordering: .releasing)
            return failures.error(for: read, at: now)
        }
    }

    /// Starts the deadline of a request; false if the session has been stopped.
    func add(_ request: PendingRequest) -> Bool {
        let until = timer.now() + deadline
        let (isOpen, setsTimer) = state.withLock { state in
            guard !state.isStopped else { return (false, false) }
            state.requests[ObjectIdentifier(request)] = (request, until)
            defer { state.timerIsSet = true }
            return (true, !state.timerIsSet)
        }
        if setsTimer { setTimer(at: until) }
        return isOpen
    }

    /// Ends the deadline of a request that was answered.
    func remove(_ request: PendingRequest) {
        state.withLock { $0.requests[ObjectIdentifier(request)] = nil }
    }

    private func setTimer(at time: Duration) {
        timer.fire(time) { [weak self] in self?.expire() }
    }

    private func expire() {
        let now = timer.now()
        let (expired, next) = state.withLock { state in
            let expired = state.requests.filter { $0.value.deadline <= now }
            for key in expired.keys { state.requests[key] = nil }
            let next = state.requests.values.map(\.deadline).min()
            state.timerIsSet = next != nil
            return (expired.values.map(\.request), next)
        }
        for request in expired { request.overtake(.ETIMEDOUT) }
        if let next { setTimer(at: next) }
    }
}

/// The clock of deadlines; tests use a clock that they advance by hand.
package struct DeadlineTimer: Sendable {
    /// The time since a fixed moment; it stands still while the machine is suspended.
    let now: @Sendable () -> Duration
    /// Calls an action once at or after a time, on a thread that may block.
    let fire: @Sendable (_ time: Duration, _ action: @escaping @Sendable () -> Void) -> Void

    /// The machine's own clock, on a Dispatch queue of its own.
    package static func dispatch() -> DeadlineTimer {
        let queue = DispatchQueue(label: "fuse.deadline")
        let now = { @Sendable in Duration.nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds)) }
        return DeadlineTimer(now: now) { time, action in
            let wait = time - now()
            let nanoseconds = wait.components.seconds * 1_000_000_000 + wait.components.attoseconds / 1_000_000_000
            queue.asyncAfter(deadline: .now() + .nanoseconds(Int(max(nanoseconds, 0))), execute: action)
        }
    }
}
