internal import HTTP
internal import ImageHost
internal import Posix
internal import Rankings
internal import Synchronization

/// What is done once the lock is free, in the order in which it was decided.
typealias Work = @Sendable (CoreLock) -> Void

/// Everything that the cache knows, behind one lock: what is open, what is downloaded, what is stored and what is to be fetched.
///
/// Each of these keeps its own state and decides what concerns it alone; this has them act together. Files, requests and
/// continuations are left for `later`, when the lock is free (`CoreLock.run`).
struct Core: Sendable {
    /// How long no preloads start after the network failed.
    static let preloadsRestFor: Duration = .seconds(10)
    /// Uses of stored pictures whose times are written together; also what a kill can cost the order of eviction.
    static let touchesTogether = 64

    let configuration: CacheConfiguration
    /// What guards this, and takes what requests bring.
    weak var lock: CoreLock?
    let store: PictureStore
    let spare = SpareMemory()
    /// The present instant; set whenever the lock is taken.
    var now: ContinuousClock.Instant
    var pictures = OpenPictures()
    var downloads = Downloads()
    var scheduler: DownloadScheduler
    var preload: PreloadPolicy
    var index: StoredIndex
    var budget: Budget
    var failures = Failures()
    var isClosed = false
    /// Uses of stored pictures that have not been written down.
    var touches = 0
    var preloadedCount = 0
    private var nextID: UInt64 = 1
    private var work: [Work] = []

    init(
        _ configuration: CacheConfiguration, slots: TransferSlots, store: PictureStore, index: StoredIndex,
        parked: [FileKey: Int64]
    ) {
        self.configuration = configuration
        now = configuration.monotonicNow()
        scheduler = DownloadScheduler(slots: slots)
        preload = PreloadPolicy(ordinary: configuration.preload, slots: slots)
        self.store = store
        self.index = index
        budget = Budget(limit: configuration.budget, freeFloor: configuration.freeFloor, parked: parked)
    }

    /// Whether anything waits for a deadline.
    var isBusy: Bool { !downloads.isEmpty }

    mutating func makeID() -> UInt64 {
        defer { nextID += 1 }
        return nextID
    }

    /// Has something done as soon as the lock is free.
    mutating func later(_ step: @escaping Work) { work.append(step) }

    /// What is to be done outside the lock now, which from here on counts as done.
    mutating func takeWork() -> [Work] {
        defer { work = [] }
        return work
    }

    mutating func report(_ event: ImageCacheEvent) { later { $0.report(event) } }

    // MARK: - Room

    /// Has the budget decide about what is stored; what is open or downloaded stays.
    @discardableResult
    mutating func account<Value>(
        _ decide: (inout Budget, inout StoredIndex, _ inUse: () -> Set<FileKey>) -> Value
    ) -> Value {
        let (pictures, downloads) = (pictures, downloads)
        let value = decide(&budget, &index) { pictures.keys.union(downloads.keys) }
        for step in budget.takeSteps() {
            switch step {
            case .remove(let pictures): later { $0.remove(pictures) }
            case .removePartial(let key): later { $0.store.removePartial(key) }
            case .report(let event): report(event)
            }
        }
        return value
    }

    /// Evicts what became free to go.
    mutating func trim() {
        account { budget, index, inUse in budget.trim(&index, inUse: inUse) }
    }

    /// The disk refused to take something.
    mutating func refused(_ reason: String) {
        account { budget, _, _ in budget.refused(reason) }
    }

    /// The disk takes pictures again.
    mutating func stores() {
        account { budget, _, _ in budget.stores() }
    }

    /// The disk has so many bytes free.
    mutating func diskHas(free: Int64) {
        let isEnough = account { budget, index, inUse in budget.diskHas(free: free, index: &index, inUse: inUse) }
        if !isEnough { scheduler.dropWishes() }
    }

    /// Lets the least recently used pictures go on a full disk, unless so many bytes would still find no room.
    ///
    /// - Returns: What is to be removed at once.
    mutating func giveWay(_ bytes: Int64, sparesUnread: Bool) -> [StoredPicture] {
        account { budget, index, inUse in
            budget.giveWay(bytes, sparesUnread: sparesUnread, in: &index, inUse: inUse)
        }
    }

    // MARK: - Requests

    /// Carries out what the scheduler orders until nothing is left to do.
    mutating func pump() {
        guard !isClosed else { return }
        reviewWishes()
        while true {
            let wishes = budget.isStoring ? scheduler.ready(now: now) : 0
            guard let order = scheduler.next(downloads.demands, wishes: wishes) else { return }
            switch order {
            case .request(let key, let piece): request(piece, of: key)
            case .giveUp(let key, let id): change(key) { $0.giveUp(id) }
            case .begin: beginWish()
            }
        }
    }

    private mutating func request(_ piece: Piece, of key: FileKey) {
        let id = makeID()
        guard let lock, let start = downloads[key]?.download.begin(piece, id: id), let entry = downloads[key] else {
            return
        }
        let segment = PictureSegment(
            location: entry.picture.location, range: start.asked, version: start.ifRange,
            priority: entry.priority, deadline: now + DownloadLimits.requestDeadline)
        let transfer = lock.host.transfer(
            of: segment, sink: SegmentSink(lock, key: key, segment: id, file: entry.file))
        downloads[key]?.transfers[id] = transfer
        later { $0.host.begin(transfer) }
    }

