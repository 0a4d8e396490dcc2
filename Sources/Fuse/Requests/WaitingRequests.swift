import Dispatch
import Synchronization

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
