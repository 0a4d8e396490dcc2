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

/// A whole answer.
package struct HTTPResponse: Sendable {
    package var head: HTTPAnswer
    package var body: [UInt8]

    package init(head: HTTPAnswer, body: [UInt8]) {
        self.head = head
        self.body = body
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
