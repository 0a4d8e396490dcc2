internal import CFuse3
import Dispatch
import Glibc
import Synchronization

/// A mounted file system: libfuse's session and its loop.
///
/// ## Concurrency
///
/// ``run()`` blocks a thread of the caller's; everything else may be called on any thread meanwhile. Signals are the
/// program's business: none is handled here.
package final class Session: Sendable {
    private enum Phase {
        case mounted
        /// The thread is in the loop, and therefore exists.
        case running(pthread_t)
        case ended
    }

    /// Worker threads at most, as in libfuse's default: methods do not wait, so more would only cost memory.
    private static let workers: UInt32 = 10
    /// How long the end waits for threads that are still answering or invalidating.
    ///
    /// They take microseconds; one that takes
    /// longer hangs in the kernel, and then libfuse's session is left to the end of the process.
    private static let patience = DispatchTimeInterval.seconds(2)

    private let handle: SessionHandle
    private let dispatcher: Dispatcher
    private let mountPoint: String
    private let mountsItself: Bool
    private let phase = Mutex(Phase.mounted)

    /// Mounts.
    ///
    /// Throws a sentence with cause and remedy.
    package init(_ configuration: SessionConfiguration, fileSystem: any FileSystem) throws(SessionError) {
        let device = configuration.device
        if device == nil, let obstacle = MountFailure.obstacle(at: configuration.mountPoint) { throw obstacle }
        let dispatcher = Dispatcher(fileSystem: fileSystem, configuration: configuration)
        let options = configuration.options + (configuration.debug ? ["debug"] : [])
        let (created, complaints) = FuseLog.keepingLines { SessionHandle(options: options, dispatcher: dispatcher) }
        guard let handle = created else {
            throw MountFailure(mountPoint: configuration.mountPoint, lines: complaints, errno: 0).ofOptions
        }
        // libfuse takes a mount that is there already by this name.
        let target = device.map { "/dev/fd/\($0)" } ?? configuration.mountPoint
        let (error, lines) = FuseLog.keepingLines { handle.mount(at: target) ? 0 : errno }
        guard error == 0 else {
            handle.destroy(dispatcher: dispatcher)
            throw MountFailure(mountPoint: configuration.mountPoint, lines: lines, errno: error).ofMounting
        }
        self.handle = handle
        self.dispatcher = dispatcher
        mountPoint = configuration.mountPoint
        mountsItself = device == nil
    }

    deinit {
        // Mounted and never run: nobody else is in the session.
        guard phase.withLock({ if case .mounted = $0 { true } else { false } }) else { return }
        handle.unmount()
        handle.destroy(dispatcher: dispatcher)
    }

    /// Serves requests on libfuse's worker threads until unmounted or stopped, once.
    ///
    /// Blocks the calling thread, which must not be a task's. When this returns the file system is unmounted.
    package func run() throws(SessionError) {
        let isFirst = phase.withLock { phase in
            guard case .mounted = phase else { return false }
            phase = .running(pthread_self())
            return true
        }
        guard isFirst else {
            throw SessionError(message: "A session can be run once; mount a new one.", errno: .EINVAL)
        }
        Wakeup.prepareThread()
        let result = handle.loop(workers: Self.workers)
        end()
        // -ENODEV is how a worker hears of the unmount.
        if result < 0, result != -ENODEV {
            let error = Errno(rawValue: -result)
            throw SessionError(message: "Serving \(mountPoint) failed (\(error)); mount it again.", errno: error)
        }
    }

    /// Answers everything that waits (EINTR), unmounts (lazily if it is busy) and lets `run` return.
    ///
    /// Any thread; async-signal-unsafe. The unmount is done by `run`, soon after.
    package func stop() {
        dispatcher.waiting.stop()
        enter { handle in handle.exit() }
        wakeLoop()
    }

    /// Tells the kernel to forget the attributes and the cached pages of an inode.
    ///
    /// Not from a file-system method: the kernel may hold a lock until that has answered.
    package func invalidate(inode: UInt64) {
        enter { handle in handle.invalidate(inode: inode) }
    }

    /// Tells the kernel to forget the attributes of an inode, and nothing else.
    ///
    /// This waits for no page. To drop pages the kernel waits for those that are being read, and no signal ends that: if this
    /// process is killed meanwhile, whoever waits for those reads waits for ever.
    package func invalidateAttributes(inode: UInt64) {
        enter { handle in handle.invalidateAttributes(inode: inode) }
    }

    /// Requests that wait for an answer, for status displays.
    package var waiting: Int {
        dispatcher.waiting.count
    }

    /// Interrupts the loop's sleep, so that it sees the session's end: again and again, because a signal that comes between
    /// its look and its sleep is lost.
    private func wakeLoop() {
        let isRunning = phase.withLock { phase in
            guard case .running(let thread) = phase else { return false }
            Wakeup.interrupt(thread)
            return true
        }
        guard isRunning else { return }
        Wakeup.queue.asyncAfter(deadline: .now() + Wakeup.interval) { [weak self] in self?.wakeLoop() }
    }

    /// Uses libfuse's session, if it has not ended; it will not end meanwhile.
    private func enter(_ body: (SessionHandle) -> Void) {
        let isOpen = phase.withLock { phase in
            if case .ended = phase { return false }
            dispatcher.outstanding.enter()
            return true
        }
        guard isOpen else { return }
        defer { dispatcher.outstanding.leave() }
        body(handle)
    }

    /// Unmounts and frees after the loop: the workers are gone, tasks may be answering.
    private func end() {
        dispatcher.waiting.stop()
        phase.withLock { $0 = .ended }
        // Closing /dev/fuse under a thread that writes to it could send its answer to another file.
        guard dispatcher.outstanding.wait(timeout: .now() + Self.patience) == .success else {
            if mountsItself { Unmount.lazily(mountPoint) }
            return
        }
        handle.unmount()
        handle.destroy(dispatcher: dispatcher)
    }
}

