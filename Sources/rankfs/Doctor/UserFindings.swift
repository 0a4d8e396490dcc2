import Glibc
import RankFS
import HTTP
import Rankings
import System
import Sourcing

/// The findings on the user's configuration, session and thumbnails.
extension Finding {
    /// The findings on the configuration.
    ///
    /// - Parameters:
    ///   - path: The file; nil if there is no home directory.
    ///   - mode: The permissions; nil if the file does not exist.
    ///   - mistake: The reason why it cannot be used, one sentence per line.
    ///   - warnings: The variables that name no option, one sentence each.
    ///   - exposure: The sentence about a proxy's password in it that others may read.
    /// - Returns: Everything that is wrong with it, or one finding that it is in order.
    static func configuration(
        _ path: String?, mode: UInt32?, mistake: String?, warnings: [String], exposure: String?
    ) -> [Finding] {
        let subject = "configuration"
        let shown = LogText.escaped(path ?? "rankfs.conf")
        var findings = (mistake ?? "").split(separator: "\n").map { Finding.wrong(subject, String($0)) }
        if let mode, mode & 0o022 != 0 {
            findings.append(
                .wrong(
                    subject, "others may change \(shown): `chmod go-w` it.",
                    repair: path.map { .protect(file: $0, from: Repair.writing) }))
        }
        if let exposure {
            findings.append(.wrong(subject, exposure, repair: path.map { .protect(file: $0, from: Repair.all) }))
        }
        findings += warnings.map { .note(subject, $0) }
        guard findings.isEmpty else { return findings }
        return [.ok(subject, mode == nil ? "there is no \(shown); defaults count." : "\(shown) is in order.")]
    }

    /// The findings on the session.
    ///
    /// - Parameters:
    ///   - files: The files that may hold it, in order of precedence.
    ///   - named: The file that the option `cookies` names; nil without the option.
    ///   - hasExpired: Whether a mount reports that the service refuses the session.
    /// - Returns: One finding per existing file and for a missing file of the option, or one that there is no session.
    static func session(
        _ files: [(path: String, look: SessionExamination)], named: String?, hasExpired: Bool
    ) -> [Finding] {
        let subject = "session"
        let findings = files.compactMap { path, look -> Finding? in
            let shown = LogText.escaped(path)
            switch look {
            case .missing where path == named:
                return .wrong(subject, "\(shown) does not exist: change the option cookies, or export it.")
            case .missing: return nil
            case .usable(let user) where hasExpired:
                return .wrong(
                    subject,
                    "the session of user \(user.rawValue) in \(shown) has expired: sign in with `rankfs login`.")
            case .usable(let user): return .ok(subject, "user \(user.rawValue) is signed in by \(shown).")
            case .exposed:
                return .wrong(
                    subject, "\(shown) is not used, for others may read it: `chmod 600` it.",
                    repair: .protect(file: path, from: Repair.all))
            case .unusable(let reason):
                return .wrong(
                    subject, "\(shown) is not used, it \(LogText.escaped(reason)): sign in with `rankfs login`.")
            }
        }
        return findings.isEmpty ? [.ok(subject, "nobody is signed in; the plain rankings need no session.")] : findings
    }

    /// The state of the user's store of thumbnails.
    enum ThumbnailLook: Hashable, Sendable {
        /// Switched off, or without a home directory.
        case off
        /// Not created yet.
        case missing
        case foreign
        case unwritable
        case usable
    }

    static func thumbnails(_ path: String, _ look: ThumbnailLook) -> Finding {
        let subject = "thumbnails"
        let shown = LogText.escaped(path)
        return switch look {
        case .off: .ok(subject, "they are off: file managers read the pictures themselves.")
        case .missing: .ok(subject, "\(shown) does not exist yet; it is made with the first thumbnail.")
        case .foreign:
            .wrong(subject, "\(shown) belongs to another user, so that none are written: `chown -R` it to this one.")
        case .unwritable: .wrong(subject, "\(shown) cannot be written: `chmod u+rwx` it.")
        case .usable: .ok(subject, "file managers find them in \(shown).")
        }
    }

    // MARK: - Checks

    // The checks of the user's configuration, session and thumbnails.

    /// Checks the configuration file and its permissions.
    static func configuration(_ context: DoctorContext) -> [Finding] {
        let path = context.home.configurationFile
        let status = path.flatMap { fileStatus(at: $0) }
        return configuration(
            path, mode: status.map { $0.st_mode & 0o777 }, mistake: context.mistake, warnings: context.warnings,
            exposure: SettingsLoader.exposure(of: context.home))
    }

    /// Checks each file that may hold a session as a mount does; returns nothing for a source without accounts.
    static func session(_ context: DoctorContext) -> [Finding] {
        guard !context.isEmbedded, let accounts = context.source.plugIn.accounts else { return [] }
        let files = SessionFiles(context.settings, source: context.source, home: context.home)
        let looks = files.places.map { place in
            (path: place.path, look: accounts.examine(place, host: files.host, now: TimeSource.wallClock()))
        }
        let name = context.source.description.name
        let hasExpired = context.mounts.contains {
            $0.status?.text("sign_in.state") == "expired" && $0.status?.text("source") == name
        }
        return session(looks, named: context.settings.cookies, hasExpired: hasExpired)
    }

    /// Checks the user's store of thumbnails.
    static func thumbnails(_ context: DoctorContext) -> [Finding] {
        [thumbnails(context.home.thumbnailDirectory ?? "", ThumbnailLook.at(context))]
    }
}

extension Finding.ThumbnailLook {
    /// Examines the store of the user.
    static func at(_ context: DoctorContext) -> Self {
        guard context.settings.makesThumbnails, let path = context.home.thumbnailDirectory else { return .off }
        guard let status = fileStatus(at: path) else { return .missing }
        if status.st_uid != geteuid() { return .foreign }
        return unsafe access(path, W_OK | X_OK) == 0 ? .usable : .unwritable
    }
}

