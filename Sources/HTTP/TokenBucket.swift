/// The arithmetic of a token bucket with cool-downs and a queue; told the time, never asking it.
struct TokenBucket {
    /// What a waiter has to do.
    enum Decision: Equatable {
        /// The token is taken.
        case go
        /// Ask again after so long.
        case wait(Duration)
        /// No token can come before the deadline; the waiter is out of the queue.
        case tooLate
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
    private var refilled: ContinuousClock.Instant
    private(set) var closedUntil: Int64?
    /// Sorted by priority, then arrival.
    private var waiters: [Waiter] = []

    /// A full bucket; a rate of zero or less is taken for one a minute, so that nothing waits for ever.
    init(burst: Int, perSecond: Double, closedUntil: Int64?, now: ContinuousClock.Instant) {
        self.burst = Double(max(1, burst))
        self.perSecond = max(perSecond, 1.0 / 60)
        self.closedUntil = closedUntil
        tokens = self.burst
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
        if place == 0, cooling == .zero, tokens >= 1 {
            tokens -= 1
            waiters.removeFirst()
            return .go
        }
        let turn = max(cooling, duration(untilTokens: Double(place + 1)))
        guard now.advanced(by: turn) <= waiters[place].deadline else {
            waiters.remove(at: place)
            return .tooLate
        }
        // Those behind the first ask at every token, since the first may leave; a step at least, so that nobody spins.
        let step = place == 0 ? duration(untilTokens: 1) : max(duration(untilTokens: 1), .seconds(1 / perSecond))
        return .wait(max(cooling, min(turn, step), .microseconds(100)))
    }

    /// Closes until so many seconds from now, never for less than what is left; returns the new end, nil if nothing changed.
    mutating func close(forSeconds seconds: Int64, wall: Int64) -> Int64? {
        let end = wall + min(max(0, seconds), Self.longestCoolDown)
        guard seconds > 0, end > wall + coolDownSeconds(wall) else { return nil }
        closedUntil = end
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
        tokens = min(burst, tokens + (now - refilled) / .seconds(1) * perSecond)
        refilled = now
    }

    /// Time until there are so many tokens; more than the burst come too, since those ahead take theirs as they come.
    private func duration(untilTokens count: Double) -> Duration {
        tokens >= count ? .zero : .seconds((count - tokens) / perSecond)
    }

    /// A clock set back must not close for longer than any cool-down lasts.
    private func coolDownSeconds(_ wall: Int64) -> Int64 {
        closedUntil.map { min(max(0, $0 - wall), Self.longestCoolDown) } ?? 0
    }

    private func coolDown(_ wall: Int64) -> Duration {
        .seconds(coolDownSeconds(wall))
    }
}
