package import Rankings

/// Figures for status displays.
package struct ImageCacheStatus: Sendable {
    /// One download under way.
    package struct Running: Sendable {
        package var picture: PictureID
        /// Where people find it below the mount; nil if nobody told.
        package var path: String?
        package var received: Int64
        package var total: Int64?
        /// Whether somebody reads it now, or it is preloaded.
        package var isRead: Bool
        /// Whether it still waits for its first answer.
        package var isQueued: Bool
    }

    /// One preload that waits for its turn.
    package struct Waiting: Sendable {
        package var picture: PictureID
        /// Where people find it below the mount; nil if nobody told.
        package var path: String?
    }

    package var storedPictures: Int
    package var storedBytes: Int64
    package var budget: Int64
    package var openPictures: Int
    /// In the order in which they began.
    package var downloads: [Running]
    /// Preloads in the order in which they will begin.
    package var queued: [Waiting]
    /// Since the start.
    package var receivedBytes: Int64
    package var preloaded: Int
    package var evicted: Int
    /// Whether the disk takes pictures.
    package var isStoring: Bool
}
