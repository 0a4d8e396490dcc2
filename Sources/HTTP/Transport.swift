package import Rankings
import System
import Synchronization

/// A carrier of requests over the network.
///
/// ## Concurrency
///
/// Any thread may call. Sinks are called by one thread at a time for one request.
package protocol Transport: Sendable {
    /// The most requests under way to one host.
    var limits: HostLimits { get }

    /// Takes over a request and returns at once; the transfer is ended once, also after a cancellation.
    ///
    /// The sink receives `begun` when the request goes to the network, `head` at most once, then `body` any number of times, then
    /// `finish` exactly once.
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

/// A request from its creation to its end, with the sink of the answer, the present priority, and the owner's cancellation.
///
/// The owner may change it at any time, also before the request begins; the transport that carries it is notified of each change.
///
/// ## Concurrency
///
/// Any thread may call. One mutex guards the state; sink and carrier are called outside it.
package final class Transfer: Sendable {
    private struct State {
        var priority: TransferPriority
        var isCancelled = false
        var isWithdrawn = false
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

    /// Whether its owner does not need it any more unless it has gone to the network.
    package var isWithdrawn: Bool { state.withLock { $0.isWithdrawn } }

    /// Raises or lowers the priority.
    package func setPriority(_ priority: TransferPriority) {
        change { $0.priority = priority }
    }

    /// Ends the transfer; the sink gets `finish(.failure(.cancelled))` unless it has finished before.
    package func cancel() {
        change { $0.isCancelled = true }
    }

    /// Ends the transfer as `cancel` does if it waits for its turn; a transfer that has gone to the network goes on.
    package func withdraw() {
        change { $0.isWithdrawn = true }
    }

    private func change(_ change: (inout State) -> Void) {
        let carrier = state.withLock { state in
            change(&state)
            return state.carrier
        }
        carrier?(self)
    }

    // MARK: - For transports

    /// Sets the carrier: `changed` is called after each change by the owner, and at once if a change came before.
    package func carry(_ changed: @escaping @Sendable (Transfer) -> Void) {
        let isChanged = state.withLock { state in
            guard !state.isEnded else { return false }
            state.carrier = changed
            return state.isCancelled || state.isWithdrawn || state.priority != request.priority
        }
        if isChanged { changed(self) }
    }

    /// Reports the end to the sink; a second call has no effect.
    package func end(_ result: Result<Void, Failure>) {
        let isFirst = state.withLock { state in
            // The carrier may hold the transfer.
            state.carrier = nil
            defer { state.isEnded = true }
            return !state.isEnded
        }
        if isFirst { sink.finish(result) }
    }
}

/// A receiver for a body that is not kept in memory; called by one thread at a time.
package protocol BodyReceiver: AnyObject, Sendable {
    /// Reports that the request goes to the network and its time begins; called again if the request is sent another way.
    func begun()

    /// Takes the status line and headers of the final answer; false ends the request with `.cancelled`.
    ///
    /// One that gets only the body gets the heads of answers below 300.
    func head(_ head: HTTPAnswer) -> Bool

    /// Takes the next bytes of the body; false ends the request with `.cancelled`. Must not block, except on a local file.
    func body(_ bytes: UnsafeRawBufferPointer) -> Bool
}

/// The receiver of an answer.
package protocol ResponseSink: BodyReceiver {
    /// Takes the end: success only if the body has exactly the announced length.
    func finish(_ result: Result<Void, Failure>)
}

extension ResponseSink {
    package func begun() {}
}

/// An observer of requests for displays and logs, independent of their sinks.
///
/// ## Concurrency
///
/// Called on the transport's threads, before the sink is; must not block.
package protocol TransferObserver: Sendable {
    /// Reports the head of a final answer.
    func answered(_ request: HTTPRequest)

    /// Reports the end of a request that the transport had taken.
    func ended(_ request: HTTPRequest, _ outcome: TransferOutcome)
}

/// The outcome of a request.
package struct TransferOutcome: Sendable {
    /// The status of the answer; nil without an answer.
    package var status: Int?
    /// The received bytes of the body.
    package var bytes: Int64 = 0
    /// The time since the transport took the request.
    package var duration: Duration = .zero
    /// The error; nil for a success.
    package var failure: Failure?
}

/// The most requests under way to one host, by the slots that they occupy.
package struct HostLimits: Hashable, Sendable {
    /// The slots of bodies, each on a connection of its own.
    package let bodies: TransferSlots
    /// The most small answers on connections of their own.
    let connections: Int
    /// The most small answers as streams of one connection: nginx's limit, which the image host has.
    ///
    /// If a server allows fewer, libcurl 7.88 opens another connection for each further stream (measured: 29 connections at a limit
    /// of 100), and keeps using those.
    let streams: Int

    /// - Parameters:
    ///   - connections: The connections for bodies.
    ///   - smallAnswers: The small answers under way; nil for a sensible maximum.
    package init(connections: Int, smallAnswers: Int? = nil) {
        // More than any server allows one client; if descriptors are few, both classes together use a quarter of them.
        let most = max(1, min(256, Descriptors.own.usable / 8))
        bodies = TransferSlots(all: min(connections, most))
        self.connections = min(32, most, max(1, smallAnswers ?? .max))
        streams = smallAnswers == nil ? 128 : self.connections
    }

    /// The most small answers at once from a host that shares connections, does not, or has not answered yet (nil).
    ///
    /// Before its first answer, a host with TLS gets the number of streams that libcurl assumes until the server announces its own
    /// (DEFAULT_MAX_CONCURRENT_STREAMS); otherwise libcurl would open a connection for each further stream. The requests wait for
    /// one connection. If it cannot be shared, the bound on connections to one host holds (`CURLMOPT_MAX_HOST_CONNECTIONS`).
    func smallAnswers(multiplexed: Bool?, isSecure: Bool) -> Int {
        switch multiplexed {
        case true?: streams
        case nil where isSecure: min(100, streams)
        default: connections
        }
    }
}

/// The slots for bodies of one host, each on a connection of its own; the owner of the bodies distributes them.
package struct TransferSlots: Hashable, Sendable {
    /// All slots, which requests with a reader may take.
    package let all: Int
    /// The slots that requests without a reader may take.
    package let ahead: Int

    /// Leaves a quarter of many slots, and one of few, to readers; a single slot is for all requests.
    package init(all: Int) {
        self.all = max(1, all)
        ahead = max(1, min(self.all - 1, max(Self.usefulAhead, self.all * 3 / 4)))
    }

    /// The connections that suffice to read ahead of a person at a viewer: at 4 MiB/s each, twenty pictures a second.
    private static let usefulAhead = 7
}

/// The network of a mount without network access: every request fails at once.
///
/// ## Concurrency
///
/// Any thread may call; sinks receive the end before `begin` returns.
package struct OfflineNetwork: Transport {
    package init() {}

    /// Without effect: no request is ever under way.
    package var limits: HostLimits { HostLimits(connections: 1) }

    package func begin(_ transfer: Transfer) { transfer.end(.failure(.offline)) }
}

// MARK: - Time

/// The monotonic clock of deadlines, replaceable in tests.
///
/// ## Concurrency
///
/// A value of sendable closures; any thread may call.
package struct TimeSource: Sendable {
    /// The present instant.
    package let now: @Sendable () -> ContinuousClock.Instant
    /// Waits for a duration; throws if the task is cancelled.
    package let sleep: @Sendable (Duration) async throws -> Void

    /// The system's clock.
    package static let system = TimeSource(ContinuousClock())

    /// Makes a source from a clock with instants that are comparable with deadlines.
    package init<C: Clock>(_ clock: C) where C.Instant == ContinuousClock.Instant {
        now = { clock.now }
        sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
    }
}

extension Task where Failure == Never {
    /// Waits for the value of the task until a moment or the caller's cancellation; the task goes on.
    ///
    /// - Parameters:
    ///   - moment: The end of the wait.
    ///   - time: The clock of the moment.
    /// - Returns: The task's value; nil if it did not come in time.
    package func value(until moment: ContinuousClock.Instant, _ time: TimeSource) async -> Success? {
        let (values, end) = AsyncStream<Success>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let timer = Task<Void, Never> {
            try? await time.sleep(moment - time.now())
            end.finish()
        }
        // Not a child of the caller: a caller that has given up does not wait for it.
        _ = Task<Void, Never> {
            end.yield(await value)
            end.finish()
        }
        defer { timer.cancel() }
        var iterator = values.makeAsyncIterator()
        return await iterator.next()
    }
}

/// A token bucket: a burst at once, then a steady rate; takes the time as a parameter.
package struct SteadyPace: Sendable {
    let burst: Double
    let perSecond: Double
    /// The amount that may go at once; below zero after an excess.
    private(set) var left: Double
    private var refilled: ContinuousClock.Instant?

    /// - Parameters:
    ///   - burst: The amount that may go at once.
    ///   - perSecond: The amount per second after the burst is spent; above zero.
    package init(burst: Double, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
        left = burst
    }

    /// Takes an amount, even beyond the amount left; a negative amount is given back.
    package mutating func take(_ amount: Double, now: ContinuousClock.Instant? = nil) {
        if let now { refill(now) }
        left = min(burst, left - amount)
    }

    /// The time until the taken amount has come back.
    package mutating func wait(now: ContinuousClock.Instant) -> Duration {
        refill(now)
        return time(until: 0)
    }

    /// Adds the amount that has come back, and returns it.
    @discardableResult
    mutating func refill(_ now: ContinuousClock.Instant) -> Double {
        let seconds = max(0, (now - (refilled ?? now)) / .seconds(1))
        refilled = max(refilled ?? now, now)
        left = min(burst, left + seconds * perSecond)
        return seconds * perSecond
    }

    /// The time until an amount may go; it may exceed the burst, since requests ahead take their share as it comes.
    func time(until amount: Double) -> Duration {
        left >= amount ? .zero : .seconds((amount - left) / perSecond)
    }
}

// MARK: - Counts

/// The requests sent for one purpose since the start, and their outcomes.
///
/// A request that is redirected or tried again is counted each time that it is sent, as in a server's log.
package struct RequestCounts: Hashable, Sendable {
    /// Requests sent, with the method HEAD, with GET, and with PUT or DELETE.
    package var head = 0
    package var get = 0
    package var write = 0
    /// Bytes of bodies received, as passed to the sinks.
    package var receivedBytes: Int64 = 0
    /// Answers: 2xx, 3xx, 429, other 4xx, 5xx.
    package var succeeded = 0
    package var redirected = 0
    package var limited = 0
    package var refused = 0
    package var serverFailed = 0
    /// Ends without a whole answer: no connection or no bytes in time, a broken connection, an invalid answer.
    package var unreachable = 0
    package var timedOut = 0
    package var broken = 0
    package var invalid = 0
    /// Transfers ended on this side, because the rest was not needed.
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

    mutating func failed(_ error: Failure) {
        switch error {
        case .unreachable, .untrusted, .offline: unreachable += 1
        case .timedOut: timedOut += 1
        case .broken: broken += 1
        case .invalidAnswer, .tooLarge, .redirectRefused, .unsendable: invalid += 1
        case .cancelled: cancelled += 1
        // Never sent, so not counted.
        default: break
        }
    }
}

/// The counts of requests by purpose.
///
/// ## Concurrency
///
/// The transport's thread counts, any thread reads; the mutex guards the counts and is held for nanoseconds. Each event is counted
/// before the sink is notified, so that the sink's owner finds it in the counts.
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
