import CLinux
import Glibc
import System
import Sourcing

/// A session bus that is running already: none is ever started for a notification.
struct SessionBus: Hashable, Sendable {
    /// A D-Bus address that leads to one Unix socket.
    let address: String

    /// The owner of the socket at a path, a user ID; nil if there is no socket.
    typealias Owner = (_ path: String) -> UInt32?

    /// Finds the user's own bus, on which the desktop listens.
    ///
    /// A socket in the file system must be owned by the user: a root process that serves or acts as another user must not send
    /// on the bus of that user.
    ///
    /// - Parameters:
    ///   - variables: The environment; `DBUS_SESSION_BUS_ADDRESS` takes precedence over the runtime directory.
    ///   - user: The user ID that must own the bus.
    ///   - owner: Returns the owner of the socket at a path.
    /// - Returns: Nil if there is no such bus.
    static func find(_ variables: [String: String], user: UInt32, owner: Owner = owner(ofSocket:)) -> SessionBus? {
        for address in (variables["DBUS_SESSION_BUS_ADDRESS"] ?? "").split(separator: ";") {
            guard let place = Place(address) else { continue }
            switch place {
            case .path(let path): if owner(path) == user { return SessionBus(path: path) }
            // An abstract socket has no owner to check, and buses let root in.
            case .abstract(let name): if user != 0 { return SessionBus(address: "unix:abstract=\(escaped(name))") }
            }
        }
        let runtime = variables["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let paths = [runtime, "/run/user/\(user)"].compactMap { $0.map { "\($0)/bus" } }
        return paths.first { owner($0) == user }.map { SessionBus(path: $0) }
    }

    private init(address: String) {
        self.address = address
    }

    private init(path: String) {
        address = "unix:path=\(Self.escaped(path))"
    }

    private static func owner(ofSocket path: String) -> UInt32? {
        guard let status = fileStatus(at: path), status.st_mode & S_IFMT == S_IFSOCK else { return nil }
        return status.st_uid
    }

    // MARK: Addresses

    /// The location of a socket; other transports run programs or lead to other machines.
    private enum Place {
        case path(String)
        case abstract(String)

        /// One address of a list: `unix:path=/run/user/1000/bus,guid=…` (D-Bus specification, "Server Addresses").
        init?(_ address: Substring) {
            guard address.hasPrefix("unix:") else { return nil }
            for pair in address.dropFirst(5).split(separator: ",") {
                let parts = pair.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, let value = SessionBus.unescaped(parts[1]), !value.isEmpty else { continue }
                switch parts[0] {
                case "path" where value.hasPrefix("/"):
                    self = .path(value)
                    return
                case "abstract":
                    self = .abstract(value)
                    return
                default: continue
                }
            }
            return nil
        }
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
