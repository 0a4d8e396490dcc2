import Synchronization

/// Makes connections to a host of pictures while something else is waited for, so that the first picture need not.
///
/// libcurl makes none without a request, so each costs a HEAD whose answer is of no interest, at a preload's priority. What is
/// asked for meanwhile makes connections of its own.
///
/// ## Concurrency
///
/// Any thread may call.
package final class WarmConnections: Sendable {
    /// As many as a picture takes before its first answer; a burst begins with so many.
    static let count = HostState.few
    /// Connections are taken to be there for so long; libcurl keeps idle ones for a minute, servers mostly as long.
    static let lifetime: Duration = .seconds(30)
    /// How long the making may take; what is slower is of no use to who waits.
    private static let patience: Duration = .seconds(8)

    private let transport: any Transport
    private let url: String
    private let headers: [String]
    private let now: @Sendable () -> ContinuousClock.Instant
    private let last = Mutex<ContinuousClock.Instant?>(nil)

    /// - Parameters:
    ///   - transport: The way to the network.
    ///   - url: An address on the host that costs it nothing.
    ///   - headers: Header lines that the host wants to see.
    ///   - now: Measures how long ago connections were made.
    package init(
        _ transport: any Transport, to url: String, headers: [String],
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.transport = transport
        self.url = url
        self.headers = headers
        self.now = now
    }

    /// Makes the connections unless that was done a moment ago.
    ///
    /// Returns at once.
    package func make() {
        let now = now()
        let isTime = last.withLock { last in
            if let last, now - last < Self.lifetime { return false }
            last = now
            return true
        }
        guard isTime else { return }
        for _ in 0..<min(Self.count, transport.limits.bodies.ahead) {
            _ = transport.start(
                HTTPRequest(
                    method: .head, url: url, headers: headers, priority: .preload, transferClass: .bulk,
                    deadline: now + Self.patience, bodyLimit: 0, purpose: .connection), sink: Collector())
        }
    }
}
