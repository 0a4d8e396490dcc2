package import Rankings
import Synchronization

extension HelperFile {
    /// The path of the file that describes the activity of the mount.
    package static let statusPath = TreePath.entry(.helpers, "status.json")

    /// The target of `random.jpg` while no picture is stored.
    static let standIn = HelperFile(path: .entry(.helpers, "nothing-stored.jpg")) { _ in nothingStored }

    /// The picture shown where there is no other yet: a framed landscape in soft colours, as picture viewers mark a place.
    ///
    /// A JPEG of 1200 x 800 pixels; always the same bytes.
    static let nothingStored: [UInt8] = PackageResources.nothing_stored_jpg

    /// The helper files of a mount, in the order in which `.rankfs` lists its own.
    static func all(_ configuration: MountConfiguration) -> [HelperFile] {
        [
            HelperFile(path: statusPath, isLive: true, text: configuration.status),
            HelperFile(path: .entry(.helpers, "metrics"), isLive: true) { _ in configuration.metrics() },
            HelperFile(path: .entry(.helpers, "version")) { _ in Array(configuration.version.utf8) },
            HelperFile(path: .entry(.root, "CACHEDIR.TAG")) { _ in Array(cacheTagText.utf8) },
            HelperFile(path: .entry(.root, ".trackerignore")) { _ in [] },
            HelperFile(path: .entry(.root, ".xdg-volume-info")) { _ in
                Array(volumeInfoText(name: configuration.volumeName).utf8)
            },
            standIn,
        ]
    }
}

extension HelperFile: TreeFile {
    func lifetime(in tree: Tree) -> Lifetime { (TreeLimits.frozen, isLive ? .zero : TreeLimits.frozen) }

    /// Returns the size that `stat` shows; for a file that changes with each reader, the size of its last text.
    func knownSize(in tree: Tree) -> SizeAndTime? {
        let length = tree.liveLengths.withLock { $0[path] } ?? text(toOwner: true, in: tree).count
        return (Int64(length), tree.newestPublication)
    }

    func openedNow(in tree: Tree, toOwner: Bool) -> OpenedText? {
        (text(toOwner: toOwner, in: tree), isLive)
    }

    private func text(toOwner: Bool, in tree: Tree) -> [UInt8] {
        let text = text(toOwner)
        if isLive { tree.liveLengths.withLock { $0[path] = text.count } }
        return text
    }
}

// MARK: - Texts

extension HelperFile {
    /// The 43 bytes that make a file a cache directory tag (https://bford.info/cachedir/).
    static let cacheTagSignature = "Signature: 8a477f597d28d172789f06886806bc55"

    /// A tag that makes `tar --exclude-caches` and similar programs skip the tree, which can be downloaded again and is endless.
    static let cacheTagText = """
        \(cacheTagSignature)
        # This file is a cache directory tag made by rankfs.
        # For information about cache directory tags see https://bford.info/cachedir/

        """

    /// Returns name and icon of the mount for side bars, in the format of gvfs (common/gvfsmountinfo.c of gvfs 1.50).
    ///
    /// - Parameter name: One line without backslashes.
    /// - Returns: A key file.
    static func volumeInfoText(name: String) -> String {
        """
        [Volume Info]
        Name=\(name)
        Icon=rankfs

        """
    }
}
