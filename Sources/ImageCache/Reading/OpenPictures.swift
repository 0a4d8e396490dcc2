internal import HTTP
internal import Posix
internal import Rankings

/// What is open, and which version of its picture each has bytes of: no other one may follow.
struct OpenPictures: Sendable {
    /// A picture that somebody has open.
    struct Handle: Sendable {
        let key: FileKey
        let picture: PictureRequest
        let neighbours: Neighbours?
        let onRead: (@Sendable () -> Void)?
        let opened: ContinuousClock.Instant
        let wasThere: Bool
        /// The whole picture, once it is whole.
        var file: StoredFile?
        var length: Int64?
        /// Keeps memory accounted for while it is read.
        var source: PartialFile?
        /// The version that it has bytes of, and what the source calls that.
        var version: PictureVersion?
        var validator: String?
        /// Whether the stored file could not be opened, so that the picture comes from the network.
        var avoidsStore = false
        var failure: ImageCacheError?
        var measure = ReadMeasure()

        /// Why it must not get bytes of a version.
        func mismatch(with version: PictureVersion?) -> ImageCacheError? {
            guard let held = self.version, let version, !held.isSame(as: version) else { return nil }
            return .damaged("the picture changed at the source while it was open")
        }

        /// The whole file, once so much was read that further reads, but the last, decide nothing.
        var settled: WholePicture? {
            guard measure.isThrough, failure == nil, let file, let length, let version else { return nil }
            return WholePicture(file: file, length: length, version: version)
        }
    }

    private var handles: [UInt64: Handle] = [:]
    private var openers: [FileKey: Int] = [:]

    /// How many are open.
    var count: Int { handles.count }

    /// Pictures that somebody has open.
    var keys: Set<FileKey> { Set(openers.keys) }

    /// How many have a picture open.
    func openers(of key: FileKey) -> Int { openers[key] ?? 0 }

    /// One that is open; nil once it is closed.
    subscript(id: UInt64) -> Handle? {
        get { handles[id] }
        _modify { yield &handles[id] }
    }

    mutating func open(_ handle: Handle, as id: UInt64) {
        handles[id] = handle
        openers[handle.key, default: 0] += 1
    }

    /// Closes one; nil if that was done before.
    mutating func close(_ id: UInt64) -> Handle? {
        guard let handle = handles.removeValue(forKey: id) else { return nil }
        let left = openers(of: handle.key) - 1
        openers[handle.key] = left > 0 ? left : nil
        return handle
    }

    // MARK: - Versions

    /// Ties one to the version of the first bytes that it gets.
    mutating func bind(_ id: UInt64, to download: Download) {
        guard handles[id]?.version == nil else { return }
        handles[id]?.version = download.version
        handles[id]?.validator = download.validator
    }

    /// Gives one the whole file that a download brought.
    mutating func hand(_ file: PartialFile, of download: Download, to id: UInt64) {
        guard let data = file.current else { return }
        handles[id]?.file = data
        handles[id]?.length = download.total
        handles[id]?.source = file
        bind(id, to: download)
    }

    /// Gives one the file that another one of the same picture keeps: what is open has one version.
    mutating func share(_ id: UInt64) -> Bool {
        guard let handle = handles[id],
            let other = handles.values.first(where: { $0.key == handle.key && $0.file != nil }),
            handle.picture.size == nil || handle.picture.size == other.length,
            handle.mismatch(with: other.version) == nil
        else { return false }
        handles[id]?.file = other.file
        handles[id]?.length = other.length
        handles[id]?.source = other.source
        handles[id]?.version = other.version
        handles[id]?.validator = other.validator
        return true
    }

    /// The version that somebody keeps the file of.
    func keptVersion(of key: FileKey) -> PictureVersion? {
        handles.values.first { $0.key == key && $0.file != nil }?.version
    }

    /// Whoever has seen bytes of a version that was not right must not be given another one.
    mutating func fail(_ ids: Set<UInt64>, _ error: ImageCacheError) {
        for id in ids where handles[id]?.version != nil { handles[id]?.failure = error }
    }
}

/// Tells reading from looking, for one open picture: the one place that does.
///
/// Type sniffers and previewers look at the beginning, some at the end; only who goes further reads. What is really read is
/// listed in `recent/` and begins a walk for the preloads; of what is gone through, by its bytes, the rest is fetched as well.
struct ReadMeasure: Sendable {
    /// Reads up to here are a look at the beginning, in pictures of more than twice the size.
    static let beginning: Int64 = 128 << 10
    /// Reads from here to the end are a look at the end.
    static let end: Int64 = 64 << 10

    /// Bytes read so far.
    private(set) var bytes: Int64 = 0
    /// Whether it is really read.
    private(set) var isReal = false
    /// Whether so much of it was read that its reader goes through all of it.
    private(set) var isThrough = false

    /// Takes note of a read.
    ///
    /// - Parameters:
    ///   - range: Bytes of the picture, at least one.
    ///   - length: Of the whole picture.
    mutating func note(_ range: Range<Int64>, of length: Int64) {
        bytes += Int64(range.count)
        // The kernel reads on behind a look; half of a small picture may be no more than that.
        let beginning = min(Self.beginning, max(length / 2, DownloadLimits.look))
        if bytes > beginning || bytes >= length { isThrough = true }
        let isLookAtEnd = range.lowerBound >= length - Self.end && range.lowerBound > 0
        if isThrough || range.upperBound > beginning && !isLookAtEnd { isReal = true }
    }
}

extension Download {
    /// What its bytes are, once an answer has told.
    var version: PictureVersion {
        var version = PictureVersion(token: token)
        if let validator, let total { version.tag = PictureVersion.tag(validator, length: total) }
        return version
    }
}
