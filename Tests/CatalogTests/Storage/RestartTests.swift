import Foundation
import Rankings
import System
import TestSupport
import Testing

@testable import Catalog

@Suite(.timeLimit(.minutes(1))) struct RestartTests {
    let bench = Bench()

    /// What a file system makes names, inode numbers, times and sizes of.
    static func facts(_ listing: Listing) -> [String] {
        listing.entries.enumerated().map { index, entry in
            "\(entry.name) \(entry.rank) \(entry.picture.key) \(entry.reference) \(listing.size(at: index) ?? -1)"
        }
    }

    @Test func aStoredDayComesBackEqualWithoutARequest() async throws {
        let (first, before) = try await bench.open(Bench.key)
        _ = try await before.entries(reaching: .max)
        for entry in before.entries { first.sizes.set(Int64(1000 + entry.rank), of: entry.picture) }
        let facts = Self.facts(before)
        let modified = before.modified
        await first.close()

        let asked = bench.source.calls.count
        // Titles change; names do not.
        let catalog = try bench.open()
        bench.now += 86_400 * 30
        let after = try await catalog.listings.open(Bench.key)
        #expect(Self.facts(after) == facts)
        #expect(after.size(at: 499) == 1500)
        #expect(after.modified == modified)
        #expect(after.isComplete && after.isFrozen)
        #expect(try await after.find(named: Array("500-Title 500.jpg".utf8)) == 499)
        #expect(bench.source.calls.count == asked)
        #expect(bench.transport.requests.isEmpty)
        #expect(catalog.status().knownSizes == 500)
    }

    /// A past day is stored for good, and so is what it lacks, unless another version of the program can decode that.
    @Test func whatAVersionCouldNotDecodeAnotherOneRequests() async throws {
        bench.source.set { ($0.missingRanks, $0.unreadable, $0.entries, $0.total) = ([70], 1, 100, 100) }
        try await bench.storeDay()
        bench.source.set { ($0.missingRanks, $0.unreadable) = ([], 0) }
        let asked = bench.source.calls.count
        var (catalog, listing) = try await bench.open(Bench.key)
        #expect(listing.count == 99 && bench.source.calls.count == asked, "nothing new by the same version")
        await bench.close()

        bench.now += 86_400
        catalog = try bench.open(version: "2")
        bench.source.set { $0.failure = .unreachable("no route") }
        listing = try await catalog.listings.open(Bench.key)
        #expect(listing.count == 99 && !listing.isFrozen, "what is stored is shown, and not kept by the kernel")
        bench.source.set { $0.failure = nil }
        bench.now += Freshness.lateSeconds
        _ = try await catalog.listings.open(Bench.key)
        while try await catalog.listings.open(Bench.key) === listing { await Task.yield() }
        let (after, calls) = (try await catalog.listings.open(Bench.key), bench.source.calls.count)
        #expect(after.entries.map { Int($0.rank) } == Array(1...100) && after.isFrozen)
        await bench.close()
        #expect(try await bench.open(version: "3").listings.open(Bench.key).entries == after.entries)
        #expect(bench.source.calls.count == calls, "nothing is missing any more")
    }

    @Test func offlineTheStoredPartIsServedAndTheRestFails() async throws {
        let (first, _) = try await bench.open(Bench.key)
        _ = try await first.days.newest(of: .daily)
        bench.source.set { $0.failure = .unreachable("no route") }
        let (catalog, listing) = try await bench.reopen(Bench.key)
        #expect(try await listing.entries(reaching: 0).count == 50)
        await #expect(throws: Failure.unreachable("no route")) {
            try await listing.entries(reaching: 50)
        }
        await #expect(throws: Failure.unreachable("no route")) {
            try await catalog.listings.open(.ranking(.daily, Bench.day.advanced(by: -1)))
        }
        #expect(listing.entries.count == 50)
        #expect(try await catalog.days.newest(of: .daily) == Bench.day)
        bench.source.set { $0.failure = nil }
        #expect(try await listing.entries(reaching: .max).count == 500)
    }

    /// Semantics: "Unreachable never means deleted", where only the page behind the last one told that it is the last.
    @Test func anEndThatThePageBehindItToldIsKept() async throws {
        bench.source.set {
            ($0.total, $0.entries) = (nil, 100)
            $0.failures[.page(Bench.day, 2)] = .pastTheEnd
        }
        try await bench.storeDay()
        bench.source.set { $0.failure = .unreachable("no route") }
        let (_, listing) = try await bench.open(Bench.key)
        #expect(listing.isComplete)
        #expect(try await listing.entries(reaching: .max).count == 50)
    }

    /// The times of the folders that list what was opened.
    @Test func theTimeOfTheLastAdditionIsKept() async throws {
        bench.source.set { $0.hits = ["a": [1], "b": [2]] }
        let catalog = try bench.open()
        #expect(catalog.listings.changed(.search) == nil)
        for words in ["a", "b"] {
            bench.now += 100
            _ = try await catalog.listings.open(.search(words))
        }
        await catalog.close()
        let last = bench.now
        bench.now += 1000
        let restarted = try bench.open()
        #expect(restarted.listings.changed(.search) == last && restarted.listings.changed(.work) == nil)
    }

    @Test func aDamagedDatabaseIsSetAsideAndAskedAnew() async throws {
        try await bench.storeDay()
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: bench.database))
        try file.seek(toOffset: 4096)
        file.write(Data(repeating: 0xEE, count: 20_000))
        try file.close()
        let catalog = try bench.open()
        let events = bench.events
        guard case .databaseSetAside(let path, _) = events.first else {
            Issue.record("not reported: \(events)")
            return
        }
        #expect(path == bench.database + ".damaged-1")
        #expect(try await catalog.listings.open(Bench.key).entries(reaching: .max).count == 500)
    }

    @Test func aDatabaseThatCannotBeWrittenIsReportedOnceAndMemoryServes() async throws {
        let catalog = try bench.open()
        let other = try Connection(path: bench.database)
        try other.execute("DROP TABLE entries")
        other.close()
        let listing = try await catalog.listings.open(Bench.key)
        #expect(try await listing.entries(reaching: .max).count == 500)
        #expect(try await catalog.listings.record(of: listing.entries[0], in: listing).work.title == "Title 1")
        _ = try await catalog.listings.open(.ranking(.weekly, Bench.day)).entries(reaching: .max)
        await catalog.close()
        #expect(bench.events.count == 1)
        guard case .notStored = bench.events.first else {
            Issue.record("unexpected \(bench.events)")
            return
        }
    }

    @Test func aHoleInTheStoredRowsIsAskedAnewRatherThanShown() async throws {
        try await bench.storeDay()
        let connection = try Connection(path: bench.database)
        try connection.execute("DELETE FROM entries WHERE position BETWEEN 50 AND 99")
        connection.close()
        #expect(try await bench.open(Bench.key).listing.entries(reaching: .max).count == 500)
        #expect(bench.source.calls.count == 20)
    }

    @Test func droppedListingsComeBackFromTheDatabaseAndHeldOnesStay() async throws {
        try await bench.storeDay()
        let catalog = try bench.open()
        #expect(try await catalog.listings.open(Bench.key).entries.count == 500)
        let held = try await catalog.listings.open(.ranking(.weekly, Bench.day))
        let asked = bench.source.calls.count
        catalog.listings.drop()
        #expect(catalog.listings.loaded(held.key) === held)
        #expect(try await catalog.listings.open(Bench.key).entries.count == 500)
        #expect(bench.source.calls.count == asked)
        await catalog.close()
        #expect(catalog.status().storedListings == 2)
    }
}
