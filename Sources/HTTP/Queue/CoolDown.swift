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

    /// The longest, in seconds: a larger one is more often a mistake than a wish.
    static let longest = RetryAfter.longest
    /// Twelve doublings of a second are more than the longest.
    private static let mostDoublings = 12

    private(set) var until: Int64?
    private(set) var trust: Trust {
        didSet { if trust != oldValue { changes += 1 } }
    }
    /// Goes up when those who wait should ask again at once.
    private(set) var changes = 0
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
    mutating func letGo(_ id: Int) -> GateTicket {
        if trust == .nobodyYet { trust = .probing(id) }
        return ticket(id)
    }

    /// The ticket of a request that goes whoever is trusted, and is no probe.
    func ticket(_ id: Int) -> GateTicket { GateTicket(id: id, closings: closings) }

    /// Ends the pause of a front: one request goes as a probe, by other means than before.
    mutating func probeAgain() {
        guard front != nil else { return }
        until = nil
        closings += 1
        changes += 1
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
        _ ticket: GateTicket, _ refusal: FrontRefusal, mark: String, hasOtherWay: Bool, wall: Int64
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
        changes += 1
        trust = .nobodyYet
        return until
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
            front = nil
            (refusals, untoldRefusals) = (0, 0)
        case .unknown, .unsent:
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
        changes += 1
        trust = .nobodyYet
        return end
    }
}
