import Rankings
import HTTP
import Synchronization

/// A sink that remembers everything, and waits for the end or for some bytes.
final class Recorder: ResponseSink {
    struct Record: Sendable {
        var head: HTTPAnswer?
        var body: [UInt8] = []
        var result: Result<Void, Failure>?
        var finishes = 0
    }

    private struct State {
        var record = Record()
        var accepts = true
        var watchers: [(@Sendable (Record) -> Bool, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())
    private let onFinish: (@Sendable () -> Void)?

    init(accepts: Bool = true, onFinish: (@Sendable () -> Void)? = nil) {
        self.onFinish = onFinish
        state.withLock { $0.accepts = accepts }
    }

    var record: Record { state.withLock { $0.record } }

    func end() async -> Record {
        await wait { $0.result != nil }
        return record
    }

    func waitForBody(_ count: Int) async {
        await wait { $0.body.count >= count }
    }

    private func wait(_ condition: @escaping @Sendable (Record) -> Bool) async {
        await withCheckedContinuation { continuation in
            let now = state.withLock { state in
                if condition(state.record) { return true }
                state.watchers.append((condition, continuation))
                return false
            }
            if now { continuation.resume() }
        }
    }

    private func change(_ body: (inout Record) -> Void) -> Bool {
        let (ready, accepts) = state.withLock { state in
            body(&state.record)
            let record = state.record
            let ready = state.watchers.filter { $0.0(record) }
            state.watchers.removeAll { $0.0(record) }
            return (ready, state.accepts)
        }
        for watcher in ready { watcher.1.resume() }
        return accepts
    }

    func head(_ head: HTTPAnswer) -> Bool {
        change { $0.head = head }
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let copy = Array(bytes)
        return change { $0.body += copy }
    }

    func finish(_ result: Result<Void, Failure>) {
        onFinish?()
        _ = change { record in
            record.result = result
            record.finishes += 1
        }
    }
}

/// The kind of an outcome, without its sentence.
enum Kind: String, Sendable {
    case success, unreachable, timedOut, broken, invalidAnswer, tooLarge, redirectRefused, untrusted, unsendable,
        limited,
        turnedAway, exhausted, offline, cancelled

    init(_ result: Result<Void, Failure>?) {
        switch result {
        case nil: fatalError("no result")
        case .success: self = .success
        case .failure(.unreachable): self = .unreachable
        case .failure(.timedOut): self = .timedOut
        case .failure(.broken): self = .broken
        case .failure(.invalidAnswer): self = .invalidAnswer
        case .failure(.tooLarge): self = .tooLarge
        case .failure(.redirectRefused): self = .redirectRefused
        case .failure(.untrusted): self = .untrusted
        case .failure(.unsendable): self = .unsendable
        case .failure(.limited): self = .limited
        case .failure(.turnedAway): self = .turnedAway
        case .failure(.exhausted): self = .exhausted
        case .failure(.offline): self = .offline
        case .failure(.cancelled): self = .cancelled
        case .failure(let other): fatalError("a transfer never fails so: \(other)")
        }
    }
}
