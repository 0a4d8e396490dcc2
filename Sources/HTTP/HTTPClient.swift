import Glibc
import Synchronization

/// Whole answers with retries, for API requests, HEADs and probes.
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
    ///   - transport: The way to the network.
    ///   - policy: When to try again.
    ///   - time: Measures deadlines and waits.
    ///   - wallClock: Unix seconds, for `Retry-After` dates.
    ///   - random: Numbers from 0 to 1.
    package init(
        transport: any Transport, policy: RetryPolicy = RetryPolicy(), time: TimeSource = .system,
        wallClock: @escaping @Sendable () -> Int64 = { Int64(Glibc.time(nil)) },
        random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
    ) {
        self.transport = transport
        self.policy = policy
        self.time = time
        self.wallClock = wallClock
        self.random = random
    }

    /// Sends a request and collects the answer, with retries (jittered, inside the deadline) for broken connections and 500,
    /// 502, 503, 504; a 502 of the service's interface is tried again until the deadline.
    ///
    /// Cancelling the task cancels the transfer.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - urgency: Decides the priority in the request's place, also while it is under way.
    /// - Returns: The answer, of whatever status, also the last one when the tries are used up.
    /// - Throws: What the last try failed with.
    package func send(_ request: HTTPRequest, urgency: Urgency? = nil) async throws(HTTPError) -> HTTPResponse {
        var triesMade = 0
        while true {
            let result = await once(request, urgency)
            triesMade += 1
            let remaining = request.deadline - time.now()
            guard !request.isFinal(result),
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

    private func once(_ request: HTTPRequest, _ urgency: Urgency?) async -> Result<HTTPResponse, HTTPError> {
        var request = request
        if let urgency { request.priority = urgency.priority }
        let collector = Collector()
        let transfer = Transfer(request, sink: collector)
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
        return await urgency.whileFollowed(by: { transfer.setPriority(.reader) }, answer)
    }
}

extension HTTPRequest {
    /// Whether an answer means what it says, so that the request is not sent again.
    fileprivate func isFinal(_ result: Result<HTTPResponse, HTTPError>) -> Bool {
        if case .success(let response) = result { finalStatuses.contains(response.head.status) } else { false }
    }
}

/// The sink that collects a whole answer.
///
/// ## Concurrency
///
/// One mutex guards the answer; nothing foreign is called under it.
final class Collector: ResponseSink {
    private struct State {
        var head: HTTPAnswer?
        var body: [UInt8] = []
        var receiver: (@Sendable (Result<HTTPResponse, HTTPError>) -> Void)?
    }

    private let state = Mutex(State())

    /// Names the receiver of the answer, before the transfer begins; without one the answer is of no interest.
    func then(_ receiver: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void) {
        state.withLock { $0.receiver = receiver }
    }

    func head(_ head: HTTPAnswer) -> Bool {
        state.withLock { $0.head = head }
        return true
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // Copied outside the lock's closure, which must not hold what is borrowed for the call.
        let copy = unsafe Array(bytes)
        state.withLock { $0.body += copy }
        return true
    }

    func finish(_ result: Result<Void, HTTPError>) {
        let answer = state.withLock { state in
            defer { state = State() }
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

/// Whether and when a failed request is sent again.
///
/// Exponential back-off with full jitter: the wait before try n+1 is random between 0 and `base * 2^(n-1)`, so that many clients
/// that failed together do not come back together.
package struct RetryPolicy: Sendable {
    /// Tries in all, the first included: four fit a deadline of 15 s with waits of about 0.4 s, 0.8 s and 1.6 s at most.
    package var tries = 4
    /// The longest wait before the second try.
    package var base = Duration.milliseconds(400)
    /// The longest wait that jitter may choose.
    package var ceiling = Duration.seconds(5)

    package init() {}

    /// No second try.
    package static var once: RetryPolicy {
        var policy = RetryPolicy()
        policy.tries = 1
        return policy
    }

    /// Decides on another try.
    ///
    /// A 503 with `Retry-After` is waited for as long as it says, if that fits.
    ///
    /// - Parameters:
    ///   - result: What came of the last try.
    ///   - triesMade: Tries so far, at least 1.
    ///   - remaining: Time left until the deadline.
    ///   - random: A number from 0 to 1.
    ///   - now: Wall clock in Unix seconds, for `Retry-After` dates.
    ///   - isPatient: Whether 502 is tried again until the deadline: fronts of services say so for some seconds.
    /// - Returns: The time to wait before the next try, or nil to let the outcome stand.
    package func delay(
        after result: Result<HTTPAnswer, HTTPError>, triesMade: Int, remaining: Duration, random: Double, now: Int64,
        isPatient: Bool = false
    ) -> Duration? {
        var wait = min(base * (1 << min(triesMade - 1, 16)), ceiling) * random
        if triesMade >= tries {
            guard isPatient, tries > 1, case .success(let answer) = result, answer.status == 502 else { return nil }
            wait = ceiling * (1 + random) / 2
        }
        switch result {
        case .failure(.unreachable), .failure(.broken): break
        // What makes no sense may be what an earlier answer left on the connection; the next try comes on another one.
        case .failure(.invalidAnswer) where triesMade == 1: break
        case .success(let answer) where [500, 502, 503, 504].contains(answer.status):
            if answer.status == 503, let pause = answer.pause(now: now) { wait = .seconds(pause) }
        default: return nil
        }
        return wait < remaining ? wait : nil
    }
}

// MARK: - Connections made ahead

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
