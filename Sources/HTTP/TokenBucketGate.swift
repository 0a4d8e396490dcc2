import Synchronization

/// The arithmetic of a token bucket with cool-downs and a queue; told the time, never asking it.
struct TokenBucket {
    /// What a waiter has to do.
    enum Decision: Equatable {
        /// The token is taken.
        case go(GateTicket)
        /// Ask again after so long, or when a request is settled.
        case wait(Duration)
        /// No token can come before the deadline; the waiter is out of the queue.
        case tooLate
    }

    private struct Waiter {
        var id: Int
        var priority: GatePriority
        var deadline: ContinuousClock.Instant
    }

    private let burst: Double
    private let perSecond: Double
    private var tokens: Double
    /// Tokens that are left to people: half of the burst.
    private let reserve: Double
    /// What those whom nobody waits for may take while the reserve is not whole: half of what comes back, one at a time.
    private var trickle = 0.0
    private var refilled: ContinuousClock.Instant
    private var coolDown: CoolDown
    /// Tokens given back.
    private var returned = 0
    /// Sorted by priority, then arrival.
    private var waiters: [Waiter] = []

    /// A full bucket; a rate of zero or less is taken for one a minute, so that nothing waits for ever.
    init(burst: Int, perSecond: Double, closedUntil: Int64?, now: ContinuousClock.Instant) {
        self.burst = Double(max(1, burst))
        self.perSecond = perSecond.isFinite ? max(perSecond, 1.0 / 60) : 1.0 / 60
        coolDown = CoolDown(until: closedUntil)
        tokens = self.burst
        reserve = (self.burst / 2).rounded(.down)
        refilled = now
    }

    /// Puts a waiter in its place; `poll` it then.
    mutating func join(_ id: Int, priority: GatePriority, deadline: ContinuousClock.Instant) {
        let index = waiters.firstIndex { $0.priority < priority } ?? waiters.endIndex
        waiters.insert(Waiter(id: id, priority: priority, deadline: deadline), at: index)
    }

    /// Takes a waiter out that does not want to wait any longer.
    mutating func leave(_ id: Int) {
        waiters.removeAll { $0.id == id }
    }

    /// Decides for one waiter.
    ///
    /// - Parameters:
    ///   - id: A waiter that joined.
    ///   - now: Monotonic time.
    ///   - wall: Unix seconds, for cool-downs.
    /// - Returns: What the waiter does; after `go` and `tooLate` it is out of the queue.
    mutating func poll(_ id: Int, now: ContinuousClock.Instant, wall: Int64) -> Decision {
        refill(now)
        guard let place = waiters.firstIndex(where: { $0.id == id }) else { return .tooLate }
        let cooling = Duration.seconds(coolDown.secondsLeft(wall))
        if cooling == .zero, case .probing = coolDown.trust { return waitForProbe(place, now: now) }
        let untilTurn = untilTurn(place)
        // With tokens for all those ahead nobody needs to wait until they have taken theirs; a probe is the first.
        if cooling == .zero, untilTurn == .zero, place == 0 || coolDown.trust == .everybody {
            if waiters[place].priority == .unasked, tokens < reserve + 1 { trickle -= 1 }
            tokens -= 1
            waiters.remove(at: place)
            return .go(coolDown.letGo(id))
        }
        let turn = max(cooling, untilTurn)
        guard now.advanced(by: turn) <= waiters[place].deadline else {
            waiters.remove(at: place)
            return .tooLate
        }
        // Those behind the first ask at every token, since the first may leave; a step at least, so that nobody spins.
        let step = place == 0 ? untilTurn : max(duration(untilTokens: 1), .seconds(1 / perSecond))
        return .wait(max(cooling, min(turn, step), .microseconds(100)))
    }

