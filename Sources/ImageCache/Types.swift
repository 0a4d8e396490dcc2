package import HTTP
package import Rankings

/// A picture to open or preload.
package struct PictureRequest: Sendable {
    package var id: PictureID
    package var location: PictureLocation
    /// The length that `stat` showed, in bytes; nil for a preload of unknown size.
    package var size: Int64?
    /// The path below the mount, for displays; evaluated only when a display shows it.
    package var path: (@Sendable () -> String)?
    /// Whether the picture is for its reader alone and is not shared with other machines.
    package var isPrivate: Bool

    package init(
        id: PictureID, location: PictureLocation, size: Int64?, isPrivate: Bool = false,
        path: (@Sendable () -> String)? = nil
    ) {
        self.id = id
        self.location = location
        self.size = size
        self.isPrivate = isPrivate
        self.path = path
    }
}

/// The directory around an open picture, from which the next pictures are preloaded.
package struct Neighbours: Sendable {
    /// Identifies the directory; readers of two directories count as two walks.
    package var directory: UInt64
    /// The open picture's place in the directory, as listed.
    package var index: Int
    /// The other orders in which users may go through the same pictures.
    package var orders: [PictureOrder]
    /// Whether the opener copies or packs, and so passes from picture to picture without displaying them.
    package var isBulk: Bool
    /// The picture at a place as listed; nil outside the directory or where nothing can be preloaded.
    ///
    /// Must not wait.
    package var picture: @Sendable (Int) -> PictureRequest?

    package init(
        directory: UInt64, index: Int, orders: [PictureOrder] = [], isBulk: Bool = false,
        picture: @escaping @Sendable (Int) -> PictureRequest?
    ) {
        self.directory = directory
        self.index = index
        self.orders = orders
        self.isBulk = isBulk
        self.picture = picture
    }
}

/// An order of a directory's pictures.
package struct PictureOrder: Sendable {
    /// What the pictures are sorted by.
    package enum Kind: Sendable {
        case asListed
        case byName
        case byTime
    }

    /// The order in which the directory is listed, of any number of pictures.
    static let asListed = PictureOrder(.asListed, places: [], indices: [])

    let kind: Kind
    /// The place in this order, indexed by the place as listed.
    private let places: [Int32]
    /// The place as listed, indexed by the place in this order.
    private let indices: [Int32]

    /// Keeps two arrays, each the inverse of the other.
    ///
    /// - Parameters:
    ///   - kind: What the pictures are sorted by.
    ///   - places: The place in this order, indexed by the place as listed.
    ///   - indices: The place as listed, indexed by the place in this order.
    package init(_ kind: Kind, places: [Int32], indices: [Int32]) {
        self.kind = kind
        self.places = places
        self.indices = indices
    }

    /// The place in this order of a picture, given its place as listed; nil if it is not in this order.
    package func place(of index: Int) -> Int? {
        if kind == .asListed { return index }
        return places.indices.contains(index) ? Int(places[index]) : nil
    }

    /// The place as listed of the picture at a place in this order; nil outside the directory.
    package func index(at place: Int) -> Int? {
        if kind == .asListed { return place }
        return indices.indices.contains(place) ? Int(indices[place]) : nil
    }
}

/// The known state of a picture's bytes.
package enum PictureState: Sendable, Equatable {
    case absent
    case queued
    case downloading(received: Int64, total: Int64?)
    case stored(length: Int64)
    case failed
}

// MARK: - Errors and events

/// An event worth a log line that no request reports.
package enum ImageCacheEvent: Sendable {
    case preloadFailed(PictureID, Failure)
    /// A stored file was broken and has been removed; it will be downloaded again.
    case removedBroken(PictureID, reason: String)
    /// The disk is full or fails, so pictures are served without being stored.
    case notStoring(reason: String)
    case storingAgain
    /// The cache directory was removed during operation; it exists again, without its former pictures.
    case directoryRemade(String)
    /// A picture cannot be stored, because something else lies in its place.
    case notKept(PictureID, reason: String)
    case evicted(count: Int, bytes: Int64)
    /// A mark that keeps backups away could not be set.
    case unmarked(mark: String, reason: String)
    /// The file system keeps no rights, so that other users may read the cache.
    case readableByOthers(directory: String)
}

extension Failure {
    /// Whether bytes given out earlier may be wrong.
    var isOfTheBytes: Bool {
        switch self {
        case .damaged, .lengthContradicts: true
        default: false
        }
    }
}

// MARK: - Status

