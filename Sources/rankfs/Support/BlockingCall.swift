import Dispatch
import Synchronization

/// Runs a call that may hang (any access to a mount) on another thread, with a time limit for the wait.
enum BlockingCall {
    /// The result, or nil if it did not come in time; the thread then stays blocked until the kernel releases it.
    ///
    /// Blocks the calling thread; must not be called from a task.
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
    /// One thread puts, one takes; the mutex guards the value, the semaphore signals that it is there.
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

    /// Runs a task from an ordinary thread, waits for its end, and returns its result.
    ///
    /// Blocks the calling thread, which must not be a thread of the task pool.
    static func wait<Result: Sendable>(for work: @escaping @Sendable () async -> Result) -> Result {
        let box = Box<Result>()
        Task.detached { box.put(await work()) }
        while true {
            if let result = box.take(within: .seconds(3600)) { return result }
        }
    }
}
