package import HTTP
package import Rankings

/// Asks a service's API: every request says how it is paced, and what its answer tells of the service's patience.
///
/// What an answer means is for the source's module to say.
///
/// ## Concurrency
///
/// A value of immutable parts; any task may ask at any time.
package struct PacedAPI: Sendable {
    /// Sends one request, with the retries of `HTTPClient`.
    package let send: @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse
    /// The service's name, as sentences about it begin.
    package let service: String
    /// Unix seconds, for answers that name a date.
    package let wallClock: @Sendable () -> Int64
    /// Its place among those who wait for their turn: the further pages of what somebody opened are `.shown`.
    package var priority = TransferPriority.reader
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
    ///   - service: The service's name.
    ///   - wallClock: Unix seconds.
    package init(
        send: @escaping @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse, service: String,
        wallClock: @escaping @Sendable () -> Int64
    ) {
        self.send = send
        self.service = service
        self.wallClock = wallClock
    }

    /// Sends a request when it has its turn: last of all with what nobody waits for, until somebody does.
    ///
    /// - Parameters:
    ///   - url: The whole address.
    ///   - headers: Complete header lines.
    ///   - deadline: When to give up.
    ///   - judge: What an answer tells of the service's patience.
    /// - Returns: The answer, of whatever status, unless it is a limit.
    /// - Throws: `SourceError`; after `.limited` the service is left alone.
    package func ask(
        _ url: String, headers: [String], deadline: ContinuousClock.Instant,
        judge: @escaping @Sendable (HTTPResponse) -> AnswerVerdict
    ) async throws(SourceError) -> (response: HTTPResponse, verdict: AnswerVerdict) {
        var request = HTTPRequest(
            url: url, headers: headers, priority: priority, transferClass: .metadata, deadline: deadline,
            bodyLimit: Self.answerBytes, acceptsCompression: true, purpose: .api)
        request.finalStatuses = finalStatuses
        request.judge = judge
        if RequestUrgency.isBackground { request.patience = Self.unaskedPatience }
        let response: HTTPResponse
        do throws(HTTPError) {
            response = try await send(request)
        } catch {
            throw SourceError(error, of: service)
        }
        let verdict = judge(response)
        if case .limited(let seconds, let told) = verdict { throw .limited(retryAfter: told ? seconds : nil) }
        return (response, verdict)
    }

    /// The pause that an answer asks for, or the usual one.
    package func limit(_ head: HTTPAnswer) -> AnswerVerdict {
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
