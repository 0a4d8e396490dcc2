internal import HTTP
internal import Posix
internal import Rankings

/// What readers do, and what they get.
extension Core {
    /// What a read finds.
    enum Found {
        case bytes(PictureBytes)
        case failed(ImageCacheError)
        /// The picture is stored: open its file, then look again; nil for one that must be converted from an older format before.
        case stored(StoredPicture?, verify: Bool)
        /// The bytes must be waited for.
        case wait
    }

    /// Opens a picture.
    ///
    /// - Returns: Its number, and the version that it would be given now; nil if only an answer can tell.
    mutating func open(
        _ picture: PictureRequest, neighbours: Neighbours?, onRead: (@Sendable () -> Void)?
    ) -> Result<(id: UInt64, version: PictureVersion?), ImageCacheError> {
        let key = FileKey(picture.id)
        guard !isClosed else { return .failure(.unusable("the cache is closed")) }
        let isStored = index[key] != nil || downloads[key]?.download.phase == .complete
        if !isStored, failures.failure(of: key, now: now) == .gone { return .failure(.gone) }
        let id = makeID()
        pictures.open(
            OpenPictures.Handle(
                key: key, picture: picture, neighbours: neighbours, onRead: onRead, opened: now, wasThere: isStored),
            as: id)
        // The kernel lets one of several readers ask for a page and the others wait for it, unheard.
        if downloads[key] != nil, pictures.openers(of: key) == 2 {
            downloads[key]?.download.isShared = true
            pump()
        }
        return .success((id, version(of: id)))
    }

    /// Looks for bytes; joins a download that is under way, but begins none.
    mutating func find(_ id: UInt64, offset: Int64, count: Int) -> Found {
        guard let handle = pictures[id], offset >= 0, count >= 0 else { return .failed(.cancelled) }
        if let failure = handle.failure { return .failed(failure) }
        if let file = handle.file, let length = handle.length {
            return .bytes(give(file, offset, count, length: length, nil, to: id))
        }
        let key = handle.key
        guard downloads[key] != nil else {
            if let entry = index[key], !handle.avoidsStore {
                if let mismatch = handle.mismatch(with: storedVersion(of: key)) { return .failed(mismatch) }
                return .stored(index.picture(key), verify: !entry.isVerified)
            }
            if pictures.share(id) { return find(id, offset: offset, count: count) }
            if handle.version != nil, handle.validator == nil { return .failed(Self.unnamed) }
            return .wait
        }
        if let mismatch = join(id) { return .failed(mismatch) }
        if let file = pictures[id]?.file, let length = pictures[id]?.length {
            return .bytes(give(file, offset, count, length: length, nil, to: id))
        }
        guard let entry = downloads[key], let total = entry.download.total else { return .wait }
        let lower = min(offset, total)
        let range = lower..<(lower + min(total - lower, Int64(count)))
        // Of a length that was only announced not even the end is certain before.
        guard entry.download.canRelease(range), let file = entry.file.current else { return .wait }
        downloads[key]?.download.released(to: range.upperBound)
        if range.isEmpty { return .bytes(.end) }
        return .bytes(give(file, offset, count, length: total, entry.download, to: id))
    }

    /// Makes an open picture one of a download's readers.
    ///
    /// - Returns: Why it cannot be one.
    private mutating func join(_ id: UInt64) -> ImageCacheError? {
        guard let handle = pictures[id], let entry = downloads[handle.key], !entry.download.handles.contains(id)
        else { return nil }
        if let mismatch = handle.mismatch(with: entry.download.version) {
            if handle.validator == nil { return Self.unnamed }
            // Without an answer yet, `SegmentCheck` will compare the names of both.
            if entry.download.hasAnswer { return mismatch }
        }
        if let size = handle.picture.size, let total = entry.download.total, size != total {
            guard entry.download.handles.isEmpty, entry.download.phase != .complete else {
                return .lengthContradicts(told: total, shown: size)
            }
            // Only told to a preload so far, by whatever answered: this reader's own request must show it.
            downloads[handle.key]?.download.handles.insert(id)
            restart(handle.key)
        }
        downloads[handle.key]?.download.handles.insert(id)
        if handle.version != nil {
            // It has read from an earlier download; no other version may follow.
            downloads[handle.key]?.download.released(to: .max)
            downloads[handle.key]?.download.validator = entry.download.validator ?? handle.validator
        }
        updatePriority(handle.key)
        if entry.download.phase == .complete { pictures.hand(entry.file, of: entry.download, to: id) }
        guard let size = handle.picture.size else { return nil }
        var failure: ImageCacheError?
        change(handle.key) { download in
            let change = download.learned(total: size)
            if case .failed(let error, _) = change.outcome { failure = error }
            return change
        }
        return failure
    }

