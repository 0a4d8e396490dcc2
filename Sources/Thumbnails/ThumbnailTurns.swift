import Rankings
import Synchronization

/// Which pictures' thumbnails are still to be tried, and who waits for them.
///
/// ## Concurrency
///
/// Any thread may call; waiters are resumed outside the lock.
final class ThumbnailTurns: Sendable {
    /// A directory that is told of page by page.
    private struct Pages {
        /// How many looks see to that.
        var looks = 0
        /// How many of its entries were told of.
        var count = 0
    }

    /// Who waits for each expected picture, by the address of its preview.
    private let waiters = Mutex<[String: [CheckedContinuation<Void, Never>]]>([:])
    private let pages = Mutex<[String: Pages]>([:])

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

    // MARK: - Pages that are still to come

    /// A look begins to tell of a directory's entries, of which so many are known.
    func begin(_ directory: String, _ count: Int) {
        pages.withLock { $0[directory, default: Pages()].looks += 1 }
        goOn(directory, count)
    }

    /// So many entries of a directory have been told of.
    func goOn(_ directory: String, _ count: Int) {
        pages.withLock { pages in pages[directory].map { pages[directory]?.count = max($0.count, count) } }
    }

    /// A look tells of no more.
    func end(_ directory: String) {
        pages.withLock { pages in
            pages[directory]?.looks -= 1
            if pages[directory]?.looks == 0 { pages[directory] = nil }
        }
    }

    /// Whether an entry of a directory is about to be told of.
    func isComing(_ index: Int, of directory: String) -> Bool {
        pages.withLock { $0[directory].map { $0.count <= index } ?? false }
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