/// Figures for status displays.
package struct ImageCacheStatus: Sendable {
    /// One download under way.
    package struct Running: Sendable {
        package var picture: PictureID
        let pathNow: (@Sendable () -> String)?
        /// The path below the mount; nil if none was given.
        package var path: String? { pathNow?() }
        package var received: Int64
        package var total: Int64?
        /// Whether a reader reads the picture now; false for a preload.
        package var isRead: Bool
        /// Whether it still waits for its first answer.
        package var isQueued: Bool
    }

    package var storedPictures: Int
    package var storedBytes: Int64
    /// The stored pictures that are pinned, and their bytes.
    package var pinned: (pictures: Int, bytes: Int64)
    package var budget: Int64
    package var openPictures: Int
    /// The downloads in the order in which they began.
    package var downloads: [Running]
    /// Preloads in the order in which they will begin.
    package var queued: [PictureRequest]
    /// Bytes received since the start.
    package var receivedBytes: Int64
    package var preloaded: Int
    package var evicted: Int
    /// Whether the disk accepts pictures.
    package var isStoring: Bool
}

// MARK: - Configuration

/// The limits and locations of a cache.
package struct CacheConfiguration: Sendable {
    /// The cache's own directory, made with mode 0700 and marked so that backups skip it.
    package var directory: String
    /// Byte budget of stored pictures.
    package var budget: Int64
    /// Bytes of disk space that stay free.
    package var freeFloor: Int64
    /// Pictures preloaded ahead of a reader; 0 turns preloading off.
    package var preload: Int
    /// The time limit of one waiting read.
    package var timeout: Duration
    /// The time without an answer from the network after which a read fails.
    package var networkTimeout: Duration
    /// Wall clock in Unix seconds.
    package var now: @Sendable () -> Int64
    /// The monotonic clock for deadlines and pauses.
    package var monotonicNow: @Sendable () -> ContinuousClock.Instant = TimeSource.system.now
    /// A random number below a bound.
    package var chance: @Sendable (_ bound: Int) -> Int = { Int.random(in: 0..<max(1, $0)) }
    /// Whether pictures may be preloaded now; evaluated often and from any thread, so it must not wait.
    package var mayPreload: @Sendable () -> Bool = { true }
    /// The beginning of the last part of an address that is a placeholder for a withheld picture; nil if the service has none.
    package var placeholder: String?
    /// The tier that shares pictures with other machines; nil for none.
    package var tier: (any PictureTier)?
    /// Whether a timer checks the deadlines; tests call `tick` themselves.
    package var hasTimer = true

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

// MARK: - The shared tier

/// The destination of a picture that comes from the tier.
@safe package struct PictureSink: Sendable {
    /// Takes the next bytes and their offset in the picture; after a false no more come.
    package var write: @Sendable (_ bytes: UnsafeRawBufferPointer, _ offset: Int64) -> Bool
    /// Takes note that the bytes up to an end are those that a machine wrote, of a picture of a length.
    ///
    /// Returns whether they can be the picture's; after a false no more come.
    package var proven: @Sendable (_ end: Int64, _ length: Int64) -> Bool

    package init(
        write: @escaping @Sendable (_ bytes: UnsafeRawBufferPointer, _ offset: Int64) -> Bool,
        proven: @escaping @Sendable (_ end: Int64, _ length: Int64) -> Bool
    ) {
        unsafe self.write = unsafe write
        self.proven = proven
    }

    /// A destination for bytes that are verified, and not kept.
    package static let ignoring = unsafe PictureSink { _, _ in
        true
    } proven: { _, _ in
        true
    }
}

/// A second store of whole pictures, shared with other machines, which is queried before the image host.
///
/// Pictures that came from the image host are given to it.
///
/// ## Concurrency
///
/// Any thread may call.
package protocol PictureTier: Sendable {
    /// Fetches a picture, or finds that the image host is to be queried.
    ///
    /// Returns within a time limit of its own whatever the network does, and at once when the task is cancelled.
    ///
    /// - Parameters:
    ///   - picture: The picture to fetch.
    ///   - length: The length that it must have, in bytes; nil if unknown.
    ///   - urgency: Signals when a reader waits for the picture.
    ///   - sink: Takes the bytes, in order, and learns which of them are right.
    /// - Returns: Whether all bytes of the picture came, and are right; if not, the image host is to be queried for those that did
    ///   not, after which either `keep` or `giveUp` is called.
    func fetch(_ picture: PictureID, length: Int64?, urgency: Urgency, into sink: PictureSink) async -> Bool

    /// Takes a picture that has come from the image host, whole and right.
    ///
    /// - Parameters:
    ///   - picture: The picture.
    ///   - path: The file that begins with its bytes, for as long as the picture is stored.
    ///   - length: The length of the picture, in bytes.
    ///   - hash: The 64-bit XXH3 of its bytes.
    func keep(_ picture: PictureID, at path: String, length: Int64, hash: UInt64)

    /// Takes note of an answer of the image host, with which the tier is compared.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of its body.
    ///   - firstAfter: The time from the request to the answer's head.
    ///   - duration: The time from there to the end.
    func hostBrought(_ bytes: Int64, firstAfter: Duration, in duration: Duration)

    /// Takes note that the bytes of a picture that it has turned out wrong: it gives them out no more.
    func distrust(_ picture: PictureID)

    /// Takes note that a picture did not come from the image host.
    func giveUp(_ picture: PictureID)
}
