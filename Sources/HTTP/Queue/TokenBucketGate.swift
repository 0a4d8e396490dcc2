import Synchronization

/// A token bucket: a burst first, then a steady rate, with cool-downs.
///
/// Who waits longer than its deadline allows is told at once. A cool-down lasts an hour at most; after it a single request goes
/// until an answer shows that more are welcome.
///
/// ## Concurrency
///
/// Any task may call. One mutex guards the bucket; each waiter sleeps for itself and asks again when its time has come or a
/// request's end changed the outlook.
package final class TokenBucketGate: RequestGate {
    private struct State {
        var bucket: TokenBucket
        var nextID = 0
        var sleepers: [Int: Task<Void, Never>] = [:]
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
    ///   - time: Measures deadlines and waits.
    package init(
        burst: Int, perSecond: Double, closedUntil: Int64?, now: @escaping @Sendable () -> Int64,
        onClose: @escaping @Sendable (Int64) -> Void, time: TimeSource = .system
    ) {
        self.time = time
        self.wallClock = now
        self.onClose = onClose
        let bucket = TokenBucket(burst: burst, perSecond: perSecond, closedUntil: closedUntil, now: time.now())
        guarded = Mutex(State(bucket: bucket))
    }

    package func pass(
        _ priority: GatePriority, deadline: ContinuousClock.Instant
    ) async throws(HTTPError) -> GateTicket {
        let id = guarded.withLock { state in
            state.nextID += 1
            state.bucket.join(state.nextID, priority: priority, deadline: deadline)
            return state.nextID
        }
        while true {
            if Task.isCancelled { try leave(id) }
            let (now, wall) = (time.now(), wallClock())
            let (decision, changes) = guarded.withLock { state in
                (state.bucket.poll(id, now: now, wall: wall), state.bucket.changes)
            }
            switch decision {
            case .go(let ticket): return ticket
            case .tooLate: throw .timedOut
            case .wait(let duration): await sleep(id, duration, asOf: changes)
            }
        }
    }

    package func settle(_ ticket: GateTicket, _ verdict: GateVerdict) {
        let wall = wallClock()
        let (end, sleepers) = guarded.withLock { state in
            let before = state.bucket.changes
            let end = state.bucket.settle(ticket, verdict, wall: wall)
            return (end, state.bucket.changes == before ? [] : Array(state.sleepers.values))
        }
        for sleeper in sleepers { sleeper.cancel() }
        if let end { onClose(end) }
    }

    /// Sleeps so long, or until a request's end changes the outlook or the task is cancelled.
    private func sleep(_ id: Int, _ duration: Duration, asOf changes: Int) async {
        let time = time
        let sleeper = Task { _ = try? await time.sleep(duration) }
        let isCurrent = guarded.withLock { state in
            state.sleepers[id] = sleeper
            return state.bucket.changes == changes
        }
        if !isCurrent { sleeper.cancel() }
        await withTaskCancellationHandler {
            await sleeper.value
        } onCancel: {
            sleeper.cancel()
        }
        guarded.withLock { $0.sleepers[id] = nil }
    }

    /// Tokens left and the end of the present cool-down, for status displays.
    package var state: (tokens: Double, closedUntil: Int64?) {
        let (now, wall) = (time.now(), wallClock())
        return guarded.withLock { $0.bucket.state(now: now, wall: wall) }
    }

    private func leave(_ id: Int) throws(HTTPError) -> Never {
        guarded.withLock { $0.bucket.leave(id) }
        throw .cancelled
    }
}
