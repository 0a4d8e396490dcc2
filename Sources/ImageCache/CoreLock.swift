internal import Dispatch
internal import Glibc
internal import HTTP
internal import ImageHost
internal import Synchronization

/// The one lock that the cache's decisions are made under, and what is done with them once it is free.
///
/// ## Concurrency
///
/// Any thread may call; nothing that is called under the lock may take it again, wait, or call what is outside the cache.
final class CoreLock: Sendable {
    /// How often deadlines are looked at while downloads are under way, in milliseconds; their precision.
    private static let tickInterval = 100
    /// How long a picture's last use may stay unwritten, in seconds: what a kill costs the order of eviction.
    ///
    /// Long enough that a person who looks at one picture after another does not cause a write for each.
    private static let touchDelay = 10

    let configuration: CacheConfiguration
    let host: ImageHost
    let store: PictureStore
    let report: @Sendable (ImageCacheEvent) -> Void
    /// Commits, pins, last uses and deadlines; may wait for the disk.
    let disk = DispatchQueue(label: "rankfs.cache.disk")
    /// Where the disk is asked to read ahead, which waits while it has much to do.
    private let ahead = DispatchQueue(label: "rankfs.cache.ahead")
    private let core: Mutex<Core>
    private let isTicking = Mutex(false)
    private let lastWaiter = Atomic<UInt64>(0)
    /// Bytes of bodies since the start, those at seams and those for which there was no use any more included.
    let received = Atomic<Int64>(0)
    /// Held while a picture is converted from an older format: others find it in the one state or the other.
    private let converting = Mutex(())
    #if DEBUG
    /// How often it was taken, for tests: whoever reads waits for everybody who decides something.
    let taken = Atomic(0)
    #endif

    init(
        _ configuration: CacheConfiguration, host: ImageHost, store: PictureStore, index: StoredIndex,
        report: @escaping @Sendable (ImageCacheEvent) -> Void
    ) {
        self.configuration = configuration
        self.host = host
        self.store = store
        self.report = report
        core = Mutex(Core(configuration, slots: host.slots, store: store, index: index, parked: store.partials()))
        core.withLock { $0.lock = self }
    }

    /// Decides something of which nothing follows outside.
    func withLock<Result: Sendable>(_ decide: (inout Core) -> Result) -> Result {
        #if DEBUG
        taken.add(1, ordering: .relaxed)
        #endif
        let now = configuration.monotonicNow()
        return core.withLock { core in
            core.now = now
            return decide(&core)
        }
    }

    /// Decides under the lock, then does what was decided outside it.
    @discardableResult
    func run<Value: Sendable>(_ decide: (inout Core) -> Value) -> Value {
        let (value, work, isBusy) = withLock { core in
            let value = decide(&core)
            return (value, core.takeWork(), core.isBusy)
        }
        for step in work { step(self) }
        if isBusy { startTicking() }
        return value
    }

    // MARK: - Waiting

    /// A number for somebody who waits.
    func makeWaiter() -> UInt64 { lastWaiter.add(1, ordering: .relaxed).newValue }

    /// Suspends until a wait is answered, which its waiter has been registered for; a cancelled task gives it up.
    func result(of wait: Wait, _ waiter: UInt64) async -> WaitResult {
        await withTaskCancellationHandler {
            await wait.result
        } onCancel: {
            leave(waiter)
        }
    }

    /// Ends a wait; one that is over already is nothing.
    func leave(_ waiter: UInt64) { run { core in core.leave(waiter) } }

    // MARK: - Deadlines

    private func startTicking() {
        guard configuration.hasTimer,
            isTicking.withLock({ isTicking in
                defer { isTicking = true }
                return !isTicking
            })
        else { return }
        scheduleTick()
    }

    private func scheduleTick() {
        disk.asyncAfter(deadline: .now() + .milliseconds(Self.tickInterval)) { [self] in
            run { $0.tick() }
            let isBusy = withLock { $0.isBusy }
            if isBusy { return scheduleTick() }
            isTicking.withLock { $0 = false }
            // Something may have begun between the two; it saw the timer running.
            if withLock({ $0.isBusy }) { startTicking() }
        }
    }

    // MARK: - Ahead

    /// Puts a directory's pictures among those to be downloaded ahead; the disk reads ahead those that are stored.
    func wish(_ pictures: [PictureRequest], of directory: UInt64) {
        let stored = run { $0.wish(pictures, directory: directory) }
        guard !stored.isEmpty else { return }
        ahead.async { [store] in for picture in stored { store.readAhead(picture) } }
    }

    /// Asks the tier for a picture, whose bytes go to the file as they come.
    func askTier(_ key: FileKey, _ file: PartialFile, _ picture: PictureRequest, _ question: TierQuestion) {
        guard let tier = configuration.tier else { return }
        let room = picture.size ?? DownloadLimits.largestUnknown
        question.ask { [self] in
            let length = unsafe await tier.fetch(picture.id, length: picture.size, urgency: question.urgency) {
                [self] bytes, offset in
                do throws(FileError) {
                    let refusal = unsafe try file.write(
                        bytes, at: offset, total: room, giveWay: { giveWay(to: key) })
                    if let refusal { run { core in core.refused(refusal.text) } }
                    return true
                } catch { return false }
            }
            run { core in core.tierAnswered(key, file, picture, length: length) }
        }
    }

