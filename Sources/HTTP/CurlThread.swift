import Glibc

/// The thread of a loop.
enum CurlThread {
    /// Starts a thread that runs the loop and then frees it; nil if there can be none.
    ///
    /// The loop is handed over: after this only the new thread uses it.
    static func start(_ loop: CurlLoop) -> pthread_t? {
        var thread = pthread_t()
        // Retained for the thread, which releases it when it takes it.
        let context = unsafe Unmanaged.passRetained(loop).toOpaque()
        guard unsafe pthread_create(&thread, nil, curlThreadMain, context) == 0 else {
            unsafe Unmanaged<CurlLoop>.fromOpaque(context).release()
            return nil
        }
        return thread
    }
}

/// Signals are for other threads; a SIGPIPE from a closed connection must reach nobody (CURLOPT_NOSIGNAL(3)).
private func curlThreadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
    unsafe Unmanaged<CurlLoop>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
