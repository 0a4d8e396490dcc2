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
        // Two spellings of a plain name are one.
        Array(
            Set(
                addresses(of: job).flatMap { uri in
                    ThumbnailSize.allCases.map { thumbnail(of: job, as: uri, $0) }
                }))
    }

    /// Removes the notes of file managers that the thumbnails of pictures could not be made.
    func removeFailures(of jobs: [ThumbnailJob]) {
        directory.removeFailures(of: jobs.flatMap(addresses))
    }

    /// The file of a thumbnail that rankfs wrote there and that is still valid.
    func ownFile(of job: ThumbnailJob, _ size: ThumbnailSize) -> [UInt8]? {
        for path in job.paths + job.otherPaths {
            if let file = directory.ownFile(thumbnail(of: job, as: FileURI.of("\(mountPoint)/\(path)"), size)) {
                return file
            }
        }
        return nil
    }

    private func addresses(of job: ThumbnailJob) -> [String] {
        job.paths.flatMap { path in job.spellings.map { FileURI.of("\(mountPoint)/\(path)", $0) } }
    }

    private func thumbnail(of job: ThumbnailJob, as uri: String, _ size: ThumbnailSize) -> Thumbnail {
        Thumbnail(uri: uri, size: size, modified: job.modified, length: job.length)
    }
}
