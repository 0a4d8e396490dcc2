import CSystemd
import Dispatch
import Glibc
import Synchronization

/// What the user is told on the desktop, whether or not anybody looks at the log.
enum DesktopNotice: Sendable {
    case sessionExpired(service: String)
    /// Something in front of the service turns programs away: why, and behind a semicolon what helps.
    case turnedAway(service: String, sentence: String)
    /// The service is in trouble: as a sentence.
    case troubled(service: String, sentence: String)

    var summary: String {
        switch self {
        case .sessionExpired(let service): "\(service) no longer takes the session"
        case .turnedAway(let service, _): "\(service) does not let rankfs in"
        case .troubled(let service, _): "\(service) is in trouble"
        }
    }

    /// Plain text without the signs that desktops take for markup.
    var body: String {
        switch self {
        case .sessionExpired:
            "Sign in again with `rankfs login`. What is stored, and what needs no account, works on."
        case .turnedAway(_, let sentence): Self.remedyFirst(sentence)
        case .troubled(_, let sentence): Self.whole(sentence)
        }
    }

    /// Desktops show the beginning only (xfce4-notifyd 0.6: six lines), and the summary has said what is the matter.
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
/// Without a bus, or a desktop on it, nothing happens: what a notice says is in the log and the status as well.
///
/// ## Concurrency
///
/// Any thread may call and returns at once; a queue of its own talks to the bus.
final class DesktopNotices: Sendable {
    /// Microseconds until a desktop that does not answer is given up.
    private static let patience: UInt64 = 10_000_000

    /// For so long a service's trouble is not said again.
    private static let silence: Duration = .seconds(3600)

    private let home: Home
    private let lastTrouble = Mutex<ContinuousClock.Instant?>(nil)
    private let queue = DispatchQueue(label: "rankfs.notices")

    init(_ home: Home) {
        self.home = home
    }

    /// Shows a notice; of a service in trouble only the first for a while, since everybody who asks hears of it.
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
