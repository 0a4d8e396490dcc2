import HTTP
internal import Synchronization

/// What nobody waits for: pages and batches, which are only ended at the close.
///
/// ## Concurrency
///
/// Any thread may call.
final class BackgroundTasks: Sendable {
    private let tasks = SharedTasks<UInt64, Void>()
    /// How many were begun: the number of the last one.
    private let begun = Mutex<UInt64>(0)

    /// Runs something until the tasks are closed.
    ///
    /// - Returns: Whether it runs; false once they are closed.
    @discardableResult
    func run(_ body: @escaping @Sendable () async -> Void) -> Bool {
        let number = begun.withLock { begun in
            begun &+= 1
            return begun
        }
        return tasks.start(number) {
            // Whoever comes to wait for what began this does not wait for it.
            await Urgency.$current.withValue(nil) { await body() }
            return .success(())
        }
    }

    /// Cancels all of them, and takes nothing more.
    func close() {
        tasks.close()
    }
}
