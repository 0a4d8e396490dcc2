internal import HTTP
internal import Sourcing
internal import System
internal import Rankings
internal import Synchronization

/// A step that runs once the lock is free, in the order in which it was decided.
typealias Work = @Sendable (CoreLock) -> Void

/// The state of the cache, behind one lock: open pictures, downloads, stored pictures and pictures to fetch.
///
/// Each part keeps its own state and decides for itself alone; this type makes them act together. Files, requests and
/// continuations are left for `later`, when the lock is free (`CoreLock.run`).
struct Core: Sendable {
    /// The time without new preloads after the network failed.
    static let preloadsRestFor: Duration = .seconds(10)
    /// The number of uses of stored pictures that are written together; also the cost of a kill to the order of eviction.
    static let touchesTogether = 64

    let configuration: CacheConfiguration
    /// The lock that guards this state and takes the results of requests.
    weak var lock: CoreLock?
    let store: PictureStore
    let spare = SpareMemory()
    /// The present instant; set whenever the lock is taken.
    var now: ContinuousClock.Instant
    var pictures = OpenPictures()
    var downloads: [FileKey: PictureDownload] = [:]
    var scheduler: DownloadScheduler
    var preload: PreloadPolicy
    var budget: Budget
    var failures = Failures()
    var isClosed = false
    /// The number of uses of stored pictures that have not been saved.
    var touches = 0
    var preloadedCount = 0
    private var isTicking = false
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
        budget = Budget(
            limit: configuration.budget, freeFloor: configuration.freeFloor, index: index, parked: parked)
    }

    /// Whether the timer of deadlines is to be started because it does not run.
    mutating func startsTicking() -> Bool {
        guard configuration.hasTimer, !isTicking else { return false }
        return goesOnTicking()
    }

    /// Whether the timer of deadlines goes on.
    mutating func goesOnTicking() -> Bool {
        isTicking = !downloads.isEmpty
        return isTicking
    }

    mutating func makeID() -> UInt64 {
        defer { nextID += 1 }
        return nextID
    }

    /// Runs a step as soon as the lock is free.
    mutating func later(_ step: @escaping Work) { work.append(step) }

    /// Returns the steps to run outside the lock now, which count as done from here on.
    mutating func takeWork() -> [Work] {
        for step in budget.takeSteps() {
            switch step {
            case .remove(let pictures): later { $0.remove(pictures) }
            case .removePartial(let key): later { $0.store.removePartial(key) }
            case .report(let event): report(event)
            }
        }
        defer { work = [] }
        return work
    }

    mutating func report(_ event: ImageCacheEvent) { later { $0.report(event) } }

    // MARK: - Stored pictures

    var index: StoredIndex {
        get { budget.index }
        _modify { yield &budget.index }
    }

    /// The pictures that eviction spares: open pictures and downloads as they are now.
    var inUse: Budget.InUse {
        let (pictures, downloads) = (pictures, downloads)
        return { pictures.keys.union(downloads.keys) }
    }

    /// Evicts pictures that have become free to go.
    mutating func trim() { budget.trim(inUse) }

    // MARK: - Requests

    /// Carries out the scheduler's orders until nothing is left to do.
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
        let transfer = lock.host.transfer(
            of: start.asked, at: entry.picture.location, ifStill: start.ifRange, priority: entry.priority,
            deadline: now + DownloadLimits.requestDeadline,
            sink: SegmentSink(lock, key: key, segment: id, file: entry.file))
        downloads[key]?.transfers[id] = transfer
        entry.file.begun.store(entry.download.begun, ordering: .relaxed)
        later { $0.host.begin(transfer) }
    }

    /// Updates the priority of a download's requests in the transport.
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

    /// Carries out a decision of the preload policy.
    mutating func follow(_ decision: PreloadPolicy.Decision, _ neighbours: Neighbours) {
        switch decision {
        case .nothing: break
        case .drop: scheduler.dropWishes { $0.directory == neighbours.directory }
        case .plan(let places):
            later {
                $0.wish(
                    places.compactMap(neighbours.picture), of: neighbours.directory, forCopy: neighbours.isBulk)
            }
        }
    }

    /// Takes pictures to preload, in order, in place of the directory's earlier wishes.
    ///
    /// - Returns: The stored pictures among them, which the disk may read ahead.
    mutating func wish(
        _ pictures: [PictureRequest], directory: UInt64, forCopy: Bool = false
    ) -> [StoredPicture] {
        scheduler.wish(pictures, directory: directory, forCopy: forCopy)
        pump()
        return pictures.compactMap { index.picture(FileKey($0.id)) }
    }

    /// Drops void wishes: pictures that are present, that failed recently, or that may not be preloaded now.
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
        // Another directory may have wished for the same picture.
        guard let wish = scheduler.takeWish(), downloads[FileKey(wish.picture.id)] == nil else { return }
        let bytes = wish.picture.size ?? DownloadLimits.assumedLength
        if budget.makeRoom(for: bytes, isPreload: true, inUse) { _ = begin(wish.picture, wish) }
    }

    // MARK: - Time

    /// Ends waits past their deadline, resumes downloads after their pause, and ends walks that have stopped.
    mutating func tick() {
        for key in Array(downloads.keys) {
            let isLate = endWaits(for: key, .failed(.timedOut)) { [now] in $0.deadline <= now }
            if isLate { release(key) }
        }
        for (key, entry) in downloads where !entry.download.waiters.isEmpty || entry.download.retryAt != nil {
            let silence = now - entry.download.lastProgress
            switch entry.download.phase {
            case .running where !entry.download.waiters.isEmpty && silence >= configuration.networkTimeout:
                fail(key, .timedOut, keepsPartial: true)
            case .running where downloads[key]?.download.wake(now: now) == true: release(key)
            // The image host may bring the picture sooner than a slow tier.
            case .asking
            where !entry.download.waiters.isEmpty && silence >= configuration.networkTimeout / Self.tiersShare:
                entry.question?.task.cancel()
            default: break
            }
        }
        for directory in preload.rested(now: now) { endWalk(directory) }
        pump()
    }

    /// The tier may take the network's time limit divided by this before the image host is queried after all.
    private static let tiersShare = 2

    /// Ends the preloads of a walk beyond those of an ordinary reader.
    ///
    /// Requests under way go on: the reader may come back, and bytes of a cancelled request that are on the wire would be sent
    /// twice.
    private mutating func endWalk(_ directory: UInt64) {
        scheduler.dropWishes { $0.directory == directory }
        for key in downloads.unread(ofWalk: directory).dropFirst(preload.ordinary) {
            downloads[key]?.download.isPreload = false
            if downloads[key]?.download.segments.isEmpty == true { release(key) }
        }
    }

    /// Ends everything; received bytes are kept for resuming.
    mutating func shutDown() {
        isClosed = true
        scheduler.dropWishes()
        for key in Array(downloads.keys) {
            endWaits(for: key, .failed(.cancelled)) { _ in true }
            downloads[key]?.download.handles = []
            downloads[key]?.download.isPreload = false
            release(key)
        }
    }

    // MARK: - Displays

    /// The figures for displays, which evaluate the paths once the lock is free.
    var status: ImageCacheStatus {
        ImageCacheStatus(
            storedPictures: index.count, storedBytes: index.bytes, budget: budget.limit,
            openPictures: pictures.count,
            downloads: downloads.running.map {
                .init(
                    picture: $0.picture.id, pathNow: $0.picture.path, received: $0.download.received,
                    total: $0.download.total, isRead: $0.download.isRead, isQueued: $0.download.isQueued)
            },
            queued: scheduler.wishes.map { .init(picture: $0.picture.id, pathNow: $0.picture.path) },
            receivedBytes: lock?.received.load(ordering: .relaxed) ?? 0, preloaded: preloadedCount,
            evicted: budget.evicted,
            isStoring: budget.isStoring)
    }
}

