internal import HTTP
internal import Rankings
internal import Sourcing
internal import Synchronization
internal import System

/// The beginning of downloads, the results of their requests, and their end.
extension Core {
    /// Begins a download, for a reader or for a wish; requests follow from `pump`.
    ///
    /// - Returns: The error if none can be begun.
    mutating func begin(_ picture: PictureRequest, _ wish: DownloadScheduler.Wish? = nil) -> Failure? {
        let key = picture.id
        let name = picture.location.url.split(separator: "/").last ?? ""
        guard configuration.placeholder.map(name.hasPrefix) != true else {
            return .refused("the service gives a placeholder for this picture")
        }
        guard let format = PictureFormat(fileExtension: picture.location.fileExtension) else {
            return .damaged("pictures of this kind are not known")
        }
        if let size = picture.size, !(1...PictureLimits.largest).contains(size) {
            return .lengthContradicts(told: nil, shown: size)
        }
        var download = Download(
            format: format, digest: picture.location.digest, total: picture.size, now: now)
        download.token = makeID()
        download.isPreload = wish != nil
        download.isCopied = wish?.isForCopy ?? false
        download.isShared = pictures.openers(of: key) > 1
        let file = PartialFile(key, store: store, spare: spare)
        if budget.unpark(key) {
            download.phase = .opening
            later { core in
                let found = file.resume()
                core.run { $0.reopened(key, file, found) }
            }
        }
        downloads[key] = PictureDownload(
            number: download.token, download: download, picture: picture, file: file,
            priority: wish == nil ? .reader : .preload, walk: wish?.directory)
        reserve(picture.size ?? Download.assumedLength, for: key)
        // A download begun from the image host is resumed there.
        if download.phase == .running { askTier(picture, of: key) }
        return nil
    }

    /// Counts the bytes that a download will take.
    private mutating func reserve(_ bytes: Int64, for key: PictureID) {
        guard let isRead = downloads[key]?.download.isRead else { return }
        budget.reserve(bytes, for: key, isPreload: !isRead, inUse)
    }

    /// Evicts the least recently used pictures on a full disk, if a download can then be kept.
    ///
    /// - Returns: The pictures to remove at once.
    mutating func giveWay(to key: PictureID) -> [StoredPicture] {
        guard let download = downloads[key]?.download else { return [] }
        let lacking = (download.total ?? Download.assumedLength) - download.received
        return budget.giveWay(max(0, lacking), sparesUnread: !download.isRead, inUse)
    }

    /// Takes the state read from the earlier download's file.
    private mutating func reopened(_ key: PictureID, _ file: PartialFile, _ found: (PartialState, PictureEdges)?) {
        // The next download of the picture reads it itself: the files opened for this one are not open there.
        guard let entry = downloads[key], entry.file === file, entry.download.phase == .opening else { return }
        downloads[key]?.download.phase = .running
        if let (state, edges) = found { change(key) { $0.resume(state, edges: edges) } }
        pump()
    }

    /// Requests all of a piece.
    mutating func request(_ piece: Piece, of key: PictureID) {
        let id = makeID()
        guard let lock, let start = downloads[key]?.download.begin(piece, id: id), let entry = downloads[key] else {
            return
        }
        let transfer = lock.host.transfer(
            of: start.asked, at: entry.picture.location, ifStill: start.ifRange, priority: entry.priority,
            deadline: now + Download.requestDeadline,
            longestPause: min(configuration.timeout, configuration.networkTimeout),
            sink: SegmentSink(lock, key: key, segment: id, file: entry.file))
        downloads[key]?.transfers[id] = transfer
        entry.file.begun.store(entry.download.begun, ordering: .relaxed)
        later { $0.host.begin(transfer) }
    }

    // MARK: - The tier

