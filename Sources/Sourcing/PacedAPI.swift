package import HTTP
package import Rankings

/// Sends requests to a service's API; each request carries its pacing and the interpretation of its answer as a rate limit.
///
/// The source's module interprets the answers themselves.
///
/// ## Concurrency
///
/// A value of immutable parts; any task may send requests at any time.
package struct PacedAPI: Sendable {
    /// Sends one request, with the retries of `HTTPClient`.
    package let send: @Sendable (HTTPRequest) async throws(Failure) -> HTTPResponse
    /// The service's name, in the form that begins a sentence.
    package let service: String
    /// The wall clock in Unix seconds, for answers that name a date.
    package let wallClock: @Sendable () -> Int64
    /// Statuses of server trouble by which this service refuses a request; they are not retried at once.
    private let finalStatuses: Set<Int>
    /// The time at which each request is given up.
    private var deadline = TimeSource.system.now()
    /// The priority in the request queue.
    private var priority = TransferPriority.reader

    /// The most bytes of an answer; the largest seen has 1 MB, a list of 100,000 numbers 2 MB.
    package static let answerBytes: Int64 = 16 << 20
    /// The cool-down after a refusal that names none, in seconds: limits were seen to be gone after one to two minutes.
    package static let usualPause: Int64 = 120
    /// The time beyond its deadline for which a background request may wait for its turn.
    ///
    /// The pages of a long listing are requested together, and its reader waits for each of them anew.
    static let unaskedPatience: Duration = .seconds(120)

    /// - Parameters:
    ///   - send: Sends one request.
    ///   - service: The service's name.
    ///   - finalStatuses: Statuses of server trouble by which this service refuses a request.
    ///   - wallClock: The wall clock in Unix seconds.
    package init(
        send: @escaping @Sendable (HTTPRequest) async throws(Failure) -> HTTPResponse, service: String,
        finalStatuses: Set<Int> = [], wallClock: @escaping @Sendable () -> Int64
    ) {
        self.send = send
        self.service = service
        self.finalStatuses = finalStatuses
        self.wallClock = wallClock
    }

    /// Limits the requests of one query: for a page of a listing, or for a record.
    ///
    /// - Parameters:
    ///   - page: The number of the page; further pages come after directories that users open (Semantics, "Folder manners").
    ///   - deadline: The time at which each request is given up.
    /// - Returns: A copy that sends such requests.
    package func asking(page: Int = 1, by deadline: ContinuousClock.Instant) -> PacedAPI {
        var api = self
        api.deadline = deadline
        api.priority = page > 1 ? .shown : .reader
        return api
    }

    /// Sends a request when its turn comes; a background request is sent last, until a reader waits for it.
    ///
    /// - Parameters:
    ///   - url: The whole address.
    ///   - headers: Complete header lines.
    ///   - judge: Interprets an answer as a rate limit.
    /// - Returns: The answer, of any status, unless it is a rate limit.
    /// - Throws: `Failure`; after `.limited` the caller sends no further request to the service for the cool-down.
    package func ask(
        _ url: String, headers: [String], judge: @escaping @Sendable (HTTPResponse) -> AnswerVerdict
    ) async throws(Failure) -> (response: HTTPResponse, verdict: AnswerVerdict) {
        var request = HTTPRequest(
            url: url, headers: headers, priority: priority, transferClass: .metadata, deadline: deadline,
            bodyLimit: Self.answerBytes, acceptsCompression: true, purpose: .api)
        request.finalStatuses = finalStatuses
        request.judge = judge
        if RequestUrgency.isBackground { request.patience = Self.unaskedPatience }
        let response: HTTPResponse
        do throws(Failure) {
            response = try await send(request)
        } catch {
            throw error.ofWhole(
                tooLarge: "\(service)'s answer is larger than \(PacedAPI.answerBytes >> 20) MiB.")
        }
        let verdict = judge(response)
        if case .limited(let seconds, let told) = verdict { throw .limited(retryAfter: told ? seconds : nil) }
        return (response, verdict)
    }

    /// Returns the cool-down that an answer names, or the usual one.
    package func limit(_ head: HTTPAnswer) -> AnswerVerdict {
        .limited(by: head, usual: Self.usualPause, now: wallClock())
    }
}
