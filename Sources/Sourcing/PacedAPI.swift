package import HTTP
package import Rankings

/// Asks a service's API: every request passes the gate, has a deadline, and tells the gate what came of it.
///
/// What an answer means is for the source's module to say.
///
/// ## Concurrency
///
/// A value of immutable parts; any task may ask at any time.
package struct PacedAPI: Sendable {
    /// Sends one request, with the retries of `HTTPClient`.
    package let send: @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse
    package let gate: any RequestGate
    /// The service's name, as sentences about it begin.
    package let service: String
    /// The clock of deadlines.
    package let time: TimeSource
    /// Unix seconds, for answers that name a date.
    package let wallClock: @Sendable () -> Int64
    /// Its place among those who wait for the gate.
    package var priority = GatePriority.opening
    /// Statuses of the server's troubles with which this service refuses, so that asking again at once would be rude.
    package var finalStatuses: Set<Int> = []

    /// Bytes of an answer; the largest seen has 1 MB, a list of 100,000 numbers 2 MB.
    package static let answerBytes: Int64 = 16 << 20
    /// The pause after a refusal that names none, in seconds: limits were seen to be gone after one to two minutes.
    package static let usualPause: Int64 = 120
    /// How much longer than its deadline a request on nobody's behalf may wait for its turn: the pages of a long listing are asked
    /// for together, and its reader waits for each of them anew.
    static let unaskedPatience: Duration = .seconds(120)

    /// - Parameters:
    ///   - send: Sends one request.
    ///   - gate: Paces them.
    ///   - service: The service's name.
    ///   - time: The clock of deadlines.
    ///   - wallClock: Unix seconds.
    package init(
        send: @escaping @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse, gate: any RequestGate,
        service: String, time: TimeSource, wallClock: @escaping @Sendable () -> Int64
    ) {
        self.send = send
        self.gate = gate
        self.service = service
        self.time = time
        self.wallClock = wallClock
    }

    /// Sends a request when the gate lets it, and tells the gate what came of it.
    ///
    /// - Parameters:
    ///   - url: The whole address.
    ///   - headers: Complete header lines.
    ///   - deadline: When to give up.
    ///   - judge: What an answer tells the gate.
    /// - Returns: The answer, of whatever status, unless it is a limit.
    /// - Throws: `SourceError`; `.limited` has closed the gate before.
    package func ask(
        _ url: String, headers: [String], deadline: ContinuousClock.Instant,
        judge: (HTTPResponse) -> GateVerdict
    ) async throws(SourceError) -> (response: HTTPResponse, verdict: GateVerdict) {
        let response: HTTPResponse
        let verdict: GateVerdict
        do throws(HTTPError) {
            let asked = time.now()
            let ticket = try await passGate(by: deadline)
            var outcome = GateVerdict.unknown
            defer { gate.settle(ticket, outcome) }
            // What waited for others to go first has its time from now on.
            let deadline =
                RequestUrgency.isBackground
                ? max(deadline, time.now().advanced(by: asked.duration(to: deadline))) : deadline
            var request = HTTPRequest(
                url: url, headers: headers, priority: .reader, transferClass: .metadata, deadline: deadline,
                bodyLimit: Self.answerBytes, acceptsCompression: true, purpose: .api)
            request.finalStatuses = finalStatuses
            do throws(HTTPError) {
                response = try await send(request)
            } catch {
                if case .turnedAway = error { outcome = .unsent }
                throw error
            }
            outcome = judge(response)
            verdict = outcome
        } catch {
            throw SourceError(error, of: service)
        }
        if case .limited(let seconds, let told) = verdict { throw .limited(retryAfter: told ? seconds : nil) }
        return (response, verdict)
    }

    /// Waits for the gate: last of all with what nobody waits for, until somebody does.
    private func passGate(by deadline: ContinuousClock.Instant) async throws(HTTPError) -> GateTicket {
        let urgency = Urgency.current
        guard RequestUrgency.isBackground, urgency?.priority != .reader else {
            return try await gate.pass(priority, deadline: deadline)
        }
        let asked = time.now()
        let pass = { @Sendable [gate] () async throws(HTTPError) in
            try await gate.pass(.unasked, deadline: deadline.advanced(by: Self.unaskedPatience))
        }
        guard let urgency else { return try await pass() }
        do throws(HTTPError) {
            return try await urgency.untilRaised(pass)
        } catch {
            guard error == .cancelled, urgency.priority == .reader, !Task.isCancelled else { throw error }
            return try await gate.pass(priority, deadline: time.now().advanced(by: asked.duration(to: deadline)))
        }
    }

    /// The pause that an answer asks for, or the usual one.
    package func limit(_ head: HTTPAnswer) -> GateVerdict {
        .limited(by: head, usual: Self.usualPause, now: wallClock())
    }
}

extension SourceError {
    /// What a failed transfer means for who asked.
    ///
    /// - Parameters:
    ///   - error: How it failed.
    ///   - service: The service's name.
    package init(_ error: HTTPError, of service: String) {
        self =
            switch error {
            case .unreachable(let reason), .broken(let reason), .untrusted(let reason): .unreachable(reason)
            case .timedOut: .timedOut
            case .invalidAnswer(let reason), .redirectRefused(let reason), .refused(let reason): .unreadable(reason)
            case .tooLarge: .unreadable("\(service)'s answer is larger than \(PacedAPI.answerBytes >> 20) MiB.")
            case .limited(let seconds): .limited(retryAfter: seconds)
            case .turnedAway(let reason): .turnedAway(reason)
            case .exhausted(let reason): .exhausted(reason)
            case .offline: .offline
            case .cancelled: .cancelled
            }
    }
}
