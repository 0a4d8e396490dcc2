import CLinux
import CSystemd
import Dispatch
import Glibc
import HTTP
import Sourcing
import Synchronization
import System

/// Shows messages to the user as desktop notifications (Desktop Notifications Specification 1.2).
///
/// Without a bus, or without a desktop on it, nothing happens: the log and the status contain the same message. Texts are plain,
/// without the characters that desktops take for markup.
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

    /// The remedy for a session that has ended.
    static let signInAgain = "Sign in again with `rankfs login`. What is stored, and what needs no account, works on."

    /// Shows that the session of a service has ended.
    func showExpiry(of service: String) {
        show("\(service) no longer takes the session", Self.signInAgain)
    }

    /// Shows that something in front of a service turns programs away: the reason and, after a semicolon, the remedy.
    func showRefusal(by service: String, _ sentence: String) {
        var text = Self.whole(sentence)
        // The remedy, then the reason: desktops show the beginning only (xfce4-notifyd 0.6: six lines), and the summary names the
        // problem.
        if let border = sentence.firstRange(of: "; ") {
            text = Self.whole(String(sentence[border.upperBound...])) + " " + sentence[..<border.lowerBound] + "."
        }
        show("\(service) does not let rankfs in", text)
    }

    /// Shows that a service is in trouble, with the reason; only the first within `silence`, since every request reports it.
    func showTrouble(of service: String, _ sentence: String) {
        let now = TimeSource.system.now()
        let isNews = lastTrouble.withLock { last in
            if let last, now - last < Self.silence { return false }
            last = now
            return true
        }
        if isNews { show("\(service) is in trouble", Self.whole(sentence)) }
    }

    private static func whole(_ sentence: String) -> String {
        sentence.prefix(1).uppercased() + sentence.dropFirst() + (sentence.hasSuffix(".") ? "" : ".")
    }

    private func show(_ summary: String, _ body: String) {
        queue.async { [home] in
            // Looked up only now: a user's bus starts with the login, long after a mount of fstab.
            guard let address = Self.bus(home.variables, user: geteuid()) else { return }
            var bus: OpaquePointer?
            guard unsafe sd_bus_new(&bus) >= 0 else { return }
            defer { unsafe sd_bus_flush_close_unref(bus) }
            guard unsafe sd_bus_set_address(bus, address) >= 0, unsafe sd_bus_set_bus_client(bus, 1) >= 0,
                unsafe sd_bus_start(bus) >= 0
            else { return }
            unsafe _ = rankfs_bus_notify(bus, "rankfs", "org.rankfs.rankfs", summary, body, Self.patience)
        }
    }

    // MARK: Session bus

    /// Finds the user's own bus, on which the desktop listens; none is ever started for a notification.
    ///
    /// A socket in the file system must be owned by the user: a root process that serves or acts as another user must not send
    /// on the bus of that user.
    ///
    /// - Parameters:
    ///   - variables: The environment; `DBUS_SESSION_BUS_ADDRESS` takes precedence over the runtime directory.
    ///   - user: The user ID that must own the bus.
    ///   - owner: Returns the owner of the socket at a path; nil if there is no socket.
    /// - Returns: A D-Bus address that leads to one Unix socket; nil if there is no such bus.
    static func bus(
        _ variables: [String: String], user: UInt32, owner: (_ path: String) -> UInt32? = owner(ofSocket:)
    ) -> String? {
        for address in (variables["DBUS_SESSION_BUS_ADDRESS"] ?? "").split(separator: ";") {
            guard let (kind, name) = socket(of: address) else { continue }
            // An abstract socket has no owner to check, and buses let root in.
            guard kind == "path" ? owner(name) == user : user != 0 else { continue }
            return "unix:\(kind)=\(escaped(name))"
        }
        let runtime = variables["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let paths = [runtime, "/run/user/\(user)"].compactMap { $0.map { "\($0)/bus" } }
        return paths.first { owner($0) == user }.map { "unix:path=\(escaped($0))" }
    }

    private static func owner(ofSocket path: String) -> UInt32? {
        guard let status = fileStatus(at: path), status.st_mode & S_IFMT == S_IFSOCK else { return nil }
        return status.st_uid
    }

    /// The location of the socket in one address of a list: `unix:path=/run/user/1000/bus,guid=…` (D-Bus specification, "Server
    /// Addresses"); nil for other transports, which run programs or lead to other machines.
    private static func socket(of address: Substring) -> (kind: Substring, name: String)? {
        guard address.hasPrefix("unix:") else { return nil }
        for pair in address.dropFirst(5).split(separator: ",") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let value = unescaped(parts[1]), !value.isEmpty else { continue }
            if parts[0] == "abstract" || parts[0] == "path" && value.hasPrefix("/") { return (parts[0], value) }
        }
        return nil
    }

    /// The bytes that may stand unescaped in an address.
    private static let plain = PercentCoding.unreserved.subtracting("~".utf8).union("/*".utf8)

    private static func escaped(_ text: String) -> String { PercentCoding.encode(text, keeping: plain) }

    /// The decoded text; nil if a `%` is not followed by two digits, or the bytes are no text.
    private static func unescaped(_ text: Substring) -> String? {
        let escapes = text.split(separator: "%", omittingEmptySubsequences: false).dropFirst().map { $0.prefix(2) }
        guard escapes.allSatisfy({ $0.utf8.count == 2 && $0.allSatisfy(\.isHexDigit) }) else { return nil }
        let decoded = PercentCoding.decode(String(text))
        return decoded.contains("\u{FFFD}") ? nil : decoded
    }
}
