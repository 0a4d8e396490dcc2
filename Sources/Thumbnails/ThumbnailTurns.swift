import Rankings
import Synchronization

/// Which pictures' thumbnails are still to be tried, and who waits for them.
///
/// ## Concurrency
///
/// Any thread may call; waiters are resumed outside the lock.
final class ThumbnailTurns: Sendable {
    /// A directory whose thumbnails are being made, and further pages of which may become known meanwhile.
    private struct Work {
        /// How many work on it.
        var count = 0
        /// How many of its entries were looked at.
        var places = 0
        /// What was expected of it before it was seeded.
        var expected: [ThumbnailJob] = []
    }

    /// Who waits for each expected picture, by the address of its preview.
    private let waiters = Mutex<[String: [CheckedContinuation<Void, Never>]]>([:])
    private let works = Mutex<[String: Work]>([:])

    /// All of a directory will be seeded, whatever becomes known of it until the end.
    func begin(_ directory: String) {
        works.withLock { $0[directory, default: Work()].count += 1 }
    }

    /// The entries of a directory that nobody has looked at so far; nil if there are none, or if it is not being seeded.
    func newPlaces(of directory: String, upTo count: Int) -> Range<Int>? {
        works.withLock { works in
            guard let places = works[directory]?.places, places < count else { return nil }
            works[directory]?.places = count
            return places..<count
        }
    }

    /// Pictures of a directory whose turn will come.
    func expect(_ jobs: [ThumbnailJob], of directory: String) {
        let isGoingOn = works.withLock { works in
            works[directory]?.expected += jobs
            return works[directory] != nil
        }
        if isGoingOn { expect(jobs) }
    }

    /// What is known of a directory was handed over; or its pages could not be had, and nothing more is to be expected.
    func end(_ directory: String, isGivenUp: Bool) {
        let expected = works.withLock { works in
            let expected = works[directory]?.expected ?? []
            works[directory]?.count -= 1
            if works[directory]?.count == 0 { works[directory] = nil }
            return expected
        }
        if isGivenUp { passed(expected) }
    }

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
