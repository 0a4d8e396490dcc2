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

/// The right to one request.
package struct GateTicket: Hashable, Sendable {
    let id: Int
    /// How many cool-downs had begun when it was given.
    let closings: Int

    package init(id: Int, closings: Int) {
        self.id = id
        self.closings = closings
    }
}

/// What a request's end tells the gate.
package enum GateVerdict: Hashable, Sendable {
    /// The service answered as it does to anybody who is welcome.
    case fine
    /// The service wants to be left alone for so many seconds.
    ///
    /// - Parameter told: Whether the service named the time; a usual one doubles each time that it was not long enough.
    case limited(seconds: Int64, told: Bool)
    /// The request was not sent after all.
    case unsent
    /// No answer that tells: cancelled, timed out, unreachable, a server in trouble.
    case unknown

    /// The verdict on an answer that asks for a pause.
    ///
    /// - Parameters:
    ///   - answer: The answer.
    ///   - usual: Seconds of the pause if it names none that can be understood.
    ///   - now: Wall clock in Unix seconds, for a date in an answer without one.
    /// - Returns: A pause of a second at least.
    package static func limited(by answer: HTTPAnswer, usual: Int64, now: Int64) -> GateVerdict {
        let pause = answer.pause(now: now).map { max($0, 1) }
        return .limited(seconds: pause ?? usual, told: pause != nil)
    }
}
