package import CLinux
import Glibc

/// Starts threads for blocking work, which is not allowed in tasks.
package enum OwnThread {
    /// Starts a thread that runs the body once; false if no thread can be started.
    ///
    /// The captures of the body are handed over: after this call only the new thread uses them.
    package static func start(_ body: sending @escaping () -> Void) -> Bool {
        guard let thread = startJoinable(body) else { return false }
        pthread_detach(thread)
        return true
    }

    /// Starts a thread that must be joined or detached; nil if no thread can be started.
    package static func startJoinable(_ body: sending @escaping () -> Void) -> pthread_t? {
        var thread = pthread_t()
        // Retained for the thread, which releases it.
        let context = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
        guard unsafe pthread_create(&thread, nil, ownThreadMain, context) == 0 else {
            unsafe Unmanaged<Body>.fromOpaque(context).release()
            return nil
        }
        return thread
    }

    fileprivate final class Body {
        let run: () -> Void
        init(_ run: @escaping () -> Void) { self.run = run }
    }
}

/// Runs the body of a thread with all signals blocked: a SIGPIPE of a closed connection must have no effect (CURLOPT_NOSIGNAL(3)).
private func ownThreadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
    unsafe Unmanaged<OwnThread.Body>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
