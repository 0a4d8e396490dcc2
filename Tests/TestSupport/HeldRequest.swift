package import Rankings
import Dispatch
package import HTTP

/// One request of a `HeldTransport`, answered by the test.
///
/// ## Concurrency
///
/// Any thread may call; the steps of one request run one after another on the transport's queue. A step must not be
/// called from within a sink.
package final class HeldRequest: Sendable {
    private struct State {
        var priority: TransferPriority
        var finished = false
        /// Whether the sink knows the end.
        var isTold = false
        var cancelled = false
    }

    private let transfer: Transfer
    private let queue: DispatchQueue
    private let state: Watched<State>

    init(_ transfer: Transfer, queue: DispatchQueue) {
        self.transfer = transfer
        self.queue = queue
        state = Watched(State(priority: transfer.priority))
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
    package func waitForEnd() async { await state.wait { $0.isTold } }

    /// Returns once the priority is this one.
    package func waitForPriority(_ priority: TransferPriority) async { await state.wait { $0.priority == priority } }

    /// Follows what its owner does; called once it is known to the transport.
    func follow() {
        transfer.carry { [self] _ in changed() }
        state.withLock { $0.priority = transfer.priority }
    }

    private func changed() {
        let isCancelled = state.withLock { state in
            state.priority = transfer.priority
            if transfer.isCancelled, !state.finished { state.cancelled = true }
            return state.cancelled
        }
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
        state.withLock { $0.isTold = true }
    }
}
