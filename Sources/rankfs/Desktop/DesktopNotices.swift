import CSystemd
import Dispatch
import Glibc
import Synchronization

/// A message to the user on the desktop, independent of the log.
enum DesktopNotice: Sendable {
    case sessionExpired(service: String)
    /// Something in front of the service turns programs away: the reason and, after a semicolon, the remedy.
    case turnedAway(service: String, sentence: String)
    /// The service is in trouble: the reason, as a sentence.
    case troubled(service: String, sentence: String)

    var summary: String {
        switch self {
        case .sessionExpired(let service): "\(service) no longer takes the session"
        case .turnedAway(let service, _): "\(service) does not let rankfs in"
        case .troubled(let service, _): "\(service) is in trouble"
        }
    }

    /// Plain text without the characters that desktops take for markup.
    var body: String {
        switch self {
        case .sessionExpired:
            "Sign in again with `rankfs login`. What is stored, and what needs no account, works on."
        case .turnedAway(_, let sentence): Self.remedyFirst(sentence)
        case .troubled(_, let sentence): Self.whole(sentence)
        }
    }

    /// The remedy, then the reason: desktops show the beginning only (xfce4-notifyd 0.6: six lines), and the summary names the
    /// problem.
    private static func remedyFirst(_ sentence: String) -> String {
        guard let border = sentence.firstRange(of: "; ") else { return whole(sentence) }
        return whole(String(sentence[border.upperBound...])) + " " + sentence[..<border.lowerBound] + "."
    }

    private static func whole(_ sentence: String) -> String {
        sentence.prefix(1).uppercased() + sentence.dropFirst() + (sentence.hasSuffix(".") ? "" : ".")
    }
}

/// Shows notices as desktop notifications (Desktop Notifications Specification 1.2).
///
/// Without a bus, or without a desktop on it, nothing happens: the log and the status contain the same message.
///
/// ## Concurrency
///
/// Any thread may call, and each call returns at once; a queue of its own sends to the bus.
final class DesktopNotices: Sendable {
    /// The time limit for an answer of the desktop, in microseconds.
    private static let patience: UInt64 = 10_000_000

    /// The time during which further trouble of a service is not shown.
    private static let silence: Duration = .seconds(3600)

    private let home: Home
    private let lastTrouble = Mutex<ContinuousClock.Instant?>(nil)
    private let queue = DispatchQueue(label: "rankfs.notices")

    init(_ home: Home) {
        self.home = home
    }

    /// Shows a notice; of the notices of trouble only the first within `silence`, since every request reports the trouble.
    func show(_ notice: DesktopNotice) {
        if case .troubled = notice {
            let now = MonotonicClock.now
            let isNews = lastTrouble.withLock { last in
                if let last, now - last < Self.silence { return false }
                last = now
                return true
            }
            guard isNews else { return }
        }
        queue.async { [home] in
            // Looked up only now: a user's bus starts with the login, long after a mount of fstab.
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