    /// Has the tier queried for a picture before the image host.
    private mutating func askTier(_ picture: PictureRequest, of key: PictureID) {
        guard let lock, let tier = configuration.tier, !picture.isPrivate, let entry = downloads[key] else { return }
        let urgency = Urgency()
        let task = Task {
            if entry.priority == .reader { urgency.raise() }
            await lock.ask(tier, for: picture, entry.file, urgency)
        }
        downloads[key]?.question = (task, urgency)
        downloads[key]?.download.phase = .asking
    }

    /// Takes note of bytes that the tier has brought; returns whether they can be the picture's.
    mutating func tierProved(
        _ key: PictureID, _ file: PartialFile, upTo end: Int64, of length: Int64, _ edges: PictureEdges
    ) -> Bool {
        // A download that is not wanted any more ends by itself.
        guard let entry = downloads[key], entry.file === file, entry.download.phase == .asking else { return true }
        var download = entry.download
        if case .failed = download.proved(upTo: end, of: length, edges: edges, now: now).outcome { return false }
        downloads[key]?.tierBytes = end
        change(key) { [now] in $0.proved(upTo: end, of: length, edges: edges, now: now) }
        if let total = downloads[key]?.download.total, budget.reserved(for: key) != total { reserve(total, for: key) }
        return true
    }

    /// Takes the end of the tier's answer: the image host is queried for what it did not bring.
    mutating func tierAnswered(_ key: PictureID, _ file: PartialFile, _ picture: PictureRequest, isWhole: Bool) {
        guard let entry = downloads[key], entry.file === file, entry.download.phase == .asking else {
            // The download is not wanted any more, or has all of its bytes.
            if !isWhole { later { $0.configuration.tier?.giveUp(picture.id) } }
            return
        }
        downloads[key]?.question = nil
        downloads[key]?.download.phase = .running
        downloads[key]?.download.lastProgress = now
        downloads[key]?.isOurs = true
        release(key)
    }

    // MARK: - Consequences

    /// Runs a decision of a download, and carries it out.
    ///
    /// Bytes of requests that it has given up are requested again as the download then stands.
    mutating func change(_ key: PictureID, _ decide: (inout Download) -> DownloadChange) {
        guard let change = downloads.decide(key, decide) else { return }
        for segment in change.cancel {
            if let transfer = downloads[key]?.transfers.removeValue(forKey: segment) {
                later { _ in transfer.cancel() }
            }
        }
        for waiter in change.ready { answer(waiter, of: key) }
        switch change.outcome {
        case nil: break
        case .check(let proof, let length):
            if let file = downloads[key]?.file { later { $0.check(key, file, proof, length: length) } }
        case .complete(let length): complete(key, length: length)
        case .failed(let error, let keepsPartial): fail(key, error, keepsPartial: keepsPartial)
        case .restart: restart(key)
        }
    }

    /// Takes the result of the check of all bytes.
    mutating func checked(_ key: PictureID, _ file: PartialFile, isProven: Result<Bool, SystemError>) {
        guard let entry = downloads[key], entry.file === file else { return }
        switch isProven {
        case .success(let isProven): change(key) { $0.checked(isProven: isProven) }
        case .failure(let error):
            fail(
                key,
                error.lackOfDescriptors.map { .exhausted($0) }
                    ?? .unusable("the picture cannot be read (\(error.text)); check the disk"),
                keepsPartial: true)
        }
        release(key)
    }

    /// Gives a removed waiter the bytes or the length that have come.
    private mutating func answer(_ waiter: Waiter, of key: PictureID) {
        guard let entry = downloads[key] else { return end(waiter, .again) }
        guard let range = waiter.range, let handle = waiter.handle else {
            return end(waiter, .length(entry.download.total ?? 0))
        }
        guard let total = entry.download.total, let file = entry.file.current else { return end(waiter, .again) }
        if let mismatch = pictures[handle]?.mismatch(with: entry.download.version) {
            return end(waiter, .failed(mismatch))
        }
        end(
            waiter,
            .bytes(give(file, range.lowerBound, range.count, length: total, entry.download, to: handle)))
    }

