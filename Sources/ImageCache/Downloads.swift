internal import HTTP
internal import System
internal import Rankings
internal import Synchronization

/// A picture that is being downloaded: its download's state, the file with its bytes, and everything else that belongs to it.
struct PictureDownload: Sendable {
    /// A number that grows with each download and gives their order.
    let number: UInt64
    var download: Download
    let picture: PictureRequest
    var file: PartialFile
    var transfers: [UInt64: Transfer] = [:]
    var priority: TransferPriority
    /// The directory of the walk that wished for the picture; nil for a download that a reader began.
    var walk: UInt64?
    /// Bytes written since the partial state was last saved.
    var unnoted: Int64 = 0
    /// The query to the tier; nil once it is answered.
    var question: (task: Task<Void, Never>, urgency: Urgency)?
    /// The number of its bytes that came from the tier.
    var tierBytes: Int64 = 0
    /// Whether other machines may wait for this one to download it.
    var isOurs = false
    /// The continuations to resume when the announced length is confirmed or withdrawn.
    var settlers: [CheckedContinuation<Void, Never>] = []

    /// Saves the state that another process may resume from.
    func note() { file.note(total: download.total, validator: download.validator, present: download.proven) }
}

/// The downloads under way, with ways to find and change them; `Core` decides the consequences of a change.
extension [FileKey: PictureDownload] {
    /// Runs a decision of a download in place; nil while there is no such download.
    @discardableResult
    mutating func decide<Decision>(_ key: FileKey, _ decide: (inout Download) -> Decision) -> Decision? {
        index(forKey: key).map { decide(&values[$0].download) }
    }

    /// The downloads that are not whole, in the order in which they began.
    var running: [PictureDownload] {
        values.filter { $0.download.phase != .complete }.sorted { $0.number < $1.number }
    }

    /// The running downloads that were begun for a walk and have no reader, the oldest first.
    func unread(ofWalk directory: UInt64) -> [FileKey] {
        filter { _, file in
            file.walk == directory && file.download.phase == .running && !file.download.isRead
        }.sorted { $0.value.number < $1.value.number }.map(\.key)
    }
}

// MARK: - Failures

/// Pictures that failed recently, so that they are not requested again at once.
struct Failures: Sendable {
    private struct Remembered {
        var error: Failure
        var until: ContinuousClock.Instant
    }

    /// The time for which a picture that the service does not have is not requested again.
    static let goneFor: Duration = .seconds(600)
    /// The time for which a failed preload is not tried again; readers try at once.
    static let preloadFor: Duration = .seconds(60)
    /// The largest number of failures remembered.
    private static let most = 4096

    private var failures: [FileKey: Remembered] = [:]

    /// The failure of a picture, if it still counts.
    func failure(of key: FileKey, now: ContinuousClock.Instant) -> Failure? {
        guard let failure = failures[key], failure.until > now else { return nil }
        return failure.error
    }

    /// Remembers a failure for a duration.
    mutating func remember(
        _ error: Failure, of key: FileKey, for duration: Duration, now: ContinuousClock.Instant
    ) {
        if failures.count >= Self.most { failures = failures.filter { $0.value.until > now } }
        // Still full of recent failures: forgetting them costs a request each.
        if failures.count >= Self.most { failures = [:] }
        failures[key] = Remembered(error: error, until: now + duration)
    }

    /// Forgets the failure of a picture that came after all.
    mutating func forget(_ key: FileKey) { failures[key] = nil }
}

// MARK: - Open pictures

/// The open pictures, each tied to the version of the bytes that it has: bytes of no other version may follow.
struct OpenPictures: Sendable {
    /// A handle of an open picture.
    struct Handle: Sendable {
        let key: FileKey
        let picture: PictureRequest
        let neighbours: Neighbours?
        let onRead: (@Sendable () -> Void)?
        let opened: ContinuousClock.Instant
        let wasThere: Bool
        var whole: WholePicture?
        /// The version of the bytes that the handle has, and the source's name for it.
        var version: PictureVersion?
        var validator: String?
        /// Whether the stored file could not be opened, so that the picture comes from the network.
        var avoidsStore = false
        var failure: Failure?
        var measure = ReadMeasure()

        /// The error if the handle must not get bytes of a version; nil if it may.
        func mismatch(with version: PictureVersion?) -> Failure? {
            guard let held = self.version, let version, !held.isSame(as: version) else { return nil }
            return .damaged("the picture changed at the source while it was open")
        }

        /// The whole picture, once so much was read that further reads, except the last, decide nothing.
        var settled: WholePicture? { measure.isThrough && failure == nil ? whole : nil }
    }

