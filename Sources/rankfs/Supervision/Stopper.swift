import Dispatch
import Fuse
import Glibc
import Synchronization

/// Ends a mount on request: answers waiting requests, unmounts, and ensures that the process ends in time.
///
/// ## Concurrency
///
/// Any thread may call. The mutex guards the session and whether a stop was requested; nothing is called while it is held.
final class Stopper: Sendable {
    /// The time from SIGTERM to unmounted: Semantics promises 5 s ("Nothing hangs"), and half a second is left for the exit.
    private static let patience: Duration = .milliseconds(4500)

    private let state = Mutex<(session: Session?, isStopping: Bool)>((nil, false))
    private let mountPoint: String
    private let onStop: @Sendable () -> Void

    /// - Parameters:
    ///   - mountPoint: The place of the mount, which the watchdog detaches if it is still there.
    ///   - onStop: Called once, when stopping begins.
    init(mountPoint: String, onStop: @escaping @Sendable () -> Void) {
        self.mountPoint = mountPoint
        self.onStop = onStop
    }

    /// Sets the session to stop; if a stop was requested while it was being mounted, it stops at once.
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

    /// Handles the end of the session, also by itself (umount(8)): closing the remaining parts has the same time limit.
    func sessionEnded() {
        _ = begin()
        // What is mounted there from now on is another's.
        state.withLock { $0.session = nil }
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

    /// Starts a thread that detaches the mount and ends the process in time, because everything else may hang.
    private func startWatchdog() {
        DispatchQueue(label: "rankfs.watchdog").async { [self] in
            usleep(UInt32(Self.patience.components.seconds) * 1_000_000 + 500_000)
            if state.withLock({ $0.session })?.isVisible == true { try? MountTable.detach(mountPoint) }
            _exit(ExitStatus.success.rawValue)
        }
    }
}

// MARK: - Signals

/// Signals as events on a queue, because C signal handlers may do almost nothing.
///
/// ## Concurrency
///
/// Handlers run on the queue of this object, one at a time.
final class Signals: Sendable {
    // A signal source is resumed and never changed again; this reference only keeps it alive.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    /// Holds signals back until they have handlers.
    static func hold(_ numbers: some Sequence<Int32>) {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in numbers { unsafe sigaddset(&signals, number) }
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Installs handlers; must happen before mounting, because an earlier signal that is not held back would end the process as usual.
    init(_ handlers: [Int32: @Sendable () -> Void]) {
        let queue = DispatchQueue(label: "rankfs.signals")
        // Writing to a pipe or socket without a reader is an error of that write, not the end of the process.
        _ = signal(SIGPIPE, SIG_IGN)
        // The sources read the signals that are held back, also those from before.
        Self.hold(handlers.keys)
        unsafe sources = handlers.map { number, handler in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler(handler: handler)
            let registered = DispatchSemaphore(value: 0)
            source.setRegistrationHandler { registered.signal() }
            source.resume()
            registered.wait()
            return source
        }
    }
}
