internal import HTTP
internal import Rankings

extension Core {
    /// What a read finds.
    enum Found {
        case bytes(PictureBytes)
        case failed(ImageCacheError)
        /// The picture is stored: open its file, then look again.
        case stored(verify: Bool)
        /// The bytes must be waited for.
        case wait
    }

    mutating func open(
        _ picture: PictureRequest, neighbours: Neighbours?, onRead: (@Sendable () -> Void)?,
        now: ContinuousClock.Instant
    ) -> Result<UInt64, ImageCacheError> {
        let key = FileKey(picture.id)
        guard !isClosed else { return .failure(.unusable("the cache is closed")) }
        let isStored = index[key] != nil || downloads[key]?.flight.phase == .complete
        if !isStored, let failure = failure(of: key, now: now), failure == .gone { return .failure(failure) }
        let id = makeID()
        handles[id] = Handle(
            key: key, picture: picture, neighbours: neighbours, onRead: onRead, opened: now, wasThere: isStored)
        openCounts[key, default: 0] += 1
        // The kernel lets one of several readers ask for a page and the others wait for it, unheard.
        if downloads[key] != nil, openCounts[key] == 2 {
            downloads[key]?.flight.isShared = true
            pump(now: now)
        }
        return .success(id)
    }

    /// Looks for bytes; joins a download that is under way, but begins none.
    mutating func find(
        _ id: UInt64, offset: Int64, count: Int, now: ContinuousClock.Instant
    ) -> Found {
        guard let handle = handles[id], offset >= 0, count >= 0 else { return .failed(.cancelled) }
        if let failure = handle.failure { return .failed(failure) }
        if let file = handle.file, let length = handle.length {
            return .bytes(give(file, offset, count, length: length, nil, to: id, now: now))
        }
        let key = handle.key
        guard downloads[key] != nil else {
            if let entry = index[key], !handle.avoidsStore {
                let version = storedVersion(of: key)
                if let mismatch = Self.mismatch(of: handle, with: version) { return .failed(mismatch) }
                return .stored(verify: !entry.isVerified)
            }
            if share(id) { return find(id, offset: offset, count: count, now: now) }
            if handle.version != nil, handle.validator == nil { return .failed(Self.unnamed) }
            return .wait
        }
        if let mismatch = join(id, now: now) { return .failed(mismatch) }
        if let file = handles[id]?.file, let length = handles[id]?.length {
            return .bytes(give(file, offset, count, length: length, nil, to: id, now: now))
        }
        guard let download = downloads[key], let total = download.flight.total else { return .wait }
        let lower = min(offset, total)
        let range = lower..<(lower + min(total - lower, Int64(count)))
        if range.isEmpty { return .bytes(.end) }
        guard download.flight.canRelease(range), let file = download.file.current else { return .wait }
        downloads[key]?.flight.hasReleased = true
        return .bytes(
            give(file, offset, count, length: total, download.flight, to: id, now: now))
    }

    /// Makes an open picture one of a download's readers.
    ///
    /// - Returns: Why it cannot be one.
    private mutating func join(
        _ id: UInt64, now: ContinuousClock.Instant
    ) -> ImageCacheError? {
        guard let handle = handles[id], let download = downloads[handle.key],
            !download.flight.handles.contains(id)
        else { return nil }
        if let mismatch = Self.mismatch(of: handle, with: download.flight.version) {
            if handle.validator == nil { return Self.unnamed }
            // Without an answer yet, `SegmentCheck` will compare the names of both.
            if download.flight.hasAnswer { return mismatch }
        }
        if let size = handle.picture.size, let total = download.flight.total, size != total {
            guard download.flight.handles.isEmpty, download.flight.phase != .complete else {
                return .lengthContradicts(told: total, shown: size)
            }
            // Only told to a preload so far, by whatever answered: this reader's own request must show it.
            downloads[handle.key]?.flight.handles.insert(id)
            restart(handle.key)
        }
        downloads[handle.key]?.flight.handles.insert(id)
        if handle.version != nil {
            // It has read from an earlier download; no other version may follow.
            downloads[handle.key]?.flight.hasReleased = true
            downloads[handle.key]?.flight.validator = download.flight.validator ?? handle.validator
        }
        updatePriority(handle.key)
        if download.flight.phase == .complete { hand(handle.key, to: id) }
        if let size = handle.picture.size {
            let change = downloads[handle.key]?.flight.learned(total: size)
            apply(change, to: handle.key, now: now)
            if case .failed(let error, _) = change?.outcome { return error }
        }
        return nil
    }

    /// Gives an open picture the whole file.
    mutating func hand(_ key: FileKey, to id: UInt64) {
        guard let download = downloads[key], let file = download.file.current else { return }
        handles[id]?.file = file
        handles[id]?.length = download.flight.total
        handles[id]?.source = download.file
        bind(id, to: download.flight)
    }

    /// Ties an open picture to the version of the first bytes that it gets.
    private mutating func bind(_ id: UInt64, to flight: Flight) {
        guard handles[id]?.version == nil else { return }
        handles[id]?.version = flight.version
        handles[id]?.validator = flight.validator
    }

