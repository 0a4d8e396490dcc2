/// A clock that stands still until a test moves it.
///
/// Its instants are those of `ContinuousClock`, so that deadlines made from it fit every interface.
///
/// ## Concurrency
///
/// Any thread may call; state is guarded by one mutex, continuations are resumed outside it.
package final class ManualClock: Clock {
    package typealias Instant = ContinuousClock.Instant

    private struct Sleeper {
        var deadline: Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: Instant
        var readings = 0
        var nextID = 0
        var sleepers: [Int: Sleeper] = [:]
        var cancelledEarly: Set<Int> = []
    }

    private let state: Watched<State>

    /// A clock that starts at some instant, by default the present one.
    package init(now: Instant = ContinuousClock.now) {
        state = Watched(State(now: now))
    }

    package var now: Instant {
        state.withLock { state in
            state.readings += 1
            return state.now
        }
    }

    /// How often the time was read.
    package var readings: Int { state.withLock { $0.readings } }
    package var minimumResolution: Duration { .nanoseconds(1) }

    /// How many tasks sleep at present.
    package var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Moves time forward and wakes those whose time has come, earliest first.
    package func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
        }
        for sleeper in due { sleeper.value.continuation.resume() }
    }

    /// Returns once at least so many tasks sleep on this clock.
    package func waitForSleepers(_ count: Int) async { await state.wait { $0.sleepers.count >= count } }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add(id: id, deadline: deadline, continuation: continuation)
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: id)
                if sleeper == nil { state.cancelledEarly.insert(id) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    private func add(id: Int, deadline: Instant, continuation: CheckedContinuation<Void, any Error>) {
        let ended: Result<Void, any Error>? = state.withLock { state in
            if state.cancelledEarly.remove(id) != nil { return .failure(CancellationError()) }
            if deadline <= state.now { return .success(()) }
            state.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
            return nil
        }
        if let ended { continuation.resume(with: ended) }
    }
}
