import Foundation
import Glibc
import Testing

/// A message bus of a test's own, which ends with the workplace.
struct PrivateBus {
    /// Whether what a bus and the services on it are made of is installed.
    static let isAvailable =
        FileManager.default.isExecutableFile(atPath: "/usr/bin/dbus-daemon")
        && FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/dbus")
    static let need = "needs dbus-daemon and python3-dbus" as Comment

    let workplace: Workplace
    let address: String
    let daemon: Child

    init(_ workplace: Workplace, at socket: String) throws {
        self.workplace = workplace
        address = "unix:path=\(socket)"
        daemon = try workplace.start(
            "/usr/bin/dbus-daemon", ["--session", "--nofork", "--nopidfile", "--address=\(address)"])
        guard poll({ access(socket, F_OK) == 0 }) else { throw Failure("no bus: \(daemon.errorText)") }
    }
}
