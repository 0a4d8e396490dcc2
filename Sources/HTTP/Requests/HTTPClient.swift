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

    package init(transport: any Transport) {
        self.init(
            transport: transport, policy: RetryPolicy(), time: .system, wallClock: { Int64(Glibc.time(nil)) },
            random: { Double.random(in: 0...1) })
    }

    /// A client with its own idea of time and chance, for tests.
    ///
    /// - Parameters:
    ///   - transport: The way to the network.
    ///   - policy: When to try again.
    ///   - time: Measures deadlines and waits.
    ///   - wallClock: Unix seconds, for `Retry-After` dates.
    ///   - random: Numbers from 0 to 1.
    package init(
        transport: any Transport, policy: RetryPolicy, time: TimeSource, wallClock: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable () -> Double
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
        let collector = Collector()
        var request = request
        if let urgency { request.priority = urgency.priority }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                collector.wait(continuation)
                let transfer = transport.start(request, sink: collector)
                collector.started(transfer)
                urgency?.follow(transfer)
            }
        } onCancel: {
            collector.cancel()
        }
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

/// Collects one answer for one waiting task.
///
/// ## Concurrency
///
/// The task's, the canceller's and the transport's thread meet here; one mutex guards all, nothing foreign is called under it.
private final class Collector: ResponseSink {
    private struct State {
        var head: HTTPAnswer?
        var body: [UInt8] = []
        var continuation: CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>?
        var transfer: (any Transfer)?
        var cancelled = false
    }

    private let state = Mutex(State())

    func wait(_ continuation: CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>) {
        state.withLock { $0.continuation = continuation }
    }

    /// Remembers the transfer to cancel; one that was cancelled before it began is cancelled now.
    func started(_ transfer: any Transfer) {
        let cancelled = state.withLock { state in
            // After the end there is nothing to cancel, and keeping it would keep both alive.
            if state.continuation != nil { state.transfer = transfer }
            return state.cancelled
        }
        if cancelled { transfer.cancel() }
    }

    func cancel() {
        let transfer = state.withLock { state in
            state.cancelled = true
            return state.transfer
        }
        transfer?.cancel()
    }

    func head(_ head: HTTPAnswer) -> Bool {
        state.withLock { state in
            state.head = head
            return !state.cancelled
        }
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // Copied outside the lock's closure, which must not hold what is borrowed for the call.
        let copy = unsafe Array(bytes)
        return state.withLock { state in
            state.body += copy
            return !state.cancelled
        }
    }

    func finish(_ result: Result<Void, HTTPError>) {
        let (continuation, answer) = state.withLock { state in
            defer {
                state.continuation = nil
                state.transfer = nil
            }
            let answer: Result<HTTPResponse, HTTPError> = result.flatMap {
                guard let head = state.head else {
                    return .failure(.invalidAnswer("The transport reported success without an answer."))
                }
                return .success(HTTPResponse(head: head, body: state.body))
            }
            return (state.continuation, answer)
        }
        continuation?.resume(returning: answer)
    }
}
