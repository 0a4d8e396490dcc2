import Glibc

/// Threads that block, which tasks must not.
enum OwnThread {
    /// Starts a thread that runs the body once; false if there can be none.
    ///
    /// What the body holds is handed over: after this only the new thread uses it.
    static func start(_ body: sending @escaping () -> Void) -> Bool {
        guard let thread = startJoinable(body) else { return false }
        pthread_detach(thread)
        return true
    }

    /// Starts a thread that must be joined or detached; nil if there can be none.
    static func startJoinable(_ body: sending @escaping () -> Void) -> pthread_t? {
        var thread = pthread_t()
        // Retained for the thread, which releases it when it takes it.
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

/// Signals are for other threads; a SIGPIPE from a closed connection must reach nobody (CURLOPT_NOSIGNAL(3)).
private func ownThreadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
    unsafe Unmanaged<OwnThread.Body>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
