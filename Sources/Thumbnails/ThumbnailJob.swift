package import Rankings

/// A picture that thumbnails are wanted of.
package struct ThumbnailJob: Hashable, Sendable {
    /// The picture that the paths show.
    package var picture: PictureID
    /// The paths below the mount point under which a desktop may see it.
    package var paths: [String]
    /// Further paths of it, of which thumbnails may be there already; none are made.
    package var otherPaths: [String]
    /// How desktops that look now write their addresses.
    package var spellings: [FileURI.Spelling]
    /// Where its small preview is.
    package var preview: PictureLocation
    /// What `stat` shows as its modification time, in Unix seconds.
    package var modified: Int64
    /// What `stat` shows as its size, in bytes, if known.
    package var length: Int64?

    package init(
        picture: PictureID, paths: [String], otherPaths: [String] = [], spellings: [FileURI.Spelling] = [.glib, .qt],
        preview: PictureLocation, modified: Int64, length: Int64?
    ) {
        self.picture = picture
        self.paths = paths
        self.otherPaths = otherPaths
        self.spellings = spellings
        self.preview = preview
        self.modified = modified
        self.length = length
    }

    /// What its thumbnail of a size is kept as.
    func shelved(_ size: ThumbnailSize) -> PictureID {
        PictureID(work: picture.work, page: picture.page, rendition: size.rendition, uploaded: picture.uploaded)
    }
}
