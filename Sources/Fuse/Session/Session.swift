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
    /// What a session is mounted with.
    package struct Configuration: Sendable {
        /// An existing directory.
        package var mountPoint: String
        /// `/dev/fuse` as somebody has mounted it for this process; then the session neither mounts nor unmounts.
        ///
        /// The session closes it at its end.
        package var device: Int32?
        /// Options of mount(8) and libfuse (`ro`, `nosuid`, `fsname=…`, `subtype=…`, `allow_other`, …).
        package var options: [String]
        /// When every request has been answered, whatever the file system does.
        package var deadline: Duration
        /// Log libfuse's debug output.
        package var debug: Bool
        /// The file system is asked for extended attributes that begin with this; it has no others (EOPNOTSUPP).
        ///
        /// `ls -l` asks for `security.selinux` and `system.posix_acl_access`, and after that answer not again.
        package var attributeNamespace = "user."

        /// Whether the file system hears of interrupted page reads, at the price of reading ahead one request at a time.
        ///
        /// With `false` the kernel reads ahead asynchronously: files that are not in the page cache are read about twice
        /// as fast, but no interrupt is sent for such a read. A signal that kills frees the reader at once either way; one
        /// that the reader handles frees it only with `true`, as does the cancellation of the work.
        package var interruptibleReads = true

        /// A configuration with the attributes of users only and interruptible reads.
        package init(mountPoint: String, options: [String], deadline: Duration, debug: Bool) {
            self.mountPoint = mountPoint
            self.options = options
            self.deadline = deadline
            self.debug = debug
        }
    }

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
    package init(_ configuration: Configuration, fileSystem: any FileSystem) throws(SessionError) {
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

/// Why a session could not be mounted or served.
package struct SessionError: Error, Sendable {
    /// One sentence with cause and remedy.
    package let message: String
    /// errno where one is known.
    package let errno: Errno?

    /// An error with its sentence.
    package init(message: String, errno: Errno?) {
        self.message = message
        self.errno = errno
    }
}
