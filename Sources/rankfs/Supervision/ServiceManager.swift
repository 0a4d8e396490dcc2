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

    private let manager: ServiceManager
    private let status: @Sendable () -> StatusDocument
    private let isAlive: @Sendable () -> Bool
    private let state = Mutex<(told: String, meter: RateMeter, isStopped: Bool)>(("", RateMeter(), false))
    private let statusQueue = DispatchQueue(label: "rankfs.heartbeat.status")
    private let watchdogQueue = DispatchQueue(label: "rankfs.heartbeat.watchdog")

    /// - Parameters:
    ///   - manager: The service manager that receives the reports.
    ///   - status: Returns the mount's status.
    ///   - isAlive: Whether all parts that readers need answer. May hang if one of them does, so that the manager receives no
    ///     report; must not wait for the network.
    init(
        _ manager: ServiceManager, status: @escaping @Sendable () -> StatusDocument,
        isAlive: @escaping @Sendable () -> Bool
    ) {
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
        let document = status()
        let news = state.withLock { state -> String? in
            state.meter.look(document)
            let text = document.line(rate: state.meter.perSecond, clock: Terminal.clock)
            defer { state.told = text }
            return state.isStopped || state.told == text ? nil : text
        }
        if let news { manager.notify("STATUS=\(news)") }
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

// MARK: - Service manager

/// Reports a service's state to systemd (sd_notify(3)): one datagram to the socket that NOTIFY_SOCKET names.
struct ServiceManager: Sendable {
    /// A path, or an abstract name that begins with `@`; nil without a service manager.
    let socketName: String?
    /// Microseconds between two signs of life, half of the manager's time limit; nil if it wants none.
    let watchdogPause: Int?

    /// The variables of a service, which child processes must not inherit.
    private static let names = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

    init(variables: [String: String], process: Int32 = getpid()) {
        let isMeant = variables["WATCHDOG_PID"].map { $0 == "\(process)" } ?? true
        let patience = variables["WATCHDOG_USEC"].flatMap { Int($0) }.flatMap { $0 > 1 ? $0 : nil }
        watchdogPause = isMeant ? patience.map { $0 / 2 } : nil
        socketName = variables["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
    }

    /// Prevents child processes from reporting in place of this process.
    ///
    /// Must not run while other threads may read the environment.
    func hideFromChildren() {
        for name in Self.names { unsafe _ = unsetenv(name) }
    }

    /// Sends `READY=1` and the like; without a listening manager this does nothing.
    func notify(_ message: String) {
        guard let socketName, let address = Self.address(socketName) else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let bytes = Array(message.utf8)
        unsafe withUnsafePointer(to: address.socket) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = unsafe sendto(
                    descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), pointer, socklen_t(address.length))
            }
        }
    }

    /// The socket address of a name; nil if it is too long.
    ///
    /// An abstract name's first byte is zero and its length counts (unix(7)).
    static func address(_ name: String) -> (socket: sockaddr_un, length: Int)? {
        var result = sockaddr_un()
        result.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: result.sun_path) else { return nil }
        if bytes.first == 64 { bytes[0] = 0 } else { bytes.append(0) }
        unsafe withUnsafeMutableBytes(of: &result.sun_path) { unsafe $0.copyBytes(from: bytes) }
        return (result, MemoryLayout<sa_family_t>.size + bytes.count)
    }
}
