import Rankings

/// Files that are reached by name and never listed, so that copies of the tree hold pictures only.
enum HelperFile: CaseIterable, Sendable {
    case status
    case metrics
    case version
    case cacheTag
    case trackerIgnore
    case volumeInfo
    /// Where `random.jpg` leads while no picture is stored.
    case standIn

    /// The path below the mount point.
    var path: String { treePath.text }

    var treePath: TreePath { .entry(isBelowHelpers ? .helpers : .root, name) }

    /// The name in its directory.
    var name: String {
        switch self {
        case .status: "status.json"
        case .metrics: "metrics"
        case .version: "version"
        case .cacheTag: "CACHEDIR.TAG"
        case .trackerIgnore: ".trackerignore"
        case .volumeInfo: ".xdg-volume-info"
        case .standIn: "nothing-stored.jpg"
        }
    }

    /// Whether it lies in `.rankfs` rather than in the root.
    var isBelowHelpers: Bool {
        switch self {
        case .status, .metrics, .version, .standIn: true
        case .cacheTag, .trackerIgnore, .volumeInfo: false
        }
    }

    /// Whether its text is made anew for each reader.
    var isLive: Bool {
        switch self {
        case .status, .metrics: true
        case .version, .cacheTag, .trackerIgnore, .volumeInfo, .standIn: false
        }
    }

    /// The 43 bytes that make a file a cache directory tag (https://bford.info/cachedir/).
    static let cacheTagSignature = "Signature: 8a477f597d28d172789f06886806bc55"

    /// A tag that makes `tar --exclude-caches` and its like pass by: the tree can be downloaded again, and is endless.
    static let cacheTagText = """
        \(cacheTagSignature)
        # This file is a cache directory tag made by rankfs.
        # For information about cache directory tags see https://bford.info/cachedir/

        """

    /// Name and icon of the mount in side bars, as gvfs reads them (common/gvfsmountinfo.c of gvfs 1.50).
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
