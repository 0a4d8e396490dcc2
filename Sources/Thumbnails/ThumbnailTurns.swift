import Rankings
import Synchronization

/// Which pictures' thumbnails are still to be tried, and who waits for them.
///
/// ## Concurrency
///
/// Any thread may call; waiters are resumed outside the lock.
final class ThumbnailTurns: Sendable {
    /// Who waits for each expected picture, by the address of its preview.
    private let waiters = Mutex<[String: [CheckedContinuation<Void, Never>]]>([:])

    /// Pictures whose turn will come.
    func expect(_ jobs: some Sequence<ThumbnailJob>) {
        waiters.withLock { waiters in
            for job in jobs where waiters[job.preview.url] == nil { waiters[job.preview.url] = [] }
        }
    }

    /// They were tried, or will not be.
    func passed(_ jobs: some Sequence<ThumbnailJob>) {
        let resumed = waiters.withLock { waiters in
            jobs.flatMap { waiters.removeValue(forKey: $0.preview.url) ?? [] }
        }
        for waiter in resumed { waiter.resume() }
    }

    /// None will be tried any more.
    func end() {
        let resumed = waiters.withLock { waiters in
            defer { waiters = [:] }
            return waiters.values.flatMap(\.self)
        }
        for waiter in resumed { waiter.resume() }
    }

    /// Whether a picture's turn is still to come.
    func isExpected(_ job: ThumbnailJob) -> Bool {
        waiters.withLock { $0[job.preview.url] != nil }
    }

    /// Returns when a picture's turn is over; at once if none is to come.
    func wait(for job: ThumbnailJob) async {
        await withCheckedContinuation { continuation in
            let isOver = waiters.withLock { waiters in
                guard waiters[job.preview.url] != nil else { return true }
                waiters[job.preview.url]?.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }
}
