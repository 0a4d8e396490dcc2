import CLinux
import Glibc

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
