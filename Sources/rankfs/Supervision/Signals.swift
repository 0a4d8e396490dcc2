import Dispatch
import Glibc

/// Signals as events on a queue: handlers of C's kind could not do anything useful.
///
/// ## Concurrency
///
/// Handlers run on the queue of this object, one at a time.
final class Signals: Sendable {
    // A source that is resumed and never changed again is only kept alive by this reference.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    /// Arms handlers; must happen before mounting, because a signal before that would end the process as usual.
    init(_ handlers: [Int32: @Sendable () -> Void]) {
        let queue = DispatchQueue(label: "rankfs.signals")
        // Writing to a pipe or socket whose reader has gone is an error of that write, not the end of the process.
        _ = signal(SIGPIPE, SIG_IGN)
        unsafe sources = handlers.map { number, handler in
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler(handler: handler)
            // Until the source is registered the signal is ignored, not kept: nobody may be told of the mount before.
            let registered = DispatchSemaphore(value: 0)
            source.setRegistrationHandler { registered.signal() }
            source.resume()
            registered.wait()
            return source
        }
    }
}