    /// The probe's end wakes everybody; until then only the deadline counts.
    private mutating func waitForProbe(_ place: Int, now: ContinuousClock.Instant) -> Decision {
        guard now < waiters[place].deadline else {
            waiters.remove(at: place)
            return .tooLate
        }
        return .wait(waiters[place].deadline - now)
    }

    /// Takes in what came of a request.
    ///
    /// - Returns: The end of a cool-down that this began or made longer, in Unix seconds.
    mutating func settle(_ ticket: GateTicket, _ verdict: GateVerdict, wall: Int64) -> Int64? {
        if verdict == .unsent {
            tokens = min(burst, tokens + 1)
            returned += 1
        }
        return coolDown.settle(ticket, verdict, wall: wall)
    }

    /// Goes up when those who sleep should ask again at once.
    var changes: Int { coolDown.changes + returned }

    /// Tokens and the end of the present cool-down.
    mutating func state(now: ContinuousClock.Instant, wall: Int64) -> (tokens: Double, closedUntil: Int64?) {
        refill(now)
        let left = coolDown.secondsLeft(wall)
        return (tokens, left > 0 ? wall + left : nil)
    }

    private mutating func refill(_ now: ContinuousClock.Instant) {
        guard now > refilled else { return }
        let fresh = (now - refilled) / .seconds(1) * perSecond
        tokens = min(burst, tokens + fresh)
        trickle = tokens < reserve ? min(1, trickle + fresh / 2) : 0
        refilled = now
    }

    /// Time until there are tokens for a waiter and all those ahead of it.
    private func untilTurn(_ place: Int) -> Duration {
        let ahead = Double(place + 1)
        let turn = duration(untilTokens: ahead)
        guard waiters[place].priority == .unasked else { return turn }
        let wanted = Double(waiters[...place].count { $0.priority == .unasked })
        let untilTrickle = trickle >= wanted ? Duration.zero : .seconds((wanted - trickle) * 2 / perSecond)
        return max(turn, min(duration(untilTokens: reserve + ahead), untilTrickle))
    }

    /// Time until there are so many tokens; more than the burst come too, since those ahead take theirs as they come.
    private func duration(untilTokens count: Double) -> Duration {
        tokens >= count ? .zero : .seconds((count - tokens) / perSecond)
    }
}

// MARK: - The gate

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

// MARK: - What gates have in common

/// Who waits for a request to the service; more urgent ones go first.
package enum GatePriority: Int, Comparable, Sendable, CaseIterable {
    /// Nobody asked to see it: programs that count, preview or walk. Half of a burst is left to the others, and while that half is not
    /// whole, half of what comes back.
    case unasked
    /// The further pages of what somebody opened.
    case continuation
    /// What somebody opens.
    case opening

    package static func < (left: GatePriority, right: GatePriority) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// Paces requests: a token bucket plus the cool-downs that the service asks for.
package protocol RequestGate: Sendable {
    /// Waits for a token in order of priority; throws `.timedOut` if none comes before the deadline.
    ///
    /// - Returns: A ticket that must be settled once the request has ended, however it ended: others may wait for that.
    func pass(_ priority: GatePriority, deadline: ContinuousClock.Instant) async throws(HTTPError) -> GateTicket

    /// Tells what came of a request; a second time is without effect.
    func settle(_ ticket: GateTicket, _ verdict: GateVerdict)
}

/// The network of a mount that asks nobody: every request fails at once.
///
/// ## Concurrency
///
/// Any thread may call; sinks hear of the end before `begin` returns.
package struct OfflineNetwork: Transport, RequestGate {
    package init() {}

    /// Of no consequence: nothing is ever under way.
    package var limits: HostLimits { HostLimits(connections: 1) }

    package func begin(_ transfer: Transfer) { transfer.end(.failure(.offline)) }

    package func pass(
        _ priority: GatePriority, deadline: ContinuousClock.Instant
    ) async throws(HTTPError) -> GateTicket {
        throw .offline
    }

    package func settle(_ ticket: GateTicket, _ verdict: GateVerdict) {}
}
