import Glibc
import Rankings
import System
import Synchronization
import Testing

@testable import Catalog

/// When changes are written.
@Suite(.timeLimit(.minutes(1))) struct OutboxTests {
    private let bench = Bench()
    private let batches = Batches()

    /// How many changes were written together, in order, and what is to be done in a moment.
    private final class Batches: Sendable {
        let sizes = Mutex<[Int]>([])
        let due = Mutex<[@Sendable () -> Void]>([])
    }

    private func outbox() throws -> Outbox {
        let opened = try Connection.openOrSetAside(path: bench.database, migrations: Schema.migrations)
        let store = ListingStore(opened.connection, path: bench.database, view: ListingView(rendition: .regular)) { _ in
        }
        return Outbox(
            store: store, onStored: { [batches] writes, _ in batches.sizes.withLock { $0.append(writes.count) } },
            report: { _ in }, inAMoment: { [batches] work in batches.due.withLock { $0.append(work) } })
    }

    private func read(_ number: Int) -> StoreWrite {
        .recent(RecentPicture(path: "\(number)", opened: Int64(number)))
    }

    @Test func whatCanWaitIsWrittenTogetherAMomentLater() async throws {
        let outbox = try outbox()
        for number in 1...10 { outbox.add([read(number)], canWait: true) }
        #expect(batches.sizes.withLock { $0 }.isEmpty)
        let due = batches.due.withLock { $0 }
        #expect(due.count == 1, "one moment for all")
        for work in due { work() }
        await outbox.flush()
        #expect(batches.sizes.withLock { $0 } == [10])
        // A later one waits for a moment of its own, once the writing that has just finished takes no more along.
        while batches.due.withLock({ $0.count }) < 2 {
            outbox.add([read(11)], canWait: true)
            await Task.yield()
        }
    }

    @Test func nobodyWaitsForTheMoment() async throws {
        let outbox = try outbox()
        outbox.add([read(1)], canWait: true)
        await outbox.flush()
        #expect(batches.sizes.withLock { $0 } == [1], "who reads the database finds it written")
        outbox.add([read(2)], canWait: true)
        outbox.add([.forget(StoredKey(listing: Bench.key))])
        await outbox.flush()
        #expect(batches.sizes.withLock { $0 } == [1, 2], "it goes along with what cannot wait")
        outbox.add([read(3)], canWait: true)
        await outbox.close()
        #expect(batches.sizes.withLock { $0 } == [1, 2, 1])
        for work in batches.due.withLock({ $0 }) { work() }
        await outbox.flush()
        #expect(batches.sizes.withLock { $0 } == [1, 2, 1], "nothing is left to write")
    }

    @Test func whatALockedDatabaseRefusesIsWrittenInAMoment() async throws {
        let outbox = try outbox()
        let other = try Connection.openOrSetAside(path: bench.database, migrations: Schema.migrations).connection
        try other.run("BEGIN IMMEDIATE")
        outbox.add([read(1)])
        await outbox.flush()
        outbox.add([read(2)])
        await outbox.flush()
        #expect(batches.sizes.withLock { $0 }.isEmpty, "nobody waits for the lock")
        try other.run("COMMIT")
        let due = batches.due.withLock { $0 }
        #expect(due.count == 1)
        for work in due { work() }
        await outbox.flush()
        #expect(batches.sizes.withLock { $0 } == [2])
        try other.run("BEGIN IMMEDIATE")
        outbox.add([read(3)])
        await outbox.close()
        #expect(batches.sizes.withLock { $0 } == [2], "the end waits for no lock")
        try other.run("COMMIT")
    }

    /// A listing that was forgotten while its rows were being written would come back until the removal is written.
    @Test func rowsWrittenBeforeARemovalDoNotBringAListingBack() {
        let key = StoredKey(listing: Bench.key)
        let header = ListingHeader(isComplete: true, nextPage: 2, lastPage: 1, entryCount: 0, fetched: 1, remaining: [])
        let rows = StoreWrite.listing(ListingWrite(key: key, firstPosition: 0, rows: [], header: header))
        let stored = StoredContents(StoredOverview(keys: [key]))
        for _ in 1...2 { stored.forget(key, now: 2) }
        for write in [rows, .forget(key), rows, .forget(key)] {
            stored.wrote([write], newSizes: 0)
            #expect(!stored.contains(key))
        }
        stored.wrote([rows], newSizes: 0)
        #expect(stored.contains(key))
    }

    /// File managers, and clients of file servers, list a folder again when it has another time.
    @Test func aNewListingChangesTheTimeOfItsKindAfterTheClockWasSetBack() {
        func rows(_ words: String, at time: Int64) -> StoreWrite {
            let header = ListingHeader(
                isComplete: true, nextPage: 2, lastPage: 1, entryCount: 0, fetched: time, remaining: [])
            let key = StoredKey(listing: .search(words))
            return .listing(ListingWrite(key: key, firstPosition: 0, rows: [], header: header))
        }
        let stored = StoredContents(StoredOverview(asked: [.search: 9000]))
        stored.wrote([rows("a", at: 100)], newSizes: 0)
        #expect(stored.changed(.search) == 100)
        stored.wrote([rows("b", at: 200), rows("a", at: 100)], newSizes: 0)
        #expect(stored.changed(.search) == 200)
    }
}
