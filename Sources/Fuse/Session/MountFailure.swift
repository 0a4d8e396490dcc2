internal import CFuse3
import Glibc

/// Why a mount failed, as a sentence with cause and remedy; from what libfuse said and what the system shows.
struct MountFailure {
    var mountPoint: String
    /// What libfuse logged meanwhile.
    var lines: [String]
    /// errno after the failure, as far as it means something.
    var errno: Int32

    /// What is wrong with the mount point itself, asked before libfuse is: nil if nothing is.
    static func obstacle(at mountPoint: String) -> SessionError? {
        var status = stat()
        if unsafe stat(mountPoint, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else {
                return SessionError(
                    message: "The mount point \(mountPoint) is not a directory; name an empty directory.",
                    errno: .ENOTDIR)
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
        return SessionError(message: message, errno: error)
    }

    /// libfuse did not accept the options.
    var ofOptions: SessionError {
        let text = lines.joined(separator: " ")
        guard let start = text.firstRange(of: "unknown option(s): `") else {
            return SessionError(
                message: "libfuse did not accept the mount options\(quoted); see the options of mount.fuse3(8).",
                errno: .EINVAL)
        }
        let options = text[start.upperBound...].prefix { $0 != "'" }.split(separator: " ").filter { $0 != "-o" }
        return SessionError(
            message:
                "Unknown mount option \(options.joined(separator: ", ")); see mount.fuse3(8) for those of libfuse.",
            errno: .EINVAL)
    }

    /// The options were fine, but mounting failed.
    var ofMounting: SessionError {
        let text = lines.joined(separator: "; ")
        if text.contains("device not found") || !Self.allows(F_OK, "/dev/fuse") {
            return SessionError(
                message: "/dev/fuse does not exist; load the kernel module with: modprobe fuse "
                    + "(in a container: start it with --device /dev/fuse).",
                errno: .ENODEV)
        }
        if !Self.allows(R_OK | W_OK, "/dev/fuse") {
            return SessionError(
                message: "/dev/fuse may not be opened by this user; its permissions should be crw-rw-rw-.",
                errno: .EACCES)
        }
        if geteuid() != 0, !Self.hasHelper {
            return SessionError(
                message: "fusermount3 is missing, without which only root can mount; install the package fuse3.",
                errno: .ENOENT)
        }
        if text.contains("user_allow_other") || (geteuid() != 0 && text.contains("allow_other")) {
            return SessionError(
                message: "allow_other is not allowed to users here; add the line user_allow_other to /etc/fuse.conf.",
                errno: .EPERM)
        }
        let error = Errno(rawValue: errno)
        switch error {
        case .EBUSY:
            return SessionError(
                message: "\(mountPoint) is busy or mounted already; unmount it with: fusermount3 -u \(mountPoint)",
                errno: error)
        case .EPERM, .EACCES:
            return SessionError(
                message: "Mounting on \(mountPoint) is not permitted\(quoted); the directory must belong to you, "
                    + "and allow_other needs user_allow_other in /etc/fuse.conf.",
                errno: error)
        default:
            return SessionError(
                message: "Mounting on \(mountPoint) failed\(quoted); `mount` and `dmesg` may tell more.",
                errno: errno == 0 ? nil : error)
        }
    }

    /// libfuse's own words, in parentheses.
    private var quoted: String {
        lines.isEmpty ? "" : " (\(lines.joined(separator: "; ")))"
    }

    private static var hasHelper: Bool {
        ["/usr/bin/fusermount3", "/bin/fusermount3", "/usr/local/bin/fusermount3"].contains { allows(X_OK, $0) }
    }

    private static func allows(_ mode: Int32, _ path: String) -> Bool {
        unsafe access(path, mode) == 0
    }
}
