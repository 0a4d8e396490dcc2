internal import Dispatch
import Rankings
import SQLite
internal import Synchronization

/// Changes waiting for the database: whatever gathers while one transaction runs goes into the next.
///
/// ## Concurrency
///
/// Any thread may call; `add` never waits.
final class Outbox: Sendable {
    private struct State {
        var pending: [StoreWrite] = []
        var isDraining = false
        /// Whether what can wait will be written in a moment.
        var isDue = false
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

    /// How long what can wait does, in milliseconds: who reads file after file causes a transaction a second and not one a file.
    private static let patience = 1000

    private let store: ListingStore
    private let onStored: @Sendable ([StoreWrite], _ newSizes: Int) -> Void
    private let report: @Sendable (CatalogEvent) -> Void
    private let inAMoment: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - store: The database.
    ///   - onStored: Told what was written.
    ///   - report: Told what could not be written.
    ///   - inAMoment: Does something when what can wait has waited long enough.
    init(
        store: ListingStore, onStored: @escaping @Sendable ([StoreWrite], _ newSizes: Int) -> Void,
        report: @escaping @Sendable (CatalogEvent) -> Void,
        inAMoment: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = {
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(patience), execute: $0)
        }
    ) {
        self.store = store
        self.onStored = onStored
        self.report = report
        self.inAMoment = inAMoment
    }

    /// Takes changes over.
    ///
    /// - Parameters:
    ///   - writes: The changes, in their order.
    ///   - canWait: Whether losing them to a kill within the next second is no loss.
    func add(_ writes: [StoreWrite], canWait: Bool = false) {
        let mustWait = state.withLock { state in
            guard !state.isClosed else { return false }
            state.pending += writes
            guard canWait, !state.isDraining else { return false }
            defer { state.isDue = true }
            return !state.isDue
        }
        if !canWait { start() }
        guard mustWait else { return }
        inAMoment { [weak self] in
            guard let self else { return }
            state.withLock { $0.isDue = false }
            start()
        }
    }

    /// Begins to write what is pending, unless somebody does.
    private func start() {
        let mustStart = state.withLock { state in
            guard !state.isDraining, !state.pending.isEmpty else { return false }
            state.isDraining = true
            return true
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
            if isDone { continuation.resume() } else { start() }
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
