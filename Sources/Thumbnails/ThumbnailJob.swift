package import Rankings

/// A picture that thumbnails are wanted of.
package struct ThumbnailJob: Hashable, Sendable {
    /// The paths below the mount point under which a desktop may see it.
    package var paths: [String]
    /// Where its small preview is.
    package var preview: PictureLocation
    /// What `stat` shows as its modification time, in Unix seconds.
    package var modified: Int64
    /// What `stat` shows as its size, in bytes, if known.
    package var length: Int64?

    package init(paths: [String], preview: PictureLocation, modified: Int64, length: Int64?) {
        self.paths = paths
        self.preview = preview
        self.modified = modified
        self.length = length
    }

    /// The thumbnails of it, for a mount.
    func thumbnails(below mountPoint: String) -> [Thumbnail] {
        paths.flatMap { path in
            ThumbnailSize.allCases.map {
                Thumbnail(uri: FileURI.of("\(mountPoint)/\(path)"), size: $0, modified: modified, length: length)
            }
        }
    }
}
