package import Rankings
import Glibc
import Synchronization
import System

/// A client for whole answers with retries: API requests, HEADs and probes.
///
/// ## Concurrency
///
/// A value; any task may call. Nothing blocks a thread.
package struct HTTPClient: Sendable {
    package let transport: any Transport
    private let policy: RetryPolicy
    private let time: TimeSource
    private let wallClock: @Sendable () -> Int64
    private let random: @Sendable () -> Double

    /// - Parameters:
    ///   - transport: The transport of the requests.
    ///   - policy: The rules of retries.
    ///   - time: The clock of deadlines and waits.
    ///   - wallClock: Returns Unix seconds, for `Retry-After` dates.
    ///   - random: Returns numbers from 0 to 1.
    package init(
        transport: any Transport, policy: RetryPolicy = RetryPolicy(), time: TimeSource = .system,
        wallClock: @escaping @Sendable () -> Int64 = TimeSource.wallClock,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
    ) {
        self.transport = transport
        self.policy = policy
        self.time = time
        self.wallClock = wallClock
        self.random = random
    }

    /// Sends a request and collects the answer, with retries for broken connections and for 500, 502, 503 and 504.
    ///
    /// The waits are jittered and end before the deadline; a 502 of the service's interface is tried again until the deadline.
    /// Cancelling the task cancels the transfer.
    ///
    /// - Parameters:
    ///   - request: The request; the time of a patient request begins with its turn.
    ///   - urgency: The urgency, which is the request's priority in place of its own, also while it is under way. If it is nil, a
    ///     request to a service's interface uses the urgency of the present task.
    ///   - receiver: The receiver of the body of an answer below 300; nil to keep it in memory.
    /// - Returns: The answer, of any status, also the last one after all tries.
    /// - Throws: The error of the last try.
    package func send(
        _ request: HTTPRequest, urgency: Urgency? = nil, into receiver: (any BodyReceiver)? = nil
    ) async throws(Failure) -> HTTPResponse {
        var (request, triesMade) = (request, 0)
        let urgency = urgency ?? (request.purpose == .api ? Urgency.current : nil)
        while true {
            let result = await once(&request, urgency, receiver)
            triesMade += 1
            let remaining = request.deadline - time.now()
            let isFinal = (try? result.get()).map { request.finalStatuses.contains($0.head.status) } ?? false
            guard !isFinal,
                let wait = policy.delay(
                    after: result.map(\.head), triesMade: triesMade, remaining: remaining, random: random(),
                    now: wallClock(), isPatient: request.purpose == .api)
            else { return try result.get() }
            do {
                try await time.sleep(wait)
            } catch {
                throw .cancelled
            }
        }
    }

    private func once(
        _ request: inout HTTPRequest, _ urgency: Urgency?, _ receiver: (any BodyReceiver)?
    ) async -> Result<HTTPResponse, Failure> {
        let (collector, sent) = (Collector(time.now, receiver), time.now())
        var first = request
        first.priority = urgency?.priority ?? (request.patience > .zero ? .preload : request.priority)
        let transfer = Transfer(first, sink: collector)
        defer { if request.waitsForTurn, let begun = collector.begunAt { request.deadline += begun - sent } }
        let answer = { @Sendable [transport] in
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    collector.then { continuation.resume(returning: $0) }
                    transport.begin(transfer)
                }
            } onCancel: {
                transfer.cancel()
            }
        }
        guard let urgency else { return await answer() }
        return await urgency.whileFollowed(
            by: { transfer.setPriority($0) }, withdraw: { transfer.withdraw() }, answer)
    }
}

/// A sink that collects a whole answer, or passes the body to a receiver.
///
/// ## Concurrency
///
/// One mutex guards the answer; no foreign code is called under it.
final class Collector: ResponseSink {
    private struct State {
        var head: HTTPAnswer?
        var body: [UInt8] = []
        var receiver: (@Sendable (Result<HTTPResponse, Failure>) -> Void)?
        var begunAt: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> ContinuousClock.Instant

    private let receiver: (any BodyReceiver)?

