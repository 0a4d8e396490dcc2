import Synchronization

/// Gives free memory back to the system some time after work ended.
///
/// A walk over thousands of files leaves pages in the allocator that nothing uses any more, and glibc keeps them.
///
/// ## Concurrency
///
/// Any thread may call; one atomic tells whether a turn is due already.
final class MemoryReturn: Sendable {
    private let isDue = Atomic(false)
    private let later: @Sendable (_ seconds: Int64, _ work: @escaping @Sendable () -> Void) -> Void
    private let giveBack: @Sendable () -> Void

    /// - Parameters:
    ///   - later: Does something after so many seconds.
    ///   - giveBack: Gives the memory back.
    init(
        later: @escaping @Sendable (_ seconds: Int64, _ work: @escaping @Sendable () -> Void) -> Void,
        giveBack: @escaping @Sendable () -> Void
    ) {
        self.later = later
        self.giveBack = giveBack
    }

    /// Notes that something ended: whatever ends within a while is one turn, at the while's end.
    func noteWork() {
        guard !isDue.exchange(true, ordering: .relaxed) else { return }
        later(TreeLimits.memoryInterval) { [self] in
            isDue.store(false, ordering: .relaxed)
            giveBack()
        }
    }
}
