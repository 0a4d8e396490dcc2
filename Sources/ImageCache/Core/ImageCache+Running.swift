internal import Dispatch
internal import HTTP
internal import ImageHost
internal import Rankings
internal import SQLite
internal import Synchronization

extension ImageCache {
    /// Decides under the lock, then does what was decided outside it.
    @discardableResult
    func run<Value: Sendable>(_ decide: (inout Core) -> Value) -> Value {
        let (value, effects, isBusy) = core.withLock { core in
            let value = decide(&core)
            return (value, core.takeEffects(), core.isBusy)
        }
        for effect in effects { perform(effect) }
        if isBusy { startTicking() }
        return value
    }

    private func perform(_ effect: Effect) {
        switch effect {
        case .start(let key, let id, let segment, let transfer, let file):
            let sent = host.segment(segment, sink: SegmentSink(self, key: key, segment: id, file: file))
            transfer.follow(sent, sentWith: segment.priority)
        case .cancel(let transfer): transfer.cancel()
        case .setPriority(let transfer, let priority): transfer.setPriority(priority)
        case .resume(let wait, let result): wait.answer(result)
        case .reopen(let key, let file):
            let found = file.resume()
            let now = configuration.monotonicNow()
            run { core in core.reopened(key, file, found, now: now) }
        case .askTier(let key, let file, let picture, let question): askTier(key, file, picture, question)
        case .hurry(let question): question.urgency.raise()
        case .withdraw(let question): question.cancel()
        case .keep(let key, let picture, let length, let hash):
            configuration.tier?.keep(picture.id, at: store.path(of: key), length: length, hash: hash)
        case .giveUp(let picture): configuration.tier?.giveUp(picture.id)
        case .park(let file, let total, let validator, let present):
            file.note(total: total, validator: validator, present: present)
        case .settled(let waiting): for continuation in waiting { continuation.resume() }
        case .discard(let file): file.discard()
        case .unlink(let file): file.unlink()
        case .removePartial(let key): store.removePartial(key)
        case .check(let key, let file, let proof, let length): check(key, file, proof, length: length)
        case .commit(let key, let file, let length): commit(key, file, length: length)
        case .writeIndex: disk.async { [self] in _ = writeIndex() }
        case .writeIndexLater:
            guard configuration.hasTimer else { break }
            disk.asyncAfter(deadline: .now() + .seconds(Self.touchDelay)) { [weak self] in _ = self?.writeIndex() }
        case .checkDisk: disk.async { [self] in checkDisk() }
        case .remove(let keys): remove(keys)
        case .planPreloads(let neighbours, let places):
            let pictures = places.compactMap { neighbours.picture($0) }
            let now = configuration.monotonicNow()
            let stored = run { core in
                core.wish(pictures, directory: neighbours.directory, now: now)
            }
            guard !stored.isEmpty else { break }
            ahead.async { [store] in for key in stored { store.readAhead(key) } }
        case .report(let event): report(event)
        case .tell(let opener): opener()
        }
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
    func leave(_ waiter: UInt64) {
        let now = configuration.monotonicNow()
        run { core in core.leave(waiter, now: now) }
    }

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
            tick()
            let isBusy = core.withLock { $0.isBusy }
            if isBusy { return scheduleTick() }
            isTicking.withLock { $0 = false }
            // Something may have begun between the two; it saw the timer running.
            if core.withLock({ $0.isBusy }) { startTicking() }
        }
    }

    /// Looks after deadlines and pauses that have passed.
    package func tick() {
        let now = configuration.monotonicNow()
        run { core in core.tick(now: now) }
    }

    // MARK: - Disk

    private func check(_ key: FileKey, _ file: PartialFile, _ proof: Proof, length: Int64) {
        disk.async { [self] in
            let isProven = Result { () throws(FileError) in
                try file.current?.use { proof.holds(for: $0, length: length) } ?? false
            }
            let now = configuration.monotonicNow()
            run { core in core.checked(key, file, isProven: isProven, now: now) }
        }
    }

    private func askTier(_ key: FileKey, _ file: PartialFile, _ picture: PictureRequest, _ question: TierQuestion) {
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
            let now = configuration.monotonicNow()
            run { core in core.tierAnswered(key, file, picture, length: length, now: now) }
        }
    }

    private func commit(_ key: FileKey, _ file: PartialFile, length: Int64) {
        disk.async { [self] in
            let result = Result { () throws(FileError) in
                guard let data = file.current else { throw FileError("storing", 2) }
                return try CacheFiles.write(giveWay: { giveWay(to: key) }) { () throws(FileError) in
                    try store.commit(data, as: key, key: file.key, length: length)
                }
            }
            // Deleted under us: the next picture finds a directory again.
            if case .failure = result { try? store.reopen() }
            let now = configuration.monotonicNow()
            run { core in core.committed(key, file, result, now: now) }
            let isWritten = writeIndex()
            if case .success = result, isWritten { run { core in core.stores() } }
            checkDisk()
        }
    }

    /// Removes the least recently used pictures from a full disk at once, so that a new one can be kept.
    ///
    /// - Returns: Whether anything went.
    func giveWay(to key: FileKey) -> Bool {
        removeNow(run { core in core.giveWay(to: key) })
    }

    func removeNow(_ keys: [FileKey]) -> Bool {
        for key in keys { store.remove(key) }
        return !keys.isEmpty
    }

    private func remove(_ keys: [FileKey]) {
        removedRows.withLock { $0 += keys }
        disk.async { [self] in
            for key in keys
            where core.withLock({ $0.index[key] == nil && $0.downloads[key]?.download.phase != .complete }) {
                store.remove(key)
            }
            _ = writeIndex()
        }
    }

    /// Writes what changed in the index; runs on the disk queue.
    ///
    /// - Returns: False if the disk refused; what could not be written is written with what changes next.
    func writeIndex() -> Bool {
        let removed = removedRows.withLock { rows in
            defer { rows = [] }
            return rows
        }
        let (changed, gone) = core.withLock { core in
            core.touches = 0
            return (core.index.takeUnwritten(), removed.filter { core.index[$0] == nil })
        }
        guard let index else { return true }
        do throws(DatabaseError) {
            let isAstray = index.isAstray
            if isAstray {
                // Its lock first.
                try? store.reopen()
                try index.restore()
            }
            try index.write(changed, removed: gone)
            // The pictures went with it, or some of them.
            if isAstray { reconcile() }
            return true
        } catch {
            removedRows.withLock { $0 += gone }
            run { core in
                core.index.keepUnwritten(changed.keys)
                core.refused("the index cannot be written (\(error.description))")
            }
            return false
        }
    }

    /// Compares the free disk with its floor; runs on the disk queue.
    func checkDisk() {
        guard let free = store.freeBytes else { return }
        run { core in core.diskHas(free: free) }
    }

    /// Makes the index from the files' footers.
    static func rebuild(
        _ index: inout StoredIndex, from store: PictureStore, reason: String, _ report: (ImageCacheEvent) -> Void
    ) {
        var count = 0
        for name in store.storedNames() {
            if let footer = store.footer(of: name), index.adopt(name, length: footer.length) { count += 1 }
        }
        if count > 0 { report(.indexRebuilt(pictures: count, reason: reason)) }
    }

    /// Compares index and files after an unclean end, by names; runs on the disk queue.
    func reconcile() {
        let known = core.withLock { Set($0.index.entries.keys) }
        let names = Set(store.storedNames())
        var adopted = 0
        for name in names.subtracting(known) {
            guard let footer = store.footer(of: name) else {
                // Neither a footer nor a row: nothing can be made of it. A commit finishes before its row is written.
                if core.withLock({ $0.index[name] == nil && $0.downloads[name] == nil }) { store.remove(name) }
                continue
            }
            let isNew = core.withLock { $0.index.adopt(name, length: footer.length) }
            if isNew { adopted += 1 }
        }
        for name in known.subtracting(names) where !store.exists(name) {
            core.withLock { _ = $0.index.remove(name) }
            removedRows.withLock { $0.append(name) }
        }
        if adopted > 0 { report(.indexRebuilt(pictures: adopted, reason: "the last run did not end cleanly")) }
        _ = writeIndex()
    }
}