    /// Gives an open picture the file that another one of the same picture keeps: what is open has one version.
    private mutating func share(_ id: UInt64) -> Bool {
        guard let handle = handles[id],
            let other = handles.values.first(where: { $0.key == handle.key && $0.file != nil }),
            handle.picture.size == nil || handle.picture.size == other.length,
            Self.mismatch(of: handle, with: other.version) == nil
        else { return false }
        handles[id]?.file = other.file
        handles[id]?.length = other.length
        handles[id]?.source = other.source
        handles[id]?.version = other.version
        handles[id]?.validator = other.validator
        return true
    }

    /// The version that an open picture has bytes of or would be given now; nil if only an answer can tell.
    mutating func version(of id: UInt64) -> PictureVersion? {
        guard let handle = handles[id] else { return nil }
        if let version = handle.version { return version }
        if let flight = downloads[handle.key]?.flight { return flight.received > 0 ? flight.version : nil }
        if !handle.avoidsStore, let version = storedVersion(of: handle.key) { return version }
        return handles.values.first { $0.key == handle.key && $0.file != nil }?.version
    }

    private mutating func storedVersion(of key: FileKey) -> PictureVersion? {
        guard let entry = index[key] else { return nil }
        if let version = entry.version { return version }
        let version = PictureVersion(token: makeID())
        index.setVersion(version, of: key)
        return version
    }

    /// Why an open picture must not get bytes of a version.
    static func mismatch(of handle: Handle, with version: PictureVersion?) -> ImageCacheError? {
        guard let held = handle.version, let version, !held.isSame(as: version) else { return nil }
        return changed
    }

    private static let changed = ImageCacheError.damaged("the picture changed at the source while it was open")
    private static let unnamed = ImageCacheError.broken(
        "the download broke off and the source does not say which version it serves")

    /// Bytes for a reader, and what follows from its having read so far.
    mutating func give(
        _ file: StoredFile, _ offset: Int64, _ count: Int, length: Int64, _ flight: Flight?, to id: UInt64,
        now: ContinuousClock.Instant
    ) -> PictureBytes {
        guard offset < length, count > 0 else { return .end }
        let available = Int(min(Int64(count), length - offset))
        if let flight { bind(id, to: flight) }
        noteRead(id, offset..<offset + Int64(available), of: length, now: now)
        return .file(file, offset: offset, count: available)
    }

    /// Counts a read, and does what follows from it.
    private mutating func noteRead(
        _ id: UInt64, _ range: Range<Int64>, of length: Int64, now: ContinuousClock.Instant
    ) {
        guard var handle = handles[id] else { return }
        let before = handle.measure
        handle.measure.note(range, of: length)
        handles[id]?.measure = handle.measure
        if handle.measure.isReal, !before.isReal { reallyRead(handle) }
        if handle.measure.isThrough, !before.isThrough {
            downloads[handle.key]?.flight.isDemanded = true
            pump(now: now)
        }
        if range.upperBound >= length, let neighbours = handle.neighbours {
            preload.finished(neighbours.index, in: neighbours.directory, now: now)
        }
    }

    private mutating func reallyRead(_ handle: Handle) {
        if let onRead = handle.onRead { effects.append(.tell(onRead)) }
        guard let neighbours = handle.neighbours else { return }
        follow(
            preload.passed(
                neighbours.index, in: neighbours.directory, byTime: neighbours.byTime, opened: handle.opened,
                wasThere: handle.wasThere, isComplete: handle.file != nil, isBulk: neighbours.isBulk),
            neighbours)
    }

    /// The whole file of an open picture of which so much was read that further reads, but the last, decide nothing.
    func settled(_ id: UInt64) -> OpenPicture.Settled? {
        guard let handle = handles[id], handle.measure.isThrough, handle.failure == nil, let file = handle.file,
            let length = handle.length, let version = handle.version
        else { return nil }
        return OpenPicture.Settled(file: file, length: length, version: version)
    }

    /// What opening a stored file gave.
    mutating func opened(
        _ id: UInt64, _ result: Store.Opened
    ) -> ImageCacheError? {
        guard let handle = handles[id] else { return .cancelled }
        switch result {
        case .file(let file, let length):
            if let size = handle.picture.size, size != length {
                forget(handle.key)
                effects.append(
                    .report(.removedBroken(handle.picture.id, reason: "it has \(length) bytes, not \(size)")))
                return nil
            }
            if index[handle.key]?.length != length { index.remove(handle.key) }
            if index[handle.key] == nil { _ = index.adopt(handle.key, length: length) }
            let version = storedVersion(of: handle.key)
            if let mismatch = Self.mismatch(of: handle, with: version) { return mismatch }
            touch(handle.key)
            handles[id]?.file = file
            handles[id]?.length = length
            handles[id]?.version = handle.version ?? version
        case .missing:
            forget(handle.key)
        case .broken(let reason):
            forget(handle.key)
            effects.append(.report(.removedBroken(handle.picture.id, reason: reason)))
        case .failed(let error):
            // It may be good: what is wrong may be the number of open files.
            handles[id]?.avoidsStore = true
            refused("a stored picture cannot be opened (\(error.text))")
        }
        return nil
    }

