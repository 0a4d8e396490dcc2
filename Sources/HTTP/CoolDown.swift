/// The cool-downs of one service: until when it wants to be left alone, and who may ask then; told the time, never asking it.
///
/// After a cool-down one request goes as a probe, and the others wait for what comes of it: however many want to ask, a service
/// that still says no is asked once per cool-down.
struct CoolDown {
    /// Whether everybody may go.
    enum Trust: Equatable {
        case everybody
        /// The next to go is the probe.
        case nobodyYet
        /// The probe with this ticket is under way.
        case probing(Int)
    }

    /// The right to one request.
    struct Ticket: Hashable {
        let id: Int
        /// How many cool-downs had begun when it was given.
        let closings: Int
    }

    /// The longest, in seconds: a larger one is more often a mistake than a wish.
    static let longest = RetryAfter.longest
    /// Twelve doublings of a second are more than the longest.
    private static let mostDoublings = 12

    private(set) var until: Int64?
    private(set) var trust: Trust
    /// Cool-downs that have begun.
    private var closings = 0
    /// Those in a row after which the service still said no, and the ones of them for which it named no time.
    private var refusals = 0
    private var untoldRefusals = 0

    /// Set while what stands in front of the service was not seen to let anybody in again.
    private(set) var front: FrontStop?

    /// - Parameters:
    ///   - until: The end of one left over from earlier, in Unix seconds.
    ///   - front: Why it began, if it was not the service itself that asked for it.
    init(until: Int64?, front: FrontStop? = nil) {
        self.until = until
        self.front = front
        trust = until == nil ? .everybody : .nobodyYet
    }

    /// Seconds until the end of the present one; a clock set back must not make it longer than any lasts.
    func secondsLeft(_ wall: Int64) -> Int64 {
        // Both numbers come from outside: from a file and from a clock that anybody may set.
        guard let until, until > wall else { return 0 }
        let (left, overflows) = until.subtractingReportingOverflow(wall)
        let longest = front == nil ? Self.longest : FrontStop.longest
        return overflows ? longest : min(left, longest)
    }

    /// Lets a request go: as the probe, if one is due.
    mutating func letGo(_ id: Int) -> Ticket {
        if trust == .nobodyYet { trust = .probing(id) }
        return ticket(id)
    }

    /// The ticket of a request that goes whoever is trusted, and is no probe.
    func ticket(_ id: Int) -> Ticket { Ticket(id: id, closings: closings) }

    /// Ends the pause of a front: one request goes as a probe, by other means than before.
    mutating func probeAgain() {
        guard front != nil else { return }
        until = nil
        closings += 1
        trust = .nobodyYet
    }

    /// Stops everybody for what stands in front of the service: for its pause, or until another way was tried.
    ///
    /// - Parameters:
    ///   - ticket: Of the request that was turned away.
    ///   - refusal: How.
    ///   - mark: Of what it was asked with.
    ///   - hasOtherWay: Whether the next one goes another way, at once.
    ///   - wall: Unix seconds.
    /// - Returns: The end of the pause, in Unix seconds; nil if the ticket is from before the last one.
    mutating func turnAway(
        _ ticket: Ticket, _ refusal: FrontRefusal, mark: String, hasOtherWay: Bool, wall: Int64
    ) -> Int64? {
        // Many requests that were under way together are turned away together.
        guard ticket.closings == closings else { return nil }
        let step = front.map { $0.step + 1 } ?? 0
        front = FrontStop(refusal: refusal, step: hasOtherWay ? step - 1 : step, mark: mark)
        guard !hasOtherWay, let stop = front else {
            probeAgain()
            return wall
        }
        let end = wall.addingReportingOverflow(stop.seconds)
        until = end.overflow ? .max : end.partialValue
        closings += 1
        trust = .nobodyYet
        return until
    }

    /// Takes in what came of a request.
    ///
    /// - Returns: The end of a cool-down that this began or made longer, in Unix seconds.
    mutating func settle(_ ticket: Ticket, _ verdict: AnswerVerdict, wall: Int64) -> Int64? {
        // A request from before the last cool-down tells nothing of the time after it.
        let isRecent = ticket.closings == closings
        switch verdict {
        case .fine:
            guard isRecent else { return nil }
            trust = .everybody
            front = nil
            (refusals, untoldRefusals) = (0, 0)
        case .unknown:
            if trust == .probing(ticket.id) { trust = .nobodyYet }
        case .limited(let seconds, told: true):
            // A service that names too short a time again and again is asked more and more seldom.
            let least = Int64(1) << Int64(min(refusals, Self.mostDoublings))
            if isRecent {
                refusals += 1
                front = nil
            }
            return close(forSeconds: seconds > 0 ? max(seconds, least) : 0, wall: wall)
        case .limited(let seconds, told: false):
            // Many requests that were under way together are refused together: that is one refusal.
            guard isRecent else { return nil }
            let factor = Int64(1) << Int64(min(untoldRefusals, Self.mostDoublings))
            untoldRefusals += 1
            front = nil
            return close(forSeconds: min(max(0, seconds), Self.longest) * factor, wall: wall)
        }
        return nil
    }