    /// Tells the transport who waits for a download's requests.
    mutating func updatePriority(_ key: FileKey) {
        guard let entry = downloads[key] else { return }
        let priority: TransferPriority = entry.download.isRead ? .reader : .preload
        guard priority != entry.priority else { return }
        downloads[key]?.priority = priority
        later { _ in
            for transfer in entry.transfers.values { transfer.setPriority(priority) }
            if priority == .reader { entry.question?.urgency.raise() }
        }
    }

    // MARK: - Wishes

    /// Carries out what the preload policy decided.
    mutating func follow(_ decision: PreloadPolicy.Decision, _ neighbours: Neighbours) {
        switch decision {
        case .nothing: break
        case .drop: scheduler.dropWishes(of: neighbours.directory)
        case .plan(let places): later { $0.wish(places.compactMap(neighbours.picture), of: neighbours.directory) }
        }
    }

    /// Takes pictures to download ahead, in order, in place of what was wished for that directory.
    ///
    /// - Returns: Those of them that are stored: the disk may read them ahead.
    mutating func wish(_ pictures: [PictureRequest], directory: UInt64) -> [StoredPicture] {
        scheduler.wish(pictures, directory: directory)
        pump()
        return pictures.compactMap { index.picture(FileKey($0.id)) }
    }

    /// Forgets wishes that are void: pictures that are here, that failed a moment ago, or that nobody may download ahead now.
    private mutating func reviewWishes() {
        guard !scheduler.wishes.isEmpty else { return }
        guard configuration.mayPreload() else { return scheduler.dropWishes() }
        let (index, downloads, failures, now) = (index, downloads, failures, now)
        scheduler.dropWishes { wish in
            let key = FileKey(wish.picture.id)
            return index[key] != nil || downloads[key] != nil || failures.failure(of: key, now: now) != nil
        }
    }

    /// Begins a download for the first wish, unless there is no room for it.
    private mutating func beginWish() {
        // Another directory may have wished for the same one.
        guard let wish = scheduler.takeWish(), downloads[FileKey(wish.picture.id)] == nil else { return }
        let bytes = wish.picture.size ?? DownloadLimits.assumedLength
        let hasRoom = account { budget, index, inUse in
            budget.makeRoom(for: bytes, isPreload: true, in: &index, inUse: inUse)
        }
        if hasRoom { _ = begin(wish.picture, walk: wish.directory) }
    }

    // MARK: - Time

    /// Ends waits whose time is over, goes on with downloads whose pause is, and ends walks that nobody goes on with.
    mutating func tick() {
        for waiter in downloads.removeWaiters(where: { [now] in $0.deadline <= now }) {
            end(waiter, .failed(.timedOut))
            release(waiter.key)
        }
        for (key, entry) in downloads.entries where !entry.download.waiters.isEmpty || entry.download.retryAt != nil {
            let silence = now - entry.download.lastProgress
            switch entry.download.phase {
            case .running where !entry.download.waiters.isEmpty && silence >= configuration.networkTimeout:
                fail(key, .timedOut, keepsPartial: true)
            case .running where downloads[key]?.download.wake(now: now) == true: release(key)
            // The image host may have what the tier brings too slowly.
            case .asking
            where !entry.download.waiters.isEmpty && silence >= configuration.networkTimeout / Self.tiersShare:
                if let question = entry.question { later { _ in question.cancel() } }
            default: break
            }
        }
        for directory in preload.rested(now: now) { endWalk(directory) }
        pump()
    }

    /// What of a network's time the tier may take before the image host is asked after all.
    private static let tiersShare = 2

    /// Asks for nothing more ahead of a walk, but for as much as an ordinary reader has ahead.
    ///
    /// What is under way comes: the reader may come back, and what a cancelled request has on the wire would be sent twice.
    private mutating func endWalk(_ directory: UInt64) {
        scheduler.dropWishes(of: directory)
        for key in downloads.unread(ofWalk: directory).dropFirst(preload.ordinary) {
            downloads[key]?.download.isPreload = false
            if downloads[key]?.download.segments.isEmpty == true { release(key) }
        }
    }

    /// Ends everything; what came so far is kept for resuming.
    mutating func shutDown() {
        isClosed = true
        scheduler.dropWishes()
        for waiter in downloads.removeWaiters(where: { _ in true }) { end(waiter, .failed(.cancelled)) }
        for key in downloads.keys {
            downloads[key]?.download.handles = []
            downloads[key]?.download.isPreload = false
            release(key)
        }
    }

    // MARK: - Displays

    /// What displays show, without paths.
    func status() -> (ImageCacheStatus, Paths) {
        let running = downloads.running
        let status = ImageCacheStatus(
            storedPictures: index.count, storedBytes: index.bytes, budget: budget.limit,
            openPictures: pictures.count,
            downloads: running.map {
                .init(
                    picture: $0.picture.id, received: $0.download.received, total: $0.download.total,
                    isRead: $0.download.isRead, isQueued: $0.download.isQueued)
            },
            queued: scheduler.wishes.map { .init(picture: $0.picture.id) },
            receivedBytes: lock?.received.load(ordering: .relaxed) ?? 0, preloaded: preloadedCount,
            evicted: budget.evicted,
            isStoring: budget.isStoring)
        return (status, Paths(downloads: running.map(\.picture.path), queued: scheduler.wishes.map(\.picture.path)))
    }

    /// How to ask for the paths of downloads and of queued preloads: closures from outside are not called under the lock.
    struct Paths {
        var downloads: [(@Sendable () -> String)?]
        var queued: [(@Sendable () -> String)?]
    }
}

// MARK: - Reading

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