    /// Gives a removed waiter its result.
    mutating func end(_ waiter: Waiter, _ result: WaitResult) {
        later { _ in waiter.wait.answer(result) }
    }

    /// Ends the matching waits for a download; returns whether there were any.
    @discardableResult
    mutating func endWaits(
        for key: PictureID, _ result: WaitResult, where isMeant: (Waiter) -> Bool
    ) -> Bool {
        let waiters = downloads[key]?.download.takeWaiters(where: isMeant) ?? []
        for waiter in waiters { end(waiter, result) }
        return !waiters.isEmpty
    }

    private mutating func complete(_ key: PictureID, length: Int64) {
        guard var entry = downloads[key] else { return }
        settle(&entry)
        // The transfers end by themselves.
        entry.transfers = [:]
        downloads[key] = entry
        reserve(length, for: key)
        failures.forget(key)
        scheduler.goOn()
        if entry.download.isPreload, !entry.download.isRead { preloadedCount += 1 }
        for id in entry.download.handles {
            pictures.hand(entry.file, of: entry.download, to: id)
            guard let handle = pictures[id], handle.measure.isReal, let neighbours = handle.neighbours else { continue }
            follow(preload.completed(neighbours.index, in: neighbours.directory), neighbours)
        }
        let file = entry.file
        if file.isInMemory || budget.reserved(for: key) == 0 {
            forget(key)
            later { core in
                file.unlink()
                core.checkDisk()
            }
        } else {
            later { $0.commit(key, file, length: length) }
        }
    }

    /// Removes a download from the records.
    @discardableResult
    private mutating func forget(_ key: PictureID) -> PictureDownload? {
        budget.release(key)
        guard let entry = downloads.removeValue(forKey: key) else { return nil }
        later { core in
            entry.question?.task.cancel()
            if entry.isOurs { core.configuration.tier?.giveUp(entry.picture.id) }
        }
        return entry
    }

    /// Takes the result of moving a whole picture to its place.
    mutating func committed(_ key: PictureID, _ file: PartialFile, _ result: Result<StoredPicture, SystemError>) {
        guard let entry = downloads[key], entry.file === file else { return }
        if case .success(let picture) = result, entry.tierBytes < picture.length, !entry.picture.isPrivate,
            let tier = configuration.tier
        {
            downloads[key]?.isOurs = false
            later {
                tier.keep(
                    entry.picture.id, at: $0.store.path(of: picture), length: picture.length, hash: picture.hash)
            }
        }
        forget(key)
        switch result {
        case .success(let picture):
            stored(
                picture, version: entry.download.version,
                isUnread: entry.download.isPreload && pictures.openers(of: key) == 0 && !entry.download.isDemanded)
        case .failure(let error):
            later { _ in file.unlink() }
            if error.isOfOneName {
                // Preloads leave it alone for a while.
                failures.remember(.unusable(error.text), of: key, for: Failures.goneFor, now: now)
                report(.notKept(key, reason: error.text))
            } else {
                budget.refused(error.text)
            }
        }
        budget.makeRoom(for: 0, isPreload: false, inUse)
        pump()
    }

    mutating func fail(_ key: PictureID, _ error: Failure, keepsPartial: Bool) {
        let reserved = budget.reserved(for: key)
        guard var entry = forget(key) else { return }
        let isUnread = entry.download.isPreload && !entry.download.isRead
        end(&entry)
        for waiter in entry.download.takeWaiters(where: { _ in true }) { end(waiter, .failed(error)) }
        if error.isOfTheBytes {
            pictures.fail(entry.download.handles, error)
            distrust(entry)
        }
        let file = entry.file
        if keepsPartial { park(key, entry, reserved: reserved) } else { later { _ in file.discard() } }
        if case .gone = error { failures.remember(error, of: key, for: Failures.goneFor, now: now) }
        if isUnread {
            report(.preloadFailed(entry.picture.id, error))
            if error != .gone { failures.remember(error, of: key, for: Failures.preloadFor, now: now) }
        }
        switch error {
        case .unreachable, .timedOut, .limited, .turnedAway, .exhausted:
            scheduler.rest(until: now + Self.preloadsRestFor)
        default: break
        }
        pump()
    }