    init(_ now: @escaping @Sendable () -> ContinuousClock.Instant, _ receiver: (any BodyReceiver)? = nil) {
        self.now = now
        self.receiver = receiver
    }

    /// The time at which the request last went to the network.
    var begunAt: ContinuousClock.Instant? { state.withLock { $0.begunAt } }

    func begun() {
        let now = now()
        state.withLock { $0.begunAt = now }
        receiver?.begun()
    }

    /// Sets the receiver of the answer before the transfer begins; without a receiver the answer is dropped.
    func then(_ receiver: @escaping @Sendable (Result<HTTPResponse, Failure>) -> Void) {
        state.withLock { $0.receiver = receiver }
    }

    func head(_ head: HTTPAnswer) -> Bool {
        state.withLock { $0.head = head }
        return head.status < 300 ? receiver?.head(head) ?? true : true
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if let receiver, state.withLock({ $0.head.map { $0.status < 300 } ?? false }) {
            return unsafe receiver.body(bytes)
        }
        // Copied outside the lock's closure, which must not hold a buffer that is borrowed for the call.
        let copy = unsafe Array(bytes)
        state.withLock { $0.body += copy }
        return true
    }

    func finish(_ result: Result<Void, Failure>) {
        let answer = state.withLock { state in
            defer { (state.body, state.receiver) = ([], nil) }
            return state
        }
        answer.receiver?(
            result.flatMap {
                guard let head = answer.head else {
                    return .failure(.invalidAnswer("The transport reported success without an answer."))
                }
                return .success(HTTPResponse(head: head, body: answer.body))
            })
    }
}

// MARK: - Retries

/// The rules that decide whether and when a failed request is sent again.
///
/// Exponential back-off with full jitter: the wait before try n+1 is random between 0 and `base * 2^(n-1)`, so that many clients
/// that failed together do not come back together.
package struct RetryPolicy: Sendable {
    /// The number of tries, the first included: four fit a deadline of 15 s with waits of about 0.4 s, 0.8 s and 1.6 s at most.
    package var tries: Int
    /// The longest wait before the second try.
    package var base = Duration.milliseconds(400)
    /// The longest wait that jitter may choose.
    package var ceiling = Duration.seconds(5)

    package init(tries: Int = 4) { self.tries = tries }

    /// A policy without a second try.
    package static let once = RetryPolicy(tries: 1)

    /// Decides on another try.
    ///
    /// The wait after a 503 with `Retry-After` is the stated one, if it fits.
    ///
    /// - Parameters:
    ///   - result: The outcome of the last try.
    ///   - triesMade: The number of tries so far, at least 1.
    ///   - remaining: The time left until the deadline.
    ///   - random: A number from 0 to 1.
    ///   - now: The wall clock in Unix seconds, for `Retry-After` dates.
    ///   - isPatient: Whether a 502 is tried again until the deadline: fronts of services answer with it for some seconds.
    /// - Returns: The time to wait before the next try; nil to accept the outcome.
    package func delay(
        after result: Result<HTTPAnswer, Failure>, triesMade: Int, remaining: Duration, random: Double, now: Int64,
        isPatient: Bool = false
    ) -> Duration? {
        var wait = min(base * (1 << min(triesMade - 1, 16)), ceiling) * random
        if triesMade >= tries {
            guard isPatient, tries > 1, case .success(let answer) = result, answer.status == 502 else { return nil }
            wait = ceiling * (1 + random) / 2
        }
        switch result {
        case .failure(.unreachable), .failure(.broken): break
        // An invalid answer may be the rest of an earlier answer on the connection; the next try uses another connection.
        case .failure(.invalidAnswer) where triesMade == 1: break
        case .success(let answer) where [500, 502, 503, 504].contains(answer.status):
            if answer.status == 503, let pause = answer.pause(now: now) { wait = .seconds(pause) }
        default: return nil
        }
        return wait < remaining ? wait : nil
    }
}

// MARK: - Connections made ahead

/// Connections to an image host that are made ahead, so that the first picture need not wait for them.
///
/// libcurl makes no connection without a request, so each connection costs a HEAD at a preload's priority, and its answer is
/// ignored. Requests that come meanwhile make connections of their own.
///
/// ## Concurrency
///
/// Any thread may call.
package final class WarmConnections: Sendable {
    /// The number of connections: as many as a picture uses before its first answer, and as many as begin a burst.
    static let count = HostState.few
    /// The time for which connections are assumed to exist; libcurl keeps idle ones for a minute, most servers as long.
    static let lifetime: Duration = .seconds(30)
    /// The time limit for making a connection; a slower connection is of no use to a waiter.
    private static let patience: Duration = .seconds(8)

    private let transport: any Transport
    private let url: String
    private let headers: [String]
    private let now: @Sendable () -> ContinuousClock.Instant
    private let last = Mutex<ContinuousClock.Instant?>(nil)

    /// - Parameters:
    ///   - transport: The transport of the requests.
    ///   - url: An address on the host that is cheap to answer.
    ///   - headers: The header lines that the host expects.
    ///   - now: The clock for the age of connections.
    package init(
        _ transport: any Transport, to url: String, headers: [String],
        now: @escaping @Sendable () -> ContinuousClock.Instant = { UptimeClock.now }
    ) {
        self.transport = transport
        self.url = url
        self.headers = headers
        self.now = now
    }

    /// Makes the connections unless it did so a moment ago.
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
                    deadline: now + Self.patience, bodyLimit: 0, purpose: .connection), sink: Collector(self.now))
        }
    }
}