// MARK: - Reading

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
        let key = FileKey(picture.id)
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
                neighbours.index, in: neighbours.directory, byTime: neighbours.byTime, opened: handle.opened,
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
        add(wait, for: .bytes(range), of: id)
        downloads[handle.key]?.download.noteNeed(range)
        // A copying program needs the whole picture, and all of it has to come before its end is certain.
        if handle.neighbours?.isBulk == true || offset >= downloads[handle.key]?.download.total ?? .max {
            downloads[handle.key]?.download.isDemanded = true
        }
        pump()
        return .wait
    }

    /// Adds a waiter to an existing download.
    private mutating func add(_ wait: Wait, for need: Waiter.Need, of handle: UInt64?) {
        let waiter = Waiter(need: need, handle: handle, deadline: now + configuration.timeout, wait: wait)
        downloads.decide(wait.key) { [now] in $0.add(waiter, now: now) }
    }

    /// Adds a waiter for a picture's length.
    mutating func waitForLength(of picture: PictureRequest, _ wait: Wait) {
        let key = FileKey(picture.id)
        if let result = lengthNow(of: picture, key) { return later { _ in wait.answer(result) } }
        add(wait, for: .length, of: nil)
        updatePriority(key)
        pump()
    }

    /// A picture's length, or the error that prevents it; nil while the download begun for it has to determine it.
    private mutating func lengthNow(of picture: PictureRequest, _ key: FileKey) -> WaitResult? {
        if let entry = index[key] { return .length(entry.length) }
        if failures.failure(of: key, now: now) == .gone { return .failed(.gone) }
        guard !isClosed else { return .failed(.cancelled) }
        if downloads[key] == nil, let error = begin(picture) { return .failed(error) }
        guard let download = downloads[key]?.download, download.phase == .complete else { return nil }
        return download.total.map { .length($0) }
    }

    /// Removes a waiter that gives up; the last one ends a download that nothing else wants.
    mutating func leave(_ wait: Wait) {
        guard let waiter = downloads[wait.key]?.download.waiters.removeValue(forKey: wait.id) else { return }
        end(waiter, .failed(.cancelled))
        // An interrupted reader rarely comes back: its download ends although it still has the picture open.
        if let handle = waiter.handle, let download = downloads[wait.key]?.download, download.waiters.isEmpty,
            download.handles == [handle]
        {
            downloads[wait.key]?.download.handles = []
        }
        release(wait.key)
    }

    // MARK: - Versions and stored files

    /// The version of the bytes that a handle would get now; nil if only an answer can determine it.
    private mutating func versionAtOpen(of key: FileKey, for id: UInt64) -> PictureVersion? {
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
