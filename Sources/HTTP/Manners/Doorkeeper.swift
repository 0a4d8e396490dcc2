import Synchronization

/// A request as its owner sees it.
final class HeldTransfer: Transfer {
    private let id: Int
    private let door: CoolDownTransport

    init(id: Int, door: CoolDownTransport) {
        self.id = id
        self.door = door
    }

    func setPriority(_ priority: TransferPriority) { door.setPriority(id, priority) }
    func cancel() { door.cancel(id) }
}

/// Looks at an answer before its sink does, and keeps refusals to itself.
///
/// ## Concurrency
///
/// Called on the transport's thread, one call at a time.
final class Doorkeeper: ResponseSink {
    private let id: Int
    private let door: CoolDownTransport
    private let sink: any ResponseSink
    /// Of the transport's thread alone.
    private struct Held {
        var isRefused = false
        /// Of what may be a front's: what came so far, before anybody else saw it.
        var head: HTTPAnswer?
        var text: [UInt8] = []
    }

    private let answer = Mutex(Held())

    init(id: Int, door: CoolDownTransport, sink: any ResponseSink) {
        self.id = id
        self.door = door
        self.sink = sink
    }

    func begun() { sink.begun() }

    func head(_ head: HTTPAnswer) -> Bool {
        switch FrontPage.look(head) {
        case .none: return pass(head)
        case .needsText:
            answer.withLock { $0.head = head }
            return true
        case .refusal(let refusal):
            answer.withLock { $0.isRefused = true }
            door.turnedAway(id, refusal, by: head.family)
            return false
        }
    }

    /// Shows a head to the sink unless it is a refusal, whose text is read to the end, so that the connection is kept.
    private func pass(_ head: HTTPAnswer) -> Bool {
        guard door.answered(id, head) else {
            answer.withLock { $0.isRefused = true }
            return true
        }
        return sink.head(head)
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (isRefused, isHeld) = answer.withLock { ($0.isRefused, $0.head != nil) }
        if isRefused { return true }
        guard isHeld else { return unsafe sink.body(bytes) }
        // No longer than any text of an error (`AnswerCheck.errorBodyLimit`).
        let copy = unsafe Array(bytes)
        answer.withLock { $0.text += copy }
        return true
    }

    func finish(_ result: Result<Void, HTTPError>) {
        let (head, text) = answer.withLock { answer in
            defer { answer.head = nil }
            return (answer.head, answer.text)
        }
        var result = result
        if let head {
            if let refusal = FrontPage.refusal(head, text: text) {
                answer.withLock { $0.isRefused = true }
                door.turnedAway(id, refusal, by: head.family)
            } else if pass(head), !answer.withLock({ $0.isRefused }) {
                if !(unsafe text.withUnsafeBytes { unsafe sink.body($0) }) { result = .failure(.cancelled) }
            } else if !answer.withLock({ $0.isRefused }) {
                result = .failure(.cancelled)
            }
        }
        if answer.withLock({ $0.isRefused }) {
            door.refused(id)
        } else if let result = door.ended(id, result) {
            sink.finish(result)
        }
    }
}
