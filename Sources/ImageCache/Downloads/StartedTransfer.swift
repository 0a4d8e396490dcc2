internal import HTTP
internal import Synchronization

/// A request from the moment in which it is decided: what is wanted of it before the transport has it is done then.
///
/// ## Concurrency
///
/// Any thread may call. The transport's transfer is called outside the lock.
final class StartedTransfer: Sendable {
    private struct State {
        var transfer: Transfer?
        var priority: TransferPriority
        var isCancelled = false
    }

    private let state: Mutex<State>

    init(_ priority: TransferPriority) {
        state = Mutex(State(priority: priority))
    }

    /// The transport has taken the request, with this priority.
    func follow(_ transfer: Transfer, sentWith priority: TransferPriority) {
        var told = priority
        while true {
            let (wanted, isCancelled) = state.withLock { state in
                state.transfer = transfer
                return (state.priority, state.isCancelled)
            }
            if isCancelled { return transfer.cancel() }
            // It may change again while it is told.
            guard wanted != told else { return }
            told = wanted
            transfer.setPriority(wanted)
        }
    }

    func setPriority(_ priority: TransferPriority) {
        let transfer = state.withLock { state in
            state.priority = priority
            return state.transfer
        }
        transfer?.setPriority(priority)
    }

    func cancel() {
        let transfer = state.withLock { state in
            state.isCancelled = true
            return state.transfer
        }
        transfer?.cancel()
    }
}
