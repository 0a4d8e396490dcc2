import Synchronization

/// A token bucket: a burst first, then a steady rate, with cool-downs.
///
/// Who waits longer than its deadline allows is told at once. A cool-down lasts an hour at most.
///
/// ## Concurrency
///
/// Any task may call. One mutex guards the bucket; each waiter sleeps for itself and asks again.
package final class TokenBucketGate: RequestGate {
    private struct State {
        var bucket: TokenBucket
        var nextID = 0
    }

    private let guarded: Mutex<State>
    private let time: TimeSource
    private let wallClock: @Sendable () -> Int64
    private let onClose: @Sendable (Int64) -> Void

    /// - Parameters:
    ///   - burst: Requests that may go at once.
    ///   - perSecond: Requests a second once the burst is spent.
    ///   - closedUntil: A cool-down left over from before a restart, in Unix seconds.
    ///   - now: Wall clock in Unix seconds, for cool-downs.
    ///   - onClose: Told the end of each new cool-down, in Unix seconds, to persist it.
    package convenience init(
        burst: Int, perSecond: Double, closedUntil: Int64?, now: @escaping @Sendable () -> Int64,
        onClose: @escaping @Sendable (Int64) -> Void
    ) {
        self.init(
            burst: burst, perSecond: perSecond, closedUntil: closedUntil, now: now, onClose: onClose, time: .system)
    }

    /// A gate with a clock of its own, for tests.
    package init(
        burst: Int, perSecond: Double, closedUntil: Int64?, now: @escaping @Sendable () -> Int64,
        onClose: @escaping @Sendable (Int64) -> Void, time: TimeSource
    ) {
        self.time = time
        self.wallClock = now
        self.onClose = onClose
        let bucket = TokenBucket(burst: burst, perSecond: perSecond, closedUntil: closedUntil, now: time.now())
        guarded = Mutex(State(bucket: bucket))
    }

    package func pass(_ priority: TransferPriority, deadline: ContinuousClock.Instant) async throws(HTTPError) {
        let id = guarded.withLock { state in
            state.nextID += 1
            state.bucket.join(state.nextID, priority: priority, deadline: deadline)
            return state.nextID
        }
        while true {
            if Task.isCancelled { return try leave(id) }
            let (now, wall) = (time.now(), wallClock())
            switch guarded.withLock({ $0.bucket.poll(id, now: now, wall: wall) }) {
            case .go: return
            case .tooLate: throw .timedOut
            case .wait(let duration):
                do {
                    try await time.sleep(duration)
                } catch {
                    try leave(id)
                }
            }
        }
    }

    package func close(forSeconds seconds: Int64) {
        let wall = wallClock()
        if let end = guarded.withLock({ $0.bucket.close(forSeconds: seconds, wall: wall) }) { onClose(end) }
    }

    /// Tokens left and the end of the present cool-down, for status displays.
    package var state: (tokens: Double, closedUntil: Int64?) {
        let (now, wall) = (time.now(), wallClock())
        return guarded.withLock { $0.bucket.state(now: now, wall: wall) }
    }

    private func leave(_ id: Int) throws(HTTPError) {
        guarded.withLock { $0.bucket.leave(id) }
        throw .cancelled
    }
}