    /// Takes note of a use; many are written at once, and few after a while.
    private mutating func touch(_ key: FileKey) {
        index.touch(key, now: configuration.now())
        touches += 1
        if touches == 1 { effects.append(.writeIndexLater) }
        if touches == Self.touchesTogether { effects.append(.writeIndex) }
    }

    private mutating func forget(_ key: FileKey) {
        guard index.remove(key) != nil else { return }
        effects.append(.remove([key]))
    }

    /// Lets a reader wait for bytes, with a download begun if there is none.
    mutating func wait(
        _ waiterID: UInt64, _ id: UInt64, offset: Int64, count: Int, now: ContinuousClock.Instant,
        continuation: CheckedContinuation<WaitResult, Never>
    ) {
        switch find(id, offset: offset, count: count, now: now) {
        case .bytes(let bytes): return effects.append(.resume(continuation, .bytes(bytes)))
        case .failed(let error): return effects.append(.resume(continuation, .failed(error)))
        case .stored: return effects.append(.resume(continuation, .again))
        case .wait: break
        }
        guard let handle = handles[id], !isClosed else {
            return effects.append(.resume(continuation, .failed(.cancelled)))
        }
        if downloads[handle.key] == nil, let error = begin(handle.picture, now: now) {
            return effects.append(.resume(continuation, .failed(error)))
        }
        if let mismatch = join(id, now: now) {
            return effects.append(.resume(continuation, .failed(mismatch)))
        }
        let range = offset..<max(offset, offset &+ Int64(count))
        waiters[waiterID] = Waiter(
            key: handle.key, handle: id, range: range, deadline: now + configuration.timeout,
            continuation: continuation)
        addNeed(
            .bytes(range.clamped(to: 0..<(downloads[handle.key]?.flight.total ?? .max))), of: waiterID, to: handle.key,
            now)
        downloads[handle.key]?.flight.noteNeed(range)
        // Who copies wants all of it.
        if handle.neighbours?.isBulk == true { downloads[handle.key]?.flight.isDemanded = true }
        pump(now: now)
    }

    /// Lets somebody wait for a picture's length.
    mutating func waitForLength(
        _ waiterID: UInt64, of picture: PictureRequest, now: ContinuousClock.Instant,
        continuation: CheckedContinuation<WaitResult, Never>
    ) {
        let key = FileKey(picture.id)
        if let entry = index[key] { return effects.append(.resume(continuation, .length(entry.length))) }
        if let error = failure(of: key, now: now), error == .gone {
            return effects.append(.resume(continuation, .failed(error)))
        }
        guard !isClosed else { return effects.append(.resume(continuation, .failed(.cancelled))) }
        if downloads[key] == nil, let error = begin(picture, now: now) {
            return effects.append(.resume(continuation, .failed(error)))
        }
        if let download = downloads[key], download.flight.phase == .complete, let total = download.flight.total {
            return effects.append(.resume(continuation, .length(total)))
        }
        waiters[waiterID] = Waiter(
            key: key, handle: nil, range: 0..<0, deadline: now + configuration.timeout, continuation: continuation)
        addNeed(.length, of: waiterID, to: key, now)
        updatePriority(key)
        pump(now: now)
    }

    private mutating func addNeed(_ need: Need, of waiter: UInt64, to key: FileKey, _ now: ContinuousClock.Instant) {
        if downloads[key]?.flight.waiters.isEmpty == true { downloads[key]?.flight.lastProgress = now }
        downloads[key]?.flight.waiters[waiter] = need
    }

    /// A waiter gives up; the last one ends a download that nothing else wants.
    mutating func leave(_ waiterID: UInt64, now: ContinuousClock.Instant) {
        guard let waiter = waiters.removeValue(forKey: waiterID) else { return }
        effects.append(.resume(waiter.continuation, .failed(.cancelled)))
        downloads[waiter.key]?.flight.waiters[waiterID] = nil
        // An interrupted reader rarely comes back: its download ends although it still has the picture open.
        if let handle = waiter.handle, let flight = downloads[waiter.key]?.flight, flight.waiters.isEmpty,
            flight.handles == [handle]
        {
            downloads[waiter.key]?.flight.handles = []
        }
        release(waiter.key, now: now)
    }

    mutating func close(_ id: UInt64, now: ContinuousClock.Instant) {
        guard let handle = handles.removeValue(forKey: id) else { return }
        let count = (openCounts[handle.key] ?? 1) - 1
        openCounts[handle.key] = count > 0 ? count : nil
        downloads[handle.key]?.flight.isShared = count > 1
        for (waiterID, waiter) in waiters where waiter.handle == id {
            waiters[waiterID] = nil
            downloads[handle.key]?.flight.waiters[waiterID] = nil
            effects.append(.resume(waiter.continuation, .failed(.cancelled)))
        }
        downloads[handle.key]?.flight.handles.remove(id)
        release(handle.key, now: now)
        trim()
    }
}
