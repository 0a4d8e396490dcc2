import CSystemd
import Dispatch
import Glibc
import Synchronization

/// Reports to the service manager while a mount serves: its activity, and that it is alive.
///
/// Costs nothing without a service manager.
///
/// ## Concurrency
///
/// The status and the watchdog each run on a queue of their own, so that one does not block the other; the mutex guards the
/// last reported status and the rate of the reports.
final class Heartbeat: Sendable {
    /// Microseconds between two checks for a new status: `systemctl status` is read by people.
    private static let statusInterval = 5_000_000

    private let notify: @Sendable (String) -> Void
    private let status: @Sendable () -> StatusDocument
    private let isAlive: @Sendable () -> Bool
    private let state = Mutex<(told: String, meter: RateMeter, isStopped: Bool)>(("", RateMeter(), false))
    private let statusQueue = DispatchQueue(label: "rankfs.heartbeat.status")
    private let watchdogQueue = DispatchQueue(label: "rankfs.heartbeat.watchdog")

    /// - Parameters:
    ///   - notify: Sends a report to the service manager.
    ///   - status: Returns the mount's status.
    ///   - isAlive: Whether all parts that readers need answer. May hang if one of them does, so that the manager receives no
    ///     report; must not wait for the network.
    init(
        notify: @escaping @Sendable (String) -> Void = ServiceManager.notify,
        status: @escaping @Sendable () -> StatusDocument,
        isAlive: @escaping @Sendable () -> Bool
    ) {
        self.notify = notify
        self.status = status
        self.isAlive = isAlive
    }

    /// Begins to report.
    func start() {
        guard ServiceManager.isThere else { return }
        again(every: Self.statusInterval, on: statusQueue) { $0.tellStatus() }
        if let pause = ServiceManager.watchdogPause { again(every: pause, on: watchdogQueue) { $0.ping() } }
    }

    /// Ends the reports; a report under way is the last.
    func stop() {
        state.withLock { $0.isStopped = true }
    }

    /// Reports the mount's activity if it has changed.
    func tellStatus() {
        let document = status()
        let news = state.withLock { state -> String? in
            state.meter.look(document)
            let text = document.line(rate: state.meter.perSecond, clock: Terminal.clock)
            defer { state.told = text }
            return state.isStopped || state.told == text ? nil : text
        }
        if let news { notify("STATUS=\(news)") }
    }

    /// Reports that the mount is alive, if it is.
    func ping() {
        guard isAlive(), !state.withLock(\.isStopped) else { return }
        notify("WATCHDOG=1")
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

// MARK: - Service manager

/// Reports a service's state to systemd by sd_notify(3), if systemd started this process and wants to know.
enum ServiceManager {
    /// Whether a service manager listens.
    static var isThere: Bool { unsafe getenv("NOTIFY_SOCKET") != nil }

    /// Microseconds between two signs of life, half of the manager's time limit; nil if it wants none.
    static var watchdogPause: Int? {
        var limit: UInt64 = 0
        return unsafe sd_watchdog_enabled(0, &limit) > 0 && limit > 1 ? Int(clamping: limit / 2) : nil
    }

    /// Sends `READY=1` and the like; without a listening manager this does nothing.
    @Sendable static func notify(_ message: String) {
        unsafe _ = sd_notify(0, message)
    }
}