    /// Has the tier forget a picture whose bytes turned out wrong, so that the next download is not of them again.
    private mutating func distrust(_ entry: PictureDownload) {
        if entry.tierBytes > 0 { later { $0.configuration.tier?.distrust(entry.picture.id) } }
    }

    mutating func restart(_ key: PictureID) {
        guard var entry = downloads[key] else { return }
        let file = entry.file
        later { _ in file.discard() }
        end(&entry)
        if entry.download.hasRestarted { distrust(entry) }
        entry.unnoted = 0
        entry.tierBytes = 0
        entry.file = PartialFile(key, store: store, spare: spare)
        let sizes = entry.download.handles.compactMap { pictures[$0]?.picture.size }
        entry.download.clear(total: sizes.first ?? entry.picture.size, token: makeID())
        downloads[key] = entry
    }

    /// Ends a download that nothing wants, unless it is nearly done.
    mutating func release(_ key: PictureID) {
        guard var entry = downloads[key] else { return }
        if entry.download.isForsaken(isClosing: isClosed) {
            let reserved = budget.reserved(for: key)
            forget(key)
            end(&entry)
            park(key, entry, reserved: reserved)
        }
        updatePriority(key)
        pump()
    }

    /// Ends the requests of a download that is over or begins again; its announced length is withdrawn.
    private mutating func end(_ entry: inout PictureDownload) {
        settle(&entry)
        let transfers = entry.transfers.values
        entry.transfers = [:]
        later { _ in for transfer in transfers { transfer.cancel() } }
    }

    /// Resumes the tasks that wait until the announced length is confirmed or withdrawn.
    private mutating func settle(_ entry: inout PictureDownload) {
        let settlers = entry.settlers
        entry.settlers = []
        if !settlers.isEmpty { later { _ in for continuation in settlers { continuation.resume() } } }
    }

    /// Keeps the received bytes for another try.
    private mutating func park(_ key: PictureID, _ entry: PictureDownload, reserved: Int64) {
        let download = entry.download
        guard download.phase != .opening else { return budget.park(key, bytes: reserved) }
        guard download.phase != .asking, download.validator != nil, download.received > 0, !entry.file.isInMemory
        else { return later { _ in entry.file.discard() } }
        budget.park(key, bytes: download.received)
        later { _ in entry.note() }
        budget.makeRoom(for: 0, isPreload: false, inUse)
    }

    // MARK: - Received bytes

    /// Whether a request goes on after its answer's head or written bytes, and the places of its next bytes.
    typealias Written = (goesOn: Bool, plan: BodyPlan?)

    mutating func answered(_ head: HTTPAnswer, to segment: UInt64, of key: PictureID) -> Written {
        guard downloads[key]?.download.segments[segment] != nil else { return (false, nil) }
        change(key) { [now] in $0.answered(head, to: segment, now: now) }
        if let total = downloads[key]?.download.total, budget.reserved(for: key) != total { reserve(total, for: key) }
        // The new facts may be worth more connections.
        pump()
        guard let download = downloads[key]?.download, download.segments[segment] != nil else {
            return (false, nil)
        }
        return (true, download.plan(of: segment))
    }

