/// Paces requests: a token bucket plus the cool-downs that the service asks for.
package protocol RequestGate: Sendable {
    /// Waits for a token in order of priority; throws `.timedOut` if none comes before the deadline.
    func pass(_ priority: TransferPriority, deadline: ContinuousClock.Instant) async throws(HTTPError)

    /// Closes the gate for so many seconds (429 with Retry-After); persisted by the owner over restarts.
    func close(forSeconds seconds: Int64)
}