    // MARK: - Disk

    /// Looks whether all bytes of a picture prove what is left to prove, and tells it.
    func check(_ key: FileKey, _ file: PartialFile, _ proof: Proof, length: Int64) {
        disk.async { [self] in
            let isProven = Result { () throws(FileError) in
                try file.current?.use { proof.holds(for: $0, length: length) } ?? false
            }
            run { core in core.checked(key, file, isProven: isProven) }
        }
    }

    /// Moves a whole picture to its place.
    func commit(_ key: FileKey, _ file: PartialFile, length: Int64) {
        disk.async { [self] in
            let result = Result { () throws(FileError) in
                guard let data = file.current else { throw FileError("storing", ENOENT) }
                return try CacheFiles.write(giveWay: { giveWay(to: key) }) { () throws(FileError) in
                    try store.commit(data, as: key, length: length)
                }
            }
            // Deleted under us: the next picture finds a directory again.
            if case .failure = result { try? store.reopen() }
            run { core in core.committed(key, file, result) }
            lookAgain()
            if case .success = result { run { core in core.stores() } }
            lookAtDisk()
        }
    }

    /// Removes the least recently used pictures from a full disk at once, so that a new one can be kept.
    ///
    /// - Returns: Whether anything went.
    func giveWay(to key: FileKey) -> Bool {
        removeNow(run { core in core.giveWay(to: key) })
    }

    /// Removes pictures that are off the books.
    ///
    /// - Returns: Whether there were any.
    func removeNow(_ pictures: [StoredPicture]) -> Bool {
        for picture in pictures { store.remove(picture) }
        return !pictures.isEmpty
    }

    /// Removes the files of pictures that are off the books, unless they have been stored again.
    func remove(_ pictures: [StoredPicture]) {
        disk.async { [self] in
            for picture in pictures where withLock({ $0.index.picture(picture.key) != picture }) {
                store.remove(picture)
            }
        }
    }

    /// Compares the free disk with its floor.
    func checkDisk() { disk.async { [self] in lookAtDisk() } }

    private func lookAtDisk() {
        guard let free = store.freeBytes else { return }
        run { core in core.diskHas(free: free) }
    }

    /// Forgets what went with a directory that was removed in mid-work, and writes all pins again; runs on the disk queue.
    private func lookAgain() {
        guard store.takeRemade() else { return }
        let pictures = Set(store.contents().pictures)
        withLock { $0.index.keep(only: pictures) }
        writePins()
    }

    // MARK: - Pins and last uses

    /// Writes down which pictures are pinned; runs on the disk queue.
    func writePins() {
        let pins = withLock { $0.index.takeUnwrittenPins() }
        guard !pins.isEmpty else { return }
        do throws(FileError) { try store.write(pins: pins) } catch {
            withLock { $0.index.keepUnwritten(pins.keys) }
            // Deleted under us.
            if error.code == ENOENT, (try? store.reopen()) != nil { return lookAgain() }
            run { core in core.refused("a pin cannot be kept (\(error.text))") }
        }
    }

    /// Writes last uses down: now, or with those of the next seconds.
    func writeUsesSoon(isFull: Bool) {
        if isFull { return disk.async { [self] in writeUses() } }
        guard configuration.hasTimer else { return }
        disk.asyncAfter(deadline: .now() + .seconds(Self.touchDelay)) { [weak self] in self?.writeUses() }
    }

    /// Writes last uses down if there are new ones; runs on the disk queue.
    func writeUses() {
        let uses = withLock { core in
            defer { core.touches = 0 }
            return core.touches > 0 ? core.index.uses : []
        }
        // A disk that refuses costs the order of eviction.
        if !uses.isEmpty { try? store.write(uses: uses.sorted { $0.used < $1.used }.map(\.hash)) }
    }

    // MARK: - Pictures of an older format

    /// Converts a picture that is still to be converted; another one is nothing.
    ///
    /// - Returns: Why the disk refuses; the picture is then as it was, and the next who asks for it, or the next start, tries again.
    @discardableResult
    func bring(_ name: OlderName) -> FileError? {
        converting.withLock { _ in
            guard let row = withLock({ $0.isClosed ? nil : $0.index.older[name] }) else { return nil }
            do throws(FileError) {
                let picture = try OlderFormat.convert(name, isPinned: row.isPinned, store)
                let isNew = run { core in
                    core.noteUse()
                    return core.index.convert(name, to: picture)
                }
                // It has been downloaded meanwhile.
                if !isNew, let picture { remove([picture]) }
                return nil
            } catch { return error }
        }
    }

    /// Converts pictures, the first ones now and the others when those who need the disk had their turn.
    func bring(_ names: ArraySlice<OlderName>) {
        disk.async { [self] in
            for name in names.prefix(Self.broughtTogether) { bring(name) }
            run { core in core.trim() }
            let rest = names.dropFirst(Self.broughtTogether)
            if !rest.isEmpty { return bring(rest) }
            writeUses()
            if withLock({ $0.index.older.isEmpty }) { OlderFormat.removeIndex(in: store.root.top) }
        }
    }

