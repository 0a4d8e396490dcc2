import Rankings

/// The cool-downs of one service, and the requests that may go after them; takes the time as a parameter.
///
/// After a cool-down one request goes as a probe, and the others wait for its outcome: a service that still refuses gets one
/// request per cool-down, however many wait.
struct CoolDown {
    /// The requests that may go.
    enum Trust: Equatable {
        case everybody
        /// The next request is the probe.
        case nobodyYet
        /// The probe with this ticket is under way.
        case probing(Int)
    }

    /// The right to one request.
    struct Ticket: Hashable {
        let id: Int
        /// The number of cool-downs begun before the ticket was given.
        let closings: Int
    }

    /// The longest cool-down, in seconds: a larger number is more often a mistake than intended.
    static let longest = HTTPAnswer.longestPause
    /// Twelve doublings of a second exceed the longest cool-down.
    private static let mostDoublings = 12

    private(set) var until: Int64?
    /// The seconds that the present cool-down may last: a clock that is set back makes none longer.
    private var length: Int64
    private(set) var trust: Trust
    /// The number of cool-downs begun.
    private var closings = 0
    /// The refusals in a row after a cool-down, and those of them without a stated time.
    private var refusals = 0
    private var untoldRefusals = 0

    /// The stop by a front; nil after the front has let a request in again.
    private(set) var front: FrontStop?

    /// - Parameters:
    ///   - until: The end of a cool-down left over from an earlier run, in Unix seconds.
    ///   - front: The stop by a front that caused it; nil if the service itself requested it.
    init(until: Int64?, front: FrontStop? = nil) {
        self.until = until
        self.front = front
        length = front == nil ? Self.longest : FrontStop.longest
        trust = until == nil ? .everybody : .nobodyYet
    }

    /// The seconds left of the present cool-down; of one that a clock set back has made longer, all that it may last.
    mutating func secondsLeft(_ wall: Int64) -> Int64 {
        // Both numbers come from outside: from a file and from a clock that may be set at any time.
        guard let until, until > wall else { return 0 }
        let left = until.subtracting(saturating: wall)
        guard left > length else { return left }
        self.until = wall + length
        return length
    }

    /// Gives a request its ticket; the request is the probe if one is due.
    mutating func letGo(_ id: Int) -> Ticket {
        if trust == .nobodyYet { trust = .probing(id) }
        return ticket(id)
    }

    /// The ticket of a request that goes regardless of the trust, and is no probe.
    func ticket(_ id: Int) -> Ticket { Ticket(id: id, closings: closings) }

    /// Ends the pause of a front: one request goes as a probe, with other means than before.
    mutating func probeAgain() {
        guard front != nil else { return }
        until = nil
        closings += 1
        trust = .nobodyYet
    }

