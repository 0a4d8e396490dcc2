internal import HTTP
internal import Rankings

/// Waiting for what the network brings.
extension Core {
    /// Looks for bytes; lets the reader wait if they are not there, with a download begun if there is none.
    mutating func read(
        _ id: UInt64, offset: Int64, count: Int, waiter: UInt64, _ wait: Wait, now: ContinuousClock.Instant
    ) -> Found {
        let found = find(id, offset: offset, count: count, now: now)
        guard case .wait = found else { return found }
        guard let handle = pictures[id], !isClosed else { return .failed(.cancelled) }
        if downloads[handle.key] == nil, let error = begin(handle.picture, now: now) { return .failed(error) }
        if let mismatch = join(id, now: now) { return .failed(mismatch) }
        let range = offset..<max(offset, offset &+ Int64(count))
        let total = downloads[handle.key]?.download.total ?? .max
        downloads.add(
            Downloads.Waiter(
                key: handle.key, handle: id, range: range, deadline: now + configuration.timeout, wait: wait),
            as: waiter, for: .bytes(range.clamped(to: 0..<total)), now: now)
        downloads[handle.key]?.download.noteNeed(range)
        // Who copies wants all of it.
        if handle.neighbours?.isBulk == true { downloads[handle.key]?.download.isDemanded = true }
        pump(now: now)
        return .wait
    }

    /// Lets somebody wait for a picture's length.
    mutating func waitForLength(
        of picture: PictureRequest, waiter: UInt64, _ wait: Wait, now: ContinuousClock.Instant
    ) {
        let key = FileKey(picture.id)
        if let entry = index[key] { return effects.append(.resume(wait, .length(entry.length))) }
        if failures.failure(of: key, now: now) == .gone {
            return effects.append(.resume(wait, .failed(.gone)))
        }
        guard !isClosed else { return effects.append(.resume(wait, .failed(.cancelled))) }
        if downloads[key] == nil, let error = begin(picture, now: now) {
            return effects.append(.resume(wait, .failed(error)))
        }
        if let download = downloads[key]?.download, download.phase == .complete, let total = download.total {
            return effects.append(.resume(wait, .length(total)))
        }
        downloads.add(
            Downloads.Waiter(
                key: key, handle: nil, range: 0..<0, deadline: now + configuration.timeout, wait: wait),
            as: waiter, for: .length, now: now)
        updatePriority(key)
        pump(now: now)
    }

    /// A waiter gives up; the last one ends a download that nothing else wants.
    mutating func leave(_ waiterID: UInt64, now: ContinuousClock.Instant) {
        guard let waiter = downloads.removeWaiter(waiterID) else { return }
        effects.append(.resume(waiter.wait, .failed(.cancelled)))
        // An interrupted reader rarely comes back: its download ends although it still has the picture open.
        if let handle = waiter.handle, let download = downloads[waiter.key]?.download, download.waiters.isEmpty,
            download.handles == [handle]
        {
            downloads[waiter.key]?.download.handles = []
        }
        release(waiter.key, now: now)
    }
}
