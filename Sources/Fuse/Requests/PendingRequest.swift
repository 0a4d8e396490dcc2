import Dispatch
import Synchronization

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
    }

    /// The queue on which interrupts take effect.
    ///
    /// libfuse reports them under its lock on the request, and cancelling may run code that answers, which takes the same lock.
    private static let interruptions = DispatchQueue(label: "fuse.interrupt")

    private let state = Mutex(State())
    private let destination: any AnswerDestination
    private let waiting: WaitingRequests?
    /// The read of this request, if its failure is to be remembered.
    private let read: ReadRequest?

    package init(destination: any AnswerDestination, waiting: WaitingRequests?, read: ReadRequest? = nil) {
        self.destination = destination
        self.waiting = waiting
        self.read = read
    }

    /// Answers for the owner; false if the request had an answer already and this one was not sent.
    @discardableResult
    func answer(_ answer: Answer) -> Bool {
        conclude(with: answer) { $0.answer() }
    }

    /// Answers only if there is no answer yet: the reply was dropped, or its work threw.
    func settle(_ errno: Errno) {
        conclude(with: .failure(errno)) { $0.settle() }
    }

    /// Answers in the owner's place and cancels the work.
    func overtake(_ errno: Errno) {
        conclude(with: .failure(errno)) { $0.overtake() }
        let task = state.withLock { state in
            defer { state.task = nil }
            return state.task
        }
        task?.cancel()
    }

    /// Handles libfuse's interrupt callback: returns at once, and another thread answers EINTR.
    func interrupt() {
        Self.interruptions.async { self.overtake(.EINTR) }
    }

    /// Starts the deadline and the delivery of interrupts, once; for requests that are not answered at once.
    func park() {
        let isNew = state.withLock { state in
            guard state.phase == .waiting, !state.isParked else { return false }
            state.isParked = true
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
            switch state.phase {
            case .waiting:
                state.task = task
                return false
            case .overtaken:
                return true
            case .answered:
                return false
            }
        }
        if isLate {
            task.cancel()
        }
    }

    @discardableResult
    private func conclude(with answer: Answer, _ decide: (inout ReplyPhase) -> ReplyPhase.Verdict) -> Bool {
        let (verdict, wasParked) = state.withLock { state in
            let verdict = decide(&state.phase)
            if state.phase == .answered {
                state.task = nil
            }
            return (verdict, state.isParked)
        }
        switch verdict {
        case .deliver:
            if wasParked {
                waiting?.remove(self)
                destination.unwatchInterrupts(of: self)
                if let read, case .failure(let error) = answer {
                    waiting?.remember(error, of: read)
                }
            }
            return destination.deliver(answer)
        case .discard:
            return false
        case .trap:
            preconditionFailure("A request was answered twice; the second answer was \(answer)")
        }
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

// MARK: - Deadlines

/// The requests that wait for an answer, and the hard deadline of each.
///
/// ## Concurrency
///
/// Any thread may call. The timer fires on a Dispatch queue of its own, never on Swift's cooperative pool: that pool has as many
/// threads as CPUs, and a deadline must take effect even when all of them are blocked.
package final class WaitingRequests: Sendable {
    private let table = Mutex(WaitingTable<PendingRequest>())
    private let failedReads = Mutex(FailedReads())
    /// Whether any failed read is remembered: this is rare, and every read checks it.
    private let hasFailedReads = Atomic(false)
    private let deadline: Duration
    private let timer: any DeadlineTimer

    /// Creates a table that answers its requests with ETIMEDOUT after `deadline`.
    package init(deadline: Duration, timer: any DeadlineTimer = DispatchDeadlineTimer()) {
        self.deadline = deadline
        self.timer = timer
    }

    /// The number of requests that wait for an answer.
    package var count: Int {
        table.withLock(\.count)
    }

    /// Answers every waiting request with EINTR, and from now on every request that would wait.
    package func stop() {
        for request in table.withLock({ $0.stop() }) {
            request.overtake(.EINTR)
        }
    }

    /// Remembers a read that failed after a wait, because the kernel repeats it at once.
    ///
    /// An interrupt concerns one reader only and is not remembered.
    func remember(_ error: Errno, of read: ReadRequest) {
        guard error != .EINTR else { return }
        failedReads.withLock { failures in
            failures.remember(error, of: read, at: timer.now)
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
            let now = timer.now
            failures.expire(at: now)
            hasFailedReads.store(!failures.isEmpty, ordering: .releasing)
            return failures.error(for: read, at: now)
        }
    }

    /// Starts the deadline of a request; false if the session has been stopped.
    func add(_ request: PendingRequest) -> Bool {
        let until = timer.now + deadline
        switch table.withLock({ $0.add(request, key: ObjectIdentifier(request), deadline: until) }) {
        case .wait:
            return true
        case .setTimer(let time):
            setTimer(at: time)
            return true
        case .refuse:
            return false
        }
    }

    /// Ends the deadline of a request that was answered.
    func remove(_ request: PendingRequest) {
        table.withLock { $0.remove(ObjectIdentifier(request)) }
    }

    private func setTimer(at time: Duration) {
        timer.fire(at: time) { [weak self] in self?.expire() }
    }

    private func expire() {
        let now = timer.now
        let (expired, next) = table.withLock { $0.expire(at: now) }
        for request in expired {
            request.overtake(.ETIMEDOUT)
        }
        if let next {
            setTimer(at: next)
        }
    }
}

/// The clock of deadlines; tests use a clock that they advance by hand.
package protocol DeadlineTimer: Sendable {
    /// The time since a fixed moment; it stands still while the machine is suspended.
    var now: Duration { get }

    /// Calls `action` once at or after `time`, on a thread that may block.
    func fire(at time: Duration, _ action: @escaping @Sendable () -> Void)
}

/// The machine's own clock, on a Dispatch queue.
package struct DispatchDeadlineTimer: DeadlineTimer {
    private let queue = DispatchQueue(label: "fuse.deadline")

    /// Creates a timer with a queue of its own.
    package init() {}

    package var now: Duration {
        .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds))
    }

    package func fire(at time: Duration, _ action: @escaping @Sendable () -> Void) {
        let wait = time - now
        let nanoseconds = wait.components.seconds * 1_000_000_000 + wait.components.attoseconds / 1_000_000_000
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(max(nanoseconds, 0))), execute: action)
    }
}

