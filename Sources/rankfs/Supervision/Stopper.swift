import Dispatch
import Fuse
import Glibc
import Synchronization

/// Ends a mount on request: answers what waits, unmounts, and makes sure that the process is gone in time.
///
/// ## Concurrency
///
/// Any thread may call. The mutex guards the session and whether stopping was asked for; nothing is called under it.
final class Stopper: Sendable {
    private struct State {
        var session: Session?
        var isStopping = false
    }

    /// From SIGTERM to unmounted: Semantics promises 5 s ("Nothing hangs"), and half a second is for the way out.
    private static let patience: Duration = .milliseconds(4500)

    private let state = Mutex(State())
    private let mountPoint: String
    private let onStop: @Sendable () -> Void

    /// - Parameters:
    ///   - mountPoint: What the watchdog detaches.
    ///   - onStop: Called once, when stopping begins.
    init(mountPoint: String, onStop: @escaping @Sendable () -> Void) {
        self.mountPoint = mountPoint
        self.onStop = onStop
    }

    /// The session to stop; if stopping was asked for while it was being mounted, it stops at once.
    func attach(_ session: Session) {
        let isStopping = state.withLock { state in
            state.session = session
            return state.isStopping
        }
        if isStopping { session.stop() }
    }

    /// Begins to stop; further calls do nothing.
    func stop() {
        let (isFirst, session) = begin()
        guard isFirst else { return }
        session?.stop()
    }

    /// Told when the session has ended by itself (umount(8)): what is left to close has the same time.
    func sessionEnded() {
        _ = begin()
    }

    private func begin() -> (isFirst: Bool, session: Session?) {
        let result = state.withLock { state in
            defer { state.isStopping = true }
            return (isFirst: !state.isStopping, session: state.session)
        }
        if result.isFirst {
            startWatchdog()
            onStop()
        }
        return result
    }

    /// A thread of its own, because everything else may hang: then the mount is detached and the process ends.
    private func startWatchdog() {
        let mountPoint = mountPoint
        DispatchQueue(label: "rankfs.watchdog").async {
            usleep(UInt32(Self.patience.components.seconds) * 1_000_000 + 500_000)
            if MountTable.current().stack(at: mountPoint).last?.isOwn == true {
                try? Unmounter.detach(mountPoint)
            }
            _exit(ExitStatus.success.rawValue)
        }
    }
}

// MARK: - Signals

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
