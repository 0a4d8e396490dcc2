internal import Dispatch
internal import Glibc
internal import HTTP
internal import Sourcing
internal import Rankings
internal import System
internal import Synchronization

/// The one lock for the cache's decisions, and the actions that follow once it is free.
///
/// ## Concurrency
///
/// Any thread may call; code that runs under the lock may not take it again, wait, or call code outside the cache.
final class CoreLock: Sendable {
    /// The interval of the checks of deadlines while downloads are under way, in milliseconds; their precision.
    private static let tickInterval = 100
    /// The time for which a picture's last use may stay unwritten, in seconds: the cost of a kill to the order of eviction.
    ///
    /// Long enough that a person viewing one picture after another does not cause a write for each.
    private static let touchDelay = 10

    let configuration: CacheConfiguration
    let host: ImageHost
    let store: PictureStore
    let report: @Sendable (ImageCacheEvent) -> Void
    /// Commits, pins and last uses; waits for the disk's syncs.
    let disk = DispatchQueue(label: "rankfs.cache.disk")
    /// Deadlines, and proofs of whole pictures: readers wait for them, however long the disk takes for a sync.
    let prompt = DispatchQueue(label: "rankfs.cache.prompt", attributes: .concurrent)
    /// The queue of read-ahead calls, which wait while the disk has much to do.
    private let ahead = DispatchQueue(label: "rankfs.cache.ahead")
    private let core: Mutex<Core>
    private let lastWait = Atomic<UInt64>(0)
    /// Bytes of bodies since the start, including overlaps and bytes without a further use.
    let received = Atomic<Int64>(0)
    /// Held while a picture is converted from an older format: other threads find it in the one state or the other.
    private let converting = Mutex(())
    #if DEBUG
    /// The number of times that the lock was taken, for tests: a reader waits for every thread that decides something.
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

    /// Runs a decision without consequences outside.
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

    /// Runs a decision under the lock, then the decided steps outside it.
    @discardableResult
    func run<Value: Sendable>(_ decide: (inout Core) -> Value) -> Value {
        let (value, work, startsTicking) = withLock { core in
            let value = decide(&core)
            return (value, core.takeWork(), core.startsTicking())
        }
        for step in work { step(self) }
        if startsTicking { scheduleTick() }
        return value
    }

    // MARK: - Waiting

    /// Creates a wait for the results of a picture's download.
    func makeWait(for picture: PictureID) -> Wait {
        Wait(id: lastWait.add(1, ordering: .relaxed).newValue, key: FileKey(picture))
    }

    /// Suspends until a wait is answered; a cancelled task gives it up.
    func result(of wait: Wait) async -> WaitResult {
        await withTaskCancellationHandler {
            await wait.result
        } onCancel: {
            leave(wait)
        }
    }

    /// Ends a wait; has no effect on a wait that is over.
    func leave(_ wait: Wait) { run { core in core.leave(wait) } }

    // MARK: - Deadlines

    private func scheduleTick() {
        prompt.asyncAfter(deadline: .now() + .milliseconds(Self.tickInterval)) { [self] in
            run { $0.tick() }
            if withLock({ $0.goesOnTicking() }) { scheduleTick() }
        }
    }

    // MARK: - Ahead

    /// Adds a directory's pictures to the wishes; the disk reads ahead those that are stored.
    func wish(_ pictures: [PictureRequest], of directory: UInt64, forCopy: Bool) {
        let stored = run { $0.wish(pictures, directory: directory, forCopy: forCopy) }
        guard !stored.isEmpty else { return }
        ahead.async { [store] in for picture in stored { store.readAhead(picture) } }
    }

    /// Queries the tier for a picture; its bytes go to the file as they come, and to readers as they are proven.
    func ask(
        _ tier: any PictureTier, for picture: PictureRequest, _ file: PartialFile, _ urgency: Urgency
    ) async {
        let room = picture.size ?? DownloadLimits.largestUnknown
        let edges = Mutex(PictureEdges())
        let sink = unsafe PictureSink { [self] bytes, offset in
            do throws(SystemError) {
                unsafe try write(bytes, to: file, at: offset, room: room)
            } catch { return false }
            edges.withLock { unsafe $0.note(bytes, at: offset, total: picture.size) }
            return true
        } proven: { [self] end, length in
            let edges = edges.withLock { $0 }
            return run { $0.tierProved(file.name, file, upTo: end, of: length, edges) }
        }
        let isWhole = await tier.fetch(picture.id, length: picture.size, urgency: urgency, into: sink)
        run { core in core.tierAnswered(file.name, file, picture, isWhole: isWhole) }
    }

    // MARK: - Disk

