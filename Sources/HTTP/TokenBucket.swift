/// The arithmetic of a token bucket with cool-downs and a queue; told the time, never asking it.
///
/// After a cool-down one request goes as a probe, and the others wait for what comes of it: however many want to ask, a service
/// that still says no is asked once per cool-down.
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

    /// Whether everybody may go.
    private enum Trust: Equatable {
        case everybody
        /// The next to go is the probe.
        case nobodyYet
        /// The probe with this ticket is under way.
        case probing(Int)
    }

    private struct Waiter {
        var id: Int
        var priority: TransferPriority
        var deadline: ContinuousClock.Instant
    }

    /// The longest cool-down, in seconds: a larger one is more often a mistake than a wish.
    static let longestCoolDown = RetryAfter.longest

    private let burst: Double
    private let perSecond: Double
    private var tokens: Double
    /// What of the tokens may go to preloads: they leave half of a burst to readers, and get all that comes back.
    private var preloadTokens: Double
    private var refilled: ContinuousClock.Instant
    private(set) var closedUntil: Int64?
    private var trust: Trust {
        didSet { if trust != oldValue { changes += 1 } }
    }
    /// Goes up when those who sleep should ask again at once.
    private(set) var changes = 0
    /// Cool-downs that have begun.
    private var closings = 0
    /// Those in a row for which the service named no time.
    private var untoldClosings = 0
    /// Sorted by priority, then arrival.
    private var waiters: [Waiter] = []

    /// A full bucket; a rate of zero or less is taken for one a minute, so that nothing waits for ever.
    init(burst: Int, perSecond: Double, closedUntil: Int64?, now: ContinuousClock.Instant) {
        self.burst = Double(max(1, burst))
        self.perSecond = perSecond.isFinite ? max(perSecond, 1.0 / 60) : 1.0 / 60
        self.closedUntil = closedUntil
        trust = closedUntil == nil ? .everybody : .nobodyYet
        tokens = self.burst
        preloadTokens = Self.preloadBurst(self.burst)
        refilled = now
    }

    /// Puts a waiter in its place; `poll` it then.
    mutating func join(_ id: Int, priority: TransferPriority, deadline: ContinuousClock.Instant) {
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
        let cooling = coolDown(wall)
        if cooling == .zero, case .probing = trust { return waitForProbe(place, now: now) }
        let untilTurn = untilTurn(place)
        // With tokens for all those ahead nobody needs to wait until they have taken theirs; a probe is the first.
        if cooling == .zero, untilTurn == .zero, place == 0 || trust == .everybody {
            tokens -= 1
            if waiters[place].priority == .preload { preloadTokens -= 1 }
            waiters.remove(at: place)
            if trust == .nobodyYet { trust = .probing(id) }
            return .go(GateTicket(id: id, closings: closings))
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
        // A request from before the last cool-down tells nothing of the time after it.
        let isRecent = ticket.closings == closings
        switch verdict {
        case .fine:
            guard isRecent else { return nil }
            trust = .everybody
            untoldClosings = 0
        case .unknown:
            if trust == .probing(ticket.id) { trust = .nobodyYet }
        case .limited(let seconds, told: true):
            return close(forSeconds: seconds, wall: wall)
        case .limited(let seconds, told: false):
            // Many requests that were under way together are refused together: that is one refusal.
            guard isRecent else { return nil }
            untoldClosings += 1
            // Twelve doublings of a second are more than the longest cool-down.
            let factor = Int64(1) << Int64(min(untoldClosings - 1, 12))
            return close(forSeconds: min(max(0, seconds), Self.longestCoolDown) * factor, wall: wall)
        }
        return nil
    }

    /// Closes until so many seconds from now, never for less than what is left; returns the new end, nil if nothing changed.
    private mutating func close(forSeconds seconds: Int64, wall: Int64) -> Int64? {
        let pause = min(seconds, Self.longestCoolDown)
        let (end, overflows) = wall.addingReportingOverflow(pause)
        guard pause > 0, !overflows, pause > coolDownSeconds(wall) else { return nil }
        closedUntil = end
        closings += 1
        changes += 1
        trust = .nobodyYet
        return end
    }

    /// Tokens and the end of the present cool-down.
    mutating func state(now: ContinuousClock.Instant, wall: Int64) -> (tokens: Double, closedUntil: Int64?) {
        refill(now)
        let left = coolDownSeconds(wall)
        return (tokens, left > 0 ? wall + left : nil)
    }

    private mutating func refill(_ now: ContinuousClock.Instant) {
        guard now > refilled else { return }
        let fresh = (now - refilled) / .seconds(1) * perSecond
        tokens = min(burst, tokens + fresh)
        preloadTokens = min(Self.preloadBurst(burst), preloadTokens + fresh)
        refilled = now
    }

    /// Time until there are tokens for a waiter and all those ahead of it.
    private func untilTurn(_ place: Int) -> Duration {
        let turn = duration(untilTokens: Double(place + 1))
        guard waiters[place].priority == .preload else { return turn }
        let preloads = Double(waiters[...place].count { $0.priority == .preload })
        return max(turn, preloadTokens >= preloads ? .zero : .seconds((preloads - preloadTokens) / perSecond))
    }

    private static func preloadBurst(_ burst: Double) -> Double {
        max(1, (burst / 2).rounded(.down))
    }

    /// Time until there are so many tokens; more than the burst come too, since those ahead take theirs as they come.
    private func duration(untilTokens count: Double) -> Duration {
        tokens >= count ? .zero : .seconds((count - tokens) / perSecond)
    }

    /// A clock set back must not close for longer than any cool-down lasts.
    private func coolDownSeconds(_ wall: Int64) -> Int64 {
        // Both numbers come from outside: from a file and from a clock that anybody may set.
        guard let closedUntil, closedUntil > wall else { return 0 }
        let (left, overflows) = closedUntil.subtractingReportingOverflow(wall)
        return overflows ? Self.longestCoolDown : min(left, Self.longestCoolDown)
    }

    private func coolDown(_ wall: Int64) -> Duration {
        .seconds(coolDownSeconds(wall))
    }
}
