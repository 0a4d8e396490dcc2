import CLinux
import Fuse
import Glibc
import System
import RankFS
import Render
import Sourcing
import Rankings

/// The findings on the system, and on the mounts that exist.
extension Finding {
    /// The finding on `/dev/fuse`, by the errno of opening it; nil if it can be opened.
    static func device(_ code: Int32?) -> Finding {
        let subject = "fuse device"
        guard let code else { return .ok(subject, "/dev/fuse can be opened.") }
        return .wrong(
            subject,
            code == ENOENT
                ? "/dev/fuse does not exist: load the module with `modprobe fuse`, or start the container with "
                    + "`--device /dev/fuse`."
                : "/dev/fuse cannot be opened (\(SystemError(code: code).text)): give this user the right to, "
                    + "or the container `--device /dev/fuse`.")
    }

    /// The finding on fusermount3.
    ///
    /// - Parameters:
    ///   - path: The program as found in its usual places; nil if it is missing.
    ///   - isSetuidRoot: Whether root owns it and it is setuid.
    ///   - isRoot: Whether the user is root, which mounts without it.
    /// - Returns: Whether users can mount.
    static func helper(_ path: String?, isSetuidRoot: Bool, isRoot: Bool) -> Finding {
        guard let path else {
            return isRoot
                ? .note("fusermount3", "it is missing: install the package fuse3; root mounts without it.")
                : .wrong("fusermount3", "it is missing: install the package fuse3.")
        }
        if isRoot || isSetuidRoot { return .ok("fusermount3", "\(path) is there.") }
        return .wrong(
            "fusermount3", "\(path) may not mount for users: as root, `chown root \(path); chmod 4755 \(path)`.")
    }

    /// CAP_SYS_ADMIN, without which nothing mounts (capabilities(7)).
    private static let mounting: UInt64 = 1 << 21

