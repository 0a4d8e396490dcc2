import HTTP
import Rankings
internal import Synchronization

/// One task per key for any number of waiters; it is cancelled when the last waiter leaves, unless it is to be kept.
///
/// ## Concurrency
///
/// Any thread may call. Tasks are started, cancelled and waiters resumed outside the lock.
final class SharedTasks<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, Failure>
    typealias Work = @Sendable () async -> Outcome
    /// Resumed with nil where the task was withdrawn before the waiter came.
    private typealias Waiter = CheckedContinuation<Outcome?, Never>

    private struct Flight {
        let id: UInt64
        /// Whether the task continues without waiters.
        var isKept: Bool
        /// Raised when a user begins to wait.
        var urgency: Urgency?
        var task: Task<Void, Never>?
        var waiters: [UInt64: Waiter] = [:]
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var lastID: UInt64 = 0
        var isClosed = false

        mutating func newID() -> UInt64 {
            lastID += 1
            return lastID
        }
    }

    private let state = Mutex(State())

    /// The keys of the values under way.
    var keys: Set<Key> { state.withLock { Set($0.flights.keys) } }

    /// Waits for the value under a key, starting `work` unless it is under way.
    ///
    /// A background request has the `Urgency` of the present task, or that of a program that waits; it is raised when others begin to
    /// wait.
    ///
    /// - Throws: The error of the work, or `.cancelled` if the waiting task was cancelled.
    func value(for key: Key, work: @escaping Work) async throws(Failure) -> Value {
        let urgency = RequestUrgency.isBackground ? Urgency.current ?? Urgency(.walk) : nil
        return try await Urgency.$current.withValue(urgency) { await outcome(of: key, urgency, work) }.get()
    }

    private func outcome(of key: Key, _ urgency: Urgency?, _ work: @escaping Work) async -> Outcome {
        while true {
            let waiter = state.withLock { $0.newID() }
            let outcome = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    join(key, waiter: waiter, continuation, urgency, work)
                    // Cancelled before it joined: the handler below found nothing to remove.
                    if Task.isCancelled { leave(key, waiter: waiter) }
                }
            } onCancel: {
                leave(key, waiter: waiter)
            }
            if let outcome { return outcome }
        }
    }

    /// Starts the work for a key without a waiter; the urgency is raised whenever a user begins to wait.
    ///
    /// - Returns: Whether the work is under way; false once this object is closed.
    @discardableResult
    func start(_ key: Key, _ urgency: Urgency? = nil, work: @escaping Work) -> Bool {
        let (id, isClosed): (UInt64?, Bool) = state.withLock { state in
            guard !state.isClosed else { return (nil, true) }
            if state.flights[key] != nil {
                state.flights[key]?.isKept = true
                return (nil, false)
            }
            let id = state.newID()
            state.flights[key] = Flight(id: id, isKept: true, urgency: urgency)
            return (id, false)
        }
        if let id { launch(key, id, work) }
        return !isClosed
    }

    /// Withdraws the tasks of some keys that have no waiters.
    func withdraw(_ keys: [Key]) {
        let urgencies = state.withLock { state in
            keys.compactMap { key in
                state.flights[key].flatMap { $0.isKept && $0.waiters.isEmpty ? $0.urgency : nil }
            }
        }
        for urgency in urgencies { urgency.withdraw() }
    }

    /// Cancels everything; present and later waiters get `.cancelled`.
    func close() {
        let flights = state.withLock { state in
            state.isClosed = true
            defer { state.flights = [:] }
            return state.flights
        }
        for flight in flights.values {
            flight.task?.cancel()
            for waiter in flight.waiters.values { waiter.resume(returning: .failure(.cancelled)) }
        }
    }

    // MARK: -

    private func join(
        _ key: Key, waiter: UInt64, _ continuation: Waiter, _ urgency: Urgency?, _ work: @escaping Work
    ) {
        let joined: (urgency: Urgency?, new: UInt64?)? = state.withLock { state in
            guard !state.isClosed else { return nil }
            if let flight = state.flights[key] {
                state.flights[key]?.waiters[waiter] = continuation
                return (flight.urgency, nil)
            }
            let id = state.newID()
            state.flights[key] = Flight(id: id, isKept: false, urgency: urgency, waiters: [waiter: continuation])
            return (urgency, id)
        }
        guard let joined else { return continuation.resume(returning: .failure(.cancelled)) }
        if let id = joined.new { return launch(key, id, work) }
        joined.urgency?.raise(to: RequestUrgency.isBackground ? .walk : .reader)
    }

    private func launch(_ key: Key, _ id: UInt64, _ work: @escaping Work) {
        let task = Task {
            let outcome = await work()
            finish(key, id, outcome)
        }
        let isWanted = state.withLock { state in
            guard state.flights[key]?.id == id else { return false }
            state.flights[key]?.task = task
            return true
        }
        // The work has finished, or all waiters left meanwhile; cancelling a finished task does nothing.
        if !isWanted { task.cancel() }
    }

    private func finish(_ key: Key, _ id: UInt64, _ outcome: Outcome) {
        let flight = state.withLock { state -> Flight? in
            guard let flight = state.flights[key], flight.id == id else { return nil }
            state.flights[key] = nil
            return flight
        }
        guard let flight else { return }
        let isCancelled = if case .failure(.cancelled) = outcome { true } else { false }
        let isWithdrawn = isCancelled && flight.urgency?.isWithdrawn == true
        for waiter in flight.waiters.values { waiter.resume(returning: isWithdrawn ? nil : outcome) }
    }

    private func leave(_ key: Key, waiter: UInt64) {
        let (continuation, task) = state.withLock {
            state -> (Waiter?, Task<Void, Never>?) in
            guard let continuation = state.flights[key]?.waiters.removeValue(forKey: waiter) else { return (nil, nil) }
            guard let flight = state.flights[key], flight.waiters.isEmpty, !flight.isKept else {
                return (continuation, nil)
            }
            state.flights[key] = nil
            return (continuation, flight.task)
        }
        task?.cancel()
        continuation?.resume(returning: .failure(.cancelled))
    }
}

// MARK: - Background tasks

/// Tasks without waiters: pages and batches, which end early only at the close.
typealias BackgroundTasks = SharedTasks<UInt64, Void>

extension BackgroundTasks {
    /// Runs a task until this object is closed.
    ///
    /// - Returns: Whether the task runs; false once this object is closed.
    @discardableResult
    func run(_ body: @escaping @Sendable () async -> Void) -> Bool {
        start(state.withLock { $0.newID() }) {
            // A waiter of the task that began this one does not wait for this one.
            await Urgency.$current.withValue(nil) { await body() }
            return .success(())
        }
    }
}
