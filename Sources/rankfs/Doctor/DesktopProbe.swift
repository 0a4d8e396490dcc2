import Glibc
import RankFS

/// Looks at which file managers show rankfs' actions, and whether notifications can be shown; writes nothing.
enum DesktopProbe {
    /// A file manager: what runs it, what `make install` gives it, and what that needs.
    private struct Manager {
        var program: KnownPrograms.FileManager
        /// Below a data directory (XDG Base Directory Specification 0.8).
        var actions: String
        var needs: [Need]
    }

    /// A package, known by files below a directory of libraries or of Python's packages: one of them is enough.
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
        // Without the typelib thunarx-python crashes Thunar on any file, so there is none then.
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

    /// Where distributions keep libraries and Python's packages.
    private static let libraries: [String] = {
        let roots = ["/usr/lib", "/usr/lib64", "/usr/local/lib"]
        let below = roots.flatMap { root in
            ((try? LocalFiles.names(in: root)) ?? [])
                .filter { $0.contains("-linux-gnu") || $0.hasPrefix("python3") }.map { "\(root)/\($0)" }
        }
        let python = below.filter { $0.contains("/python3") }
        return roots + below + python.flatMap { ["\($0)/dist-packages", "\($0)/site-packages"] }
    }()

    /// The absolute paths of a list as environments have it.
    private static func list(_ text: String?, standard: String) -> [String] {
        let text = text.flatMap { $0.isEmpty ? nil : $0 } ?? standard
        return text.split(separator: ":").filter { $0.hasPrefix("/") }.map(String.init)
    }

    private static func isThere(_ name: String, in directories: [String]) -> Bool {
        directories.contains { unsafe access("\($0)/\(name)", F_OK) == 0 }
    }
}
