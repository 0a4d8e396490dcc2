import Dispatch
import Synchronization

/// Runs a call that may hang (anything on a mount) on a thread of its own and stops waiting for it.
enum BlockingCall {
    /// The result, or nil if it did not come in time; then the thread is left behind until the kernel lets it go.
    ///
    /// Blocks the calling thread; not for tasks.
    static func run<Result: Sendable>(within time: Duration, _ work: @escaping @Sendable () -> Result) -> Result? {
        let box = Box<Result>()
        DispatchQueue.global().async {
            let result = work()
            box.put(result)
        }
        return box.take(within: time)
    }

    /// A place for one result.
    ///
    /// ## Concurrency
    ///
    /// One thread puts, one takes; the mutex guards the value, the semaphore tells that it is there.
    private final class Box<Result: Sendable>: Sendable {
        private let value = Mutex<Result?>(nil)
        private let ready = DispatchSemaphore(value: 0)

        func put(_ result: Result) {
            value.withLock { $0 = result }
            ready.signal()
        }

        func take(within time: Duration) -> Result? {
            let milliseconds = Int(time.components.seconds * 1000 + time.components.attoseconds / 1_000_000_000_000_000)
            guard ready.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else { return nil }
            return value.withLock { $0 }
        }
    }

    /// Runs a task from an ordinary thread and waits for its end.
    ///
    /// Blocks the calling thread, which must not be a task's.
    static func wait(for work: @escaping @Sendable () async -> Void) {
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            await work()
            done.signal()
        }
        done.wait()
    }
}
