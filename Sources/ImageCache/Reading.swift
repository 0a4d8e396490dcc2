internal import HTTP
internal import Rankings
internal import System

/// The operations of readers, and their results.
extension Core {
    /// The result of a read.
    enum Found {
        case bytes(PictureBytes)
        case failed(Failure)
        /// The picture is stored: the caller opens its file, then reads again.
        ///
        /// Nil for a picture that must be converted from an older format before.
        case stored(StoredPicture?, verify: Bool)
        /// The bytes must be waited for.
        case wait
    }

    /// Opens a picture.
    ///
    /// - Returns: Its number, and the version that it would get now; nil if only an answer can determine it.
    mutating func open(
        _ picture: PictureRequest, neighbours: Neighbours?, onRead: (@Sendable () -> Void)?
    ) -> Result<(id: UInt64, version: PictureVersion?), Failure> {
        let key = picture.id
        guard !isClosed else { return .failure(.unusable("the cache is closed")) }
        let isStored = index[key] != nil || downloads[key]?.download.phase == .complete
        if !isStored, failures.failure(of: key, now: now) == .gone { return .failure(.gone) }
        let id = makeID()
        pictures.open(
            OpenPictures.Handle(
                key: key, picture: picture, neighbours: neighbours, onRead: onRead, opened: now, wasThere: isStored),
            as: id)
        // Of several readers the kernel lets one request a page and the others wait for it, unnoticed here.
        if downloads[key] != nil, pictures.openers(of: key) == 2 {
            downloads[key]?.download.isShared = true
            pump()
        }
        return .success((id, versionAtOpen(of: key, for: id)))
    }

    /// Finds bytes; joins a download that is under way, but begins none.
    private mutating func find(_ id: UInt64, offset: Int64, count: Int) -> Found {
        guard let handle = pictures[id], offset >= 0, count >= 0 else { return .failed(.cancelled) }
        if let failure = handle.failure { return .failed(failure) }
        let key = handle.key
        if handle.whole == nil, let mismatch = join(id) { return .failed(mismatch) }
        if let whole = pictures[id]?.whole {
            return .bytes(give(whole.file, offset, count, length: whole.length, nil, to: id))
        }
        guard let entry = downloads[key] else {
            if let entry = index[key], !handle.avoidsStore {
                if let mismatch = handle.mismatch(with: index.version(of: key)) { return .failed(mismatch) }
                return .stored(index.picture(key), verify: !entry.isVerified)
            }
            if pictures.share(id) { return find(id, offset: offset, count: count) }
            if handle.version != nil, handle.validator == nil { return .failed(Self.unnamed) }
            return .wait
        }
        guard let total = entry.download.total else { return .wait }
        let lower = min(offset, total)
        let range = lower..<(lower + min(total - lower, Int64(count)))
        // Of a merely announced length not even the end is certain before.
        guard entry.download.canRelease(range), let file = entry.file.current else { return .wait }
        downloads[key]?.download.released(to: range.upperBound)
        if range.isEmpty { return .bytes(.end) }
        return .bytes(give(file, offset, count, length: total, entry.download, to: id))
    }

    /// Makes an open picture a reader of a download.
    ///
    /// - Returns: The error if it cannot be one.
    private mutating func join(_ id: UInt64) -> Failure? {
        guard let handle = pictures[id], let entry = downloads[handle.key], !entry.download.handles.contains(id)
        else { return nil }
        if let mismatch = handle.mismatch(with: entry.download.version) {
            if handle.validator == nil { return Self.unnamed }
            // Without an answer yet, `Download.answered` will compare both names.
            if entry.download.hasAnswer { return mismatch }
        }
        if let size = handle.picture.size, let total = entry.download.total, size != total {
            guard entry.download.handles.isEmpty, entry.download.phase != .complete else {
                return .lengthContradicts(told: total, shown: size)
            }
            // Declared only to a preload so far, by any server: this reader's own request must confirm it.
            downloads[handle.key]?.download.handles.insert(id)
            restart(handle.key)
        }
        downloads[handle.key]?.download.handles.insert(id)
        if handle.neighbours?.isBulk != true { downloads[handle.key]?.download.isCopied = false }
        if handle.version != nil {
            // The reader has bytes of an earlier download; no other version may follow.
            downloads[handle.key]?.download.released(to: .max)
            downloads[handle.key]?.download.validator = entry.download.validator ?? handle.validator
        }
        updatePriority(handle.key)
        if entry.download.phase == .complete { pictures.hand(entry.file, of: entry.download, to: id) }
        guard let size = handle.picture.size else { return nil }
        var failure: Failure?
        change(handle.key) { download in
            let change = download.learned(total: size)
            if case .failed(let error, _) = change.outcome { failure = error }
            return change
        }
        return failure
    }

