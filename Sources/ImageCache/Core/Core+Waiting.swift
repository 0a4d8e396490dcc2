internal import HTTP
internal import Rankings

/// Waiting for what the network brings.
extension Core {
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
        guard let handle = pictures[id], !isClosed else {
            return effects.append(.resume(continuation, .failed(.cancelled)))
        }
        if downloads[handle.key] == nil, let error = begin(handle.picture, now: now) {
            return effects.append(.resume(continuation, .failed(error)))
        }
        if let mismatch = join(id, now: now) {
            return effects.append(.resume(continuation, .failed(mismatch)))
        }
        let range = offset..<max(offset, offset &+ Int64(count))
        let total = downloads[handle.key]?.download.total ?? .max
        downloads.add(
            Downloads.Waiter(
                key: handle.key, handle: id, range: range, deadline: now + configuration.timeout,
                continuation: continuation), as: waiterID, for: .bytes(range.clamped(to: 0..<total)), now: now)
        downloads[handle.key]?.download.noteNeed(range)
        // Who copies wants all of it.
        if handle.neighbours?.isBulk == true { downloads[handle.key]?.download.isDemanded = true }
        pump(now: now)
    }

    /// Lets somebody wait for a picture's length.
    mutating func waitForLength(
        _ waiterID: UInt64, of picture: PictureRequest, now: ContinuousClock.Instant,
        continuation: CheckedContinuation<WaitResult, Never>
    ) {
        let key = FileKey(picture.id)
        if let entry = index[key] { return effects.append(.resume(continuation, .length(entry.length))) }
        if failures.failure(of: key, now: now) == .gone {
            return effects.append(.resume(continuation, .failed(.gone)))
        }
        guard !isClosed else { return effects.append(.resume(continuation, .failed(.cancelled))) }
        if downloads[key] == nil, let error = begin(picture, now: now) {
            return effects.append(.resume(continuation, .failed(error)))
        }
        if let download = downloads[key]?.download, download.phase == .complete, let total = download.total {
            return effects.append(.resume(continuation, .length(total)))
        }
        downloads.add(
            Downloads.Waiter(
                key: key, handle: nil, range: 0..<0, deadline: now + configuration.timeout, continuation: continuation),
            as: waiterID, for: .length, now: now)
        updatePriority(key)
        pump(now: now)
    }

    /// A waiter gives up; the last one ends a download that nothing else wants.
    mutating func leave(_ waiterID: UInt64, now: ContinuousClock.Instant) {
        guard let waiter = downloads.removeWaiter(waiterID) else { return }
        effects.append(.resume(waiter.continuation, .failed(.cancelled)))
        // An interrupted reader rarely comes back: its download ends although it still has the picture open.
        if let handle = waiter.handle, let download = downloads[waiter.key]?.download, download.waiters.isEmpty,
            download.handles == [handle]
        {
            downloads[waiter.key]?.download.handles = []
        }
        release(waiter.key, now: now)
    }
}
