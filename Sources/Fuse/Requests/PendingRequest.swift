import Dispatch
import Synchronization

/// One request that is to be answered once: what a ``Reply`` holds, and what interrupts and deadlines act on.
///
/// ## Concurrency
///
/// Any thread. Answers are delivered and tasks are cancelled outside the lock, because both run other people's code.
/// The task holds the reply and the reply holds this object: the circle ends when the task does.
final class PendingRequest: Sendable {
    private struct State {
        var phase = ReplyPhase.waiting
        /// The deadline runs and the kernel's interrupts arrive.
        var isParked = false
        var task: Task<Void, Never>?
    }

    /// Interrupts are acted on here and not where libfuse reports them: that is under libfuse's lock on the request, and
    /// cancelling may run code that answers, which takes the same lock.
    private static let interruptions = DispatchQueue(label: "fuse.interrupt")

    private let state = Mutex(State())
    private let destination: any AnswerDestination
    private let waiting: WaitingRequests?
    /// The read that this is, if its failure is to be remembered.
    private let read: ReadRequest?

    init(destination: any AnswerDestination, waiting: WaitingRequests?, read: ReadRequest? = nil) {
        self.destination = destination
        self.waiting = waiting
        self.read = read
    }

    /// The owner's one answer; false if somebody else was first and it was not sent.
    @discardableResult
    func answer(_ answer: Answer) -> Bool {
        conclude(with: answer) { $0.answer() }
    }

    /// An answer only if there is none yet: the reply was dropped, or its work threw.
    func settle(_ errno: Errno) {
        conclude(with: .failure(errno)) { $0.settle() }
    }

    /// An answer in the owner's place, and the end of the work.
    func overtake(_ errno: Errno) {
        conclude(with: .failure(errno)) { $0.overtake() }
        let task = state.withLock { state in
            defer { state.task = nil }
            return state.task
        }
        task?.cancel()
    }

    /// What libfuse's interrupt callback does: returns at once, and EINTR is answered from another thread.
    func interrupt() {
        Self.interruptions.async { self.overtake(.EINTR) }
    }

    /// Starts the deadline and lets interrupts in, once; for requests that are not answered on the spot.
    func park() {
        let isNew = state.withLock { state in
            guard state.phase == .waiting, !state.isParked else { return false }
            state.isParked = true
            // Under the lock: as long as nobody has answered, libfuse's request exists.
            destination.watchInterrupts(of: self)
            return true
        }
        guard isNew else { return }
        guard waiting?.add(self) ?? true else { return overtake(.EINTR) }
        // The answer may have come between the two steps, and then found nothing to remove.
        if state.withLock({ $0.phase != .waiting }) {
            waiting?.remove(self)
        }
    }

    /// Keeps the task that works on the answer, to cancel it.
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

/// Where an answer goes: the kernel, or a test.
protocol AnswerDestination: Sendable {
    /// Sends the answer; false if it can no longer arrive.
    func deliver(_ answer: Answer) -> Bool

    /// From now on the kernel's interrupts reach `request`; must not call it back before returning.
    func watchInterrupts(of request: PendingRequest)

    /// Waits for an interrupt that is being reported; none is reported afterwards.
    func unwatchInterrupts(of request: PendingRequest)
}

/// Hands every answer to a closure.
struct RecordingDestination: AnswerDestination {
    let record: @Sendable (Answer) -> Void

    func deliver(_ answer: Answer) -> Bool {
        record(answer)
        return true
    }

    func watchInterrupts(of request: PendingRequest) {}

    func unwatchInterrupts(of request: PendingRequest) {}
}
