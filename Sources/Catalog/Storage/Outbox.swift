internal import Dispatch
import Rankings
import System
internal import Synchronization

/// Pending changes of the database: all changes that gather while one transaction runs go into the next.
///
/// ## Concurrency
///
/// Any thread may call; `add` never waits.
final class Outbox: Sendable {
    private struct State {
        var pending: [StoreWrite] = []
        var isDraining = false
        /// Whether deferred changes will be written in a moment.
        var isDue = false
        /// Whether changes that failed will be tried again in a moment.
        var isPutOff = false
        var isClosed = false
        /// The number of batches taken, and the number of batches finished.
        var taken = 0
        var finished = 0
        /// The waiters, each with the number of batches that must be finished first.
        var waiters: [(batch: Int, continuation: CheckedContinuation<Void, Never>)] = []
        /// Whether the present failure has been reported.
        var hasReported = false
        /// Records that could not be written, kept so that they can still be returned.
        var unstored: [UnstoredKey: ListedWork] = [:]
    }

    private struct UnstoredKey: Hashable {
        let listing: StoredKey
        let work: WorkID
    }

    /// Records, and rows to be written, kept in memory while the disk refuses: ten full rankings, a few megabytes.
    private static let unstoredBound = 5000

    /// The delay of deferred changes in milliseconds: a reader of file after file causes one transaction a second, not one a file.
    private static let patience = 1000

    private let store: ListingStore
    private let onStored: @Sendable ([StoreWrite], _ newSizes: Int) -> Void
    private let report: @Sendable (CatalogEvent) -> Void
    private let inAMoment: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - store: The database.
    ///   - onStored: Receives the changes that were written.
    ///   - report: Receives the failure to write.
    ///   - inAMoment: Runs a closure when deferred changes have waited long enough.
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

    /// Adds changes.
    ///
    /// - Parameters:
    ///   - writes: The changes, in their order.
    ///   - canWait: Whether the changes may be lost to a kill within the next second.
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

    /// Begins to write the pending changes, unless a drain is running.
    private func start() {
        let mustStart = state.withLock { state in
            guard !state.isDraining, !state.pending.isEmpty, !state.isPutOff || state.isClosed else { return false }
            state.isDraining = true
            return true
        }
        if mustStart { Task { await drain() } }
    }

    /// Accepts no more changes and returns once the rest is written: answers that arrive after the end are no failure to report.
    func close() async {
        state.withLock { $0.isClosed = true }
        await flush()
    }

    /// Returns once all changes added before have been written, put off or given up.
    func flush() async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.isPutOff, !state.isClosed { return true }
                let batch = state.taken + (state.pending.isEmpty ? 0 : 1)
                if batch > state.finished { state.waiters.append((batch, continuation)) }
                return batch <= state.finished
            }
            if isDone { continuation.resume() } else { start() }
        }
    }

    /// A record that the disk refused, or that is put off.
    func unstoredRecord(of entry: ListingEntry, in key: StoredKey) -> ListedWork? {
        state.withLock { state in
            for case .listing(let listing) in state.pending.reversed() where listing.key == key {
                if let row = listing.rows.last(where: { $0.work?.id == entry.picture.work }), let record = row.record {
                    return record
                }
            }
            return state.unstored[UnstoredKey(listing: key, work: entry.picture.work)]
        }
    }

    private func drain() async {
        while let batch = takeBatch() {
            do throws(DatabaseError) {
                let newSizes = try await store.apply(batch)
                state.withLock { state in
                    state.hasReported = false
                    if !state.unstored.isEmpty { Self.forEachWork(in: batch) { key, _ in state.unstored[key] = nil } }
                }
                onStored(batch, newSizes)
            } catch {
                giveUp(batch, error)
                if error.code.mayEnd, putOff(batch) { return finishBatch() }
            }
            finishBatch()
        }
    }

    /// Puts changes back before the pending ones, to be written in a moment, and ends the drain; false if they are too many.
    private func putOff(_ batch: [StoreWrite]) -> Bool {
        let isPutOff = state.withLock { state in
            let rows = (batch + state.pending).reduce(0) { rows, write in
                if case .listing(let listing) = write { rows + max(1, listing.rows.count) } else { rows + 1 }
            }
            guard !state.isClosed, rows <= Self.unstoredBound else { return false }
            state.pending = batch + state.pending
            (state.isDraining, state.isPutOff) = (false, true)
            return true
        }
        guard isPutOff else { return false }
        inAMoment { [weak self] in
            guard let self else { return }
            state.withLock { $0.isPutOff = false }
            start()
        }
        return true
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
            Self.forEachWork(in: batch) { key, record in
                if state.unstored.count < Self.unstoredBound { state.unstored[key] = record }
            }
            defer { state.hasReported = true }
            return !state.hasReported
        }
        if isFirst { report(.notStored(reason: error.description)) }
    }

    /// Calls a closure with each record among changes.
    private static func forEachWork(in batch: [StoreWrite], _ body: (UnstoredKey, ListedWork) -> Void) {
        for case .listing(let listing) in batch {
            for record in listing.rows.compactMap(\.record) {
                body(UnstoredKey(listing: listing.key, work: record.work.id), record)
            }
        }
    }
}
