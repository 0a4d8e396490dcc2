internal import Digests
package import HTTP
package import Posix
package import Rankings
internal import Synchronization

/// A picture to open or preload.
package struct PictureRequest: Sendable {
    package var id: PictureID
    package var location: PictureLocation
    /// The length that `stat` showed; nil for a preload whose size nobody asked yet.
    package var size: Int64?
    /// The path below the mount by which people know it, for displays; asked only when one looks.
    package var path: (@Sendable () -> String)?
    /// Whether it concerns nobody but its reader, and is not shared with other machines.
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

/// The directory around an open picture, so that the next ones can be preloaded.
package struct Neighbours: Sendable {
    /// Names the directory: readers of two directories are two walks.
    package var directory: UInt64
    /// The open picture's place in it, by name.
    package var index: Int
    /// The same pictures by modification time; nil if nobody goes by that.
    package var byTime: PictureOrder?
    /// Whether the opener copies or packs: it goes from picture to picture without looking.
    package var isBulk: Bool
    /// The picture at a place by name, or nil outside the directory or where nothing can be preloaded.
    ///
    /// Must not wait.
    package var picture: @Sendable (Int) -> PictureRequest?

    package init(
        directory: UInt64, index: Int, byTime: PictureOrder? = nil, isBulk: Bool = false,
        picture: @escaping @Sendable (Int) -> PictureRequest?
    ) {
        self.directory = directory
        self.index = index
        self.byTime = byTime
        self.isBulk = isBulk
        self.picture = picture
    }
}

/// Another order of a directory's pictures than that of their names.
package struct PictureOrder: Sendable {
    /// By place by name: the place in this order.
    private let places: [Int32]
    /// By place in this order: the place by name.
    private let indices: [Int32]

    /// Keeps two arrays, of which each is the inverse of the other.
    ///
    /// - Parameters:
    ///   - places: By place by name, the place in this order.
    ///   - indices: By place in this order, the place by name.
    package init(places: [Int32], indices: [Int32]) {
        self.places = places
        self.indices = indices
    }

    /// The place of a picture that has a place by name; nil if it is not in this order.
    package func place(of index: Int) -> Int? {
        places.indices.contains(index) ? Int(places[index]) : nil
    }

    /// The place by name of the picture at a place, or nil outside the directory.
    package func index(at place: Int) -> Int? {
        indices.indices.contains(place) ? Int(indices[place]) : nil
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
    /// `count` bytes at `offset` of the file.
    case file(StoredFile, offset: Int64, count: Int)
    /// The end of the picture: no bytes.
    case end
}

extension StoredFile {
    /// The file of a picture, opened if need be.
    package func picture() throws(ImageCacheError) -> OpenFile {
        do throws(SystemError) { return try opened() } catch {
            if let lack = error.lackOfDescriptors { throw .exhausted(lack) }
            throw .unusable(
                "the file of an open picture cannot be opened again (\(error.text)); open the picture again")
        }
    }
}

/// Which bytes something holds of a picture that may change at the source.
///
/// Only equality that can be proved counts: the same download or file, or the same name of a version (ETag,
/// Last-Modified: RFC 9110 section 8.8) at the same length. Known in this process only, as are the kernel's pages.
package struct PictureVersion: Sendable {
    /// Names the download that brought the bytes, or the stored file.
    let token: UInt64
    /// A hash of validator and length; 0 if the source names no versions.
    var tag: UInt64 = 0

    /// Whether bytes of both may be put together.
    package func isSame(as other: PictureVersion) -> Bool {
        token == other.token || tag != 0 && tag == other.tag
    }

    static func tag(_ validator: String, length: Int64) -> UInt64 {
        XXH3.hash(Array("\(length) \(validator)".utf8))
    }
}

/// The whole picture, once reading it decides nothing any more: most reads of what is stored ask no lock that others wait for.
final class WholePicture: Sendable {
    let file: StoredFile
    /// Bytes of the picture.
    let length: Int64
    let version: PictureVersion

    init(file: StoredFile, length: Int64, version: PictureVersion) {
        self.file = file
        self.length = length
        self.version = version
    }
}

// MARK: - Errors and events

/// Why bytes cannot be had.
package enum ImageCacheError: Error, Hashable, Sendable {
    /// No answer from the network.
    case unreachable(String)
    case timedOut
    /// Requests are switched off.
    case offline
    /// The service says the picture is gone (404, 410).
    case gone
    /// The service refuses it (403 with a Referer, a placeholder in place of the picture).
    case refused(String)
    /// The bytes are not those of the picture: no trailer, another format, another version than the one begun.
    case damaged(String)
    /// The source tells another length than the one that was shown, or sends a whole picture of another one.
    case lengthContradicts(told: Int64?, shown: Int64)
    /// The answer was cut, or contradicts itself; it tells nothing of the picture.
    case broken(String)
    /// Somebody else answered: a portal's page, a refused redirect, a certificate that is not the host's.
    case untrusted(String)
    /// The host answers with an error of its own (5xx), which tells nothing of the picture.
    case troubled(status: Int)
    /// The service asks to slow down.
    case limited(retryAfter: Int64?)
    /// What stands in front of the host turns programs away: why it is not asked and what helps, as a sentence.
    case turnedAway(String)
    /// There are too many open files: why and what helps, as a sentence.
    case exhausted(String)
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
    /// Somebody removed the cache directory in mid-work: it is there again, without the pictures that were in it.
    case directoryRemade(String)
    case evicted(count: Int, bytes: Int64)
    /// A mark that keeps backups away could not be set.
    case unmarked(mark: String, reason: String)
}

extension ImageCacheError {
    /// Whether bytes that were given before may be wrong.
    var isOfTheBytes: Bool {
        switch self {
        case .damaged, .lengthContradicts: true
        default: false
        }
    }

    /// One sentence for people.
    package var text: String {
        switch self {
        case .unreachable(let reason): "the image host cannot be reached (\(reason))"
        case .timedOut: "the image host does not answer"
        case .offline: "the picture is not stored, and no request may leave"
        case .gone: "the service has removed the picture"
        case .refused(let reason), .damaged(let reason), .broken(let reason), .untrusted(let reason),
            .turnedAway(let reason), .exhausted(let reason), .unusable(let reason):
            reason
        case .lengthContradicts(let told?, let shown): "the picture has \(told) bytes where \(shown) were promised"
        case .lengthContradicts(nil, let shown): "the picture does not end after the \(shown) bytes that were promised"
        case .troubled(let status): "the image host answered \(status)"
        case .limited: "the image host asks to slow down"
        case .cancelled: "the read was given up"
        case .busy(let directory):
            "another rankfs uses the cache directory \(directory); stop it or name another cache_dir"
        }
    }
}

// MARK: - Status

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

// MARK: - Configuration

/// The limits and places a cache works with.
package struct CacheConfiguration: Sendable {
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
    /// The monotonic clock that deadlines and pauses are measured by.
    package var monotonicNow: @Sendable () -> ContinuousClock.Instant = TimeSource.system.now
    /// A number below a bound, for choices by chance.
    package var chance: @Sendable (_ bound: Int) -> Int = { Int.random(in: 0..<max(1, $0)) }
    /// Whether pictures may be downloaded that nobody reads yet; asked often, from any thread, so it must not wait.
    package var mayPreload: @Sendable () -> Bool = { true }
    /// Whether the last part of a picture's address is that of something that stands in for one that the service withholds.
    package var isPlaceholder: @Sendable (_ name: Substring) -> Bool = { _ in false }
    /// Where pictures are shared with other machines; nil for nowhere.
    package var tier: (any PictureTier)?
    /// Whether deadlines are looked after by a timer; tests call `tick` themselves.
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

/// A second place where whole pictures are, which other machines use as well: asked before the image host is, and given what came
/// from there.
///
/// ## Concurrency
///
/// Any thread may call.
package protocol PictureTier: Sendable {
    /// Brings a picture, or finds that the image host is to be asked.
    ///
    /// Returns within a bound of its own whatever the network does, at once when the task is cancelled.
    ///
    /// - Parameters:
    ///   - picture: What to bring.
    ///   - length: Bytes that it must have; nil if nobody knows.
    ///   - urgency: Tells when somebody waits for it.
    ///   - write: Takes its bytes, in order; they are the picture's only if this returns their count. After a false nothing more comes.
    ///     Called again with an offset of 0, it begins anew.
    /// - Returns: The bytes of the picture, all of which were written and are right; nil if the image host is to be asked, after which
    ///   either `keep` or `giveUp` is called.
    func fetch(
        _ picture: PictureID, length: Int64?, urgency: Urgency,
        write: @escaping @Sendable (_ bytes: UnsafeRawBufferPointer, _ offset: Int64) -> Bool
    ) async -> Int64?

    /// A picture has come from the image host, whole and right.
    ///
    /// - Parameters:
    ///   - picture: Which.
    ///   - path: The file that begins with its bytes, for as long as it is stored.
    ///   - length: How many they are.
    ///   - hash: Their XXH3, 64 bits.
    func keep(_ picture: PictureID, at path: String, length: Int64, hash: UInt64)

    /// A picture did not come from the image host.
    func giveUp(_ picture: PictureID)
}

/// A question to the tier about a picture that is to be downloaded.
///
/// ## Concurrency
///
/// Any thread may call.
final class TierQuestion: Sendable {
    /// Raised when somebody waits for the picture.
    let urgency = Urgency()
    private let state = Mutex<(task: Task<Void, Never>?, isCancelled: Bool)>((nil, false))

    /// Asks, unless the question has been withdrawn.
    func ask(_ question: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            let task = Task { await question() }
            state.task = task
            if state.isCancelled { task.cancel() }
        }
    }

    /// Withdraws it; it is then answered at once.
    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }
}
