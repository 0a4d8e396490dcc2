internal import CFuse3
import Glibc
import System
import Synchronization

/// libfuse's log, of which each process has one.
///
/// While a session is being mounted, the lines are kept, because they give the reason of a failure. At other times they go to a
/// receiver, by default standard error.
///
/// ## Concurrency
///
/// Any thread may call.
package enum FuseLog {
    private struct State {
        var isInstalled = false
        var kept: [String]?
        var receiver: @Sendable (String) -> Void = { line in
            let bytes = Array("fuse: \(line)\n".utf8)
            _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
    }

    /// The maximum number of kept lines; mounting writes two or three.
    private static let mostKept = 32

    private static let state = Mutex(State())

    /// Sends lines to `receiver` from now on, which is called on any thread and must not wait.
    package static func send(to receiver: @escaping @Sendable (String) -> Void) {
        state.withLock { $0.receiver = receiver }
    }

    /// Runs `body` and keeps the lines that libfuse logs meanwhile.
    static func keepingLines<Result>(during body: () -> Result) -> (result: Result, lines: [String]) {
        install()
        state.withLock { $0.kept = [] }
        let result = body()
        let lines = state.withLock { state in
            defer { state.kept = nil }
            return state.kept ?? []
        }
        return (result, lines)
    }

    /// Redirects libfuse's log to this type, once.
    private static func install() {
        let isFirst = state.withLock { state in
            defer { state.isInstalled = true }
            return !state.isInstalled
        }
        guard isFirst else { return }
        unsafe rankfs_fuse_log_to { _, line in
            guard let line = unsafe line else { return }
            unsafe FuseLog.take(String(cString: line))
        }
    }

    private static func take(_ line: String) {
        var text = Substring(line)
        while text.last?.isNewline == true { text.removeLast() }
        if text.hasPrefix("fuse: ") { text.removeFirst("fuse: ".count) }
        guard !text.isEmpty else { return }
        let receiver = state.withLock { state in
            guard let count = state.kept?.count else { return Optional(state.receiver) }
            if count < mostKept { state.kept?.append(String(text)) }
            return nil
        }
        receiver?(String(text))
    }
}

// MARK: - Mount failure

/// The reason of a failed mount, as a sentence with cause and remedy; derived from libfuse's log and the state of the system.
struct MountFailure {
    var mountPoint: String
    /// The lines that libfuse logged during the mount.
    var lines: [String]
    /// The value of errno after the failure, as far as it is meaningful.
    var errno: Int32
    /// Whether an option shows the mount to other users, which fusermount3 may refuse.
    var isShared = false

    /// Returns the problem with the mount point itself, checked before libfuse is called; nil if there is none.
    static func obstacle(at mountPoint: String) -> String? {
        if let status = fileStatus(at: mountPoint) {
            guard status.st_mode.isDirectory else {
                return "The mount point \(mountPoint) is not a directory; name an empty directory."
            }
            return nil
        }
        let error = Errno(rawValue: Glibc.errno)
        let message =
            switch error {
            case .ENOENT:
                "The mount point \(mountPoint) does not exist; create it with: mkdir -p \(mountPoint)"
            case .ENOTCONN:
                "A daemon that died has left \(mountPoint) mounted; release it with: fusermount3 -u \(mountPoint)"
            case .EACCES:
                "The mount point \(mountPoint) may not be entered by this user; choose a directory of your own."
            default:
                "The mount point \(mountPoint) cannot be used (\(error)); choose another directory."
            }
        return message
    }

    /// The sentence about options that libfuse did not accept.
    var ofOptions: String {
        let text = lines.joined(separator: " ")
        guard let start = text.firstRange(of: "unknown option(s): `") else {
            return "libfuse did not accept the mount options\(quoted); see the options of mount.fuse3(8)."
        }
        let options = text[start.upperBound...].prefix { $0 != "'" }.split(separator: " ").filter { $0 != "-o" }
        return "Unknown mount option \(options.joined(separator: ", ")); see mount.fuse3(8) for those of libfuse."
    }

    /// The sentence about a mount that failed with valid options.
    var ofMounting: String {
        let text = lines.joined(separator: "; ")
        if text.contains("device not found") || !Self.allows(F_OK, "/dev/fuse") {
            return "/dev/fuse does not exist; load the kernel module with: modprobe fuse "
                + "(in a container: start it with --device /dev/fuse)."
        }
        if !Self.allows(R_OK | W_OK, "/dev/fuse") {
            return "/dev/fuse may not be opened by this user; its permissions should be crw-rw-rw-."
        }
        if geteuid() != 0, !Self.hasHelper {
            return "fusermount3 is missing, without which only root can mount; install the package fuse3."
        }
        if text.contains("user_allow_other") || (geteuid() != 0 && text.contains("allow_other")) {
            return "allow_other is not allowed to users here; add the line user_allow_other to /etc/fuse.conf."
        }
        let error = Errno(rawValue: errno)
        switch error {
        case .EBUSY:
            return "\(mountPoint) is busy or mounted already; unmount it with: fusermount3 -u \(mountPoint)"
        case .EPERM where isOwn && !text.contains("allow_other") && !isShared:
            return "Mounting is not permitted here\(quoted); `rankfs doctor` names what is missing "
                + "(in a container: start it with --cap-add SYS_ADMIN --device /dev/fuse)."
        case .EPERM, .EACCES:
            return "Mounting on \(mountPoint) is not permitted\(quoted); the directory must belong to you, "
                + "and allow_other needs user_allow_other in /etc/fuse.conf."
        default:
            return "Mounting on \(mountPoint) failed\(quoted); `mount` and `dmesg` may tell more."
        }
    }

    /// Whether the mount point belongs to this user, or the user is root.
    private var isOwn: Bool {
        geteuid() == 0 || fileStatus(at: mountPoint).map { $0.st_uid == geteuid() } ?? false
    }

    /// The lines of libfuse, in parentheses.
    private var quoted: String {
        lines.isEmpty ? "" : " (\(lines.joined(separator: "; ")))"
    }

    static var hasMeans: Bool { allows(R_OK | W_OK, "/dev/fuse") && (geteuid() == 0 || hasHelper) }

    private static var hasHelper: Bool {
        MountTable.helpers.contains { allows(X_OK, $0) }
    }

    private static func allows(_ mode: Int32, _ path: String) -> Bool {
        unsafe access(path, mode) == 0
    }
}
