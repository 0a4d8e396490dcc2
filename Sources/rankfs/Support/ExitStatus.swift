/// The exit statuses of the program and of the mount helper.
///
/// 64 and above are those of sysexits.h(3head); 1, 2 and 32 are those that mount(8) documents.
enum ExitStatus: Int32, Sendable, CaseIterable {
    case success = 0
    /// mount(8): wrong call or configuration.
    case mountUsage = 1
    /// mount(8): the system lacks something.
    case mountSystem = 2
    /// mount(8): the mount failed; also the status of `rankfs mount` and `rankfs unmount` for an unusable mount point.
    case mountFailure = 32
    case usage = 64
    case unavailable = 69
    case system = 71
    case cannotCreate = 73
    /// EX_NOPERM: the service refuses the session.
    case refused = 77
    case configuration = 78

    /// 1, as with cp(1) and rsync(1): only a part of the request is done.
    static let incomplete = ExitStatus.mountUsage

    /// The status for the same outcome that mount(8) expects of a helper.
    var ofMountHelper: ExitStatus {
        switch self {
        case .success, .mountUsage, .mountSystem, .mountFailure: self
        case .usage, .configuration: .mountUsage
        case .system: .mountSystem
        case .unavailable, .cannotCreate, .refused: .mountFailure
        }
    }
}

/// The reason why the program ends without having done its task.
struct ProgramError: Error, Hashable, Sendable {
    let status: ExitStatus
    /// A sentence with cause and remedy; several lines only where several lines of a file are wrong.
    let message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// The command line is wrong.
    static func usage(_ message: String) -> Self { Self(.usage, message) }
    /// The configuration is wrong, or lacks something.
    static func configuration(_ message: String) -> Self { Self(.configuration, message) }
    /// A mount, a service or a program cannot be used now.
    static func unavailable(_ message: String) -> Self { Self(.unavailable, message) }
    /// A folder cannot be mounted on or unmounted.
    static func mountFailure(_ message: String) -> Self { Self(.mountFailure, message) }
    /// A file cannot be written.
    static func cannotCreate(_ message: String) -> Self { Self(.cannotCreate, message) }
    /// The system lacks something.
    static func system(_ message: String) -> Self { Self(.system, message) }
    /// The service refuses the session.
    static func refused(_ message: String) -> Self { Self(.refused, message) }
    /// A part of the request is not done; the reason is printed already if there is no message.
    static func incomplete(_ message: String = "") -> Self { Self(.incomplete, message) }
}
