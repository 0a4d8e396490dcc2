import Catalog
import Rankings
import TestSupport
import Testing

/// Many tasks on one catalog at once: meant for the thread sanitizer, and for what must hold in any order.
@Suite(.timeLimit(.minutes(1))) struct StressTests {
    let bench = Bench()

    @Test func readersFindersSizesAndRefreshesTogether() async throws {
        let author = ListingKey.author(Bench.author)
        bench.source.set { $0.works[Bench.author] = (1...350).reversed().map { WorkID(rawValue: $0) } }
        let catalog = try bench.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let key = number % 4 == 0 ? author : .ranking(.everyone(number), Bench.day)
                    let listing = try await catalog.listings.open(key)
                    let entries = try await listing.entries(reaching: number * 12)
                    #expect(Set(entries.map(\.name)).count == entries.count)
                    for (index, entry) in entries.enumerated() {
                        if index % 3 == 0 { catalog.sizes.set(Int64(index + 1), of: entry.picture) }
                        if index % 7 == 0 { _ = listing.index(named: Array(entry.name.utf8)) }
                    }
                    _ = try await catalog.listings.record(of: entries[0], in: listing)
                    if number % 5 == 0 { catalog.listings.drop() }
                    if number % 9 == 0 { bench.now += 6 * 3600 }
                    _ = catalog.status()
                    _ = catalog.days.listed(of: .daily)
                }
            }
            try await group.waitForAll()
        }
        let listing = try await catalog.listings.open(author)
        #expect(try await listing.entries(reaching: .max).count == 350)
        let facts = RestartTests.facts(listing)
        await catalog.close()
        #expect(bench.events.isEmpty)
        let (_, stored) = try await bench.open(author)
        #expect(RestartTests.facts(stored) == facts)
    }

    @Test func closingInTheMiddleFreesEveryWaiter() async throws {
        let (catalog, listing) = try await bench.open(Bench.key)
        bench.source.set { $0.isHeld = true }
        let readers = (0..<20).map { index in Task { try await listing.entries(reaching: 60 + index) } }
        let sizes = (0..<20).map { index in Task { try await listing.resolveSize(at: index, wholeListing: false) } }
        await bench.source.waitForCalls(10)
        await bench.transport.waitForRequests(20)
        await catalog.close()
        for reader in readers { await #expect(throws: Failure.self) { try await reader.value } }
        for size in sizes { await #expect(throws: Failure.cancelled) { try await size.value } }
    }

    @Test func whoAsksAfterTheCloseIsAnswered() async throws {
        let (catalog, listing) = try await bench.open(Bench.key)
        await catalog.close()
        await #expect(throws: Failure.cancelled) { try await listing.entries(reaching: .max) }
        await #expect(throws: Failure.cancelled) {
            try await listing.resolveSize(at: 0, wholeListing: true)
        }
    }
}

extension RankingMode {
    static func everyone(_ number: Int) -> RankingMode { everyone[number % everyone.count] }
}
