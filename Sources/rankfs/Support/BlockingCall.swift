import Dispatch
import Synchronization

/// Runs a call that may hang (any access to a mount) on another thread, with a time limit for the wait.
enum BlockingCall {
    /// The result, or nil if it did not come in time; the thread then stays blocked until the kernel releases it.
    ///
    /// Blocks the calling thread; must not be called from a task.
    static func run<Value: Sendable, Failure: Error>(
        within time: Duration, _ work: @escaping @Sendable () throws(Failure) -> Value
    ) throws(Failure) -> Value? {
        let mailbox = Mailbox<Result<Value, Failure>>()
        DispatchQueue.global().async { mailbox.put(Result { () throws(Failure) in try work() }) }
        return try mailbox.take(within: time)?.get()
    }

    /// Runs a task from an ordinary thread, waits for its end, and returns its result.
    ///
    /// Blocks the calling thread, which must not be a thread of the task pool.
    static func wait<Value: Sendable, Failure: Error>(
        for work: @escaping @Sendable () async throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let mailbox = Mailbox<Result<Value, Failure>>()
        Task.detached {
            do throws(Failure) { mailbox.put(.success(try await work())) } catch { mailbox.put(.failure(error)) }
        }
        while true {
            if let result = mailbox.take(within: .seconds(3600)) { return try result.get() }
        }
    }
}

/// Values for one thread, in the order in which they come.
///
/// ## Concurrency
///
/// Any thread puts, one takes; the mutex guards the list, the semaphore counts its values.
final class Mailbox<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    private let ready = DispatchSemaphore(value: 0)

    func put(_ value: Value) {
        values.withLock { $0.append(value) }
        ready.signal()
    }

    /// The next value; nil if none came in time.
    ///
    /// Blocks the calling thread; must not be called from a task.
    func take(within time: Duration) -> Value? {
        guard ready.wait(timeout: .now() + .milliseconds(Int(time / .milliseconds(1)))) == .success else { return nil }
        return values.withLock { $0.removeFirst() }
    }
}
