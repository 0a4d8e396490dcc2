internal import HTTP

extension Core {
    /// Ends waits whose time is over, goes on with downloads whose pause is, and ends walks that nobody goes on with.
    mutating func tick(now: ContinuousClock.Instant) {
        for waiter in downloads.removeWaiters(where: { $0.deadline <= now }) {
            effects.append(.resume(waiter.wait, .failed(.timedOut)))
            release(waiter.key, now: now)
        }
        for (key, entry) in downloads.entries where entry.download.phase == .running {
            if !entry.download.waiters.isEmpty, now - entry.download.lastProgress >= configuration.networkTimeout {
                fail(key, .timedOut, keepsPartial: true, now: now)
            } else if downloads[key]?.download.wake(now: now) == true {
                release(key, now: now)
            }
        }
        withdrawQuestions(now: now)
        for directory in preload.rested(now: now) { endWalk(directory, now: now) }
        pump(now: now)
    }

    /// Asks for nothing more ahead of a walk, but for as much as an ordinary reader has ahead.
    ///
    /// What is under way comes: the reader may come back, and what a cancelled request has on the wire would be sent twice.
    private mutating func endWalk(_ directory: UInt64, now: ContinuousClock.Instant) {
        scheduler.dropWishes(of: directory)
        for key in downloads.unread(ofWalk: directory).dropFirst(preload.ordinary) {
            downloads[key]?.download.isPreload = false
            if downloads[key]?.download.segments.isEmpty == true { release(key, now: now) }
        }
    }

    /// Ends everything; what came so far is kept for resuming.
    mutating func shutDown(now: ContinuousClock.Instant) {
        isClosed = true
        scheduler.dropWishes()
        for waiter in downloads.removeWaiters(where: { _ in true }) {
            effects.append(.resume(waiter.wait, .failed(.cancelled)))
        }
        for key in downloads.keys {
            downloads[key]?.download.handles = []
            downloads[key]?.download.isPreload = false
            release(key, now: now)
        }
    }
}