    /// Closes until so many seconds from now, never for less than what is left; returns the new end, nil if nothing changed.
    private mutating func close(forSeconds seconds: Int64, wall: Int64) -> Int64? {
        let pause = min(seconds, Self.longest)
        let (end, overflows) = wall.addingReportingOverflow(pause)
        guard pause > 0, !overflows, pause > secondsLeft(wall) else { return nil }
        until = end
        closings += 1
        trust = .nobodyYet
        return end
    }
}

// MARK: - Pauses

/// A pause after a refusal of what stands in front of a host.
package struct FrontStop: Hashable, Sendable {
    package var refusal: FrontRefusal
    /// How many such pauses there were before, one after the other.
    package var step: Int
    /// What it was asked with (`AskingMeans.mark`): with something else it is worth a try at once.
    package var mark: String

    package init(refusal: FrontRefusal, step: Int, mark: String) {
        self.refusal = refusal
        self.step = min(max(-1, step), Self.mostSteps)
        self.mark = mark
    }

    /// Half an hour, then twice as much, up to six hours.
    ///
    /// Clearances last for half an hour, and an address that goes on asking is blocked for good.
    var seconds: Int64 { min(Self.first << Int64(max(0, step)), Self.longest) }
    private static let first: Int64 = 1800
    private static let mostSteps = 8
    static let longest: Int64 = 6 * 3600
}

/// What hosts are asked with that a user may change while the program runs.
package struct AskingMeans: Hashable, Sendable {
    /// In place of the transport's User-Agent; nil for that one.
    package var userAgent: String?
    /// Tells it from other means; nothing secret.
    package var mark: String
    /// Cookies that prove a browser's check, which go to `site` until the next check; nil for none.
    package var clearance: String?
    /// A host with its port, as in `RequestQueue.host(of:)`.
    package var site: String

    package init(userAgent: String? = nil, mark: String = "", clearance: String? = nil, site: String = "") {
        self.userAgent = userAgent
        self.mark = mark
        self.clearance = clearance
        self.site = site
    }
}

/// Until when a host is left alone, as it is kept over restarts.
package struct HostPause: Hashable, Sendable {
    /// Unix seconds.
    package var end: Int64
    /// Nil for a pause that the host itself asked for.
    package var front: FrontStop?

    package init(end: Int64, front: FrontStop? = nil) {
        self.end = end
        self.front = front
    }

    /// When it began, in Unix seconds.
    package var began: Int64 { end &- (front?.seconds ?? 0) }
}

// MARK: - Services

/// How often a service's interface may be requested.
package struct RequestRate: Sendable {
    /// Requests that may go at once.
    package var burst: Int
    /// Requests a second once the burst is spent.
    package var perSecond: Double
    /// The end of a cool-down left over from before a restart, in Unix seconds.
    package var closedUntil: Int64?

    package init(burst: Int, perSecond: Double, closedUntil: Int64? = nil) {
        self.burst = burst
        self.perSecond = perSecond
        self.closedUntil = closedUntil
    }
}

/// The requests to a service's interface that wait for their turn: a burst, then a steady rate, with cool-downs; told the time, never
/// reading a clock.
///
/// Half of a burst is left to people; while that half is not whole, half of what comes back goes to requests that nobody waits for.
struct ServiceLine {
    private struct Waiter {
        let id: Int
        let priority: TransferPriority
        let deadline: ContinuousClock.Instant
    }

    /// The shortest wait for a token, so that none is looked for again and again.
    private static let shortest = Duration.microseconds(100)

    private var tokens: SteadyPace
    /// Tokens that are left to people: half of the burst.
    private let reserve: Double
    /// Tokens that requests without a reader may take while the reserve is not whole: half of what comes back, one at a time.
    private var trickle = 0.0
    private var coolDown: CoolDown
    /// By priority, then arrival.
    private var waiters: [Waiter] = []

    /// A full bucket; a rate of zero or less is taken for one a minute, so that nothing waits for ever.
    init(_ rate: RequestRate) {
        let slowest = 1.0 / 60
        tokens = SteadyPace(
            burst: Double(max(1, rate.burst)),
            perSecond: rate.perSecond.isFinite ? max(rate.perSecond, slowest) : slowest)
        reserve = (tokens.burst / 2).rounded(.down)
        coolDown = CoolDown(until: rate.closedUntil)
    }

