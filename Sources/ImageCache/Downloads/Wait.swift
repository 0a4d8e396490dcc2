internal import Synchronization

/// What a waiter is told.
enum WaitResult: Sendable {
    /// What was read, and the version that the reader has from now on.
    case bytes(PictureBytes, PictureVersion?)
    case length(Int64)
    /// Things changed: look again.
    case again
    case failed(ImageCacheError)
}

/// Where somebody who waits gets an answer, whether it comes before or after the waiting begins.
///
/// ## Concurrency
///
/// Any thread may answer; one task waits, once.
final class Wait: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<WaitResult, Never>)
        case answered(WaitResult)
    }

    private let state = Mutex(State.open)

    /// Whether there is an answer.
    var isAnswered: Bool {
        state.withLock { state in
            if case .answered = state { true } else { false }
        }
    }

    /// Gives the answer; the first one counts.
    func answer(_ result: WaitResult) {
        let waiting = state.withLock { state -> CheckedContinuation<WaitResult, Never>? in
            switch state {
            case .open:
                state = .answered(result)
                return nil
            case .awaited(let continuation):
                state = .answered(result)
                return continuation
            case .answered: return nil
            }
        }
        waiting?.resume(returning: result)
    }

    /// Suspends until there is an answer.
    var result: WaitResult {
        get async {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> WaitResult? in
                    if case .answered(let result) = state { return result }
                    state = .awaited(continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        }
    }
}