    /// Stops all requests after a refusal of a front: for its pause, or until another way was tried.
    ///
    /// - Parameters:
    ///   - ticket: The ticket of the request that was turned away.
    ///   - refusal: The kind of refusal.
    ///   - mark: The mark of the request's means.
    ///   - hasOtherWay: Whether the next request goes another way, at once.
    ///   - wall: The wall clock in Unix seconds.
    /// - Returns: The end of the pause, in Unix seconds; nil if the ticket is from before the last cool-down or pause.
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
        until = wall.adding(saturating: stop.seconds)
        length = stop.seconds
        closings += 1
        trust = .nobodyYet
        return until
    }

    /// Records the outcome of a request.
    ///
    /// - Returns: The end of a cool-down that this outcome began or extended, in Unix seconds.
    mutating func settle(_ ticket: Ticket, _ verdict: AnswerVerdict, wall: Int64) -> Int64? {
        // A request from before the last cool-down says nothing about the time after it.
        let isRecent = ticket.closings == closings
        // Its refusal may begin no cool-down: one whose clock was set back may last longer.
        if verdict != .fine, trust == .probing(ticket.id) { trust = .nobodyYet }
        switch verdict {
        case .fine:
            guard isRecent else { return nil }
            trust = .everybody
            front = nil
            (refusals, untoldRefusals) = (0, 0)
        case .unknown: break
        case .limited(let seconds, told: true):
            // A service that states too short a time again and again gets requests more and more seldom.
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

    /// Begins a cool-down of so many seconds unless the present one lasts as long; returns its end, nil if nothing changed.
    mutating func close(forSeconds seconds: Int64, wall: Int64) -> Int64? {
        let pause = min(seconds, Self.longest)
        let end = wall.adding(saturating: pause)
        guard pause > 0, pause > secondsLeft(wall) else { return nil }
        (until, length) = (end, pause)
        closings += 1
        trust = .nobodyYet
        return end
    }
}

// MARK: - Pauses

/// A pause after a refusal of a host's front.
package struct FrontStop: Hashable, Sendable {
    package var refusal: FrontRefusal
    /// The number of such pauses before this one, in a row.
    package var step: Int
    /// The mark of the refused means (`AskingMeans.mark`); other means are worth a try at once.
    package var mark: String

    package init(refusal: FrontRefusal, step: Int, mark: String) {
        self.refusal = refusal
        self.step = min(max(-1, step), Self.mostSteps)
        self.mark = mark
    }

    /// The length in seconds: half an hour, then twice as much, up to six hours.
    ///
    /// Clearances last for half an hour, and an address that continues to send requests is blocked for good.
    var seconds: Int64 { min(Self.first << Int64(max(0, step)), Self.longest) }
    private static let first: Int64 = 1800
    private static let mostSteps = 8
    static let longest: Int64 = 6 * 3600
}

/// The means of requests that a user may change while the program runs.
package struct AskingMeans: Hashable, Sendable {
    /// The User-Agent in place of the transport's; nil for the transport's own.
    package var userAgent: String?
    /// An identifier of these means; it contains no secret.
    package var mark: String
    /// The cookies that prove a browser check, which go to `site` until the next check; nil for none.
    package var clearance: String?
    /// The host of the clearance with its port, as in `RequestQueue.host(of:)`.
    package var site: String

    package init(userAgent: String? = nil, mark: String = "", clearance: String? = nil, site: String = "") {
        self.userAgent = userAgent
        self.mark = mark
        self.clearance = clearance
        self.site = site
    }
}

/// A pause of a host, as it is kept over restarts.
package struct HostPause: Hashable, Sendable {
    /// The end in Unix seconds.
    package var end: Int64
    /// The stop by a front; nil for a pause that the host itself requested.
    package var front: FrontStop?

    package init(end: Int64, front: FrontStop? = nil) {
        self.end = end
        self.front = front
    }

    /// The beginning of the pause, in Unix seconds.
    package var began: Int64 { end &- (front?.seconds ?? 0) }
}

// MARK: - Services

/// The part of a host that a cool-down closes.
package enum HostPart: String, Sendable {
    /// All requests but those to the service's interface.
    case host
    case interface
}

/// The rate limit of a service's interface.
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

/// A token bucket: a burst at once, then a steady rate; takes the time as a parameter.
package struct SteadyPace: Sendable {
    let burst: Double
    let perSecond: Double
    /// The amount that may go at once; below zero after an excess.
    private(set) var left: Double
    private var refilled: ContinuousClock.Instant?

    /// - Parameters:
    ///   - burst: The amount that may go at once.
    ///   - perSecond: The amount per second after the burst is spent; above zero.
    package init(burst: Double, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
        left = burst
    }

    /// Takes an amount, even beyond the amount left; a negative amount is given back.
    package mutating func take(_ amount: Double, now: ContinuousClock.Instant? = nil) {
        if let now { refill(now) }
        left = min(burst, left - amount)
    }

    /// The time until the taken amount has come back.
    package mutating func wait(now: ContinuousClock.Instant) -> Duration {
        refill(now)
        return time(until: 0)
    }

    /// Adds the amount that has come back, and returns it.
    @discardableResult
    mutating func refill(_ now: ContinuousClock.Instant) -> Double {
        let seconds = max(0, (now - (refilled ?? now)) / .seconds(1))
        refilled = max(refilled ?? now, now)
        left = min(burst, left + seconds * perSecond)
        return seconds * perSecond
    }

    /// The time until an amount may go; it may exceed the burst, since requests ahead take their share as it comes.
    func time(until amount: Double) -> Duration {
        left >= amount ? .zero : .seconds((amount - left) / perSecond)
    }
}

/// The waiting requests to a service's interface: a token bucket with cool-downs; takes the time as a parameter.
///
/// Half of a burst is left to readers; while that half is not whole, half of the returning tokens goes to requests without a
/// reader.
struct ServiceLine {
    /// The shortest wait for a token, so that checks do not follow each other without a pause.
    private static let shortest = Duration.microseconds(100)

    private var tokens: SteadyPace
    /// The tokens left to readers: half of the burst.
    private let reserve: Double
    /// The tokens for requests without a reader while the reserve is not whole: half of the returning ones, one at a time.
    private var trickle = 0.0
    /// The cool-downs of the service.
    var coolDown: CoolDown
    private typealias Waiter = (id: Int, priority: TransferPriority, deadline: ContinuousClock.Instant)

    /// The waiting requests by priority, then arrival.
    private var waiters: [Waiter] = []

    /// Makes a full bucket; a rate of zero or less counts as one request a minute, so that no request waits for ever.
    init(_ rate: RequestRate) {
        let slowest = 1.0 / 60
        tokens = SteadyPace(
            burst: Double(max(1, rate.burst)),
            perSecond: rate.perSecond.isFinite ? max(rate.perSecond, slowest) : slowest)
        reserve = (tokens.burst / 2).rounded(.down)
        coolDown = CoolDown(until: rate.closedUntil)
    }

    /// Inserts a request by its priority.
    mutating func join(_ id: Int, priority: TransferPriority, deadline: ContinuousClock.Instant) {
        let index = waiters.firstIndex { $0.priority < priority } ?? waiters.endIndex
        waiters.insert((id, priority, deadline), at: index)
    }

    /// Sets the deadline of a request, which keeps its place.
    mutating func setDeadline(_ id: Int, _ deadline: ContinuousClock.Instant) {
        if let index = waiters.firstIndex(where: { $0.id == id }) { waiters[index].deadline = deadline }
    }

    /// Removes a request.
    mutating func leave(_ id: Int) { waiters.removeAll { $0.id == id } }

    /// The requests whose deadlines have passed, or will have when `hold` and the cool-down have.
    ///
    /// Those ahead may leave or be raised, so nothing is foretold of the tokens.
    ///
    /// - Parameters:
    ///   - hold: The time for which all of them wait for another reason.
    ///   - now: The monotonic time.
    ///   - wall: The wall clock in Unix seconds, for the cool-down.
    /// - Returns: Their ids, and the time until there would be tokens for each, zero if it waits for something else; they stay in line.
    mutating func late(
        hold: Duration, now: ContinuousClock.Instant, wall: Int64
    ) -> [(id: Int, lacking: Duration)] {
        refill(now)
        let cooling = Duration.seconds(coolDown.secondsLeft(wall))
        var (late, unasked): ([(id: Int, lacking: Duration)], Int) = ([], 0)
        for (ahead, waiter) in waiters.enumerated() {
            if isUnasked(waiter) { unasked += 1 }
            guard waiter.deadline <= now || now + max(hold, cooling) > waiter.deadline else { continue }
            let turn = isProbed(cooling) ? .zero : turn(behind: ahead, unasked: isUnasked(waiter) ? unasked : 0)
            late.append((waiter.id, turn))
        }
        return late
    }

    private func isUnasked(_ waiter: Waiter?) -> Bool { waiter.map { $0.priority < .shown } ?? false }

    /// The first request, if it may go now.
    mutating func first(now: ContinuousClock.Instant, wall: Int64) -> Int? {
        guard let first = waiters.first, wait(now, wall) == .zero else { return nil }
        return first.id
    }

    /// Takes a token for the first request, which is the probe if one is due.
    mutating func go(_ id: Int) -> CoolDown.Ticket {
        if isUnasked(waiters.first), tokens.left < reserve + 1 { trickle -= 1 }
        tokens.take(1)
        leave(id)
        return coolDown.letGo(id)
    }

    /// Gives back the token of a request that did not reach the service.
    mutating func giveBack(_ ticket: CoolDown.Ticket, wall: Int64) {
        tokens.take(-1)
        _ = coolDown.settle(ticket, .unknown, wall: wall)
    }

    /// The time of the next check if no event comes before; nil if no request waits.
    mutating func wake(now: ContinuousClock.Instant, wall: Int64) -> ContinuousClock.Instant? {
        guard let deadline = waiters.map(\.deadline).min() else { return nil }
        guard let wait = wait(now, wall), wait > .zero else { return deadline }
        return min(deadline, now + max(wait, Self.shortest))
    }

    /// The tokens and the end of the present cool-down, in Unix seconds.
    mutating func state(now: ContinuousClock.Instant, wall: Int64) -> (tokens: Double, closedUntil: Int64?) {
        refill(now)
        let left = coolDown.secondsLeft(wall)
        return (tokens.left, left > 0 ? wall + left : nil)
    }

    /// The time until the first request may go; nil until a probe has ended.
    private mutating func wait(_ now: ContinuousClock.Instant, _ wall: Int64) -> Duration? {
        refill(now)
        let cooling = Duration.seconds(coolDown.secondsLeft(wall))
        if isProbed(cooling) { return nil }
        return max(cooling, turn(behind: 0, unasked: isUnasked(waiters.first) ? 1 : 0))
    }

    private func isProbed(_ cooling: Duration) -> Bool {
        if cooling == .zero, case .probing = coolDown.trust { true } else { false }
    }

    private mutating func refill(_ now: ContinuousClock.Instant) {
        let fresh = tokens.refill(now)
        trickle = tokens.left < reserve ? min(1, trickle + fresh / 2) : 0
    }

    /// The time until there are tokens for a request and all those ahead of it.
    ///
    /// - Parameters:
    ///   - ahead: The number of requests ahead of it.
    ///   - unasked: The number of requests without a reader up to this one; 0 if this one has a reader.
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
