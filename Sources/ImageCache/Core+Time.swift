extension Core {
    /// Ends waits whose time is over and goes on with downloads whose pause is.
    mutating func tick(now: ContinuousClock.Instant) {
        for (id, waiter) in waiters where waiter.deadline <= now {
            waiters[id] = nil
            downloads[waiter.key]?.flight.waiters[id] = nil
            effects.append(.resume(waiter.continuation, .failed(.timedOut)))
            release(waiter.key, now: now)
        }
        for (key, download) in downloads where download.flight.phase == .running {
            if !download.flight.waiters.isEmpty, now - download.flight.lastProgress >= configuration.networkTimeout {
                fail(key, .timedOut, keepsPartial: true, now: now)
            } else if downloads[key]?.flight.wake(now: now) == true {
                release(key, now: now)
            }
        }
        endRestedWalks(now: now)
        pump(now: now)
    }

    /// Ends everything; what came so far is kept for resuming.
    mutating func shutDown(now: ContinuousClock.Instant) {
        isClosed = true
        wishes = []
        for (id, waiter) in waiters {
            waiters[id] = nil
            downloads[waiter.key]?.flight.waiters[id] = nil
            effects.append(.resume(waiter.continuation, .failed(.cancelled)))
        }
        for key in downloads.keys {
            downloads[key]?.flight.handles = []
            downloads[key]?.flight.isPreload = false
            release(key, now: now)
        }
    }
}