    /// Pictures converted at a time: some milliseconds of the disk.
    private static let broughtTogether = 32
}

// MARK: - The bodies of answers

/// Takes the answer to one request of a download.
///
/// ## Concurrency
///
/// Called on the transport's thread, one call at a time; writes to a local file there.
final class SegmentSink: ResponseSink {
    private struct State {
        /// Nil at the end: whoever keeps the sink must not keep the file open.
        var file: PartialFile?
        /// Where the next bytes of the body go; nil if it is to bring no more.
        var plan: BodyPlan?
        /// Which of them are of seams; nil if none are.
        var frame: BodyFrame?
    }

    private let state: Mutex<State>
    private let core: CoreLock
    private let key: FileKey
    private let segment: UInt64

    init(_ core: CoreLock, key: FileKey, segment: UInt64, file: PartialFile) {
        self.core = core
        self.key = key
        self.segment = segment
        state = Mutex(State(file: file))
    }

    func head(_ head: HTTPAnswer) -> Bool {
        let written = core.run { core in core.answered(head, to: segment, of: key) }
        state.withLock { ($0.plan, $0.frame) = (written.plan, written.frame) }
        return written.goesOn
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        core.received.add(Int64(bytes.count), ordering: .relaxed)
        guard let file = state.withLock({ $0.file }) else { return false }
        let (own, seams) = state.withLock { unsafe $0.frame?.take(bytes) } ?? (0..<bytes.count, [])
        if !seams.isEmpty { compare(core.run { core in core.met(seams, of: key) }, in: file) }
        guard !own.isEmpty else { return core.withLock { $0.isWanted(segment, of: key) } }
        return unsafe take(UnsafeRawBufferPointer(rebasing: bytes[own]), to: file)
    }

    /// Holds bytes of seams against those that are there.
    private func compare(_ seams: [Seam], in file: PartialFile) {
        for seam in seams {
            guard let agrees = holds(seam.bytes, at: seam.place, in: file) else { return }
            core.run { core in core.contradict(key) { $0.compared(seam, agrees: agrees) } }
        }
    }

    /// Whether these bytes are there; nil if there is no descriptor left to look, with which the download has ended.
    private func holds(_ bytes: [UInt8], at place: Int64, in file: PartialFile) -> Bool? {
        do throws(FileError) { return try file.read(at: place, count: bytes.count) == bytes } catch {
            guard error.lackOfDescriptors != nil else { return false }
            core.run { core in core.cannotWrite(error, from: segment, of: key) }
            return nil
        }
    }

    /// Takes the request's own bytes: writes them where nothing is, compares them where something is, then tells.
    private func take(_ bytes: UnsafeRawBufferPointer, to file: PartialFile) -> Bool {
        var taken = 0
        while taken < bytes.count {
            let left = bytes.count - taken
            guard let plan = state.withLock({ $0.plan }), Int64(left) <= plan.room - plan.range.lowerBound else {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[taken...])
                return core.run { core in unsafe core.exceeded(by: rest, from: segment, of: key) }
            }
            let (all, writes, repeats) = plan.parts(Int64(left))
            let came = unsafe UnsafeRawBufferPointer(rebasing: bytes[taken..<taken + all.count])
            for range in repeats {
                let first = Int(range.lowerBound - all.lowerBound)
                guard
                    let agrees = unsafe holds(Array(came[first..<first + range.count]), at: range.lowerBound, in: file)
                else { return false }
                guard agrees else {
                    core.run { core in core.contradict(key) { $0.contradicted() } }
                    return false
                }
            }
            guard unsafe write(writes, of: came, at: all, to: file, room: plan.room) else { return false }
            taken += all.count
        }
        return true
    }

    /// Writes parts of what came to the file, then tells.
    private func write(
        _ parts: [Range<Int64>], of bytes: UnsafeRawBufferPointer, at place: Range<Int64>, to file: PartialFile,
        room: Int64
    ) -> Bool {
        var refusal: FileError?
        do throws(FileError) {
            for range in parts {
                let first = Int(range.lowerBound - place.lowerBound)
                let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[first..<(first + range.count)])
                let found = unsafe try file.write(part, at: range.lowerBound, total: room) { core.giveWay(to: key) }
                refusal = refusal ?? found
            }
        } catch {
            core.run { core in core.cannotWrite(error, from: segment, of: key) }
            return false
        }
        let written = core.run { core in
            if let refusal { core.refused(refusal.text) }
            return unsafe core.wrote(bytes, place, from: segment, of: key)
        }
        state.withLock { $0.plan = written.plan }
        if let state = written.state {
            file.note(total: state.total, validator: state.validator, present: state.present)
        }
        guard !written.seams.isEmpty else { return written.goesOn }
        compare(written.seams, in: file)
        return written.goesOn && core.withLock { $0.isWanted(segment, of: key) }
    }

    func finish(_ result: Result<Void, HTTPError>) {
        state.withLock { $0.file = nil }
        core.run { core in core.finished(segment, of: key, result) }
    }
}