    /// Takes note of received bytes that are in the file.
    mutating func wrote(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int64>, from segment: UInt64, of key: PictureID
    ) -> Written {
        guard let download = downloads[key]?.download, download.phase == .running,
            let answered = download.segments[segment]
        else { return (isWanted(segment, of: key), nil) }
        if range.lowerBound == answered.requested?.lowerBound,
            unsafe download.beginsAgain(bytes, at: range.lowerBound)
        {
            contradict(key) { $0.beganAgain() }
            return (false, nil)
        }
        unsafe downloads[key]?.download.edges.note(bytes, at: range.lowerBound, total: download.total)
        downloads[key]?.unnoted += Int64(bytes.count)
        var isTurningPoint = false
        change(key) { [now] download in
            let change = download.wrote(range, from: segment, now: now)
            isTurningPoint = change.outcome != nil
            return change
        }
        guard let entry = downloads[key] else { return (false, nil) }
        // The request of a whole picture is left to end by itself, which keeps its connection.
        guard entry.download.phase == .running else { return (entry.download.goesOn(segment), nil) }
        if isTurningPoint { pump() }
        if entry.unnoted >= PartialState.interval {
            downloads[key]?.unnoted = 0
            later { _ in entry.note() }
        }
        return (entry.download.goesOn(segment), entry.download.plan(of: segment))
    }

    /// Takes note of bytes for which there is no place: more than the picture has, or more than is wanted.
    ///
    /// - Returns: Whether the body is read further, without a use for it.
    mutating func exceeded(by bytes: UnsafeRawBufferPointer, from segment: UInt64, of key: PictureID) -> Bool {
        guard let download = downloads[key]?.download, download.phase == .running,
            let next = download.segments[segment]?.next
        else { return isWanted(segment, of: key) }
        guard next + Int64(bytes.count) > download.total ?? Download.largestUnknown else {
            return download.goesOn(segment)
        }
        // They show whether the picture ends at its declared length.
        unsafe downloads[key]?.download.edges.note(bytes, at: next, total: download.total)
        change(key) { $0.overran() }
        return false
    }

    /// Runs a decision about bytes that may contradict others, and requests the bytes that are then missing.
    mutating func contradict(_ key: PictureID, _ decide: (inout Download) -> DownloadChange) {
        let before = downloads[key]
        var hasChanged = false
        change(key) { download in
            let change = decide(&download)
            hasChanged = !change.cancel.isEmpty || change.outcome != nil
            return change
        }
        if hasChanged, let before { distrust(before) }
        guard hasChanged, downloads[key]?.download.phase == .running else { return }
        // The saved state of the present bytes may be void.
        downloads[key]?.unnoted = PartialState.interval
        pump()
    }

    /// Whether a request's body is wanted further, or may end by itself.
    func isWanted(_ segment: UInt64, of key: PictureID) -> Bool {
        downloads[key]?.download.goesOn(segment) ?? false
    }

    mutating func finished(_ segment: UInt64, of key: PictureID, _ result: Result<Void, Failure>) {
        guard downloads[key]?.download.segments[segment] != nil else {
            // The request belonged to a download that is over; its connection is free for others.
            return pump()
        }
        downloads[key]?.transfers[segment] = nil
        change(key) { [now] in $0.finished(segment, result, now: now) }
        _ = downloads[key]?.download.wake(now: now)
        // If nothing waits for the rest, the download ends and the present bytes are kept.
        release(key)
    }

    /// Handles bytes that neither disk nor memory takes.
    mutating func cannotWrite(_ error: SystemError, from segment: UInt64, of key: PictureID) {
        // The failure of a download that is over must not end the next one of the same picture.
        guard downloads[key]?.download.segments[segment] != nil else { return }
        if let lack = error.lackOfDescriptors { return fail(key, .exhausted(lack), keepsPartial: false) }
        budget.refused(error.text)
        fail(
            key,
            .unusable("the picture can neither be stored nor kept in memory (\(error.text)); make room on the disk"),
            keepsPartial: false)
    }
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
    private let key: PictureID
    private let segment: UInt64

    init(_ core: CoreLock, key: PictureID, segment: UInt64, file: PartialFile) {
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
