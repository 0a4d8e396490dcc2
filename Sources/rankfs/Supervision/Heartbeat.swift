import CLinux
import Dispatch
import Glibc
import HTTP
import Synchronization

/// Reports to the service manager while a mount serves: its activity, and that it is alive.
///
/// Costs nothing without a service manager.
///
/// ## Concurrency
///
/// The status and the watchdog each run on a queue of their own, so that one does not block the other; the mutex guards the
/// last reported status.
final class Heartbeat: Sendable {
    /// Microseconds between two checks for a new status: `systemctl status` is read by people.
    private static let statusInterval = 5_000_000

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
    ///   - manager: The service manager that receives the reports.
    ///   - status: Returns the mount's activity in one line.
    ///   - isAlive: Whether all parts that readers need answer. May hang if one of them does, so that the manager receives no
    ///     report; must not wait for the network.
    init(_ manager: ServiceManager, status: @escaping @Sendable () -> String, isAlive: @escaping @Sendable () -> Bool) {
        self.manager = manager
        self.status = status
        self.isAlive = isAlive
    }

    /// Begins to report.
    func start() {
        guard manager.socketName != nil else { return }
        again(every: Self.statusInterval, on: statusQueue) { $0.tellStatus() }
        if let pause = manager.watchdogPause { again(every: pause, on: watchdogQueue) { $0.ping() } }
    }

    /// Ends the reports; a report under way is the last.
    func stop() {
        state.withLock { $0.isStopped = true }
    }

    /// Reports the mount's activity if it has changed.
    func tellStatus() {
        let text = status()
        let isNew = state.withLock { state in
            defer { state.told = text }
            return !state.isStopped && state.told != text
        }
        if isNew { manager.notify("STATUS=\(text)") }
    }

    /// Reports that the mount is alive, if it is.
    func ping() {
        guard isAlive(), !state.withLock(\.isStopped) else { return }
        manager.notify("WATCHDOG=1")
    }

    private func again(
        every microseconds: Int, on queue: DispatchQueue, _ report: @escaping @Sendable (Heartbeat) -> Void
    ) {
        queue.asyncAfter(deadline: .now() + .microseconds(microseconds)) { [weak self] in
            guard let self, !state.withLock(\.isStopped) else { return }
            report(self)
            again(every: microseconds, on: queue, report)
        }
    }
}
