import Dispatch
import Synchronization

/// A request that gets exactly one answer: a ``Reply`` holds it, and interrupts and deadlines act on it.
///
/// ## Concurrency
///
/// Any thread may call. Answers are delivered and tasks are cancelled outside the lock, because both run foreign code. The task
/// holds the reply and the reply holds this object; the cycle ends with the task.
final class PendingRequest: Sendable {
    private struct State {
        var phase = ReplyPhase.waiting
        /// Whether the deadline runs and the kernel's interrupts arrive.
        var isParked = false
        var task: Task<Void, Never>?
    }

    /// The queue on which interrupts take effect.
    ///
    /// libfuse reports them under its lock on the request, and cancelling may run code that answers, which takes the same lock.
    private static let interruptions = DispatchQueue(label: "fuse.interrupt")

    private let state = Mutex(State())
    private let destination: any AnswerDestination
    private let waiting: WaitingRequests?
    /// The read of this request, if its failure is to be remembered.
    private let read: ReadRequest?

    init(destination: any AnswerDestination, waiting: WaitingRequests?, read: ReadRequest? = nil) {
        self.destination = destination
        self.waiting = waiting
        self.read = read
    }

    /// Answers for the owner; false if the request had an answer already and this one was not sent.
    @discardableResult
    func answer(_ answer: Answer) -> Bool {
        conclude(with: answer) { $0.answer() }
    }

    /// Answers only if there is no answer yet: the reply was dropped, or its work threw.
    func settle(_ errno: Errno) {
        conclude(with: .failure(errno)) { $0.settle() }
    }

    /// Answers in the owner's place and cancels the work.
    func overtake(_ errno: Errno) {
        conclude(with: .failure(errno)) { $0.overtake() }
        let task = state.withLock { state in
            defer { state.task = nil }
            return state.task
        }
        task?.cancel()
    }

    /// Handles libfuse's interrupt callback: returns at once, and another thread answers EINTR.
    func interrupt() {
        Self.interruptions.async { self.overtake(.EINTR) }
    }

    /// Starts the deadline and the delivery of interrupts, once; for requests that are not answered at once.
    func park() {
        let isNew = state.withLock { state in
            guard state.phase == .waiting, !state.isParked else { return false }
            state.isParked = true
            // Under the lock: libfuse's request exists as long as it has no answer.
            destination.watchInterrupts(of: self)
            return true
        }
        guard isNew else { return }
        guard waiting?.add(self) ?? true else { return overtake(.EINTR) }
        // The answer may have come between the two steps, before there was an entry to remove.
        if state.withLock({ $0.phase != .waiting }) {
            waiting?.remove(self)
        }
    }

    /// Keeps the task that works on the answer, in order to cancel it.
    func keep(_ task: Task<Void, Never>) {
        let isLate = state.withLock { state in
            switch state.phase {
            case .waiting:
                state.task = task
                return false
            case .overtaken:
                return true
            case .answered:
                return false
            }
        }
        if isLate {
            task.cancel()
        }
    }

    @discardableResult
    private func conclude(with answer: Answer, _ decide: (inout ReplyPhase) -> ReplyPhase.Verdict) -> Bool {
        let (verdict, wasParked) = state.withLock { state in
            let verdict = decide(&state.phase)
            if state.phase == .answered {
                state.task = nil
            }
            return (verdict, state.isParked)
        }
        switch verdict {
        case .deliver:
            if wasParked {
                waiting?.remove(self)
                destination.unwatchInterrupts(of: self)
                if let read, case .failure(let error) = answer {
                    waiting?.remember(error, of: read)
                }
            }
            return destination.deliver(answer)
        case .discard:
            return false
        case .trap:
            preconditionFailure("A request was answered twice; the second answer was \(answer)")
        }
    }
}

/// The receiver of an answer: the kernel, or a test.
protocol AnswerDestination: Sendable {
    /// Sends the answer; false if it can no longer arrive.
    func deliver(_ answer: Answer) -> Bool

    /// Starts the delivery of the kernel's interrupts to `request`; must not call `request` before returning.
    func watchInterrupts(of request: PendingRequest)

    /// Waits for an interrupt that is being reported, and ends the delivery of interrupts.
    func unwatchInterrupts(of request: PendingRequest)
}

/// Passes every answer to a closure.
struct RecordingDestination: AnswerDestination {
    let record: @Sendable (Answer) -> Void

    func deliver(_ answer: Answer) -> Bool {
        record(answer)
        return true
    }

    func watchInterrupts(of request: PendingRequest) {}

    func unwatchInterrupts(of request: PendingRequest) {}
}
