internal import Synchronization
import Rankings
import SQLite

/// Changes waiting for the database: whatever gathers while one transaction runs goes into the next.
///
/// ## Concurrency
///
/// Any thread may call; `add` never waits.
final class Outbox: Sendable {
    private struct State {
        var pending: [StoreWrite] = []
        var isDraining = false
        var isClosed = false
        /// How many batches were taken, and how many of them are done with.
        var taken = 0
        var finished = 0
        /// Who waits, and for how many batches to be done with.
        var waiters: [(batch: Int, continuation: CheckedContinuation<Void, Never>)] = []
        /// Whether the trouble that lasts has been reported.
        var hasReported = false
        /// Records that could not be written, so that they can be told all the same.
        var unstored: [UnstoredKey: ListedWork] = [:]
    }

    private struct UnstoredKey: Hashable {
        let listing: ListingKey
        let work: WorkID
    }

    /// Records kept in memory while the disk refuses: ten full rankings, a few megabytes.
    private static let unstoredBound = 5000

    private let store: Store
    private let onStored: @Sendable ([StoreWrite], _ newSizes: Int) -> Void
    private let report: @Sendable (CatalogEvent) -> Void
    private let state = Mutex(State())

    init(
        store: Store, onStored: @escaping @Sendable ([StoreWrite], _ newSizes: Int) -> Void,
        report: @escaping @Sendable (CatalogEvent) -> Void
    ) {
        self.store = store
        self.onStored = onStored
        self.report = report
    }

    /// Takes changes over.
    func add(_ writes: [StoreWrite]) {
        let mustStart = state.withLock { state in
            guard !state.isClosed else { return false }
            state.pending += writes
            defer { state.isDraining = true }
            return !state.isDraining
        }
        if mustStart { Task { await drain() } }
    }

    /// Takes nothing more, and returns once the rest is written: answers that come after the end are not trouble to report.
    func close() async {
        state.withLock { $0.isClosed = true }
        await flush()
    }

    /// Returns once everything added before has been written or given up.
    func flush() async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                let batch = state.taken + (state.pending.isEmpty ? 0 : 1)
                if batch > state.finished { state.waiters.append((batch, continuation)) }
                return batch <= state.finished
            }
            if isDone { continuation.resume() }
        }
    }

    /// A record that the disk refused.
    func unstoredRecord(of entry: ListingEntry, in key: ListingKey) -> ListedWork? {
        state.withLock { $0.unstored[UnstoredKey(listing: key, work: entry.picture.work)] }
    }

    private func drain() async {
        while let batch = takeBatch() {
            do throws(DatabaseError) {
                let newSizes = try await store.apply(batch)
                state.withLock { $0.hasReported = false }
                onStored(batch, newSizes)
            } catch {
                giveUp(batch, error)
            }
            finishBatch()
        }
    }

    private func takeBatch() -> [StoreWrite]? {
        state.withLock { state in
            guard !state.pending.isEmpty else {
                state.isDraining = false
                return nil
            }
            state.taken += 1
            defer { state.pending = [] }
            return state.pending
        }
    }

    private func finishBatch() {
        let waiters = state.withLock { state in
            state.finished += 1
            let finished = state.finished
            defer { state.waiters.removeAll { $0.batch <= finished } }
            return state.waiters.filter { $0.batch <= finished }
        }
        for waiter in waiters { waiter.continuation.resume() }
    }

    private func giveUp(_ batch: [StoreWrite], _ error: DatabaseError) {
        let isFirst = state.withLock { state in
            for case .listing(let listing) in batch {
                for row in listing.rows where state.unstored.count < Self.unstoredBound {
                    guard let work = row.work else { continue }
                    let rank = row.entry.rank > 0 ? Int(row.entry.rank) : nil
                    state.unstored[UnstoredKey(listing: listing.key, work: work.id)] = ListedWork(
                        rank: rank, previousRank: row.previousRank, work: work)
                }
            }
            defer { state.hasReported = true }
            return !state.hasReported
        }
        if isFirst { report(.notStored(reason: error.description)) }
    }
}
