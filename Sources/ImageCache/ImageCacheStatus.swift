package import Rankings

/// Figures for status displays.
package struct ImageCacheStatus: Sendable {
    /// One download under way.
    package struct Download: Sendable {
        package var picture: PictureID
        package var received: Int64
        package var total: Int64?
        /// Whether somebody reads it now, or it is preloaded.
        package var isRead: Bool

        package init(picture: PictureID, received: Int64, total: Int64?, isRead: Bool) {
            self.picture = picture
            self.received = received
            self.total = total
            self.isRead = isRead
        }
    }

    package var storedPictures: Int
    package var storedBytes: Int64
    package var budget: Int64
    package var openPictures: Int
    package var downloads: [Download]
    /// Since the start.
    package var receivedBytes: Int64
    package var preloaded: Int
    package var evicted: Int

    package init(
        storedPictures: Int, storedBytes: Int64, budget: Int64, openPictures: Int, downloads: [Download],
        receivedBytes: Int64, preloaded: Int, evicted: Int
    ) {
        self.storedPictures = storedPictures
        self.storedBytes = storedBytes
        self.budget = budget
        self.openPictures = openPictures
        self.downloads = downloads
        self.receivedBytes = receivedBytes
        self.preloaded = preloaded
        self.evicted = evicted
    }
}
