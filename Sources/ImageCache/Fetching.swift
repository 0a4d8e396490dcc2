internal import HTTP
internal import Rankings

/// How downloads begin, what comes of their requests, and how they end.
extension Core {
    /// Begins a download, for a reader or for a directory's walk; requests follow from `pump`.
    ///
    /// - Returns: Why none can be begun.
    mutating func begin(_ picture: PictureRequest, walk: UInt64? = nil) -> ImageCacheError? {
        let key = FileKey(picture.id)
        let name = picture.location.url.split(separator: "/").last ?? ""
        guard !configuration.isPlaceholder(name) else {
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
        download.isPreload = walk != nil
        download.isShared = pictures.openers(of: key) > 1
        let file = PartialFile(key, store: store, spare: spare)
        if budget.unpark(key) {
            download.phase = .opening
            later { core in
                let found = file.resume()
                core.run { $0.reopened(key, file, found) }
            }
        }
        downloads[key] = Downloads.Entry(
            number: download.token, download: download, picture: picture, file: file,
            priority: walk == nil ? .reader : .preload, walk: walk)
        reserve(picture.size ?? DownloadLimits.assumedLength, for: key)
        // What was begun from the image host is gone on with there.
        if download.phase == .running { askTier(picture, of: key) }
        return nil
    }

    /// Counts what a download will take.
    private mutating func reserve(_ bytes: Int64, for key: FileKey) {
        guard let isRead = downloads[key]?.download.isRead else { return }
        account { budget, index, inUse in
            budget.reserve(bytes, for: key, isPreload: !isRead, in: &index, inUse: inUse)
        }
    }

    /// Lets the least recently used pictures go on a full disk, if a download can then be kept.
    ///
    /// - Returns: What is to be removed at once.
    mutating func giveWay(to key: FileKey) -> [StoredPicture] {
        guard let download = downloads[key]?.download else { return [] }
        let lacking = (download.total ?? DownloadLimits.assumedLength) - download.received
        return giveWay(max(0, lacking), sparesUnread: !download.isRead)
    }

    /// The earlier download's file has been looked at.
    private mutating func reopened(_ key: FileKey, _ file: PartialFile, _ found: (PartialState, PictureEdges)?) {
        // The next download of the picture looks for itself: what this one found is not open there.
        guard let entry = downloads[key], entry.file === file, entry.download.phase == .opening else { return }
        downloads[key]?.download.phase = .running
        if let (state, edges) = found { change(key) { $0.resume(state, edges: edges) } }
        pump()
    }

    // MARK: - The tier

    /// Has the tier asked for a picture before the image host is.
    private mutating func askTier(_ picture: PictureRequest, of key: FileKey) {
        guard configuration.tier != nil, !picture.isPrivate, let entry = downloads[key] else { return }
        let question = TierQuestion()
        downloads[key]?.question = question
        downloads[key]?.download.phase = .asking
        later { core in
            if entry.priority == .reader { question.urgency.raise() }
            core.askTier(key, entry.file, picture, question)
        }
    }

    /// The tier has brought a picture of so many bytes, or nothing.
    mutating func tierAnswered(_ key: FileKey, _ file: PartialFile, _ picture: PictureRequest, length: Int64?) {
        guard let entry = downloads[key], entry.file === file, entry.download.phase == .asking else {
            // Nobody wants it any more.
            if length == nil { later { $0.configuration.tier?.giveUp(picture.id) } }
            return
        }
        downloads[key]?.question = nil
        downloads[key]?.download.phase = .running
        downloads[key]?.download.lastProgress = now
        if let length, length == entry.download.total ?? length {
            downloads[key]?.isFromTier = true
            change(key) { $0.arrived(whole: length) }
        } else {
            downloads[key]?.isOurs = true
        }
        release(key)
    }

    // MARK: - What becomes of it

    /// Has a download decide, and carries that out.
    ///
    /// What it has given up requests for is asked for again as it then stands.
    mutating func change(_ key: FileKey, _ decide: (inout Download) -> DownloadChange) {
        guard let change = downloads.decide(key, decide) else { return }
        for segment in change.cancel {
            if let transfer = downloads[key]?.transfers.removeValue(forKey: segment) {
                later { _ in transfer.cancel() }
            }
        }
        for waiter in change.ready { answer(waiter) }
        switch change.outcome {
        case nil: break
        case .check(let proof, let length):
            if let file = downloads[key]?.file { later { $0.check(key, file, proof, length: length) } }
        case .complete(let length): complete(key, length: length)
        case .failed(let error, let keepsPartial): fail(key, error, keepsPartial: keepsPartial)
        case .restart: restart(key)
        }
    }

    /// All bytes of a picture have been looked at.
    mutating func checked(_ key: FileKey, _ file: PartialFile, isProven: Result<Bool, FileError>) {
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

    /// Gives a waiter, who may have gone, what has come.
    private mutating func answer(_ id: UInt64) {
        guard let waiter = downloads.removeWaiter(id), let entry = downloads[waiter.key] else { return }
        guard let handle = waiter.handle else { return end(waiter, .length(entry.download.total ?? 0)) }
        guard let total = entry.download.total, let file = entry.file.current else { return end(waiter, .again) }
        if let mismatch = pictures[handle]?.mismatch(with: entry.download.version) {
            return end(waiter, .failed(mismatch))
        }
        let bytes = give(
            file, waiter.range.lowerBound, waiter.range.count, length: total, entry.download, to: handle)
        end(waiter, .bytes(bytes, pictures[handle]?.version))
    }

    /// Tells somebody who waits, and has been taken out, what came of it.
    mutating func end(_ waiter: Downloads.Waiter, _ result: WaitResult) {
        later { _ in waiter.wait.answer(result) }
    }

    private mutating func complete(_ key: FileKey, length: Int64) {
        guard let entry = downloads[key] else { return }
        downloads[key]?.transfers = [:]
        settle(key)
        reserve(length, for: key)
        failures.forget(key)
        scheduler.goOn()
        if entry.download.isPreload, !entry.download.isRead { preloadedCount += 1 }
        for id in entry.download.handles {
            pictures.hand(entry.file, of: entry.download, to: id)
            guard let handle = pictures[id], handle.measure.isReal, let neighbours = handle.neighbours else { continue }
            follow(preload.completed(neighbours.index, in: neighbours.directory), neighbours)
        }
        if entry.file.isInMemory || budget.reserved(for: key) == 0 {
            forget(key)
            later { core in
                entry.file.unlink()
                core.checkDisk()
            }
        } else {
            later { $0.commit(key, entry.file, length: length) }
        }
    }

    /// Takes a download off the books.
    @discardableResult
    private mutating func forget(_ key: FileKey) -> Downloads.Entry? {
        budget.release(key)
        guard let entry = downloads.remove(key) else { return nil }
        later { core in
            entry.question?.cancel()
            if entry.isOurs { core.configuration.tier?.giveUp(entry.picture.id) }
        }
        return entry
    }

    /// A whole picture has been moved to its place, or the disk refused.
    mutating func committed(_ key: FileKey, _ file: PartialFile, _ result: Result<StoredPicture, FileError>) {
        guard let entry = downloads[key], entry.file === file else { return }
        if case .success(let picture) = result, !entry.isFromTier, !entry.picture.isPrivate,
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
            refused(error.text)
        }
        account { budget, index, inUse in budget.makeRoom(for: 0, isPreload: false, in: &index, inUse: inUse) }
        pump()
    }

    mutating func fail(_ key: FileKey, _ error: ImageCacheError, keepsPartial: Bool) {
        let reserved = budget.reserved(for: key)
        guard let entry = forget(key) else { return }
        end(entry, of: key)
        for waiter in downloads.removeWaiters(where: { $0.key == key }) { end(waiter, .failed(error)) }
        if error.isOfTheBytes { pictures.fail(entry.download.handles, error) }
        if keepsPartial { park(key, entry, reserved: reserved) } else { later { _ in entry.file.discard() } }
        if case .gone = error { failures.remember(error, of: key, for: Failures.goneFor, now: now) }
        if entry.download.isPreload, !entry.download.isRead {
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

    mutating func restart(_ key: FileKey) {
        guard let entry = downloads[key] else { return }
        end(entry, of: key)
        let sizes = entry.download.handles.compactMap { pictures[$0]?.picture.size }
        let (token, file) = (makeID(), PartialFile(key, store: store, spare: spare))
        downloads[key]?.transfers = [:]
        downloads[key]?.unnoted = 0
        downloads[key]?.isFromTier = false
        downloads[key]?.file = file
        downloads[key]?.download.clear(total: sizes.first ?? entry.picture.size, token: token)
        later { _ in entry.file.discard() }
    }

    /// Ends a download that nothing wants, unless it is nearly done.
    mutating func release(_ key: FileKey) {
        guard let entry = downloads[key] else { return }
        if entry.download.isForsaken(isClosing: isClosed) {
            let reserved = budget.reserved(for: key)
            forget(key)
            end(entry, of: key)
            park(key, entry, reserved: reserved)
        }
        updatePriority(key)
        pump()
    }

    /// Ends the requests of a download that is over or begins again; what it was told is void.
    private mutating func end(_ entry: Downloads.Entry, of key: FileKey) {
        settle(key)
        later { _ in for transfer in entry.transfers.values { transfer.cancel() } }
    }

    /// Tells those who wait for it that what a download was told is certain or void.
    private mutating func settle(_ key: FileKey) {
        let waiting = downloads.removeSettlers(of: key)
        if !waiting.isEmpty { later { _ in for continuation in waiting { continuation.resume() } } }
    }

    /// Keeps what came so far for another try.
    private mutating func park(_ key: FileKey, _ entry: Downloads.Entry, reserved: Int64) {
        let download = entry.download
        guard download.phase != .opening else { return budget.park(key, bytes: reserved) }
        guard download.phase != .asking, download.validator != nil, download.received > 0, !entry.file.isInMemory
        else { return later { _ in entry.file.discard() } }
        budget.park(key, bytes: download.received)
        later { _ in
            entry.file.note(total: download.total, validator: download.validator, present: download.proven)
        }
        account { budget, index, inUse in budget.makeRoom(for: 0, isPreload: false, in: &index, inUse: inUse) }
    }

    // MARK: - What comes

    /// What follows from an answer's head or from written bytes.
    struct Written: Sendable {
        var goesOn: Bool
        /// Where the next ones go.
        var plan: BodyPlan?
        /// What to note beside the partial file, if it is time.
        var state: (total: Int64?, validator: String?, present: RangeSet)?
        /// Which bytes of the body are of seams, as the head tells; nil if none are.
        var frame: BodyFrame?
        /// What is to be compared with the file.
        var seams: [Seam] = []
    }

    mutating func answered(_ head: HTTPAnswer, to segment: UInt64, of key: FileKey) -> Written {
        guard downloads[key]?.download.segments[segment] != nil else { return Written(goesOn: false) }
        change(key) { [now] in $0.answered(head, to: segment, now: now) }
        if let total = downloads[key]?.download.total, budget.reserved(for: key) != total { reserve(total, for: key) }
        // What is known now may be worth more connections.
        pump()
        guard let download = downloads[key]?.download, let answered = download.segments[segment] else {
            return Written(goesOn: false)
        }
        return Written(goesOn: true, plan: download.plan(of: segment), frame: BodyFrame(answered, part: segment))
    }

    /// Takes note of bytes that have come and are in the file.
    mutating func wrote(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int64>, from segment: UInt64, of key: FileKey
    ) -> Written {
        guard let download = downloads[key]?.download, download.phase == .running,
            let answered = download.segments[segment]
        else { return Written(goesOn: isWanted(segment, of: key)) }
        if range.lowerBound == answered.asked?.lowerBound,
            unsafe download.beginsAgain(bytes, at: range.lowerBound)
        {
            contradict(key) { $0.misplaced(at: range.lowerBound) }
            return Written(goesOn: false)
        }
        unsafe downloads[key]?.download.edges.note(bytes, at: range.lowerBound, total: download.total)
        downloads[key]?.unnoted += Int64(bytes.count)
        var isTurningPoint = false
        change(key) { [now] download in
            let change = download.wrote(range, from: segment, now: now)
            isTurningPoint = change.outcome != nil
            return change
        }
        guard let entry = downloads[key] else { return Written(goesOn: false) }
        // The request of what is whole is left to end by itself, which keeps its connection.
        guard entry.download.phase == .running else { return Written(goesOn: entry.download.goesOn(segment)) }
        if isTurningPoint { pump() }
        var state: (total: Int64?, validator: String?, present: RangeSet)?
        if entry.unnoted >= PartialState.interval {
            downloads[key]?.unnoted = 0
            state = (entry.download.total, entry.download.validator, entry.download.proven)
        }
        return Written(
            goesOn: entry.download.goesOn(segment), plan: entry.download.plan(of: segment), state: state,
            seams: entry.download.comparable)
    }

    /// Takes note of bytes for which there is no place: more than the picture has, or more than is wanted of them.
    ///
    /// - Returns: Whether the body is read further, without a use for it.
    mutating func exceeded(by bytes: UnsafeRawBufferPointer, from segment: UInt64, of key: FileKey) -> Bool {
        guard let download = downloads[key]?.download, download.phase == .running,
            let next = download.segments[segment]?.next
        else { return isWanted(segment, of: key) }
        guard next + Int64(bytes.count) > download.total ?? DownloadLimits.largestUnknown else {
            return download.goesOn(segment)
        }
        // They tell whether the picture ends where it was said to.
        unsafe downloads[key]?.download.edges.note(bytes, at: next, total: download.total)
        change(key) { $0.overran() }
        return false
    }

    /// Has a download decide about bytes that may contradict others, and goes on with what it then lacks.
    mutating func contradict(_ key: FileKey, _ decide: (inout Download) -> DownloadChange) {
        var hasChanged = false
        change(key) { download in
            let change = decide(&download)
            hasChanged = !change.cancel.isEmpty || change.outcome != nil
            return change
        }
        guard hasChanged, downloads[key]?.download.phase == .running else { return }
        // What was noted of the bytes that are there may be void.
        downloads[key]?.unnoted = PartialState.interval
        pump()
    }

    /// Takes seams that have come with a body.
    ///
    /// - Returns: Those that can be compared.
    mutating func met(_ seams: [Seam], of key: FileKey) -> [Seam] {
        for seam in seams { contradict(key) { $0.met(seam) } }
        return downloads[key]?.download.comparable ?? []
    }

    /// Whether a request's body is wanted further, or may end by itself.
    func isWanted(_ segment: UInt64, of key: FileKey) -> Bool {
        downloads[key]?.download.goesOn(segment) ?? false
    }

    mutating func finished(_ segment: UInt64, of key: FileKey, _ result: Result<Void, HTTPError>) {
        guard downloads[key]?.download.segments[segment] != nil else {
            // It belonged to a download that is over; its connection is free for others.
            return pump()
        }
        downloads[key]?.transfers[segment] = nil
        change(key) { [now] in $0.finished(segment, result, now: now) }
        _ = downloads[key]?.download.wake(now: now)
        // Nobody waited for its end, and it did not come: keep what is there.
        release(key)
    }

    /// Neither disk nor memory takes the bytes.
    mutating func cannotWrite(_ error: FileError, from segment: UInt64, of key: FileKey) {
        // A download that is over concerns nobody, least of all the next one of the same picture.
        guard downloads[key]?.download.segments[segment] != nil else { return }
        if let lack = error.lackOfDescriptors { return fail(key, .exhausted(lack), keepsPartial: false) }
        refused(error.text)
        fail(
            key,
            .unusable("the picture can neither be stored nor kept in memory (\(error.text)); make room on the disk"),
            keepsPartial: false)
    }
}