// MARK: - Session handle

/// libfuse's session, from mounting to destruction.
///
/// ## Concurrency
///
/// `@unchecked` for the pointer: libfuse's functions on a session lock for themselves. ``Session`` sees to it that
/// `destroy` is called once and last, and `unmount` only when nobody else is in the session.
@safe struct SessionHandle: @unchecked Sendable {
    private let session: OpaquePointer

    /// Makes a session that is not mounted yet; nil if libfuse refuses the options.
    ///
    /// - Parameters:
    ///   - options: As in `-o`, one by one.
    ///   - dispatcher: Kept by the session until ``destroy(dispatcher:)``.
    init?(options: [String], dispatcher: Dispatcher) {
        var arguments = unsafe fuse_args()
        defer { unsafe fuse_opt_free_args(&arguments) }
        // The first is the program's name, which libfuse skips.
        unsafe fuse_opt_add_arg(&arguments, "fuse")
        for option in options {
            unsafe fuse_opt_add_arg(&arguments, "-o")
            unsafe fuse_opt_add_arg(&arguments, Self.escaped(option))
        }
        var operations = Operations.table()
        let box = unsafe Unmanaged.passRetained(dispatcher)
        guard
            let session = unsafe fuse_session_new(
                &arguments, &operations, MemoryLayout<fuse_lowlevel_ops>.size, box.toOpaque())
        else {
            unsafe box.release()
            return nil
        }
        unsafe self.session = unsafe session
    }

    /// fuse_opt_parse(3) separates options at commas, and takes a backslash for an escape.
    static func escaped(_ option: String) -> String {
        var result = ""
        for scalar in option.unicodeScalars {
            if scalar == "," || scalar == "\\" { result.unicodeScalars.append("\\") }
            result.unicodeScalars.append(scalar)
        }
        return result
    }

    /// Mounts; whether that succeeded.
    func mount(at mountPoint: String) -> Bool {
        guard unsafe fuse_session_mount(session, mountPoint) == 0 else { return false }
        if InitialAnswer.needsCompletion {
            var access = InitialAnswer.deviceAccess()
            // Fails only for want of memory, and then directories are asked one request at a time, as without it.
            unsafe fuse_session_custom_io(session, &access, fuse_session_fd(session))
        }
        return true
    }

    /// Serves requests until the session ends: 0, or -errno.
    func loop(workers: UInt32) -> Int32 {
        let configuration = unsafe fuse_loop_cfg_create()
        defer { unsafe fuse_loop_cfg_destroy(configuration) }
        unsafe fuse_loop_cfg_set_max_threads(configuration, workers)
        return unsafe rankfs_fuse_session_loop_mt(session, configuration)
    }

    /// Ends the loop the next time that it looks, which it does between two requests and when it is interrupted.
    func exit() {
        unsafe fuse_session_exit(session)
    }

    /// The kernel forgets the attributes and pages of an inode.
    func invalidate(inode: UInt64) {
        unsafe fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(inode), 0, 0)
    }

    /// The kernel forgets the attributes of an inode, and keeps its pages: a negative offset says so
    /// (`fuse_lowlevel_notify_inval_inode` in fuse_lowlevel.h).
    func invalidateAttributes(inode: UInt64) {
        unsafe fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(inode), -1, 0)
    }

    /// Unmounts, lazily if it is busy, and closes `/dev/fuse`: whoever still waits in the kernel gets an error.
    func unmount() {
        unsafe fuse_session_unmount(session)
    }

    /// Frees the session and what it kept.
    func destroy(dispatcher: Dispatcher) {
        unsafe fuse_session_destroy(session)
        unsafe Unmanaged.passUnretained(dispatcher).release()
    }
}

// MARK: - Wakeup

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

// MARK: - Fuse library

/// The libfuse that the program runs with.
package enum FuseLibrary {
    /// Its version, as `3.14.0`.
    package static var version: String {
        unsafe fuse_pkgversion().map { unsafe String(cString: $0) } ?? "unknown"
    }
}
