import CLinux
import Fuse
import Glibc
import Posix
import RankFS
import Render

/// The findings on the system.
extension Finding {
    /// The result of opening `/dev/fuse`.
    enum DeviceLook: Hashable, Sendable {
        case opens
        case missing
        /// Refused, with the errno.
        case refused(Int32)
    }

    static func device(_ look: DeviceLook) -> Finding {
        switch look {
        case .opens: .ok("fuse device", "/dev/fuse can be opened.")
        case .missing:
            .wrong(
                "fuse device",
                "/dev/fuse does not exist: load the module with `modprobe fuse`, or start the container with "
                    + "`--device /dev/fuse`.")
        case .refused(let code):
            .wrong(
                "fuse device",
                "/dev/fuse cannot be opened (\(LocalFiles.Failure(code: code).text)): give this user the right to, "
                    + "or the container `--device /dev/fuse`.")
        }
    }

    /// The program fusermount3, as found in its usual places.
    struct HelperLook: Hashable, Sendable {
        var path: String
        /// Whether root owns it and it is setuid.
        var isSetuidRoot: Bool
    }

    /// The finding on fusermount3.
    ///
    /// - Parameters:
    ///   - look: Nil if it is missing.
    ///   - isRoot: Whether the user is root, which mounts without it.
    /// - Returns: Whether users can mount.
    static func helper(_ look: HelperLook?, isRoot: Bool) -> Finding {
        guard let look else {
            return isRoot
                ? .note("fusermount3", "it is missing: install the package fuse3; root mounts without it.")
                : .wrong("fusermount3", "it is missing: install the package fuse3.")
        }
        if isRoot || look.isSetuidRoot { return .ok("fusermount3", "\(look.path) is there.") }
        return .wrong(
            "fusermount3",
            "\(look.path) may not mount for users: as root, `chown root \(look.path); chmod 4755 \(look.path)`.")
    }

    /// The finding on the permission for `allow_other`.
    ///
    /// - Parameters:
    ///   - isWanted: Whether the options name `allow_other` or `allow_root`.
    ///   - isAllowed: Whether /etc/fuse.conf has `user_allow_other`.
    ///   - isRoot: Whether the user is root, which needs no permission.
    /// - Returns: Nil if the options do not name it or no permission is needed.
    static func allowOther(isWanted: Bool, isAllowed: Bool, isRoot: Bool) -> Finding? {
        guard isWanted, !isRoot else { return nil }
        return isAllowed
            ? .ok("allow_other", "/etc/fuse.conf lets users show mounts to others.")
            : .wrong("allow_other", "/etc/fuse.conf does not allow it: add the line `user_allow_other` as root.")
    }

