import CSystemd
import Dispatch
import Glibc

/// What the user is told on the desktop, whether or not anybody looks at the log.
enum DesktopNotice: Sendable {
    case sessionExpired(service: String)

    var summary: String {
        switch self {
        case .sessionExpired(let service): "\(service) no longer takes the session"
        }
    }

    /// Plain text without the signs that desktops take for markup.
    var body: String {
        switch self {
        case .sessionExpired:
            "Sign in again with `rankfs login`. What is stored, and what needs no account, works on."
        }
    }
}

/// Shows notices as desktop notifications (Desktop Notifications Specification 1.2).
///
/// Without a bus, or a desktop on it, nothing happens: what a notice says is in the log and the status as well.
///
/// ## Concurrency
///
/// Any thread may call and returns at once; a queue of its own talks to the bus.
final class DesktopNotices: Sendable {
    /// Microseconds until a desktop that does not answer is given up.
    private static let patience: UInt64 = 10_000_000

    private let home: Home
    private let queue = DispatchQueue(label: "rankfs.notices")

    init(_ home: Home) {
        self.home = home
    }

    func show(_ notice: DesktopNotice) {
        queue.async { [home] in
            // Looked for now: a user's bus comes with the login, long after a mount of fstab.
            guard let bus = SessionBus.find(home.variables, user: geteuid()) else { return }
            Self.send(notice, to: bus)
        }
    }

    private static func send(_ notice: DesktopNotice, to address: SessionBus) {
        var bus: OpaquePointer?
        guard unsafe sd_bus_new(&bus) >= 0 else { return }
        defer { unsafe sd_bus_flush_close_unref(bus) }
        guard unsafe sd_bus_set_address(bus, address.address) >= 0, unsafe sd_bus_set_bus_client(bus, 1) >= 0,
            unsafe sd_bus_start(bus) >= 0
        else { return }
        unsafe _ = rankfs_bus_notify(bus, "rankfs", "org.rankfs.rankfs", notice.summary, notice.body, patience)
    }
}
