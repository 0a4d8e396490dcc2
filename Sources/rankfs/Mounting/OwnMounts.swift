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
}

extension MountTable.Mount {
    /// Whether it is a mount of rankfs: by the type that `subtype=rankfs` gives.
    var isOwn: Bool { type == "fuse.rankfs" }
}
