import Glibc
import RankFS

/// The finding on the desktop.
extension Finding {
    /// The state of the desktop.
    struct DesktopLook: Hashable, Sendable {
        /// An installed file manager.
        struct Manager: Hashable, Sendable {
            var name: String
            var lack: Lack?
        }

        /// The requirement of a file manager for actions that is missing.
        enum Lack: Hashable, Sendable {
            /// The files of rankfs, which `make install` and the package put in place.
            case actions
            /// A package that runs these files.
            case package(String)
        }

        var managers: [Manager] = []
        var thumbnails = ThumbnailLook.off
        /// Whether the user's session bus is available.
        var hasBus = false
    }

    /// One finding, never `.wrong`: a mount needs nothing of the desktop.
    static func desktop(_ look: DesktopLook) -> Finding {
        let subject = "desktop"
        let ready = look.managers.filter { $0.lack == nil }.map(\.name)
        let bare = look.managers.filter { $0.lack == .actions }.map(\.name)
        let wanting = look.managers.compactMap { manager -> String? in
            guard case .package(let package)? = manager.lack else { return nil }
            return "\(manager.name) wants the package \(package) for them"
        }
        var parts: [String] = []
        if look.managers.isEmpty { parts.append("no file manager with actions is here") }
        if !ready.isEmpty { parts.append("actions in \(ready.joined(separator: ", "))") }
        parts += wanting
        if !bare.isEmpty { parts.append("no actions in \(bare.joined(separator: ", ")): install rankfs") }
        parts.append(look.thumbnails.isPossible ? "thumbnails are possible" : "no thumbnails")
        parts.append(look.hasBus ? "notifications go to the session bus" : "no session bus, so no notifications")
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

// MARK: - Desktop probe

/// Finds the file managers that show rankfs' actions, and whether notifications can be shown; writes nothing.
enum DesktopProbe {
    /// A file manager: its program, the file that `make install` adds for it, and the packages that this file needs.
    private struct Manager {
        var program: KnownPrograms.FileManager
        /// The path below a data directory (XDG Base Directory Specification 0.8).
        var actions: String
        var needs: [Need]
    }

    /// A package, recognised by files below a directory of libraries or of Python's packages: one of them is enough.
    private struct Need {
        var files: [String]
        var package: String

        init(_ package: String, _ files: String...) {
            self.files = files
            self.package = package
        }
    }

    private static let managers = [
        Manager(
            program: KnownPrograms.nautilus, actions: "nautilus-python/extensions/rankfs_menu.py",
            needs: [
                Need(
                    "python3-nautilus", "nautilus/extensions-4/libnautilus-python.so",
                    "nautilus/extensions-3.0/libnautilus-python.so")
            ]),
        Manager(
            program: KnownPrograms.nemo, actions: "nemo-python/extensions/rankfs_menu.py",
            needs: [Need("nemo-python", "nemo/extensions-3.0/libnemo-python.so")]),
        Manager(
            program: KnownPrograms.caja, actions: "caja-python/extensions/rankfs_menu.py",
            needs: [Need("python3-caja", "caja/extensions-2.0/libcaja-python.so")]),
        // Without the typelib thunarx-python crashes Thunar on any file, so no actions are installed then.
        Manager(
            program: KnownPrograms.thunar, actions: "thunarx-python/extensions/rankfs_menu.py",
            needs: [
                Need("gir1.2-thunarx-3.0", "girepository-1.0/Thunarx-3.0.typelib"),
                Need("thunarx-python", "thunarx-3/thunarx-python.so"),
            ]),
        Manager(
            program: KnownPrograms.dolphin, actions: "kio/servicemenus/rankfs-keep.desktop",
            needs: [Need("python3-gi", "gi/__init__.py")]),
    ]

    static func finding(_ settings: Settings, home: Home) -> Finding {
        var look = Finding.DesktopLook()
        let variables = home.variables
        let programs = list(variables["PATH"], standard: "/usr/local/bin:/usr/bin:/bin")
        let data =
            (home.dataDirectory.map { [$0] } ?? [])
            + list(variables["XDG_DATA_DIRS"], standard: "/usr/local/share:/usr/share")
        for manager in managers where isThere(manager.program.program, in: programs) {
            let lack: Finding.DesktopLook.Lack? =
                if let need = manager.needs.first(where: { !$0.files.contains { isThere($0, in: libraries) } }) {
                    .package(need.package)
                } else if !isThere(manager.actions, in: data) {
                    .actions
                } else { nil }
            look.managers.append(.init(name: manager.program.name, lack: lack))
        }
        look.thumbnails = UserProbe.thumbnailLook(settings, home: home)
        look.hasBus = SessionBus.find(variables, user: geteuid()) != nil
        return .desktop(look)
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
