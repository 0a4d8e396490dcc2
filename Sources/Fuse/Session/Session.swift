internal import CFuse3
import Dispatch
import Glibc
package import System
import Synchronization

/// A mounted file system: libfuse's session and its loop.
///
/// ## Concurrency
///
/// ``run()`` blocks the calling thread; any thread may call everything else meanwhile. Signals are left to the program: none is
/// handled here.
package final class Session: Sendable {
    private enum Phase {
        case mounted
        /// The thread is in the loop, and therefore exists.
        case running(pthread_t)
        case ended
    }

    /// The maximum number of worker threads, as in libfuse's default: methods do not wait, so more would only cost memory.
    private static let workers: UInt32 = 10
    /// How long the end waits for threads that are still answering or invalidating.
    ///
    /// They take microseconds. A thread that takes longer hangs in the kernel, and libfuse's session is then left to the end of
    /// the process.
    private static let patience = DispatchTimeInterval.seconds(2)

    private let handle: SessionHandle
    private let dispatcher: Dispatcher
    private let mountPoint: String
    private let mountsItself: Bool
    private let phase = Mutex(Phase.mounted)

    /// Whether the system has what this user needs to mount anything.
    package static var hasMeans: Bool { MountFailure.hasMeans }

    /// Mounts the file system.
    ///
    /// Throws a sentence with cause and remedy.
    package init(_ configuration: SessionConfiguration, fileSystem: any FileSystem) throws(SystemError) {
        let device = configuration.device
        if device == nil, let obstacle = MountFailure.obstacle(at: configuration.mountPoint) { throw obstacle }
        let dispatcher = Dispatcher(fileSystem: fileSystem, configuration: configuration)
        let options = configuration.options + (configuration.debug ? ["debug"] : [])
        let (created, complaints) = FuseLog.keepingLines { SessionHandle(options: options, dispatcher: dispatcher) }
        guard let handle = created else {
            throw MountFailure(mountPoint: configuration.mountPoint, lines: complaints, errno: 0).ofOptions
        }
        // libfuse uses this name for an existing mount.
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
        // Mounted and never run: no thread is in the session.
        guard phase.withLock({ if case .mounted = $0 { true } else { false } }) else { return }
        handle.unmount()
        handle.destroy(dispatcher: dispatcher)
    }

    /// Serves requests on libfuse's worker threads until the session is unmounted or stopped; can be called once.
    ///
    /// Blocks the calling thread, which must not belong to a task. On return the file system is unmounted.
    package func run() throws(SystemError) {
        let isFirst = phase.withLock { phase in
            guard case .mounted = phase else { return false }
            phase = .running(pthread_self())
            return true
        }
        guard isFirst else {
            throw SystemError("A session can be run once; mount a new one.", code: 0)
        }
        Wakeup.prepareThread()
        let result = handle.loop(workers: Self.workers)
        end()
        // -ENODEV reports the unmount to a worker.
        if result < 0, result != -ENODEV {
            let error = Errno(rawValue: -result)
            throw SystemError("Serving \(mountPoint) failed (\(error)); mount it again.", code: 0)
        }
    }

    /// Answers all waiting requests with EINTR, unmounts (lazily if the mount is busy) and lets `run` return.
    ///
    /// Any thread may call; not async-signal-safe. `run` performs the unmount shortly afterwards.
    package func stop() {
        dispatcher.waiting.stop()
        enter { handle in handle.exit() }
        wakeLoop()
    }

    /// Makes the kernel drop the attributes and the cached pages of an inode.
    ///
    /// Not for calls from a file-system method: the kernel may hold a lock until that method has answered.
    package func invalidate(inode: UInt64) {
        enter { handle in handle.invalidate(inode: inode) }
    }

    /// Makes the kernel drop the attributes of an inode and keep its pages.
    ///
    /// This waits for no page. To drop pages, the kernel waits for those that are being read, and no signal ends that wait: if
    /// this process is killed meanwhile, the readers of those pages wait for ever.
    package func invalidateAttributes(inode: UInt64) {
        enter { handle in handle.invalidateAttributes(inode: inode) }
    }

    /// The number of requests that wait for an answer, for status displays.
    package var waiting: Int {
        dispatcher.waiting.count
    }

    /// Interrupts the loop's sleep so that it notices the end of the session.
    ///
    /// Repeats, because a signal between the loop's check and its sleep is lost.
    private func wakeLoop() {
        let isRunning = phase.withLock { phase in
            guard case .running(let thread) = phase else { return false }
            Wakeup.interrupt(thread)
            return true
        }
        guard isRunning else { return }
        Wakeup.queue.asyncAfter(deadline: .now() + Wakeup.interval) { [weak self] in self?.wakeLoop() }
    }

    /// Runs `body` on libfuse's session unless the session has ended; the session does not end meanwhile.
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

    /// Unmounts and frees the session after the loop: the workers are gone, but tasks may still be answering.
    private func end() {
        dispatcher.waiting.stop()
        phase.withLock { $0 = .ended }
        // Closing /dev/fuse while a thread writes to it could send that thread's answer to another file.
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
/// `@unchecked` for the pointer: libfuse's functions on a session do their own locking. ``Session`` ensures that `destroy` is
/// called once and last, and `unmount` only when no other thread is in the session.
@safe struct SessionHandle: @unchecked Sendable {
    private let session: OpaquePointer

    /// Creates a session that is not mounted yet; nil if libfuse refuses the options.
    ///
    /// - Parameters:
    ///   - options: The options of `-o`, one per element.
    ///   - dispatcher: Kept by the session until ``destroy(dispatcher:)``.
    init?(options: [String], dispatcher: Dispatcher) {
        var arguments = unsafe fuse_args()
        defer { unsafe fuse_opt_free_args(&arguments) }
        // libfuse skips the first argument, the program's name.
        unsafe fuse_opt_add_arg(&arguments, "fuse")
        for option in options {
            unsafe fuse_opt_add_arg(&arguments, "-o")
            unsafe fuse_opt_add_arg(&arguments, Self.escaped(option))
        }
        var operations = Operations.table()
        let box = unsafe Unmanaged.passRetained(dispatcher)
        guard
            let session = unsafe rankfs_fuse_session_new(
                &arguments, &operations, MemoryLayout<fuse_lowlevel_ops>.size, box.toOpaque())
        else {
            unsafe box.release()
            return nil
        }
        unsafe self.session = unsafe session
    }

    /// Escapes an option: fuse_opt_parse(3) separates options at commas, and treats a backslash as an escape.
    static func escaped(_ option: String) -> String {
        var result = ""
        for scalar in option.unicodeScalars {
            if scalar == "," || scalar == "\\" { result.unicodeScalars.append("\\") }
            result.unicodeScalars.append(scalar)
        }
        return result
    }

    /// Mounts and returns whether that succeeded.
    func mount(at mountPoint: String) -> Bool {
        guard unsafe fuse_session_mount(session, mountPoint) == 0 else { return false }
        if InitialAnswer.needsCompletion {
            var access = InitialAnswer.deviceAccess()
            // Fails only without memory; directory requests then come one at a time, as without the flag.
            unsafe fuse_session_custom_io(session, &access, fuse_session_fd(session))
        }
        return true
    }

    /// Serves requests until the session ends, and returns 0, or -errno.
    func loop(workers: UInt32) -> Int32 {
        let configuration = unsafe fuse_loop_cfg_create()
        defer { unsafe fuse_loop_cfg_destroy(configuration) }
        unsafe fuse_loop_cfg_set_max_threads(configuration, workers)
        return unsafe rankfs_fuse_session_loop_mt(session, configuration)
    }

    /// Ends the loop at its next check, which comes between two requests and after an interrupt.
    func exit() {
        unsafe fuse_session_exit(session)
    }

    /// Makes the kernel drop the attributes and pages of an inode.
    func invalidate(inode: UInt64) {
        unsafe fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(inode), 0, 0)
    }

    /// Makes the kernel drop the attributes of an inode and keep its pages.
    ///
    /// A negative offset requests this (`fuse_lowlevel_notify_inval_inode` in fuse_lowlevel.h).
    func invalidateAttributes(inode: UInt64) {
        unsafe fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(inode), -1, 0)
    }

    /// Unmounts, lazily if the mount is busy, and closes `/dev/fuse`: requests that still wait in the kernel get an error.
    func unmount() {
        unsafe fuse_session_unmount(session)
    }

    /// Frees the session and the dispatcher.
    func destroy(dispatcher: Dispatcher) {
        unsafe fuse_session_destroy(session)
        unsafe Unmanaged.passUnretained(dispatcher).release()
    }
}

// MARK: - Wakeup

/// Interrupts the sleep of a thread in libfuse's loop.
///
/// fuse_session_exit(3) sets a flag and wakes no thread: the thread that runs the loop sleeps in sem_wait(3) and the workers
/// sleep in reads of `/dev/fuse`, which an unmount would end, but not a lazy unmount with open files. A signal with a handler
/// that is not SA_RESTART ends sem_wait (signal(7)); the loop then sees the flag and cancels the workers. The signal is SIGURG,
/// because it is ignored by default: a stray SIGURG does no harm.
enum Wakeup {
    /// The queue that repeats interrupts, and the time between two of them.
    static let queue = DispatchQueue(label: "fuse.wakeup")
    static let interval = DispatchTimeInterval.milliseconds(20)

    /// Prepares the calling thread for ``interrupt(_:)``.
    ///
    /// An existing handler of the program is left in place: it interrupts as well.
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

/// The libfuse library in use.
package enum FuseLibrary {
    /// The version of the library, for example `3.14.0`.
    package static var version: String {
        unsafe fuse_pkgversion().map { unsafe String(cString: $0) } ?? "unknown"
    }
}