    /// Puts a request in its place.
    mutating func join(_ id: Int, priority: TransferPriority, deadline: ContinuousClock.Instant) {
        let index = waiters.firstIndex { $0.priority < priority } ?? waiters.endIndex
        waiters.insert(Waiter(id: id, priority: priority, deadline: deadline), at: index)
    }

    /// Takes a request out.
    mutating func leave(_ id: Int) { waiters.removeAll { $0.id == id } }

    /// The requests whose turn cannot come before their deadlines, given that none comes before `hold` has passed.
    ///
    /// - Parameters:
    ///   - hold: The time for which all of them wait for something else.
    ///   - now: Monotonic time.
    ///   - wall: Unix seconds, for the cool-down.
    /// - Returns: Their ids; they stay in line.
    mutating func late(hold: Duration, now: ContinuousClock.Instant, wall: Int64) -> [Int] {
        refill(now)
        let cooling = Duration.seconds(coolDown.secondsLeft(wall))
        var (late, ahead, unasked): ([Int], Int, Int) = ([], 0, 0)
        for waiter in waiters {
            let isUnasked = waiter.priority == .preload
            let turn = isProbed(cooling) ? .zero : turn(behind: ahead, unasked: isUnasked ? unasked + 1 : 0)
            guard waiter.deadline > now, now + max(hold, cooling, turn) <= waiter.deadline else {
                late.append(waiter.id)
                continue
            }
            ahead += 1
            if isUnasked { unasked += 1 }
        }
        return late
    }

    /// The first request, if it may go now.
    mutating func first(now: ContinuousClock.Instant, wall: Int64) -> Int? {
        guard let first = waiters.first, wait(now, wall) == .zero else { return nil }
        return first.id
    }

    /// Takes a token for the first request, which is the probe if one is due.
    mutating func go(_ id: Int) -> CoolDown.Ticket {
        if waiters.first?.priority == .preload, tokens.left < reserve + 1 { trickle -= 1 }
        tokens.take(1)
        leave(id)
        return coolDown.letGo(id)
    }

    /// Takes in the outcome of a request; a second time is without effect.
    ///
    /// - Returns: The end of a cool-down that this began or made longer, in Unix seconds.
    mutating func settle(_ ticket: CoolDown.Ticket, _ verdict: AnswerVerdict, wall: Int64) -> Int64? {
        coolDown.settle(ticket, verdict, wall: wall)
    }

    /// Gives back the token of a request that did not reach the service.
    mutating func giveBack(_ ticket: CoolDown.Ticket, wall: Int64) {
        tokens.take(-1)
        _ = settle(ticket, .unknown, wall: wall)
    }

    /// When to look again if nothing else happens; nil if nothing waits.
    mutating func wake(now: ContinuousClock.Instant, wall: Int64) -> ContinuousClock.Instant? {
        guard let deadline = waiters.map(\.deadline).min() else { return nil }
        guard let wait = wait(now, wall), wait > .zero else { return deadline }
        return min(deadline, now + max(wait, Self.shortest))
    }

    /// Tokens and the end of the present cool-down.
    mutating func state(now: ContinuousClock.Instant, wall: Int64) -> (tokens: Double, closedUntil: Int64?) {
        refill(now)
        let left = coolDown.secondsLeft(wall)
        return (tokens.left, left > 0 ? wall + left : nil)
    }

    /// How long until the first request may go; nil until a probe has ended.
    private mutating func wait(_ now: ContinuousClock.Instant, _ wall: Int64) -> Duration? {
        refill(now)
        let cooling = Duration.seconds(coolDown.secondsLeft(wall))
        if isProbed(cooling) { return nil }
        return max(cooling, turn(behind: 0, unasked: waiters.first?.priority == .preload ? 1 : 0))
    }

    private func isProbed(_ cooling: Duration) -> Bool {
        if cooling == .zero, case .probing = coolDown.trust { true } else { false }
    }

    private mutating func refill(_ now: ContinuousClock.Instant) {
        let fresh = tokens.refill(now)
        trickle = tokens.left < reserve ? min(1, trickle + fresh / 2) : 0
    }

    /// Time until there are tokens for a request and all those ahead of it.
    ///
    /// - Parameters:
    ///   - ahead: How many those are.
    ///   - unasked: How many requests without a reader there are up to this one; 0 if it has one.
    /// - Returns: The time.
    private func turn(behind ahead: Int, unasked: Int) -> Duration {
        let wanted = Double(ahead + 1)
        let turn = tokens.time(until: wanted)
        guard unasked > 0 else { return turn }
        let lacking = Double(unasked) - trickle
        let untilTrickle = lacking <= 0 ? Duration.zero : .seconds(lacking * 2 / tokens.perSecond)
        return max(turn, min(tokens.time(until: reserve + wanted), untilTrickle))
    }
}
