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
/// handled here. `@unchecked` for the pointer: libfuse's functions on a session do their own locking. It is destroyed once and
/// last, and unmounted only when no other thread is in it.
@safe package final class Session: @unchecked Sendable {
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

    private let session: OpaquePointer
    private let dispatcher: Dispatcher
    private let mountPoint: String
    private let mountsItself: Bool
    /// The device number of the mount; nil if the table of mounts does not list it under this path.
    private let mounted: String?
    private let phase = Mutex(Phase.mounted)

    /// Whether the system has what this user needs to mount anything.
    package static var hasMeans: Bool { MountFailure.hasMeans }

    /// The version of the libfuse library in use, for example `3.14.0`.
    package static var libraryVersion: String {
        unsafe fuse_pkgversion().map { unsafe String(cString: $0) } ?? "unknown"
    }

    /// Mounts the file system.
    ///
    /// Throws a sentence with cause and remedy.
    package init(_ configuration: SessionConfiguration, fileSystem: any FileSystem) throws(SystemError) {
        let device = configuration.device
        if device == nil, let obstacle = MountFailure.obstacle(at: configuration.mountPoint) {
            throw SystemError(obstacle, code: 0)
        }
        let dispatcher = Dispatcher(
            fileSystem: fileSystem, deadline: configuration.deadline,
            longestRead: SessionConfiguration.longestRead(in: configuration.options))
        let (created, complaints) = unsafe FuseLog.keepingLines {
            unsafe Self.make(options: configuration.options, dispatcher)
        }
        guard let session = unsafe created else {
            throw SystemError(
                MountFailure(mountPoint: configuration.mountPoint, lines: complaints, errno: 0).ofOptions, code: 0)
        }
        // libfuse uses this name for an existing mount.
        let target = device.map { "/dev/fd/\($0)" } ?? configuration.mountPoint
        let (error, lines) = FuseLog.keepingLines { unsafe Self.mount(session, at: target) ? 0 : errno }
        guard error == 0 else {
            unsafe Self.destroy(session, dispatcher)
            throw SystemError(
                MountFailure(
                    mountPoint: configuration.mountPoint, lines: lines, errno: error,
                    isShared: configuration.options.contains { $0.hasPrefix("allow_") }
                ).ofMounting, code: 0)
        }
        unsafe self.session = unsafe session
        self.dispatcher = dispatcher
        mountPoint = configuration.mountPoint
        mountsItself = device == nil
        mounted = MountTable.current().mount(at: configuration.mountPoint.utf8)?.device
    }

    deinit {
        // Mounted and never run: no thread is in the session.
        guard phase.withLock({ if case .mounted = $0 { true } else { false } }) else { return }
        unmount()
        unsafe Self.destroy(session, dispatcher)
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
        let configuration = unsafe fuse_loop_cfg_create()
        defer { unsafe fuse_loop_cfg_destroy(configuration) }
        unsafe fuse_loop_cfg_set_max_threads(configuration, Self.workers)
        // 0, or -errno.
        let result = unsafe rankfs_fuse_session_loop_mt(session, configuration)
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
        // The loop ends at its next check, which comes between two requests and after an interrupt.
        enter { unsafe fuse_session_exit(session) }
        wakeLoop()
    }

    /// Makes the kernel drop the attributes and the cached pages of an inode.
    ///
    /// Not for calls from a file-system method: the kernel may hold a lock until that method has answered.
    package func invalidate(inode: UInt64) {
        enter { unsafe fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(inode), 0, 0) }
    }

    /// Makes the kernel drop the attributes of an inode and keep its pages.
    ///
    /// This waits for no page. To drop pages, the kernel waits for those that are being read, and no signal ends that wait: if
    /// this process is killed meanwhile, the readers of those pages wait for ever.
    package func invalidateAttributes(inode: UInt64) {
        // A negative offset requests this (`fuse_lowlevel_notify_inval_inode` in fuse_lowlevel.h).
        enter { unsafe fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(inode), -1, 0) }
    }

    /// Makes the kernel drop a name of a directory, so that the next lookup of it is a request.
    ///
    /// This waits for the requests under way in that directory: not for a task's thread, which may be needed to answer them. The
    /// kernel would wait for them too, hold back all further ones meanwhile, which no signal frees, and not let this process end.
    package func invalidate(name: String, in directory: UInt64) {
        dispatcher.waiting.waitUntilFree(directory)
        enter {
            unsafe fuse_lowlevel_notify_inval_entry(session, fuse_ino_t(directory), name, name.utf8.count)
        }
    }

    /// Whether the visible mount at the mount point is this session's, by its device number, which is another's after the unmount.
    package var isVisible: Bool { MountTable.current().mount(at: mountPoint.utf8)?.device == mounted }

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
            pthread_kill(thread, SIGURG)
            return true
        }
        guard isRunning else { return }
        Wakeup.queue.asyncAfter(deadline: .now() + Wakeup.interval) { [weak self] in self?.wakeLoop() }
    }

    /// Runs `body` on libfuse's session unless the session has ended; the session does not end meanwhile.
    private func enter(_ body: () -> Void) {
        let isOpen = phase.withLock { phase in
            if case .ended = phase { return false }
            dispatcher.outstanding.enter()
            return true
        }
        guard isOpen else { return }
        defer { dispatcher.outstanding.leave() }
        body()
    }

    /// Unmounts and frees the session after the loop: the workers are gone, but tasks may still be answering.
    private func end() {
        dispatcher.waiting.stop()
        phase.withLock { $0 = .ended }
        // Closing /dev/fuse while a thread writes to it could send that thread's answer to another file.
        guard dispatcher.outstanding.wait(timeout: .now() + Self.patience) == .success else {
            if mountsItself, isVisible { MountTable.unmountLazily(mountPoint) }
            return
        }
        unmount()
        unsafe Self.destroy(session, dispatcher)
    }

    /// Unmounts what this session has mounted: libfuse goes by the path, where another mount may be by now.
    ///
    /// Where it is, the mount ends with the connection, which is closed afterwards.
    private func unmount() {
        if isVisible { unsafe fuse_session_unmount(session) }
    }

    // MARK: - libfuse's session

    /// Creates a session that is not mounted yet and keeps the dispatcher until `destroy`; nil if libfuse refuses the options.
    private static func make(options: [String], _ dispatcher: Dispatcher) -> OpaquePointer? {
        var arguments = unsafe fuse_args()
        defer { unsafe fuse_opt_free_args(&arguments) }
        // libfuse skips the first argument, the program's name.
        unsafe fuse_opt_add_arg(&arguments, "fuse")
        for option in options {
            unsafe fuse_opt_add_arg(&arguments, "-o")
            unsafe fuse_opt_add_arg(&arguments, escaped(option))
        }
        var operations = Operations.table()
        let box = unsafe Unmanaged.passRetained(dispatcher)
        let session = unsafe rankfs_fuse_session_new(
            &arguments, &operations, MemoryLayout<fuse_lowlevel_ops>.size, box.toOpaque())
        if unsafe session == nil { unsafe box.release() }
        return unsafe session
    }

    /// Escapes an option: fuse_opt_parse(3) separates options at commas, and treats a backslash as an escape.
    package static func escaped(_ option: String) -> String {
        // By scalars: a comma may stand before a scalar that joins it.
        var result = ""
        for scalar in option.unicodeScalars {
            if scalar == "," || scalar == "\\" { result.unicodeScalars.append("\\") }
            result.unicodeScalars.append(scalar)
        }
        return result
    }

    /// Mounts and returns whether that succeeded.
    private static func mount(_ session: OpaquePointer, at mountPoint: String) -> Bool {
        guard unsafe fuse_session_mount(session, mountPoint) == 0 else { return false }
        if InitialAnswer.needsCompletion {
            var access = Operations.deviceAccess()
            // Fails only without memory; directory requests then come one at a time, as without the flag.
            unsafe fuse_session_custom_io(session, &access, fuse_session_fd(session))
        }
        return true
    }

    /// Frees the session and the dispatcher.
    private static func destroy(_ session: OpaquePointer, _ dispatcher: Dispatcher) {
        unsafe fuse_session_destroy(session)
        unsafe Unmanaged.passUnretained(dispatcher).release()
    }
}

// MARK: - Configuration

/// The parameters of a mount.
package struct SessionConfiguration: Sendable {
    /// An existing directory.
    package var mountPoint: String
    /// The descriptor of `/dev/fuse` of an existing mount made for this process; the session then neither mounts nor unmounts.
    ///
    /// The session closes it at its end.
    package var device: Int32?
    /// Options of mount(8) and libfuse (`ro`, `nosuid`, `fsname=…`, `subtype=…`, `allow_other`, …).
    package var options: [String]
    /// The time limit of every request, whatever the file system does.
    package var deadline: Duration

    package init(mountPoint: String, options: [String], deadline: Duration) {
        self.mountPoint = mountPoint
        self.options = options
        self.deadline = deadline
    }

    /// The largest read in bytes that options allow (`max_read`); 0 for the kernel's own.
    package static func longestRead(in options: [String]) -> UInt32 {
        options.compactMap { $0.hasPrefix("max_read=") ? UInt32($0.dropFirst(9)) : nil }.last ?? 0
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
}
