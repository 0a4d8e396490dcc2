internal import Synchronization

/// What was sent for one purpose since the start, and what came of it.
///
/// A request that is redirected or tried again is counted each time that it is sent, as a server's log counts it.
package struct RequestCounts: Hashable, Sendable {
    /// Requests sent, with the method HEAD, with GET, and with PUT or DELETE.
    package var head = 0
    package var get = 0
    package var write = 0
    /// Bytes of bodies received, as the sinks got them.
    package var receivedBytes: Int64 = 0
    /// Answers: 2xx, 3xx, 429, other 4xx, 5xx.
    package var succeeded = 0
    package var redirected = 0
    package var limited = 0
    package var refused = 0
    package var serverFailed = 0
    /// Ends without a whole answer: no connection or no bytes in time, broken off, an answer that makes no sense.
    package var unreachable = 0
    package var timedOut = 0
    package var broken = 0
    package var invalid = 0
    /// Ended on this side, because nobody wanted the rest.
    package var cancelled = 0

    package init() {}

    /// Requests sent.
    package var sent: Int { head + get + write }

    mutating func answered(_ status: Int) {
        switch status {
        case ..<300: succeeded += 1
        case ..<400: redirected += 1
        case 429: limited += 1
        case ..<500: refused += 1
        default: serverFailed += 1
        }
    }

    mutating func failed(_ error: HTTPError) {
        switch error {
        case .unreachable, .untrusted, .offline: unreachable += 1
        case .timedOut: timedOut += 1
        case .broken: broken += 1
        case .invalidAnswer, .tooLarge, .redirectRefused, .refused: invalid += 1
        // Never sent, so there is nothing to count.
        case .limited, .turnedAway, .exhausted: break
        case .cancelled: cancelled += 1
        }
    }
}

/// Counts requests by purpose.
///
/// ## Concurrency
///
/// The transport's thread counts, any thread reads; the mutex guards the counts and is held for nanoseconds. What is counted is
/// counted before a sink hears of it, so that who was told can look it up.
final class RequestLedger: Sendable {
    private let counts = Mutex<[RequestPurpose: RequestCounts]>([:])

    /// The counts of each purpose, in the order of `RequestPurpose.allCases`.
    var all: [(purpose: RequestPurpose, counts: RequestCounts)] {
        let counts = counts.withLock { $0 }
        return RequestPurpose.allCases.map { (purpose: $0, counts: counts[$0] ?? RequestCounts()) }
    }

    func count(_ purpose: RequestPurpose, _ change: (inout RequestCounts) -> Void) {
        counts.withLock { change(&$0[purpose, default: RequestCounts()]) }
    }
}
