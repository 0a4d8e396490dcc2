import Dispatch
import Synchronization

/// The requests that wait for an answer, and the hard deadline that every one of them has.
///
/// ## Concurrency
///
/// Any thread. The timer fires on a Dispatch queue of its own, never on Swift's cooperative pool: that pool has as many
/// threads as CPUs, and a deadline must pass when all of them are blocked.
package final class WaitingRequests: Sendable {
    private let table = Mutex(WaitingTable<PendingRequest>())
    private let failedReads = Mutex(FailedReads())
    /// Whether any failed read is remembered: nearly never, and every read asks.
    private let hasFailedReads = Atomic(false)
    private let deadline: Duration
    private let timer: any DeadlineTimer

    /// A table whose requests are answered with ETIMEDOUT after `deadline`.
    package init(deadline: Duration, timer: any DeadlineTimer = DispatchDeadlineTimer()) {
        self.deadline = deadline
        self.timer = timer
    }

    /// Requests that wait for an answer.
    package var count: Int {
        table.withLock(\.count)
    }

    /// Answers every request that waits with EINTR, and from now on every request that would wait.
    package func stop() {
        for request in table.withLock({ $0.stop() }) {
            request.overtake(.EINTR)
        }
    }

    /// Remembers a read that failed after a wait, because the kernel is about to repeat it.
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

    /// The error of a read that has just failed after a wait.
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

/// The clock of deadlines; tests bring one that they move by hand.
package protocol DeadlineTimer: Sendable {
    /// Time since some fixed moment; it does not run while the machine is suspended.
    var now: Duration { get }

    /// Calls `action` once at or after `time`, on a thread that may block.
    func fire(at time: Duration, _ action: @escaping @Sendable () -> Void)
}

/// The machine's own clock, on a Dispatch queue.
package struct DispatchDeadlineTimer: DeadlineTimer {
    private let queue = DispatchQueue(label: "fuse.deadline")

    /// A timer with a queue of its own.
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

/// The requests that wait for an answer and when each must have it; decides, and does nothing itself.
///
/// Requests share one deadline, so the timer is set for the oldest and set again when it fires: a request that is answered
/// in time costs one insertion and one removal, and no timer of its own.
struct WaitingTable<Request> {
    private var requests: [ObjectIdentifier: (request: Request, deadline: Duration)] = [:]
    private var timerIsSet = false
    private var isStopped = false

    /// What to do once a request was added.
    enum Addition: Equatable {
        /// Nothing: the timer runs already.
        case wait
        /// Set the timer to fire at this time.
        case setTimer(at: Duration)
        /// The session ends: answer at once.
        case refuse
    }

    /// Requests that wait.
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

    /// The timer fired: the requests whose time is over, and when it has to fire next.
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

    /// The session ends: every request that waits; later ones are refused.
    mutating func stop() -> [Request] {
        isStopped = true
        defer { requests = [:] }
        return requests.values.map(\.request)
    }
}
