import Posix
import Synchronization

/// Sends requests over the network.
///
/// ## Concurrency
///
/// Any thread may call. Sinks are called by one thread at a time for one request.
package protocol Transport: Sendable {
    /// How many requests one host has under way at most.
    var limits: HostLimits { get }

    /// Takes a request over and returns at once; the transfer is ended once, also after it was cancelled.
    ///
    /// The sink gets `begun` when the request goes to the network, `head` at most once, then `body` any number of times, then `finish` exactly once.
    func begin(_ transfer: Transfer)
}

extension Transport {
    /// Makes a transfer of a request and begins it.
    package func start(_ request: HTTPRequest, sink: any ResponseSink) -> Transfer {
        let transfer = Transfer(request, sink: sink)
        begin(transfer)
        return transfer
    }
}

/// A request from the moment its owner makes it to its end: what is requested, the sink of the answer, the present priority, and whether it is still wanted.
///
/// The owner changes it at any time, before it was begun as well; the transport that carries it hears of each change.
///
/// ## Concurrency
///
/// Any thread may call. One mutex guards the state; sink and carrier are called outside it.
package final class Transfer: Sendable {
    private struct State {
        var priority: TransferPriority
        var isCancelled = false
        var isEnded = false
        var carrier: (@Sendable (Transfer) -> Void)?
    }

    package let request: HTTPRequest
    package let sink: any ResponseSink
    private let state: Mutex<State>

    package init(_ request: HTTPRequest, sink: any ResponseSink) {
        self.request = request
        self.sink = sink
        state = Mutex(State(priority: request.priority))
    }

    /// The present priority.
    package var priority: TransferPriority { state.withLock { $0.priority } }

    /// Whether its owner has cancelled it.
    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Raises or lowers the priority.
    package func setPriority(_ priority: TransferPriority) {
        change { $0.priority = priority }
    }

    /// Ends the transfer; the sink gets `finish(.failure(.cancelled))` unless it has finished before.
    package func cancel() {
        change { $0.isCancelled = true }
    }

    private func change(_ change: (inout State) -> Void) {
        let carrier = state.withLock { state in
            change(&state)
            return state.carrier
        }
        carrier?(self)
    }

    // MARK: - For transports

    /// Names the carrier: `changed` is called after each change by the owner, and at once if there was one before.
    package func carry(_ changed: @escaping @Sendable (Transfer) -> Void) {
        let isChanged = state.withLock { state in
            guard !state.isEnded else { return false }
            state.carrier = changed
            return state.isCancelled || state.priority != request.priority
        }
        if isChanged { changed(self) }
    }

    /// Gives the sink the end; a second time is nothing.
    package func end(_ result: Result<Void, HTTPError>) {
        let isFirst = state.withLock { state in
            // The carrier may hold the transfer.
            state.carrier = nil
            defer { state.isEnded = true }
            return !state.isEnded
        }
        if isFirst { sink.finish(result) }
    }
}

/// The receiver of an answer.
package protocol ResponseSink: AnyObject, Sendable {
    /// The request goes to the network, where its time begins; more than once if it goes another way.
    func begun()

    /// The status line and headers of the final answer; false ends the transfer with `.cancelled`.
    func head(_ head: HTTPAnswer) -> Bool

    /// The next bytes of the body; false ends the transfer with `.cancelled`. Must not block but on a local file.
    func body(_ bytes: UnsafeRawBufferPointer) -> Bool

    /// The end: success only if the body has exactly the length that the headers promised.
    func finish(_ result: Result<Void, HTTPError>)
}

extension ResponseSink {
    package func begun() {}
}

/// Hears what becomes of requests besides their sinks: for displays and logs, without standing between.
///
/// ## Concurrency
///
/// Called on the transport's threads, before the sink is; must not block.
package protocol TransferObserver: Sendable {
    /// The head of a final answer has come.
    func answered(_ request: HTTPRequest)

    /// A request that the transport had taken has ended.
    func ended(_ request: HTTPRequest, _ outcome: TransferOutcome)
}

/// What became of a request.
package struct TransferOutcome: Sendable {
    /// The status of its answer; nil without one.
    package var status: Int?
    /// Bytes of the body.
    package var bytes: Int64
    /// From when the transport took it.
    package var duration: Duration
    /// Nil if it went well.
    package var failure: HTTPError?

    package init(status: Int? = nil, bytes: Int64 = 0, duration: Duration = .zero, failure: HTTPError? = nil) {
        self.status = status
        self.bytes = bytes
        self.duration = duration
        self.failure = failure
    }
}

/// How many requests one host has under way at once, by the slots that they take.
package struct HostLimits: Hashable, Sendable {
    /// Bodies, each on a connection of its own.
    package let bodies: TransferSlots
    /// Small answers on connections of their own.
    let connections: Int
    /// Small answers as streams of one connection: nginx's limit, which the image host has.
    ///
    /// Where a server allows fewer, libcurl 7.88 opens another connection for each one beyond them (measured: 29 of them at
    /// a limit of 100), and keeps using those.
    let streams: Int

    /// - Parameters:
    ///   - connections: Connections for bodies.
    ///   - smallAnswers: Small answers under way; nil for as many as are sane.
    package init(connections: Int, smallAnswers: Int? = nil) {
        // More than any server allows one client; of few descriptors both classes together take a quarter.
        let most = max(1, min(256, Descriptors.own.usable / 8))
        bodies = TransferSlots(all: min(connections, most))
        self.connections = min(32, most, max(1, smallAnswers ?? .max))
        streams = smallAnswers == nil ? 128 : self.connections
    }

    /// Small answers at once from a host that shares connections, does not, or has not answered yet (nil).
    ///
    /// Before it has, one with TLS gets what libcurl takes a server to allow until it hears otherwise (its
    /// DEFAULT_MAX_CONCURRENT_STREAMS), or it opens a connection for each one beyond them. They wait for one connection. If it
    /// cannot be shared, the bound on connections to one host holds (`CURLMOPT_MAX_HOST_CONNECTIONS`).
    func smallAnswers(multiplexed: Bool?, isSecure: Bool) -> Int {
        switch multiplexed {
        case true?: streams
        case nil where isSecure: min(100, streams)
        default: connections
        }
    }
}

/// How many bodies a transport carries from one host at once, each on a connection of its own; who asks for bodies shares them out.
package struct TransferSlots: Hashable, Sendable {
    /// For whoever waits.
    package let all: Int
    /// Those of them that requests may take which nobody waits for.
    package let ahead: Int

    /// Leaves a quarter of many slots, and one of few, to whoever comes and waits; of a single one others have what is left.
    package init(all: Int) {
        self.all = max(1, all)
        ahead = max(1, min(self.all - 1, max(Self.usefulAhead, self.all * 3 / 4)))
    }

    /// So many connections carry what a person at a viewer reads ahead: at 4 MiB/s each, twenty pictures a second.
    private static let usefulAhead = 7
}

// MARK: - Time

/// The monotonic clock as deadlines use it, replaceable in tests.
///
/// ## Concurrency
///
/// A value of sendable closures; any thread may call.
package struct TimeSource: Sendable {
    /// The present instant.
    package let now: @Sendable () -> ContinuousClock.Instant
    /// Waits so long; throws if the task is cancelled.
    package let sleep: @Sendable (Duration) async throws -> Void

    /// The system's clock.
    package static let system = TimeSource(ContinuousClock())

    /// A clock whose instants are comparable with deadlines.
    package init<C: Clock>(_ clock: C) where C.Instant == ContinuousClock.Instant {
        now = { clock.now }
        sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
    }
}

// MARK: - Counts

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