// MARK: - Urgency

/// The urgency of work: the priority of its requests, which rises when a reader comes to wait for it.
///
/// ## Concurrency
///
/// Any thread may call any method at any time. Followers are called outside the lock.
package final class Urgency: Sendable {
    private struct State {
        var priority: TransferPriority
        var isWithdrawn = false
        var lastFollower = 0
        var followers: [Int: (hurry: @Sendable (TransferPriority) -> Void, withdraw: @Sendable () -> Void)] = [:]
    }

    /// The urgency of requests that the present task makes without a reader; nil where no reader can come.
    @TaskLocal package static var current: Urgency?

    private let state: Mutex<State>

    package init(_ priority: TransferPriority = .preload) {
        state = Mutex(State(priority: priority))
    }

    /// The priority of the next try.
    package var priority: TransferPriority { state.withLock { $0.priority } }

    /// Whether the work was withdrawn before a reader came.
    package var isWithdrawn: Bool { state.withLock { $0.isWithdrawn } }

    /// Records that somebody waits, or waits anew, and calls all followers; has no effect below the present priority.
    package func raise(to priority: TransferPriority = .reader) {
        let followers = state.withLock { state -> [@Sendable (TransferPriority) -> Void] in
            guard priority >= state.priority else { return [] }
            state.priority = priority
            return state.followers.values.map(\.hurry)
        }
        for hurry in followers { hurry(priority) }
    }

    /// Gives the work up as far as it has not gone to the network; has no effect once a reader waits.
    package func withdraw() {
        let followers = state.withLock { state in
            state.isWithdrawn = state.isWithdrawn || state.priority != .reader
            return state.priority == .reader ? [] : Array(state.followers.values)
        }
        for follower in followers { follower.withdraw() }
    }

    /// Runs a body; calls `hurry` with each priority above that of a preload, and `withdraw` when the work is withdrawn, at once if
    /// that is so already.
    package func whileFollowed<Value: Sendable>(
        by hurry: @escaping @Sendable (TransferPriority) -> Void, withdraw: @escaping @Sendable () -> Void = {},
        _ body: @Sendable () async -> Value
    ) async -> Value {
        let (follower, priority, isWithdrawn) = state.withLock { state in
            state.lastFollower += 1
            state.followers[state.lastFollower] = (hurry, withdraw)
            return (state.lastFollower, state.priority, state.isWithdrawn && state.priority != .reader)
        }
        if priority > .preload { hurry(priority) }
        if isWithdrawn { withdraw() }
        defer { state.withLock { _ = $0.followers.removeValue(forKey: follower) } }
        return await body()
    }
}
