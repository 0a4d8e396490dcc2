import Glibc
import RankFS

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
        parts.append(thumbnails.isPossible ? "thumbnails are possible" : "no thumbnails")
        parts.append(hasBus ? "notifications go to the session bus" : "no session bus, so no notifications")
        let text = parts.joined(separator: "; ") + "."
        return wanting.isEmpty && bare.isEmpty ? .ok(subject, text) : .note(subject, text)
    }
}

extension Finding.ThumbnailLook {
    /// Whether file managers find thumbnails, now or as soon as the first is made.
    fileprivate var isPossible: Bool {
        switch self {
        case .usable, .missing: true
        case .off, .foreign, .unwritable: false
        }
    }
}

// MARK: - Check

/// The check of the file managers that show rankfs' actions, and of the session bus for notifications.
extension Finding {
    /// A file manager: its program, the file that `make install` adds for it, and the packages that this file needs.
    private struct Manager {
        var program: KnownPrograms.FileManager
        /// The path below a data directory (XDG Base Directory Specification 0.8).
        var actions: String
        /// The packages, each recognised by files below a directory of libraries or of Python's packages: one of them is enough.
        var needs: [(package: String, files: [String])]
    }

    private static let managers = [
        Manager(
            program: KnownPrograms.nautilus, actions: "nautilus-python/extensions/rankfs_menu.py",
            needs: [
                (
                    "python3-nautilus",
                    [
                        "nautilus/extensions-4/libnautilus-python.so",
                        "nautilus/extensions-3.0/libnautilus-python.so",
                    ]
                )
            ]),
        Manager(
            program: KnownPrograms.nemo, actions: "nemo-python/extensions/rankfs_menu.py",
            needs: [("nemo-python", ["nemo/extensions-3.0/libnemo-python.so"])]),
        Manager(
            program: KnownPrograms.caja, actions: "caja-python/extensions/rankfs_menu.py",
            needs: [("python3-caja", ["caja/extensions-2.0/libcaja-python.so"])]),
        // Without the typelib thunarx-python crashes Thunar on any file, so no actions are installed then.
        Manager(
            program: KnownPrograms.thunar, actions: "thunarx-python/extensions/rankfs_menu.py",
            needs: [
                ("gir1.2-thunarx-3.0", ["girepository-1.0/Thunarx-3.0.typelib"]),
                ("thunarx-python", ["thunarx-3/thunarx-python.so"]),
            ]),
        Manager(
            program: KnownPrograms.dolphin, actions: "kio/servicemenus/rankfs-keep.desktop",
            needs: [("python3-gi", ["gi/__init__.py"])]),
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
                installed, thumbnails: ThumbnailLook(context),
                hasBus: SessionBus.find(variables, user: geteuid()) != nil)
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