    /// The finding on the right to mount, or to gain it through fusermount3.
    ///
    /// - Parameters:
    ///   - status: /proc/self/status (proc(5)).
    ///   - isRoot: Whether the user is root, which mounts without fusermount3.
    /// - Returns: Nil if nothing takes it away.
    static func right(_ status: String, isRoot: Bool) -> Finding? {
        func value(_ name: String) -> Substring? {
            status.split(separator: "\n").first { $0.hasPrefix("\(name):") }?.split(whereSeparator: \.isWhitespace).last
        }
        let rights = value(isRoot ? "CapEff" : "CapBnd").flatMap { UInt64($0, radix: 16) } ?? .max
        if rights & mounting == 0 {
            return .wrong(
                "mounting",
                "nothing may be mounted here: start the container with `--cap-add SYS_ADMIN --device /dev/fuse`.")
        }
        guard !isRoot, value("NoNewPrivs") == "1" else { return nil }
        return .wrong(
            "mounting", "fusermount3 gains no rights here (no_new_privs): start the program without that restriction.")
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
    /// - Parameters:
    ///   - look: The protection on this system, or the error that prevents decoding.
    ///   - decoding: Where pictures may be decoded.
    /// - Returns: One line on the protection in force.
    static func decoding(_ look: Result<Protection, MediaError>, _ decoding: Decoding) -> Finding {
        switch look {
        case _ where decoding == .off:
            return .ok("decoding", "there are no thumbnails and animations, for decoding=off.")
        case .failure(let error):
            return .wrong("decoding", "there will be no thumbnails and animations: \(error.text).")
        case .success(let protection):
            let missing = Protection.all.subtracting(protection)
            let there = "pictures are decoded with \(list(protection.names))"
            guard !missing.isEmpty else { return .ok("decoding", "\(there).") }
            if decoding == .confined, missing.contains(.calls) {
                return .wrong(
                    "decoding",
                    "there will be no thumbnails and animations: this kernel or container does not filter system calls; allow it to "
                        + "(seccomp), or decode all the same with decoding=unconfined.")
            }
            return .note("decoding", "\(there); this kernel or container does not allow \(list(missing.names)).")
        }
    }

    private static func list(_ words: [String]) -> String {
        words.isEmpty ? "nothing" : words.joined(separator: ", ")
    }

    // MARK: - Mounts

    /// The finding on a mount of rankfs.
    ///
    /// - Parameters:
    ///   - path: The mount point.
    ///   - look: The result of examining it.
    ///   - version: The version of the program that serves it; nil if the mount does not report it.
    /// - Returns: Nil for a mount of another user.
    static func mount(_ path: String, _ look: MountPoint.Look, version: String? = nil) -> Finding? {
        let shown = LogText.escaped(path)
        switch look {
        case .failed(ENOTCONN), .failed(ECONNABORTED):
            return .wrong(
                "mount", "the process behind \(shown) has died: `rankfs unmount \(LogText.word(path))` clears it.",
                repair: .detach(mountPoint: path))
        case .failed: return nil
        case .silent:
            return .wrong(
                "mount", "\(shown) does not answer: end its process, then `rankfs unmount \(LogText.word(path))`.")
        case .directory, .missing, .notADirectory:
            if version == Version.text { return .ok("mount", "\(shown) answers.") }
            return .note(
                "mount",
                "\(shown) is served by \(version.map { "rankfs \($0)" } ?? "another version of rankfs"), this one is "
                    + "\(Version.text): unmount it and mount it again.")
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
        let baloo = Finding.note(
            "indexer", "Baloo is running: keep it from reading mounts with `balooctl config add excludeFolders FOLDER`."
        )
        let tracker = Finding.ok(
            "indexer", "Tracker is running; it passes by mounts, for they have a .trackerignore.")
        return (programs.contains(KnownPrograms.baloo) ? [baloo] : [])
            + (programs.isDisjoint(with: KnownPrograms.trackers) ? [] : [tracker])
    }

    // MARK: - Checks

    // The checks of the system and of the existing mounts.

    /// Checks what mounting needs of the system, and which programs may walk mounts.
    static func system(_ context: DoctorContext) -> [Finding] {
        context.mounter.fuse
            + [
                allowOther(
                    isWanted: context.wantsOthers, isAllowed: allowsOthers(configuration: text("/etc/fuse.conf") ?? ""),
                    isRoot: context.mounter.isRoot),
                versions(
                    kernel: text("/proc/sys/kernel/osrelease").map { String($0.prefix { $0 != "\n" }) } ?? "unknown",
                    library: Session.libraryVersion),
                decoding(
                    Result { () throws(MediaError) in
                        try Renderer.look(at: Renderer.Configuration.standard(.unconfined).program())
                    }, context.settings.decoding),
                locate(configuration: text("/etc/updatedb.conf")),
            ].compactMap { $0 } + indexers(running: programs())
    }

    /// Checks the device and the program by which this user mounts.
    static func fuse() -> [Finding] {
        let descriptor = unsafe open("/dev/fuse", O_RDWR | O_CLOEXEC)
        let code = descriptor < 0 ? errno : nil
        if descriptor >= 0 { close(descriptor) }
        let helper = MountTable.helpers.first { unsafe access($0, X_OK) == 0 }
        let status = helper.flatMap { fileStatus(at: $0) }
        let isSetuidRoot = status.map { $0.st_uid == 0 && $0.st_mode & S_ISUID != 0 } ?? false
        let isRoot = geteuid() == 0
        return [device(code), self.helper(helper, isSetuidRoot: isSetuidRoot, isRoot: isRoot)]
            + [right(text("/proc/self/status") ?? "", isRoot: isRoot)].compactMap(\.self)
    }

    /// The names of the running processes that this user may see.
    private static func programs() -> Set<String> {
        let processes = ((try? LocalFiles.names(in: "/proc")) ?? []).filter {
            $0.utf8.allSatisfy { $0.isDigit }
        }
        return Set(processes.compactMap { text("/proc/\($0)/comm").map { String($0.prefix { $0 != "\n" }) } })
    }

    /// The text of a small file; nil if it cannot be read.
    private static func text(_ path: String) -> String? {
        (try? Files.read(path, upTo: 64 << 10)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Checks every mount of rankfs.
    static func mounts(_ context: DoctorContext) -> [Finding] {
        context.mounts.compactMap { mount($0.path, $0.look, version: $0.status?.text("version")) }
    }
}

extension DoctorContext {
    /// A mount of rankfs, as far as this user may query it.
    typealias Mount = (path: String, look: MountPoint.Look, status: StatusDocument?)

    /// The time limit for the answer of a mount.
    private static let patience: Duration = .seconds(2)
    /// The greatest number of mounts that are queried; each may take the whole time limit.
    private static let mostMounts = 8

    /// The mounts of rankfs on this machine.
    static func currentMounts() -> [Mount] {
        let table = MountTable.current()
        return table.ownMountPoints.suffix(mostMounts).map { path in
            let look = MountPoint.look(at: path, mounts: table.stack(at: path), patience: patience)
            return switch look {
            case .failed, .silent: (path, look, nil)
            case .directory, .missing, .notADirectory: (path, look, StatusDocument.mounted(at: path))
            }
        }
    }
}
