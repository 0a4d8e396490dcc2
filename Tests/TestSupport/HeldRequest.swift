package import Rankings
import Dispatch
package import HTTP
import Synchronization

/// One request of a `HeldTransport`, answered by the test.
///
/// ## Concurrency
///
/// Any thread may call; the steps of one request run one after another on the transport's queue. A step must not be
/// called from within a sink.
package final class HeldRequest: Sendable {
    private struct State {
        var finished = false
        var cancelled = false
        var watchers: [CheckedContinuation<Void, Never>] = []
        var priorityWatchers: [(TransferPriority, CheckedContinuation<Void, Never>)] = []
    }

    private let transfer: Transfer
    private let queue: DispatchQueue
    private let state = Mutex(State())

    init(_ transfer: Transfer, queue: DispatchQueue) {
        self.transfer = transfer
        self.queue = queue
    }

    /// What was asked.
    package var request: HTTPRequest { transfer.request }

    /// The priority at present, after every `setPriority`.
    package var priority: TransferPriority { transfer.priority }

    /// Whether `cancel` was called before the end.
    package var isCancelled: Bool { state.withLock { $0.cancelled } }

    /// Whether the sink has been told the end.
    package var isFinished: Bool { state.withLock { $0.finished } }

    /// Lets the request leave the queue.
    package func begin() {
        _ = step { transfer in
            transfer.begun()
            return true
        }
    }

    /// Gives status and headers; false if the sink refused them or the request has ended.
    @discardableResult
    package func head(_ status: Int, _ headers: [(name: String, value: String)] = []) -> Bool {
        step { $0.head(HTTPAnswer(status: status, headers: headers)) }
    }

    /// Gives some of the body; false if the sink refused it or the request has ended.
    @discardableResult
    package func body(_ bytes: [UInt8]) -> Bool {
        step { transfer in unsafe bytes.withUnsafeBytes { unsafe transfer.body($0) } }
    }

    /// Ends the request, by default well.
    package func finish(_ result: Result<Void, Failure> = .success(())) {
        queue.sync { end(result) }
    }

    /// Ends the request with an error.
    package func fail(_ error: Failure) {
        finish(.failure(error))
    }

    /// Gives a whole answer with its `content-length`.
    package func respond(status: Int = 200, headers: [(name: String, value: String)] = [], body bytes: [UInt8] = []) {
        let length = (name: "content-length", value: String(bytes.count))
        guard head(status, headers.contains { $0.name == length.name } ? headers : headers + [length]) else { return }
        if request.method == .get, !bytes.isEmpty {
            guard body(bytes) else { return }
        }
        finish()
    }

    /// Gives a whole answer whose head says more than a status and headers.
    package func respond(_ head: HTTPAnswer, body bytes: [UInt8]) {
        guard step({ $0.head(head) }), body(bytes) else { return }
        finish()
    }

    /// Returns once the request was cancelled or has ended, and the sink knows it.
    package func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let ended = state.withLock { state in
                if !state.finished { state.watchers.append(continuation) }
                return state.finished
            }
            if ended { continuation.resume() }
        }
    }

    /// Returns once the priority is this one.
    package func waitForPriority(_ priority: TransferPriority) async {
        await withCheckedContinuation { continuation in
            let reached = state.withLock { state in
                let isReached = transfer.priority == priority
                if !isReached { state.priorityWatchers.append((priority, continuation)) }
                return isReached
            }
            if reached { continuation.resume() }
        }
    }

    /// Follows what its owner does; called once it is known to the transport.
    func follow() {
        transfer.carry { [self] _ in changed() }
    }

    private func changed() {
        let priority = transfer.priority
        let (satisfied, isCancelled) = state.withLock { state in
            let satisfied = state.priorityWatchers.filter { $0.0 == priority }
            state.priorityWatchers.removeAll { $0.0 == priority }
            if transfer.isCancelled, !state.finished { state.cancelled = true }
            return (satisfied, state.cancelled)
        }
        for watcher in satisfied { watcher.1.resume() }
        if isCancelled { queue.async { [self] in end(.failure(.cancelled)) } }
    }

    private func step(_ call: (Transfer) -> Bool) -> Bool {
        queue.sync {
            guard !isFinished, !isCancelled else { return false }
            let wanted = call(transfer)
            if !wanted { end(.failure(.cancelled)) }
            return wanted
        }
    }

    /// Runs on the queue.
    private func end(_ result: Result<Void, Failure>) {
        let first = state.withLock { state in
            defer { state.finished = true }
            return !state.finished
        }
        guard first else { return }
        transfer.end(result)
        let watchers = state.withLock { state in
            defer { state.watchers = [] }
            return state.watchers
        }
        for watcher in watchers { watcher.resume() }
    }
}
