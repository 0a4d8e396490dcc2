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

    /// - Parameter until: The end of one left over from earlier, in Unix seconds.
    init(until: Int64?) {
        self.until = until
        trust = until == nil ? .everybody : .nobodyYet
    }

    /// Seconds until the end of the present one; a clock set back must not make it longer than any lasts.
    func secondsLeft(_ wall: Int64) -> Int64 {
        // Both numbers come from outside: from a file and from a clock that anybody may set.
        guard let until, until > wall else { return 0 }
        let (left, overflows) = until.subtractingReportingOverflow(wall)
        return overflows ? Self.longest : min(left, Self.longest)
    }

    /// Lets a request go: as the probe, if one is due.
    mutating func letGo(_ id: Int) -> GateTicket {
        if trust == .nobodyYet { trust = .probing(id) }
        return GateTicket(id: id, closings: closings)
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
            (refusals, untoldRefusals) = (0, 0)
        case .unknown:
            if trust == .probing(ticket.id) { trust = .nobodyYet }
        case .limited(let seconds, told: true):
            // A service that names too short a time again and again is asked more and more seldom.
            let least = Int64(1) << Int64(min(refusals, Self.mostDoublings))
            if isRecent { refusals += 1 }
            return close(forSeconds: seconds > 0 ? max(seconds, least) : 0, wall: wall)
        case .limited(let seconds, told: false):
            // Many requests that were under way together are refused together: that is one refusal.
            guard isRecent else { return nil }
            let factor = Int64(1) << Int64(min(untoldRefusals, Self.mostDoublings))
            untoldRefusals += 1
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