    private static let unnamed = ImageCacheError.broken(
        "the download broke off and the source does not say which version it serves")

    /// Bytes for a reader, and what follows from its having read so far.
    mutating func give(
        _ file: StoredFile, _ offset: Int64, _ count: Int, length: Int64, _ download: Download?, to id: UInt64
    ) -> PictureBytes {
        guard offset < length, count > 0 else { return .end }
        let available = Int(min(Int64(count), length - offset))
        if let download { pictures.bind(id, to: download) }
        noteRead(id, offset..<offset + Int64(available), of: length)
        return .file(file, offset: offset, count: available)
    }

    /// Counts a read, and does what follows from it.
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
                neighbours.index, in: neighbours.directory, byTime: neighbours.byTime, opened: handle.opened,
                wasThere: handle.wasThere, isComplete: handle.file != nil, isBulk: neighbours.isBulk,
                isSmall: length <= 2 * ReadMeasure.beginning),
            neighbours)
    }

    mutating func close(_ id: UInt64) {
        guard let handle = pictures.close(id) else { return }
        if let neighbours = handle.neighbours, handle.measure.bytes > 0, !handle.measure.isReal {
            preload.looked(at: neighbours.index, in: neighbours.directory)
        }
        downloads[handle.key]?.download.isShared = pictures.openers(of: handle.key) > 1
        for waiter in downloads.removeWaiters(where: { $0.handle == id }) { end(waiter, .failed(.cancelled)) }
        downloads[handle.key]?.download.handles.remove(id)
        release(handle.key)
        trim()
    }

    // MARK: - Waiting for what the network brings

    /// Looks for bytes; lets the reader wait if they are not there, with a download begun if there is none.
    mutating func read(_ id: UInt64, offset: Int64, count: Int, waiter: UInt64, _ wait: Wait) -> Found {
        let found = find(id, offset: offset, count: count)
        guard case .wait = found else { return found }
        guard let handle = pictures[id], !isClosed else { return .failed(.cancelled) }
        if downloads[handle.key] == nil, let error = begin(handle.picture) { return .failed(error) }
        if let mismatch = join(id) { return .failed(mismatch) }
        let range = offset..<max(offset, offset &+ Int64(count))
        downloads.add(
            Downloads.Waiter(
                key: handle.key, handle: id, range: range, deadline: now + configuration.timeout, wait: wait),
            as: waiter, for: .bytes(range), now: now)
        downloads[handle.key]?.download.noteNeed(range)
        // Who copies wants all of it, and all of it has to come before its end is certain.
        if handle.neighbours?.isBulk == true || offset >= downloads[handle.key]?.download.total ?? .max {
            downloads[handle.key]?.download.isDemanded = true
        }
        pump()
        return .wait
    }

    /// Lets somebody wait for a picture's length.
    mutating func waitForLength(of picture: PictureRequest, waiter: UInt64, _ wait: Wait) {
        let key = FileKey(picture.id)
        if let result = lengthNow(of: picture, key) { return later { _ in wait.answer(result) } }
        downloads.add(
            Downloads.Waiter(
                key: key, handle: nil, range: 0..<0, deadline: now + configuration.timeout, wait: wait),
            as: waiter, for: .length, now: now)
        updatePriority(key)
        pump()
    }

    /// A picture's length, or why it is not to be had; nil while the download that was begun for it has to tell.
    private mutating func lengthNow(of picture: PictureRequest, _ key: FileKey) -> WaitResult? {
        if let entry = index[key] { return .length(entry.length) }
        if failures.failure(of: key, now: now) == .gone { return .failed(.gone) }
        guard !isClosed else { return .failed(.cancelled) }
        if downloads[key] == nil, let error = begin(picture) { return .failed(error) }
        guard let download = downloads[key]?.download, download.phase == .complete else { return nil }
        return download.total.map { .length($0) }
    }

    /// A waiter gives up; the last one ends a download that nothing else wants.
    mutating func leave(_ waiterID: UInt64) {
        guard let waiter = downloads.removeWaiter(waiterID) else { return }
        end(waiter, .failed(.cancelled))
        // An interrupted reader rarely comes back: its download ends although it still has the picture open.
        if let handle = waiter.handle, let download = downloads[waiter.key]?.download, download.waiters.isEmpty,
            download.handles == [handle]
        {
            downloads[waiter.key]?.download.handles = []
        }
        release(waiter.key)
    }

    // MARK: - What is stored

    /// The version that an open picture has bytes of or would be given now; nil if only an answer can tell.
    mutating func version(of id: UInt64) -> PictureVersion? {
        guard let handle = pictures[id] else { return nil }
        if let version = handle.version { return version }
        if let download = downloads[handle.key]?.download { return download.received > 0 ? download.version : nil }
        if !handle.avoidsStore, let version = storedVersion(of: handle.key) { return version }
        return pictures.keptVersion(of: handle.key)
    }

    /// The version that is stored, which gets a name when somebody asks for it first.
    private mutating func storedVersion(of key: FileKey) -> PictureVersion? {
        guard index[key] != nil else { return nil }
        if let version = index.version(of: key) { return version }
        let version = PictureVersion(token: makeID())
        index.setVersion(version, of: key)
        return version
    }

    /// What opening a stored file gave.
    mutating func opened(
        _ id: UInt64, _ picture: StoredPicture, _ result: PictureStore.Opened
    ) -> ImageCacheError? {
        guard let handle = pictures[id] else { return .cancelled }
        switch result {
        case .file(let file):
            if let size = handle.picture.size, size != picture.length {
                forgetStored(picture)
                report(.removedBroken(handle.picture.id, reason: "it has \(picture.length) bytes, not \(size)"))
                return nil
            }
            _ = index.adopt(picture)
            // Another file has taken its place meanwhile: look again.
            guard index.picture(picture.key) == picture else { return nil }
            let version = storedVersion(of: picture.key)
            if let mismatch = handle.mismatch(with: version) { return mismatch }
            index.touch(picture.key, now: configuration.now())
            noteUse()
            pictures[id]?.file = file
            pictures[id]?.length = picture.length
            pictures[id]?.version = handle.version ?? version
        case .missing:
            forgetStored(picture)
        case .broken(let reason):
            forgetStored(picture)
            report(.removedBroken(handle.picture.id, reason: reason))
        case .failed(let error): return cannotOpen(id, error)
        }
        return nil
    }

    /// The disk does not give a stored picture out, which may be good: it comes from the network then.
    mutating func cannotOpen(_ id: UInt64, _ error: FileError) -> ImageCacheError? {
        if let lack = error.lackOfDescriptors { return .exhausted(lack) }
        pictures[id]?.avoidsStore = true
        refused("a stored picture cannot be opened (\(error.text))")
        return nil
    }

    /// A picture has got its place on the disk.
    mutating func stored(_ picture: StoredPicture, version: PictureVersion? = nil, isUnread: Bool) {
        let replaced = index.insert(picture, version: version, isUnread: isUnread, now: configuration.now())
        if let replaced { later { $0.remove([replaced]) } }
        noteUse()
    }

    /// Takes note of a use; many are written at once, and few after a while.
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
