internal import Dispatch

/// Runs work that blocks (everything that touches a mount) on a queue of its own: the cooperative pool has two threads.
///
/// The work stays within the calling task, so that an expectation knows which test it belongs to.
package func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withTaskExecutorPreference(QueueExecutor()) { try work() }
}

private final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "rankfs.test.blocking")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
