/// What a desktop shows of mounts.
extension Finding {
    /// What a look at the desktop found.
    struct DesktopLook: Hashable, Sendable {
        /// A file manager that is here.
        struct Manager: Hashable, Sendable {
            var name: String
            var lack: Lack?
        }

        /// What a file manager wants before it shows actions.
        enum Lack: Hashable, Sendable {
            /// rankfs' own files, which `make install` and the package put in place.
            case actions
            /// A package that runs them.
            case package(String)
        }

        var managers: [Manager] = []
        var thumbnails = ThumbnailLook.off
        /// Whether the user's session bus is there to be spoken to.
        var hasBus = false
    }

    /// One line, whatever is there: nothing of it is needed to mount.
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
    /// Whether file managers find thumbnails, now or as soon as there is one.
    fileprivate var isPossible: Bool {
        switch self {
        case .usable, .missing: true
        case .off, .foreign, .unwritable: false
        }
    }
}
