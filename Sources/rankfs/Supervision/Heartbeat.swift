import CLinux
import Dispatch
import Glibc
import HTTP
import Synchronization

/// Tells the service manager while a mount serves: what it is doing, and that it is alive.
///
/// Costs nothing where no manager listens.
///
/// ## Concurrency
///
/// Each of the two runs on a queue of its own, so that one that hangs does not keep the other; the mutex guards what was told.
final class Heartbeat: Sendable {
    /// Seconds between two looks at what to tell: `systemctl status` is read by people.
    private static let statusInterval = 5

    private struct State {
        var told: String?
        var isStopped = false
    }

    private let manager: ServiceManager
    private let status: @Sendable () -> String
    private let isAlive: @Sendable () -> Bool
    private let state = Mutex(State())
    private let statusQueue = DispatchQueue(label: "rankfs.heartbeat.status")
    private let watchdogQueue = DispatchQueue(label: "rankfs.heartbeat.watchdog")

    /// - Parameters:
    ///   - manager: Who is told.
    ///   - status: What the mount is doing, in one line.
    ///   - isAlive: Whether everything answers that readers need. May hang if something does, which keeps the manager from
    ///     being told; must not wait for the network.
    init(_ manager: ServiceManager, status: @escaping @Sendable () -> String, isAlive: @escaping @Sendable () -> Bool) {
        self.manager = manager
        self.status = status
        self.isAlive = isAlive
    }

    /// Begins to tell.
    func start() {
        guard manager.socketName != nil else { return }
        repeatStatus()
        if let pause = manager.watchdogPause { repeatPing(every: pause) }
    }

    /// Ends it; what is under way is the last.
    func stop() {
        state.withLock { $0.isStopped = true }
    }

    /// Tells what the mount is doing if that has changed.
    func tellStatus() {
        let text = status()
        let isNew = state.withLock { state in
            defer { state.told = text }
            return !state.isStopped && state.told != text
        }
        if isNew { manager.notify("STATUS=\(text)") }
    }

    /// Tells that the mount is alive, if it is.
    func ping() {
        guard isAlive(), !state.withLock(\.isStopped) else { return }
        manager.notify("WATCHDOG=1")
    }

    private func repeatStatus() {
        statusQueue.asyncAfter(deadline: .now() + .seconds(Self.statusInterval)) { [weak self] in
            guard let self, !state.withLock(\.isStopped) else { return }
            tellStatus()
            repeatStatus()
        }
    }

    private func repeatPing(every microseconds: Int) {
        watchdogQueue.asyncAfter(deadline: .now() + .microseconds(microseconds)) { [weak self] in
            guard let self, !state.withLock(\.isStopped) else { return }
            ping()
            repeatPing(every: microseconds)
        }
    }
}

// MARK: - Liveness

/// Whether a mount answers, asked by the ways that readers take.
enum Liveness {
    /// Asks everything that can get stuck, but never the network or the database.
    ///
    /// Blocks for as long as something does; not for tasks.
    ///
    /// - Parameters:
    ///   - mountPoint: Asked through the kernel, as everybody asks: the session's threads must be there to answer.
    ///   - status: Takes the locks of the catalog, the cache, the gate and the file system.
    ///   - parts: Whose network thread must go round.
    /// - Returns: False if the mount answers with an error.
    static func check(_ mountPoint: String, status: StatusSource, parts: Parts) -> Bool {
        _ = status.document()
        // A task that runs shows that not all threads of tasks are blocked.
        BlockingCall.wait {}
        let goesRound = DispatchSemaphore(value: 0)
        parts.transport.echo { goesRound.signal() }
        goesRound.wait()
        var statistics = statvfs()
        return unsafe statvfs(mountPoint, &statistics) == 0
    }
}
