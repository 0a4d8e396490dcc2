package import HTTP
package import Rankings

/// Where the bytes of pictures are: stored files, shared downloads, preloading, eviction.
package final class ImageCache: Sendable {
    /// The limits and places a cache works with.
    package struct Configuration: Sendable {
        /// The cache's own directory, made with mode 0700 and marked so that backups skip it.
        package var directory: String
        /// Byte budget of stored pictures.
        package var budget: Int64
        /// Bytes of free disk that stay free.
        package var freeFloor: Int64
        /// Pictures preloaded ahead of a reader; 0 turns preloading off.
        package var preload: Int
        /// The bound of one waiting read.
        package var timeout: Duration
        /// How long a network that does not answer is given before a read fails.
        package var networkTimeout: Duration
        /// Wall clock in Unix seconds.
        package var now: @Sendable () -> Int64

        package init(
            directory: String, budget: Int64, freeFloor: Int64, preload: Int, timeout: Duration,
            networkTimeout: Duration, now: @escaping @Sendable () -> Int64
        ) {
            self.directory = directory
            self.budget = budget
            self.freeFloor = freeFloor
            self.preload = preload
            self.timeout = timeout
            self.networkTimeout = networkTimeout
            self.now = now
        }
    }

    /// Opens the cache: locks it against a second daemon, marks it, removes what is broken, loads the index.
    package init(
        _ configuration: Configuration, transport: any Transport, report: @escaping @Sendable (ImageCacheEvent) -> Void
    ) throws(ImageCacheError) {
        fatalError("written by the owner of ImageCache: \(configuration)")
    }

    /// What is known of a picture now. Never waits.
    package func state(of picture: PictureID) -> PictureState {
        fatalError("written by the owner of ImageCache: \(picture)")
    }

    /// The length of a picture that is stored. Never waits.
    package func storedSize(of picture: PictureID) -> Int64? {
        fatalError("written by the owner of ImageCache: \(picture)")
    }

    /// Opens a picture for reading; asks nothing of the network before the first read.
    ///
    /// - Parameters:
    ///   - picture: What to read; its `size` is the one that `stat` showed and that the download must have.
    ///   - neighbours: The pictures around it for preloading, or nil.
    package func open(_ picture: PictureRequest, neighbours: Neighbours?) throws(ImageCacheError) -> OpenPicture {
        fatalError("written by the owner of ImageCache: \(picture) \(String(describing: neighbours))")
    }

    /// Downloads a whole picture whose length no header tells, and returns that length.
    package func learnSize(of picture: PictureRequest) async throws(ImageCacheError) -> Int64 {
        fatalError("written by the owner of ImageCache: \(picture)")
    }

    package func status() -> ImageCacheStatus {
        fatalError("written by the owner of ImageCache")
    }

    /// Cancels every download, keeps partial ones for resuming, writes the index and unlocks.
    package func close() async {
        fatalError("written by the owner of ImageCache")
    }
}

/// A picture to open or preload.
package struct PictureRequest: Sendable {
    package var id: PictureID
    package var location: PictureLocation
    /// The length that `stat` showed; nil for a preload whose size nobody asked yet.
    package var size: Int64?

    package init(id: PictureID, location: PictureLocation, size: Int64?) {
        self.id = id
        self.location = location
        self.size = size
    }
}

/// The directory around an open picture, so that the next ones can be preloaded.
package struct Neighbours: Sendable {
    /// Names the directory: readers of two directories are two walks.
    package var directory: UInt64
    /// The open picture's place in it.
    package var index: Int
    /// The picture at a place, or nil outside the directory or where nothing can be preloaded. Must not wait.
    package var picture: @Sendable (Int) -> PictureRequest?

    package init(directory: UInt64, index: Int, picture: @escaping @Sendable (Int) -> PictureRequest?) {
        self.directory = directory
        self.index = index
        self.picture = picture
    }
}

/// What is known of a picture's bytes.
package enum PictureState: Sendable, Equatable {
    case absent
    case queued
    case downloading(received: Int64, total: Int64?)
    case stored(length: Int64)
    case failed(reason: String)
}

/// Bytes that can be handed out without copying, or the need to wait.
package enum PictureBytes: Sendable {
    /// `count` bytes at `offset` of the file; `file` keeps the descriptor open while it is referred to.
    case file(StoredFile, offset: Int64, count: Int)
    /// The end of the picture: no bytes.
    case end
}

/// A descriptor that closes itself when the last reference goes.
package final class StoredFile: Sendable {
    package let descriptor: Int32

    package init(owning descriptor: Int32) {
        self.descriptor = descriptor
    }
}

/// A picture somebody has open: keeps its version and its bytes until closed.
///
/// ## Concurrency
///
/// Any thread may call any method at any time.
package final class OpenPicture: Sendable {
    init() {}

    /// The bytes if they are here; nil if they must be waited for. Never waits for the network.
    package func availableBytes(offset: Int64, count: Int) throws(ImageCacheError) -> PictureBytes? {
        fatalError("written by the owner of ImageCache: \(offset) \(count)")
    }

    /// The bytes, once they are here: right ones, `count` of them or up to the end of the picture, or an error.
    ///
    /// A cancelled task throws `.cancelled` at once; the last waiter to leave ends a download that nothing else wants.
    package func bytes(offset: Int64, count: Int) async throws(ImageCacheError) -> PictureBytes {
        fatalError("written by the owner of ImageCache: \(offset) \(count)")
    }

    /// Gives the picture up; must be called once.
    package func close() {
        fatalError("written by the owner of ImageCache")
    }
}

/// Why bytes cannot be had.
package enum ImageCacheError: Error, Hashable, Sendable {
    /// No answer from the network.
    case unreachable(String)
    case timedOut
    /// The service says the picture is gone (404, 410).
    case gone
    /// The service refuses it (403 with a Referer, a placeholder in place of the picture).
    case refused(String)
    /// The answer is not this picture: wrong length, no trailer, another format, contradictory lengths.
    case damaged(String)
    /// The service asks to slow down.
    case limited(retryAfter: Int64?)
    case cancelled
    /// Another rankfs uses this cache directory.
    case busy(directory: String)
    /// The directory cannot be used: text with cause and remedy.
    case unusable(String)
}

/// Something worth a log line that no request reports.
package enum ImageCacheEvent: Sendable {
    case preloadFailed(PictureID, ImageCacheError)
    /// A stored file was broken and has been removed; it will be downloaded again.
    case removedBroken(PictureID, reason: String)
    /// The disk is full or fails: pictures are served without being stored.
    case notStoring(reason: String)
    case storingAgain
    case evicted(count: Int, bytes: Int64)
    case indexRebuilt(pictures: Int, reason: String)
    /// A mark that keeps backups away could not be set.
    case unmarked(mark: String, reason: String)
}

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
