import Fuse

extension MountTable {
    /// The mounts on exactly this path, the visible one last.
    func stack(at path: String) -> [Mount] {
        let bytes = Array(path.utf8)
        return mounts.filter { $0.path == bytes }
    }

    /// Where rankfs is mounted.
    var ownMountPoints: [String] {
        mounts.filter(\.isOwn).map { String(decoding: $0.path, as: UTF8.self) }
    }

    /// Where a user has mounted rankfs, or, if nowhere, where others have whose mounts everybody may look into.
    func mountPoints(of user: UInt32) -> [String] {
        let all = mounts.filter(\.isOwn)
        let own = all.filter { $0.superOptions.contains("user_id=\(user)") }
        let open = own.isEmpty ? all.filter { $0.superOptions.contains("allow_other") } : own
        return open.map { String(decoding: $0.path, as: UTF8.self) }
    }
}

extension MountTable.Mount {
    /// Whether it is a mount of rankfs: by the type that `subtype=rankfs` gives.
    var isOwn: Bool { type == "fuse.rankfs" }
}

/// The mounts of this user by what they say of themselves.
enum OwnMounts {
    /// The mount that uses a cache directory; nil if none says so.
    ///
    /// Blocks for some seconds a mount that does not answer.
    static func holding(_ directory: String) -> (mountPoint: String, processID: Int32)? {
        let wanted = LocalFiles.canonical(directory) ?? directory
        for mountPoint in MountTable.current().ownMountPoints {
            guard let document = StatusCommand.document(of: mountPoint),
                LocalFiles.canonical(document.cache.directory) == wanted
            else { continue }
            return (document.mountPoint, document.pid)
        }
        return nil
    }
}
