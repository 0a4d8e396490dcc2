import Synchronization

/// Whether somebody waits for a request that was made for nobody yet: a reader's priority from then on.
///
/// ## Concurrency
///
/// Any thread may call any method at any time. Transfers are told outside the lock.
package final class Urgency: Sendable {
    private struct State {
        var priority = TransferPriority.preload
        var transfer: (any Transfer)?
    }

    private let state = Mutex(State())

    package init() {}

    /// What the next try is sent with.
    package var priority: TransferPriority { state.withLock { $0.priority } }

    /// Somebody waits.
    package func raise() {
        let transfer = state.withLock { state in
            state.priority = .reader
            return state.transfer
        }
        transfer?.setPriority(.reader)
    }

    /// Takes the transfer of the newest try, which may have begun before the priority was raised.
    package func follow(_ transfer: any Transfer) {
        let priority = state.withLock { state in
            state.transfer = transfer
            return state.priority
        }
        if priority == .reader { transfer.setPriority(.reader) }
    }
}
