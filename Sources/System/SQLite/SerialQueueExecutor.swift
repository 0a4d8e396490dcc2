package import Dispatch

/// Runs an actor on a serial queue of its own, so that its blocking calls keep no thread of the cooperative pool.
///
/// `DispatchSerialQueue` is an executor only on other systems. Use it so:
///
/// ```swift
/// actor Store {
///     private let executor = SerialQueueExecutor(label: "catalog")
///     nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
/// }
/// ```
///
/// ## Concurrency
///
/// Any thread may enqueue; jobs run one at a time in the order they came.
package final class SerialQueueExecutor: SerialExecutor {
    /// The queue the jobs run on.
    package let queue: DispatchQueue

    /// Makes an executor.
    ///
    /// - Parameter label: The queue's name in debuggers.
    package init(label: String) {
        queue = DispatchQueue(label: label)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Safe: a job is run exactly once, and the block keeps this executor for as long.
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    package func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}