// MARK: - Waiting table

/// The waiting requests with the time at which each must have its answer; decides only, without side effects.
///
/// Requests share one deadline, so the timer is set for the oldest request and set again when it fires: a request that is
/// answered in time costs one insertion and one removal, and no timer of its own.
struct WaitingTable<Request> {
    private var requests: [ObjectIdentifier: (request: Request, deadline: Duration)] = [:]
    private var timerIsSet = false
    private var isStopped = false

    /// The action to take after a request is added.
    enum Addition: Equatable {
        /// No action: the timer runs already.
        case wait
        /// Set the timer to fire at this time.
        case setTimer(at: Duration)
        /// Answer at once: the session ends.
        case refuse
    }

    /// The number of waiting requests.
    var count: Int { requests.count }

    /// Adds a request that must be answered at `deadline`.
    mutating func add(_ request: Request, key: ObjectIdentifier, deadline: Duration) -> Addition {
        guard !isStopped else { return .refuse }
        requests[key] = (request, deadline)
        guard !timerIsSet else { return .wait }
        timerIsSet = true
        return .setTimer(at: deadline)
    }

    /// Removes a request that was answered.
    mutating func remove(_ key: ObjectIdentifier) {
        requests[key] = nil
    }

    /// Handles the timer: returns the expired requests, and the time at which the timer must fire next.
    ///
    /// The requests stay in the table until they are answered and removed.
    mutating func expire(at now: Duration) -> (expired: [Request], next: Duration?) {
        let expired = requests.filter { $0.value.deadline <= now }
        for key in expired.keys {
            requests[key] = nil
        }
        let next = requests.values.map(\.deadline).min()
        timerIsSet = next != nil
        return (expired.values.map(\.request), next)
    }

    /// Ends the table with the session: returns every waiting request, and refuses later ones.
    mutating func stop() -> [Request] {
        isStopped = true
        defer { requests = [:] }
        return requests.values.map(\.request)
    }
}

// MARK: - Failed reads

/// Reads that failed after a wait, remembered for the moment in which the kernel repeats them.
///
/// When a read through the page cache fails, the kernel at once requests its first page alone (the first request was read-ahead,
/// and the kernel ignores its error), and then the pages of other readers that waited for the same ones. Without this memory, the
/// reader of a silent file would wait for twice the deadline, and a second reader for four times the deadline.
struct FailedReads {
    private struct Failure {
        var range: Range<Int64>
        var error: Errno
        var until: Duration
    }

    /// How long a failure is remembered: the kernel repeats a read within microseconds, a user after seconds.
    static let memory = Duration.milliseconds(100)
    /// The maximum number of remembered inodes; beyond it all are dropped, and some reads wait twice.
    static let most = 1000

    private var failures: [UInt64: Failure] = [:]

    /// Whether no failure is remembered.
    var isEmpty: Bool { failures.isEmpty }

    /// Remembers that a read failed.
    mutating func remember(_ error: Errno, of read: ReadRequest, at now: Duration) {
        expire(at: now)
        if failures.count >= Self.most {
            failures = [:]
        }
        var range = read.offset..<read.offset + Int64(read.size)
        if let earlier = failures[read.inode]?.range, earlier.overlaps(range) {
            range = min(earlier.lowerBound, range.lowerBound)..<max(earlier.upperBound, range.upperBound)
        }
        failures[read.inode] = Failure(range: range, error: error, until: now + Self.memory)
    }

    /// Forgets the failures of an inode: a process that opens the inode now repeats no read.
    mutating func forget(_ inode: UInt64) {
        failures[inode] = nil
    }

    /// Forgets the expired failures.
    mutating func expire(at now: Duration) {
        failures = failures.filter { $0.value.until > now }
    }

    /// The error for a read of bytes that have just failed; nil if there is none.
    func error(for read: ReadRequest, at now: Duration) -> Errno? {
        guard let failure = failures[read.inode], failure.until > now, failure.range.contains(read.offset)
        else { return nil }
        return failure.error
    }
}
