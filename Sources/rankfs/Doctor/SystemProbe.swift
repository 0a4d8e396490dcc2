import CLinux
import Fuse
import Glibc
import Render

/// Looks at what mounting needs of the system, and at what is mounted.
enum SystemProbe {
    /// How long a mount may take to answer.
    private static let patience: Duration = .seconds(2)
    /// Mounts that are asked; each may take that long.
    private static let mostMounts = 8

    static func findings(wantsOthers: Bool) -> [Finding] {
        let isRoot = geteuid() == 0
        return [
            .device(device()), .helper(helper(), isRoot: isRoot),
            .allowOther(
                isWanted: wantsOthers, isAllowed: Finding.allowsOthers(configuration: text("/etc/fuse.conf") ?? ""),
                isRoot: isRoot),
            .versions(
                kernel: text("/proc/sys/kernel/osrelease").map { String($0.prefix { $0 != "\n" }) } ?? "unknown",
                library: FuseLibrary.version),
            .decoding(decoding()), .locate(configuration: text("/etc/updatedb.conf")),
        ].compactMap { $0 } + Finding.indexers(running: programs())
    }

    private static func device() -> Finding.DeviceLook {
        let descriptor = unsafe open("/dev/fuse", O_RDWR | O_CLOEXEC)
        guard descriptor < 0 else {
            close(descriptor)
            return .opens
        }
        return errno == ENOENT ? .missing : .refused(errno)
    }

    private static func helper() -> Finding.HelperLook? {
        for path in Unmounter.helpers {
            var status = stat()
            guard unsafe stat(path, &status) == 0, unsafe access(path, X_OK) == 0 else { continue }
            return Finding.HelperLook(
                path: path, isSetuidRoot: status.st_uid == 0 && status.st_mode & S_ISUID != 0)
        }
        return nil
    }

    private static func decoding() -> Result<Protection, MediaError> {
        Result { () throws(MediaError) in try Renderer.look(at: Renderer.Configuration.standard.program()) }
    }

    /// The names of running processes, as far as this user may know.
    private static func programs() -> Set<String> {
        let processes = ((try? LocalFiles.names(in: "/proc")) ?? []).filter {
            $0.utf8.allSatisfy { (48...57).contains($0) }
        }
        return Set(processes.compactMap { text("/proc/\($0)/comm").map { String($0.prefix { $0 != "\n" }) } })
    }

    /// A small file's text; nil if it cannot be read.
    private static func text(_ path: String) -> String? {
        (try? LocalFiles.read(path, limit: 64 << 10)).map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: - Mounts

    /// What each mount of rankfs says of itself, as far as this user may ask.
    static func mounts() -> [(path: String, look: Finding.MountLook, status: StatusDocument?)] {
        let table = MountTable.current()
        return table.ownMountPoints.suffix(mostMounts).map { path in
            switch MountPoint.look(at: path, mounts: table.stack(at: path), patience: patience) {
            case .failed(ENOTCONN), .failed(ECONNABORTED): return (path, .dead, nil)
            case .failed: return (path, .hidden, nil)
            case .silent: return (path, .silent, nil)
            case .directory, .missing, .notADirectory:
                let document = StatusCommand.document(of: path)
                return (path, .answers(version: document?.version), document)
            }
        }
    }
}