    private static let unnamed = Failure.broken(
        "the download broke off and the source does not say which version it serves")

    /// Returns bytes for a reader, and applies the consequences of the read.
    mutating func give(
        _ file: StoredFile, _ offset: Int64, _ count: Int, length: Int64, _ download: Download?, to id: UInt64
    ) -> PictureBytes {
        guard offset < length, count > 0 else { return .end }
        let available = Int(min(Int64(count), length - offset))
        if let download { pictures.bind(id, to: download) }
        guard let version = pictures[id]?.version else { return .end }
        noteRead(id, offset..<offset + Int64(available), of: length)
        return .file(file, offset: offset, count: available, of: version)
    }

    /// Counts a read, and applies its consequences.
    private mutating func noteRead(_ id: UInt64, _ range: Range<Int64>, of length: Int64) {
        guard let handle = pictures[id] else { return }
        var measure = handle.measure
        measure.note(range, of: length)
        pictures[id]?.measure = measure
        if measure.isReal, !handle.measure.isReal { reallyRead(handle, length) }
        if measure.isThrough, !handle.measure.isThrough {
            downloads[handle.key]?.download.isDemanded = true
            pump()
        }
        if range.upperBound >= length, let neighbours = handle.neighbours {
            preload.finished(neighbours.index, in: neighbours.directory, now: now)
        }
    }

    private mutating func reallyRead(_ handle: OpenPictures.Handle, _ length: Int64) {
        if let onRead = handle.onRead { later { _ in onRead() } }
        guard let neighbours = handle.neighbours else { return }
        follow(
            preload.passed(
                neighbours.index, in: neighbours.directory, orders: neighbours.orders, opened: handle.opened,
                wasThere: handle.wasThere, isComplete: handle.whole != nil, isBulk: neighbours.isBulk,
                isSmall: length <= 2 * ReadMeasure.beginning),
            neighbours)
    }

    mutating func close(_ id: UInt64) {
        guard let handle = pictures.close(id) else { return }
        // The last reference to a file closes it, which may take long.
        if let whole = handle.whole { later { _ in withExtendedLifetime(whole) {} } }
        if let neighbours = handle.neighbours, handle.measure.bytes > 0, !handle.measure.isReal {
            preload.looked(at: neighbours.index, in: neighbours.directory)
        }
        downloads[handle.key]?.download.isShared = pictures.openers(of: handle.key) > 1
        endWaits(for: handle.key, .failed(.cancelled)) { $0.handle == id }
        downloads[handle.key]?.download.handles.remove(id)
        release(handle.key)
        trim()
    }

    // MARK: - Waiting for the network

    /// Finds bytes; if they are missing and a wait is given, adds it as a waiter and begins a download if there is none.
    mutating func read(_ id: UInt64, offset: Int64, count: Int, _ wait: Wait?) -> Found {
        let found = find(id, offset: offset, count: count)
        guard case .wait = found, let wait else { return found }
        guard let handle = pictures[id], !isClosed else { return .failed(.cancelled) }
        if downloads[handle.key] == nil, let error = begin(handle.picture) { return .failed(error) }
        if let mismatch = join(id) { return .failed(mismatch) }
        let range = offset..<max(offset, offset &+ Int64(count))
        add(wait, for: range, of: id)
        downloads[handle.key]?.download.noteNeed(range)
        // A copying program needs the whole picture, and all of it has to come before its end is certain.
        if handle.neighbours?.isBulk == true || offset >= downloads[handle.key]?.download.total ?? .max {
            downloads[handle.key]?.download.isDemanded = true
        }
        pump()
        return .wait
    }

    /// Adds a waiter for bytes, or for the length, to an existing download.
    private mutating func add(_ wait: Wait, for range: Range<Int64>?, of handle: UInt64?) {
        let waiter = Waiter(range: range, handle: handle, deadline: now + configuration.timeout, wait: wait)
        downloads.decide(wait.key) { [now] in $0.add(waiter, now: now) }
    }

    /// Adds a waiter for a picture's length.
    mutating func waitForLength(of picture: PictureRequest, _ wait: Wait) {
        let key = picture.id
        if let result = lengthNow(of: picture, key) { return later { _ in wait.answer(result) } }
        add(wait, for: nil, of: nil)
        updatePriority(key)
        pump()
    }

    /// A picture's length, or the error that prevents it; nil while the download begun for it has to determine it.
    private mutating func lengthNow(of picture: PictureRequest, _ key: PictureID) -> WaitResult? {
        if let entry = index[key] { return .length(entry.length) }
        if failures.failure(of: key, now: now) == .gone { return .failed(.gone) }
        guard !isClosed else { return .failed(.cancelled) }
        if downloads[key] == nil, let error = begin(picture) { return .failed(error) }
        guard let download = downloads[key]?.download, download.phase == .complete else { return nil }
        return download.total.map { .length($0) }
    }

