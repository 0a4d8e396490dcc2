/// The user's own store, and the mount whose files it has thumbnails of.
package struct HomeThumbnails: Sendable {
    /// Whose store it is: only looks of this user are answered with thumbnails there.
    package let user: UInt32
    package let directory: ThumbnailDirectory
    /// Absolute.
    package let mountPoint: String

    package init(user: UInt32, directory: ThumbnailDirectory, mountPoint: String) {
        self.user = user
        self.directory = directory
        self.mountPoint = mountPoint
    }

    /// The thumbnails of a picture, under all its paths.
    func thumbnails(of job: ThumbnailJob) -> [Thumbnail] {
        job.paths.flatMap { path in ThumbnailSize.allCases.map { thumbnail(of: job, at: path, $0) } }
    }

    /// The file of a thumbnail that rankfs wrote there and that is still valid.
    func ownFile(of job: ThumbnailJob, _ size: ThumbnailSize) -> [UInt8]? {
        guard let path = job.paths.first else { return nil }
        return directory.ownFile(thumbnail(of: job, at: path, size))
    }

    private func thumbnail(of job: ThumbnailJob, at path: String, _ size: ThumbnailSize) -> Thumbnail {
        Thumbnail(uri: FileURI.of("\(mountPoint)/\(path)"), size: size, modified: job.modified, length: job.length)
    }
}
