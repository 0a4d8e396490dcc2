import Catalog
import CLinux
import Fuse
import Glibc
import HTTP
import System
import RankFS
import Rankings
import Sourcing

/// Serves one mount in this process, from checking the folder to the clean end.
struct MountService {
    let request: MountRequest
    let settings: Settings
    let warnings: [String]
    let home: Home
    /// Mounts and unmounts for a process that lacks the rights; nil if this process mounts itself.
    var guardian: MountGuard?
    /// Whether losing the terminal ends the mount, as it should for the tour.
    var stopsOnHangup = false
    /// Receives the mount point once it is mounted.
    var announce: @Sendable (_ mountPoint: String) -> Void = { _ in }

    /// The time limit for examining the folder to mount on.
    private static let lookPatience: Duration = .seconds(5)

    /// Mounts, serves until unmounted or stopped, and closes everything.
    ///
    /// Blocks the calling thread, which must not be a thread of the task pool.
    func run() throws(ProgramError) {
        let log = Log(
            level: request.debug ? .debug : settings.logLevel,
            forJournal: Log.isJournal(home.variables), now: TimeSource.wallClock)
        defer { log.flush() }
        let exposure = SettingsLoader.exposure(of: home)
        for warning in warnings + [exposure].compactMap(\.self) { log.warning(warning) }
        let named = try CachePlace(settings, source: request.source, home: home)
        var prepared = try prepareMountPoint(log)
        let mountPoint = prepared.path
        try named.check(against: mountPoint)
        let place = try named.prepared(home)
        defer { place.leave() }
        if place.isInMemory {
            log.warning(
                "the disk of \(named.directory) is full: what is read is kept in memory, in \(place.directory), until the "
                    + "mount ends; make room, then mount again.")
        }
        let logFile = try openLogFile(log, place: place, mountPoint: mountPoint)
        Descriptors.raiseLimit()
        FuseLog.send { log.info("libfuse: \($0)") }
        // The very first task needs descriptors and threads: they are made now, not when the descriptor table is full.
        BlockingCall.wait {}

        let stopper = Stopper(mountPoint: mountPoint) {
            log.info("stopping")
            ServiceManager.notify("STOPPING=1")
        }
        let parts = try Parts(settings, source: request.source, place: place, home: home, log: log)
        let signals = arm(stopper: stopper, parts: parts, log: log)
        defer { withExtendedLifetime(signals) {} }
        let thumbnails = ThumbnailSeeder(
            settings, home: home, place: place, mountPoint: mountPoint, parts: parts, log: log)
        let status = ServedMount(
            request: request, mountPoint: mountPoint, place: place, parts: parts, thumbnails: thumbnails, log: log)
        // An unusable file of cookies gives a warning that the caller sees, and is no reason not to mount.
        _ = parts.source.signIn
        let (session, fileSystem) = try mount(
            at: mountPoint, parts: parts, thumbnails: thumbnails, status: status, log: log)
        prepared.lock = nil
        stopper.attach(session)
        leaveCaller()

        // Until here the caller sees the messages; from now on possibly no process reads them.
        if let logFile { log.move(to: logFile) }
        log.info("\(request.source.rawValue) is mounted on \(mountPoint), cache in \(place.directory)")
        announce(mountPoint)
        if !tellCaller() { stopper.stop() }
        ServiceManager.notify("READY=1\nSTATUS=serving \(request.source.rawValue) on \(LogText.escaped(mountPoint))")
        let heartbeat = Heartbeat(
            status: { StatusDocument(of: status) },
            isAlive: { Self.isAlive(mountPoint, status: status, parts: parts) })
        heartbeat.start()
        let outcome = Result { () throws(SystemError) in try session.run() }
        heartbeat.stop()
        guardian?.release()
        stopper.sessionEnded()
        BlockingCall.wait { await thumbnails?.close() }
        // A disk that was full at the start may have room by now.
        place.claim()
        parts.close()
        fileSystem.tellCounts()
        if case .failure(let error) = outcome { throw .unavailable(error.text) }
        // A guard is root, and unmounts when this process has gone.
        if guardian == nil, MountTable.hasLeft(session, at: mountPoint) {
            throw MountTable.leftBehind(mountPoint)
        }
        log.info("unmounted \(mountPoint)")
    }

    private func prepareMountPoint(_ log: Log) throws(ProgramError) -> MountPoint.Prepared {
        if let guardian { return try (guardian.prepare { log.warning($0) }, nil) }
        return try MountPoint.prepare(request.mountPoint, patience: Self.lookPatience) { log.warning($0) }
    }

