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