    /// Waits for the disk queue, and runs a function on it.
    func onDisk<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in disk.async { continuation.resume(returning: work()) } }
    }

    /// Checks whether all bytes of a picture give the missing proof, and reports the result.
    func check(_ key: FileKey, _ file: PartialFile, _ proof: Proof, length: Int64) {
        prompt.async { [self] in
            let isProven = Result { () throws(SystemError) in
                try file.current?.use { proof.holds(for: $0, length: length) } ?? false
            }
            run { core in core.checked(key, file, isProven: isProven) }
        }
    }

    /// Moves a whole picture to its place.
    func commit(_ key: FileKey, _ file: PartialFile, length: Int64) {
        disk.async { [self] in
            let result = Result { () throws(SystemError) in
                guard let data = file.current else { throw SystemError("storing", code: ENOENT) }
                return try makingRoom({ $0.giveWay(to: key) }) { () throws(SystemError) in
                    try store.commit(data, as: key, length: length)
                }
            }
            // Deleted during operation: the next picture finds a directory again.
            if case .failure = result { try? store.reopen() }
            run { core in core.committed(key, file, result) }
            lookAgain()
            if case .success = result { run { core in core.budget.stores() } }
            lookAtDisk()
        }
    }

    /// Removes the files of pictures that are out of the index, unless they have been stored again.
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
        run { core in
            if !core.budget.diskHas(free: free, core.inUse) { core.scheduler.dropWishes() }
        }
    }

    /// Forgets pictures lost with a directory removed during operation, and writes all pins again; runs on the disk queue.
    private func lookAgain() {
        guard store.takeRemade() else { return }
        let pictures = Set(store.contents().pictures)
        withLock { $0.index.keep(only: pictures) }
        writePins()
    }

    // MARK: - A disk without room

    /// The largest number of attempts at a full disk: other programs may take the space that became free.
    private static let mostTries = 4

    /// Runs a write, again as long as the disk is full and stored pictures give way to it.
    ///
    /// - Parameters:
    ///   - giveWay: Takes pictures out of the index, which are then removed at once; none if they would not make enough room.
    ///   - write: The write.
    /// - Returns: The result of the write.
    /// - Throws: The disk's last error.
    func makingRoom<Value>(
        _ giveWay: (inout Core) -> [StoredPicture], _ write: () throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        var triesLeft = Self.mostTries
        while true {
            do throws(SystemError) { return try write() } catch {
                triesLeft -= 1
                guard error.code == ENOSPC || error.code == EDQUOT, triesLeft > 0 else { throw error }
                let victims = run(giveWay)
                guard !victims.isEmpty else { throw error }
                for picture in victims { store.remove(picture) }
            }
        }
    }

    /// Writes bytes of a download; bytes that the disk refuses, and all before them, move to memory.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - file: The file for the download's bytes.
    ///   - offset: Their offset in the picture.
    ///   - room: The number of bytes that the whole picture may take.
    /// - Throws: If memory is used up as well.
    func write(
        _ bytes: UnsafeRawBufferPointer, to file: PartialFile, at offset: Int64, room: Int64
    ) throws(SystemError) {
        do throws(SystemError) {
            try makingRoom({ $0.giveWay(to: file.name) }) { () throws(SystemError) in
                unsafe try file.write(bytes, at: offset)
            }
        } catch {
            let refusal = error
            guard refusal.code != ECANCELED, refusal.lackOfDescriptors == nil, try file.moveToMemory(total: room)
            else { throw refusal }
            unsafe try file.write(bytes, at: offset)
            run { core in core.budget.refused(refusal.text) }
        }
    }

    // MARK: - Pins and last uses

    /// Saves the pins; runs on the disk queue.
    func writePins() {
        let pins = withLock { $0.index.takeUnwrittenPins() }
        guard !pins.isEmpty else { return }
        do throws(SystemError) { try store.write(pins: pins) } catch {
            withLock { $0.index.keepUnwritten(pins.keys) }
            // Deleted during operation.
            if error.code == ENOENT, (try? store.reopen()) != nil { return lookAgain() }
            run { core in core.budget.refused("a pin cannot be kept (\(error.text))") }
        }
    }

    /// Saves last uses: now, or with those of the next seconds.
    func writeUsesSoon(isFull: Bool) {
        if isFull { return disk.async { [self] in writeUses() } }
        guard configuration.hasTimer else { return }
        disk.asyncAfter(deadline: .now() + .seconds(Self.touchDelay)) { [weak self] in self?.writeUses() }
    }

    /// Saves last uses if there are new ones; runs on the disk queue.
    func writeUses() {
        let uses = withLock { core in
            defer { core.touches = 0 }
            return core.touches > 0 ? core.index.uses : []
        }
        // A disk that refuses costs the order of eviction.
        if !uses.isEmpty { try? store.write(uses: uses.sorted { $0.used < $1.used }.map(\.hash)) }
    }

    // MARK: - Pictures of an older format

    /// Converts a picture that is still to be converted; has no effect on another one.
    ///
    /// - Returns: The disk's error; the picture is then unchanged, and the next request for it, or the next start, tries again.
    @discardableResult
    func bring(_ name: OlderName) -> SystemError? {
        converting.withLock { _ in
            guard let row = withLock({ $0.isClosed ? nil : $0.index.older[name] }) else { return nil }
            do throws(SystemError) {
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

    /// Converts pictures, the first ones now and the others after other work for the disk had its turn.
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
        /// Nil at the end: a sink that is kept must not keep the file open.
        var file: PartialFile?
        /// The places of the next bytes of the body; nil if the body is to bring no more.
        var plan: BodyPlan?
        /// The times at which the request went to the network, and its answer came.
        var begun: ContinuousClock.Instant?
        var answered: ContinuousClock.Instant?
        var bytes: Int64 = 0
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

    func begun() { state.withLock { $0.begun = core.configuration.monotonicNow() } }

    func head(_ head: HTTPAnswer) -> Bool {
        let written = core.run { core in core.answered(head, to: segment, of: key) }
        state.withLock { state in
            state.plan = written.plan
            state.answered = core.configuration.monotonicNow()
        }
        return written.goesOn
    }

    /// Writes bytes that are missing, compares bytes that are present, then reports them.
    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        core.received.add(Int64(bytes.count), ordering: .relaxed)
        let file = state.withLock { state in
            state.bytes += Int64(bytes.count)
            return state.file
        }
        guard let file else { return false }
        var taken = 0
        while taken < bytes.count {
            let left = bytes.count - taken
            guard let plan = plan(for: left, in: file), Int64(left) <= plan.room - plan.range.lowerBound else {
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
                    let beginning = unsafe (Array(came.prefix(PictureFormat.headLength)), all.lowerBound)
                    core.run { core in
                        core.contradict(key) {
                            $0.contradicted(at: range.lowerBound, by: segment, beginning: beginning)
                        }
                    }
                    return false
                }
            }
            guard unsafe write(writes, of: came, at: all, to: file, room: plan.room) else { return false }
            taken += all.count
        }
        return true
    }

    /// The plan for the next `count` bytes, made anew if other requests may have brought some of them since.
    private func plan(for count: Int, in file: PartialFile) -> BodyPlan? {
        guard let plan = state.withLock({ $0.plan }) else { return nil }
        let end = min(plan.range.upperBound, plan.range.lowerBound + Int64(count))
        if plan.begun == file.begun.load(ordering: .relaxed), plan.range.lowerBound >= plan.certain.lowerBound,
            end <= plan.certain.upperBound
        {
            return plan
        }
        return core.withLock { $0.downloads[key]?.download.plan(of: segment) }
    }

    /// Whether these bytes are present; nil if no descriptor is left to read them, which ends the download.
    private func holds(_ bytes: [UInt8], at place: Int64, in file: PartialFile) -> Bool? {
        do throws(SystemError) { return try file.read(at: place, count: bytes.count) == bytes } catch {
            guard error.lackOfDescriptors != nil else { return false }
            core.run { core in core.cannotWrite(error, from: segment, of: key) }
            return nil
        }
    }

    /// Writes parts of the received bytes to the file, then reports them.
    private func write(
        _ parts: [Range<Int64>], of bytes: UnsafeRawBufferPointer, at place: Range<Int64>, to file: PartialFile,
        room: Int64
    ) -> Bool {
        do throws(SystemError) {
            for range in parts {
                let first = Int(range.lowerBound - place.lowerBound)
                let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[first..<(first + range.count)])
                unsafe try core.write(part, to: file, at: range.lowerBound, room: room)
            }
        } catch {
            core.run { core in core.cannotWrite(error, from: segment, of: key) }
            return false
        }
        let written = core.run { core in unsafe core.wrote(bytes, place, from: segment, of: key) }
        state.withLock { $0.plan = written.plan }
        return written.goesOn
    }

    func finish(_ result: Result<Void, Failure>) {
        let ended = state.withLock { state in
            state.file = nil
            return state
        }
        if case .success = result, let begun = ended.begun, let answered = ended.answered {
            core.configuration.tier?.hostBrought(
                ended.bytes, firstAfter: answered - begun, in: core.configuration.monotonicNow() - answered)
        }
        core.run { core in core.finished(segment, of: key, result) }
    }
}
