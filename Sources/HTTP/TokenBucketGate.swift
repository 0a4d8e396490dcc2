/// A token bucket: a burst first, then a steady rate, with cool-downs.
package final class TokenBucketGate: RequestGate {
    /// - Parameters:
    ///   - burst: Requests that may go at once.
    ///   - perSecond: Requests a second once the burst is spent.
    ///   - closedUntil: A cool-down left over from before a restart, in Unix seconds.
    ///   - now: Wall clock in Unix seconds, for cool-downs.
    ///   - onClose: Told the end of each new cool-down, in Unix seconds, to persist it.
    package init(
        burst: Int, perSecond: Double, closedUntil: Int64?, now: @escaping @Sendable () -> Int64,
        onClose: @escaping @Sendable (Int64) -> Void
    ) {
        fatalError("written by the owner of HTTP: \(burst) \(perSecond)")
    }

    package func pass(_ priority: TransferPriority, deadline: ContinuousClock.Instant) async throws(HTTPError) {
        fatalError("written by the owner of HTTP: \(priority) \(deadline)")
    }

    package func close(forSeconds seconds: Int64) {
        fatalError("written by the owner of HTTP: \(seconds)")
    }

    /// Tokens left and the end of the present cool-down, for status displays.
    package var state: (tokens: Double, closedUntil: Int64?) {
        fatalError("written by the owner of HTTP")
    }
}