    /// Whether fuse.conf has the line `user_allow_other` (mount.fuse3(8)).
    static func allowsOthers(configuration text: String) -> Bool {
        text.split(separator: "\n").contains { line in
            line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace) == ["user_allow_other"]
        }
    }

    static func versions(kernel: String, library: String) -> Finding {
        .ok("versions", "rankfs \(Version.text), libfuse \(library), Linux \(kernel).")
    }

    /// The finding on the protection of the process that decodes pictures.
    ///
    /// - Parameter look: The protection on this system, or the error that prevents decoding.
    /// - Returns: One line on the protection in force.
    static func decoding(_ look: Result<Protection, MediaError>) -> Finding {
        switch look {
        case .failure(let error):
            return .wrong("decoding", "there will be no thumbnails and animations: \(error.text).")
        case .success(let protection):
            let missing = Protection.all.subtracting(protection)
            let there = "pictures are decoded with \(list(protection.names))"
            guard !missing.isEmpty else { return .ok("decoding", "\(there).") }
            return .note("decoding", "\(there); this kernel or container does not allow \(list(missing.names)).")
        }
    }

    private static func list(_ words: [String]) -> String {
        words.isEmpty ? "nothing" : words.joined(separator: ", ")
    }

    // MARK: - Mounts

    /// The state of a mount of rankfs.
    enum MountLook: Hashable, Sendable {
        /// Alive, with the version of its program; nil if the mount does not report it.
        case answers(version: String?)
        /// The process of the mount has died.
        case dead
        case silent
        /// The mount of another user.
        case hidden
    }

    static func mount(_ path: String, _ look: MountLook) -> Finding? {
        let shown = LogText.escaped(path)
        switch look {
        case .answers(let version?) where version == Version.text: return .ok("mount", "\(shown) answers.")
        case .answers(let version):
            return .note(
                "mount",
                "\(shown) is served by \(version.map { "rankfs \($0)" } ?? "another version of rankfs"), this one is "
                    + "\(Version.text): unmount it and mount it again.")
        case .dead:
            return .wrong(
                "mount", "the process behind \(shown) has died: `rankfs unmount \(shown)` clears it.",
                repair: .detach(mountPoint: path))
        case .silent:
            return .wrong("mount", "\(shown) does not answer: end its process, then `rankfs unmount \(shown)`.")
        case .hidden: return nil
        }
    }

    // MARK: - Indexers

    /// The finding on updatedb(8).
    ///
    /// - Parameter text: The content of /etc/updatedb.conf; nil if it does not exist.
    /// - Returns: Whether updatedb(8) skips mounts; nil without it.
    static func locate(configuration text: String?) -> Finding? {
        guard let text else { return nil }
        let values = text.split(separator: "\n").compactMap { line -> Substring? in
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].filter({ !$0.isWhitespace }) == "PRUNEFS" else { return nil }
            return parts[1]
        }
        let types = values.flatMap { $0.lowercased().split { $0.isWhitespace || $0 == "\"" || $0 == "'" } }
        if types.contains("fuse.rankfs") { return .ok("updatedb", "it passes by mounts of rankfs.") }
        return .note(
            "updatedb",
            "it would walk mounts that root may read (by root, or with allow_other): add fuse.rankfs to PRUNEFS in "
                + "/etc/updatedb.conf.")
    }

    /// The findings on programs that index files.
    ///
    /// - Parameter programs: The names of running processes, cut at 15 bytes as the kernel does.
    /// - Returns: One finding for each program that reads the files of a home.
    static func indexers(running programs: Set<String>) -> [Finding] {
        var findings: [Finding] = []
        if programs.contains(KnownPrograms.baloo) {
            findings.append(
                .note(
                    "indexer",
                    "Baloo is running: keep it from reading mounts with `balooctl config add excludeFolders FOLDER`."))
        }
        if !programs.isDisjoint(with: KnownPrograms.trackers) {
            findings.append(.ok("indexer", "Tracker is running; it passes by mounts, for they have a .trackerignore."))
        }
        return findings
    }
}

// MARK: - System probe

/// Checks the system's requirements for mounting, and the existing mounts.
enum SystemProbe {
    /// The time limit for the answer of a mount.
    private static let patience: Duration = .seconds(2)
    /// The greatest number of mounts that are queried; each may take the whole time limit.
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

    /// The names of the running processes that this user may see.
    private static func programs() -> Set<String> {
        let processes = ((try? LocalFiles.names(in: "/proc")) ?? []).filter {
            $0.utf8.allSatisfy { (48...57).contains($0) }
        }
        return Set(processes.compactMap { text("/proc/\($0)/comm").map { String($0.prefix { $0 != "\n" }) } })
    }

    /// The text of a small file; nil if it cannot be read.
    private static func text(_ path: String) -> String? {
        (try? LocalFiles.read(path, limit: 64 << 10)).map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: - Mounts

    /// The state of each mount of rankfs, as far as this user may query it.
    static func mounts() -> [(path: String, look: Finding.MountLook, status: StatusDocument?)] {
        let table = MountTable.current()
        return table.ownMountPoints.suffix(mostMounts).map { path in
            switch MountPoint.look(at: path, mounts: table.stack(at: path), patience: patience) {
            case .failed(ENOTCONN), .failed(ECONNABORTED): return (path, .dead, nil)
            case .failed: return (path, .hidden, nil)
            case .silent: return (path, .silent, nil)
            case .directory, .missing, .notADirectory:
                let document = MountedStatus.document(of: path)
                return (path, .answers(version: document?.version), document)
            }
        }
    }
}