    private var handles: [UInt64: Handle] = [:]
    private var openers: [FileKey: Int] = [:]

    /// The number of handles.
    var count: Int { handles.count }

    /// The pictures that are open.
    var keys: Set<FileKey> { Set(openers.keys) }

    /// The number of handles of a picture.
    func openers(of key: FileKey) -> Int { openers[key] ?? 0 }

    /// A handle by its number; nil once it is closed.
    subscript(id: UInt64) -> Handle? {
        get { handles[id] }
        _modify { yield &handles[id] }
    }

    mutating func open(_ handle: Handle, as id: UInt64) {
        handles[id] = handle
        openers[handle.key, default: 0] += 1
    }

    /// Closes a handle; nil if it was closed before.
    mutating func close(_ id: UInt64) -> Handle? {
        guard let handle = handles.removeValue(forKey: id) else { return nil }
        let left = openers(of: handle.key) - 1
        openers[handle.key] = left > 0 ? left : nil
        return handle
    }

    // MARK: - Versions

    /// Ties a handle to the version of the first bytes that it gets.
    mutating func bind(_ id: UInt64, to download: Download) {
        guard handles[id]?.version == nil else { return }
        handles[id]?.version = download.version
        handles[id]?.validator = download.validator
    }

    /// Gives a handle the whole file that a download brought.
    mutating func hand(_ file: PartialFile, of download: Download, to id: UInt64) {
        guard let data = file.current, let length = download.total else { return }
        bind(id, to: download)
        guard let version = handles[id]?.version else { return }
        handles[id]?.whole = WholePicture(file: data, length: length, version: version, source: file)
    }

    /// Gives a handle the file that another handle of the picture keeps: all handles of a picture have one version.
    mutating func share(_ id: UInt64) -> Bool {
        guard let handle = handles[id],
            let other = handles.values.first(where: { $0.key == handle.key && $0.whole != nil }),
            handle.picture.size == nil || handle.picture.size == other.whole?.length,
            handle.mismatch(with: other.version) == nil
        else { return false }
        handles[id]?.whole = other.whole
        handles[id]?.version = other.version
        handles[id]?.validator = other.validator
        return true
    }

    /// Marks the handles that have bytes of a wrong version as failed: they must not get another version.
    mutating func fail(_ ids: Set<UInt64>, _ error: Failure) {
        for id in ids where handles[id]?.version != nil { handles[id]?.failure = error }
    }
}

/// A whole picture: once its reader goes through all of it, most reads take no lock that other readers wait for.
final class WholePicture: Sendable {
    let file: StoredFile
    /// Bytes of the picture.
    let length: Int64
    let version: PictureVersion
    /// The file of its download, which accounts for memory as long as it is read; nil for a stored picture.
    private let source: PartialFile?

    init(file: StoredFile, length: Int64, version: PictureVersion, source: PartialFile? = nil) {
        self.file = file
        self.length = length
        self.version = version
        self.source = source
    }
}

/// Distinguishes reading an open picture from inspecting it; no other code does.
///
/// Type sniffers and previewers inspect the beginning, some the end; a program that goes further reads. A picture that is
/// really read is listed in `recent/` and begins a walk for the preloads; of a picture whose reader goes through it, by the
/// bytes read, the rest is downloaded as well.
struct ReadMeasure: Sendable {
    /// Reads up to this offset inspect the beginning, in pictures of more than twice the size; in bytes.
    static let beginning: Int64 = 128 << 10
    /// Reads from this distance to the end inspect the end; in bytes.
    static let end: Int64 = 64 << 10

    /// Bytes read so far.
    private(set) var bytes: Int64 = 0
    /// Whether the picture is really read.
    private(set) var isReal = false
    /// Whether so much of it was read that its reader goes through all of it.
    private(set) var isThrough = false

    /// Takes note of a read.
    ///
    /// - Parameters:
    ///   - range: The bytes read, at least one.
    ///   - length: The length of the whole picture, in bytes.
    mutating func note(_ range: Range<Int64>, of length: Int64) {
        bytes += Int64(range.count)
        // The kernel reads ahead after an inspection; half of a small picture may be no more than that.
        let beginning = min(Self.beginning, max(length / 2, DownloadLimits.look))
        if bytes > beginning || bytes >= length { isThrough = true }
        let isLookAtEnd = range.lowerBound >= length - Self.end && range.lowerBound > 0
        if isThrough || range.upperBound > beginning && !isLookAtEnd { isReal = true }
    }
}

extension Download {
    /// The version of its bytes, once an answer has declared it.
    var version: PictureVersion {
        var version = PictureVersion(token: token)
        if let validator, let total { version.tag = PictureVersion.tag(validator, length: total) }
        return version
    }
}