    private func mount(
        at mountPoint: String, parts: Parts, thumbnails: ThumbnailSeeder?, status: ServedMount, log: Log
    ) throws(ProgramError) -> (Session, RankFileSystem) {
        var configuration = MountConfiguration(
            user: request.options.user ?? getuid(), group: request.options.group ?? getgid(), now: TimeSource.wallClock)
        configuration.status = { StatusDocument(of: status, toOwner: $0).json }
        configuration.metrics = { StatusDocument(of: status).metrics }
        configuration.version = Version.text + "\n"
        configuration.report = { log.warning($0) }
        configuration.invalidate = { status.served?.session.invalidate(inode: $0) }
        configuration.invalidateName = { status.served?.session.invalidate(name: $0, in: $1) }
        configuration.invalidateAttributes = { status.served?.session.invalidateAttributes(inode: $0) }
        configuration.troubled = { [notices = parts.notices] sentence in
            notices.showTrouble(of: request.source.description.title, sentence)
        }
        configuration.mask = request.options.mask
        configuration.keepsOwners = request.options.admitsOthers && !settings.sharesAll
        configuration.notesRecent = settings.notesRecent
        configuration.listsWithheld = settings.listsWithheld
        configuration.isOffline = settings.isOffline
        configuration.bridge = { request.source.bridge(to: $0, MountTable.current()) }
        configuration.isPrivate = parts.isPrivate
        configuration.sharedTier = parts.sharedTier
        configuration.volumeName = "Rankings (\(request.source.rawValue))"
        configuration.thumbnails = thumbnails
        configuration.giveMemoryBack = FreeMemory.giveBack
        let fileSystem = RankFileSystem(
            configuration, source: parts.source, catalog: parts.catalog, cache: parts.cache, renderer: parts.renderer)
        try guardian?.makeMount()
        var mounting = SessionConfiguration(
            mountPoint: mountPoint, options: Self.mountOptions(request) + (request.debug ? ["debug"] : []),
            deadline: settings.timeout)
        mounting.device = guardian?.device
        do throws(SystemError) {
            let session = try Session(mounting, fileSystem: fileSystem)
            status.attach(session, serving: fileSystem)
            return (session, fileSystem)
        } catch {
            parts.close()
            throw ProgramError(Session.hasMeans ? .mountFailure : .system, error.text)
        }
    }

    /// The options that every mount has, then the requested ones.
    static func mountOptions(_ request: MountRequest) -> [String] {
        [
            "ro", "nosuid", "nodev", "noexec", "default_permissions", "fsname=\(request.source.rawValue)",
            "subtype=rankfs",
        ] + request.options.passedOn
    }

    private func arm(stopper: Stopper, parts: Parts, log: Log) -> Signals {
        let catalog = parts.catalog
        let stop: @Sendable () -> Void = { stopper.stop() }
        let dropListings: @Sendable () -> Void = {
            catalog.listings.drop()
            FreeMemory.giveBack()
            log.info("dropped listings from memory")
        }
        return Signals([
            SIGTERM: stop, SIGINT: stop, SIGQUIT: stop, SIGALRM: stop, SIGUSR2: stop,
            SIGHUP: stopsOnHangup ? stop : dropListings,
            SIGUSR1: { log.toggleDebug() },
        ])
    }

    // MARK: In the background

    /// Detaches a background process from its terminal and its folder, so that it keeps neither busy.
    ///
    /// Called after mounting: automounters let only their own process group through to the folder that they wait for.
    private func leaveCaller() {
        guard request.readyDescriptor != nil else { return }
        _ = setsid()
        unsafe _ = chdir("/")
    }

    /// Reports to the waiting process that the mount is there; false if that process has gone.
    private func tellCaller() -> Bool {
        guard let descriptor = request.readyDescriptor else { return true }
        defer { close(descriptor) }
        return (try? Channel(descriptor).send(MountRequest.readyMessage)) != nil
    }

    /// The file for log lines once the mount is there; nil to leave the log where it is.
    private func openLogFile(_ log: Log, place: CachePlace, mountPoint: String) throws(ProgramError) -> LogFile? {
        if let path = settings.logFile { return try LogFile(named: path, mountPoint: mountPoint) }
        guard request.readyDescriptor != nil else { return nil }
        do throws(Failure) {
            return try LogFile(opening: place.log)
        } catch {
            // The user did not request this file: a full disk is no reason not to serve the pictures that are stored on it.
            log.warning("there will be no log, for \(place.log) cannot be written: \(error.cause)")
            return try? LogFile(opening: LogFile.nowhere)
        }
    }

    /// Whether the mount answers, by the same ways as readers: checks all parts that can block, but never the network or the database.
    ///
    /// Blocks for as long as one of them does; must not be called from a task.
    ///
    /// - Parameters:
    ///   - mountPoint: The path for a request through the kernel, like any reader's, which needs a free thread of the session.
    ///   - status: The status, which takes the locks of the catalog, the cache, the gate and the file system.
    ///   - parts: The parts with the network thread, which must respond.
    /// - Returns: False if the mount answers with an error.
    private static func isAlive(_ mountPoint: String, status: ServedMount, parts: Parts) -> Bool {
        _ = StatusDocument(of: status)
        // A task that runs shows that some thread of the task pool is not blocked.
        BlockingCall.wait {
            await withCheckedContinuation { echo in parts.transport.echo { echo.resume() } }
        }
        var statistics = statvfs()
        return unsafe statvfs(mountPoint, &statistics) == 0
    }
}
