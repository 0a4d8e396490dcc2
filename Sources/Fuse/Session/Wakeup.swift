import Dispatch
import Glibc

/// Interrupts the sleep of a thread in libfuse's loop.
///
/// fuse_session_exit(3) sets a flag and wakes nobody: the thread that runs the loop sleeps in sem_wait(3) and the workers in
/// reads of `/dev/fuse`, which an unmount would end, but not a lazy one with files open. sem_wait is left at a signal
/// whose handler is not SA_RESTART (signal(7)); the loop then sees the flag and cancels the workers. The signal is SIGURG,
/// because it is ignored by default: one that strays does no harm.
enum Wakeup {
    /// Where interrupts are repeated, and how often.
    static let queue = DispatchQueue(label: "fuse.wakeup")
    static let interval = DispatchTimeInterval.milliseconds(20)

    /// Lets ``interrupt(_:)`` reach the calling thread.
    ///
    /// A handler of the program's own is left as it is: it interrupts as well.
    static func prepareThread() {
        var current = sigaction()
        unsafe sigaction(SIGURG, nil, &current)
        // SIG_DFL is 0 and SIG_IGN is 1.
        let hasHandler = unsafe unsafeBitCast(current.__sigaction_handler.sa_handler, to: UInt.self) > 1
        if !hasHandler {
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = { _ in }
            unsafe sigaction(SIGURG, &action, nil)
        }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGURG)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    /// Interrupts a thread that exists.
    static func interrupt(_ thread: pthread_t) {
        pthread_kill(thread, SIGURG)
    }
}