// MARK: - Desktop

/// The finding on the desktop.
extension Finding {
    /// The package of this program, with the actions for file managers.
    static let ownPackage = "rankfs"

    /// The finding on the desktop, never `.wrong`: a mount needs nothing of the desktop.
    ///
    /// - Parameters:
    ///   - managers: The installed file managers, each with the package that it lacks for actions, which may be this program's own.
    ///   - thumbnails: The state of the user's store of thumbnails.
    ///   - hasBus: Whether the user's session bus is available.
    /// - Returns: A note if something can be installed.
    static func desktop(
        _ managers: [(name: String, lack: String?)], thumbnails: ThumbnailLook, hasBus: Bool
    ) -> Finding {
        let subject = "desktop"
        let ready = managers.filter { $0.lack == nil }.map(\.name)
        let bare = managers.filter { $0.lack == ownPackage }.map(\.name)
        let wanting = managers.compactMap { manager in
            manager.lack.flatMap { $0 == ownPackage ? nil : "\(manager.name) wants the package \($0) for them" }
        }
        var parts: [String] = []
        if managers.isEmpty { parts.append("no file manager with actions is here") }
        if !ready.isEmpty { parts.append("actions in \(ready.joined(separator: ", "))") }
        parts += wanting
        if !bare.isEmpty { parts.append("no actions in \(bare.joined(separator: ", ")): install \(ownPackage)") }
        // File managers find them, now or as soon as the first is made.
        parts.append([.usable, .missing].contains(thumbnails) ? "thumbnails are possible" : "no thumbnails")
        parts.append(hasBus ? "notifications go to the session bus" : "no session bus, so no notifications")
        let text = parts.joined(separator: "; ") + "."
        return wanting.isEmpty && bare.isEmpty ? .ok(subject, text) : .note(subject, text)
    }

    // MARK: - Check

    // The check of the file managers that show rankfs' actions, and of the session bus for notifications.

    /// A file manager: its program; the file that `make install` adds for it, below a data directory (XDG Base Directory Specification
    /// 0.8); and the packages that this file needs, each recognised by files below a directory of libraries or of Python's packages: one
    /// of them is enough.
    private typealias Manager = (
        program: KnownPrograms.FileManager, actions: String, needs: [(package: String, files: [String])]
    )

    private static let managers: [Manager] = [
        (
            KnownPrograms.nautilus, "nautilus-python/extensions/rankfs_menu.py",
            [
                (
                    "python3-nautilus",
                    [
                        "nautilus/extensions-4/libnautilus-python.so",
                        "nautilus/extensions-3.0/libnautilus-python.so",
                    ]
                )
            ]
        ),
        (
            KnownPrograms.nemo, "nemo-python/extensions/rankfs_menu.py",
            [("nemo-python", ["nemo/extensions-3.0/libnemo-python.so"])]
        ),
        (
            KnownPrograms.caja, "caja-python/extensions/rankfs_menu.py",
            [("python3-caja", ["caja/extensions-2.0/libcaja-python.so"])]
        ),
        // Without the typelib thunarx-python crashes Thunar on any file, so no actions are installed then.
        (
            KnownPrograms.thunar, "thunarx-python/extensions/rankfs_menu.py",
            [
                ("gir1.2-thunarx-3.0", ["girepository-1.0/Thunarx-3.0.typelib"]),
                ("thunarx-python", ["thunarx-3/thunarx-python.so"]),
            ]
        ),
        (
            KnownPrograms.dolphin, "kio/servicemenus/rankfs-keep.desktop",
            [("python3-gi", ["gi/__init__.py"])]
        ),
    ]

    /// Finds the installed file managers and the session bus; writes nothing.
    static func desktop(_ context: DoctorContext) -> [Finding] {
        let variables = context.home.variables
        let programs = list(variables["PATH"], standard: "/usr/local/bin:/usr/bin:/bin")
        let data =
            (context.home.dataDirectory.map { [$0] } ?? [])
            + list(variables["XDG_DATA_DIRS"], standard: "/usr/local/share:/usr/share")
        let installed = managers.filter { isThere($0.program.program, in: programs) }.map { manager in
            let lack = manager.needs.first { !$0.files.contains { isThere($0, in: libraries) } }?.package
            return (manager.program.name, lack ?? (isThere(manager.actions, in: data) ? nil : ownPackage))
        }
        return [
            desktop(
                installed, thumbnails: ThumbnailLook.at(context),
                hasBus: DesktopNotices.bus(variables, user: geteuid()) != nil)
        ]
    }

    /// The directories in which distributions keep libraries and Python's packages.
    private static let libraries: [String] = {
        let roots = ["/usr/lib", "/usr/lib64", "/usr/local/lib"]
        let below = roots.flatMap { root in
            ((try? LocalFiles.names(in: root)) ?? [])
                .filter { $0.contains("-linux-gnu") || $0.hasPrefix("python3") }.map { "\(root)/\($0)" }
        }
        let python = below.filter { $0.contains("/python3") }
        return roots + below + python.flatMap { ["\($0)/dist-packages", "\($0)/site-packages"] }
    }()

    /// The absolute paths of a colon-separated list of the environment, or of `standard` if the list is empty.
    private static func list(_ text: String?, standard: String) -> [String] {
        let text = text.flatMap { $0.isEmpty ? nil : $0 } ?? standard
        return text.split(separator: ":").filter { $0.hasPrefix("/") }.map(String.init)
    }

    private static func isThere(_ name: String, in directories: [String]) -> Bool {
        directories.contains { unsafe access("\($0)/\(name)", F_OK) == 0 }
    }
}