    /// Removes a waiter that gives up; the last one ends a download that nothing else wants.
    ///
    /// A picture that stays open is wanted: a reader that handles a signal reads again at once (signal(7)), and one that ends closes it.
    mutating func leave(_ wait: Wait) {
        guard let waiter = downloads[wait.key]?.download.waiters.removeValue(forKey: wait.id) else { return }
        end(waiter, .failed(.cancelled))
        release(wait.key)
    }

    // MARK: - Versions and stored files

    /// The version of the bytes that a handle would get now; nil if only an answer can determine it.
    private mutating func versionAtOpen(of key: PictureID, for id: UInt64) -> PictureVersion? {
        if let download = downloads[key]?.download { return download.received > 0 ? download.version : nil }
        if let version = index.version(of: key) { return version }
        // Kept from here on: the handle that has the file may be closed before the first read.
        return pictures.share(id) ? pictures[id]?.version : nil
    }

    /// Takes the result of opening a stored file.
    mutating func opened(
        _ id: UInt64, _ picture: StoredPicture, _ result: PictureStore.Opened
    ) -> Failure? {
        guard let handle = pictures[id] else { return .cancelled }
        switch result {
        case .file(let file):
            if let size = handle.picture.size, size != picture.length {
                forgetStored(picture)
                report(.removedBroken(handle.picture.id, reason: "it has \(picture.length) bytes, not \(size)"))
                return nil
            }
            _ = index.adopt(picture)
            // Another file has taken its place meanwhile: read again.
            guard index.picture(picture.key) == picture else { return nil }
            guard let version = index.version(of: picture.key) else { return nil }
            if let mismatch = handle.mismatch(with: version) { return mismatch }
            index.touch(picture.key, now: configuration.now())
            noteUse()
            pictures[id]?.version = handle.version ?? version
            pictures[id]?.whole = WholePicture(
                file: file, length: picture.length, version: handle.version ?? version)
        case .missing:
            forgetStored(picture)
        case .broken(let reason):
            forgetStored(picture)
            report(.removedBroken(handle.picture.id, reason: reason))
        case .failed(let error): return cannotOpen(id, error)
        }
        return nil
    }

    /// Handles a stored picture that the disk does not give out although it may be good: it then comes from the network.
    mutating func cannotOpen(_ id: UInt64, _ error: SystemError) -> Failure? {
        if let lack = error.lackOfDescriptors { return .exhausted(lack) }
        pictures[id]?.avoidsStore = true
        budget.refused("a stored picture cannot be opened (\(error.text))")
        return nil
    }

    /// Takes note of a picture that has got its place on the disk.
    mutating func stored(_ picture: StoredPicture, version: PictureVersion? = nil, isUnread: Bool) {
        let replaced = index.insert(picture, version: version, isUnread: isUnread, now: configuration.now())
        if let replaced { later { $0.remove([replaced]) } }
        noteUse()
    }

    /// Takes note of a use; many uses are written at once, and few after a delay.
    mutating func noteUse() {
        touches += 1
        let isFull = touches == Self.touchesTogether
        if touches == 1 || isFull { later { $0.writeUsesSoon(isFull: isFull) } }
    }

    private mutating func forgetStored(_ picture: StoredPicture) {
        guard index.picture(picture.key) == picture else { return }
        index.remove(picture.key)
        later { $0.remove([picture]) }
    }
}

// MARK: - Open pictures

/// The open pictures, each tied to the version of the bytes that it has: bytes of no other version may follow.
struct OpenPictures: Sendable {
    /// A handle of an open picture.
    struct Handle: Sendable {
        let key: PictureID
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
    private var openers: [PictureID: Set<UInt64>] = [:]

    /// The number of handles.
    var count: Int { handles.count }

    /// The pictures that are open.
    var keys: Set<PictureID> { Set(openers.keys) }

    /// The number of handles of a picture.
    func openers(of key: PictureID) -> Int { openers[key]?.count ?? 0 }

    /// A handle by its number; nil once it is closed.
    subscript(id: UInt64) -> Handle? {
        get { handles[id] }
        _modify { yield &handles[id] }
    }

    mutating func open(_ handle: Handle, as id: UInt64) {
        handles[id] = handle
        openers[handle.key, default: []].insert(id)
    }

    /// Closes a handle; nil if it was closed before.
    mutating func close(_ id: UInt64) -> Handle? {
        guard let handle = handles.removeValue(forKey: id) else { return nil }
        openers[handle.key]?.remove(id)
        if openers(of: handle.key) == 0 { openers[handle.key] = nil }
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
            let holder = openers[handle.key]?.first(where: { handles[$0]?.whole != nil }), let other = handles[holder],
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
        let beginning = min(Self.beginning, max(length / 2, Download.look))
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
