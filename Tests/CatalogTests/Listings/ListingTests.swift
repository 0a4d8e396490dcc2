import Catalog
import HTTP
import Rankings
import Testing

@Suite(.timeLimit(.minutes(1))) struct ListingTests {
    let bench = Bench()

    @Test func openingAsksOnePageAndReadingTheRestAtOnce() async throws {
        let (_, listing) = try await bench.open(Bench.key)
        #expect(bench.source.calls == [.page(Bench.day, 1)])
        #expect(listing.entries.count == 50)
        bench.source.set { $0.isHeld = true }
        #expect(try await listing.entries(reaching: 0).count == 50)
        await bench.source.waitForCalls(2)
        #expect(bench.source.calls.last == .page(Bench.day, 2))
        async let more = listing.entries(reaching: 50)
        await bench.source.waitForCalls(10)
        #expect(Set(bench.source.calls.dropFirst(2)) == Set((3...10).map { .page(Bench.day, $0) }))
        bench.source.release(.page(Bench.day, 3))
        bench.source.release(.page(Bench.day, 2))
        #expect(try await more.count >= 100)
        bench.source.releaseAll()
        let all = try await listing.entries(reaching: .max)
        #expect(all.map(\.rank) == Array(1...500).map(Int32.init))
        #expect(all[0].name == "001-Title 1.jpg")
        #expect(listing.isComplete && !listing.isFrozen)
        #expect(bench.source.calls.count == 10)
    }

    @Test func gapsStayGapsAndNamesAreFoundWhileTheyMayStillCome() async throws {
        bench.source.set { $0.missingRanks = [36] }
        let (_, listing) = try await bench.open(Bench.key)
        #expect(listing.entries.count == 49)
        #expect(try await listing.find(named: Array("036-Title 36.jpg".utf8)) == nil)
        #expect(try await listing.find(named: Array(".hidden".utf8)) == nil)
        #expect(try await listing.find(named: Array("99999-x.jpg".utf8)) == nil)
        #expect(bench.source.calls.count == 1, "none of them can be on a further page")
        #expect(try await listing.find(named: Array("500-Title 500.jpg".utf8)) == 498)
        #expect(try await listing.find(named: Array("501-Title.jpg".utf8)) == nil)
        #expect(bench.source.calls.count == 10)
    }

    @Test func aRankingThatMovesWhileItIsReadKeepsNamesUnique() async throws {
        bench.source.set { $0.shift = 2 }
        let catalog = try bench.open()
        let entries = try await catalog.listings.open(Bench.key).entries(reaching: .max)
        #expect(entries.count == 498)
        #expect(Set(entries.map(\.name)).count == 498)
        #expect(Set(entries.map(\.picture.work)).count == 498)
    }

    @Test func aFailedPageFailsItsWaitersOnlyAndIsAskedAgain() async throws {
        bench.source.set { $0.failures[.page(Bench.day, 3)] = .unreachable("no route") }
        let (_, listing) = try await bench.open(Bench.key)
        #expect(try await listing.entries(reaching: 60).count >= 100)
        await #expect(throws: Failure.unreachable("no route")) {
            try await listing.entries(reaching: 120)
        }
        #expect(listing.entries.count == 100)
        bench.source.set { $0.failures = [:] }
        #expect(try await listing.entries(reaching: 499).count == 500)
        #expect(Set(listing.entries.map(\.name)).count == 500)
    }

    @Test func aCancelledReaderLeavesAndThePageIsKept() async throws {
        let (_, listing) = try await bench.open(Bench.key)
        bench.source.set { $0.isHeld = true }
        let reader = Task { try await listing.entries(reaching: 70) }
        await bench.source.waitForCalls(10)
        reader.cancel()
        await #expect(throws: Failure.cancelled) { try await reader.value }
        bench.source.releaseAll()
        #expect(try await listing.entries(reaching: 499).count == 500)
        #expect(bench.source.calls.count == 10)
    }

    /// Returns once somebody waits.
    private func waitUntilRaised(_ urgency: Urgency) async {
        let (raised, continuation) = AsyncStream<Void>.makeStream()
        await urgency.whileFollowed(by: { if $0 == .reader { continuation.finish() } }) { for await _ in raised {} }
    }

    @Test func aPersonWhoOpensWhatAWalkAskedForRaisesItsPages() async throws {
        let catalog = try bench.open()
        bench.source.set { $0.isHeld = true }
        let walk = Task {
            try await RequestUrgency.$isBackground.withValue(true) {
                try await catalog.listings.open(Bench.key).entries(reaching: .max).count
            }
        }
        await bench.source.waitForCalls(1)
        let first = try #require(bench.source.urgencies[.page(Bench.day, 1)])
        #expect(first.priority == .walk)
        let person = Task { try await catalog.listings.open(Bench.key) }
        await waitUntilRaised(first)
        bench.source.release(.page(Bench.day, 1))
        let listing = try await person.value
        await bench.source.waitForCalls(10)
        let pages = try (2...10).map { try #require(bench.source.urgencies[.page(Bench.day, $0)]) }
        // The walk waits for the next one.
        #expect(pages.map(\.priority) == [.walk] + (3...10).map { _ in .preload })
        // Its first entries are there, so that it waits for none of the others.
        _ = try await listing.entries(reaching: 0)
        #expect(pages.allSatisfy { $0.priority == .shown })
        bench.source.release(.page(Bench.day, 2))
        while listing.count < 100 { await Task.yield() }
        #expect(pages.dropFirst().map(\.priority).prefix(2) == [.shown, .shown])
        let next = Task { try await listing.entries(reaching: 100) }
        await waitUntilRaised(pages[1])
        #expect(pages[2].priority == .shown)
        bench.source.releaseAll()
        #expect(try await walk.value == 500)
        _ = try await next.value
    }

    @Test func whoWaitsIsAPersonWhoeverAskedForThePageBefore() async throws {
        bench.source.set { $0.total = nil }
        let (_, listing) = try await bench.open(Bench.key)
        bench.source.set { $0.isHeld = true }
        let walk = Task {
            try await RequestUrgency.$isBackground.withValue(true) { try await listing.entries(reaching: 60) }
        }
        await bench.source.waitForCalls(2)
        let second = try #require(bench.source.urgencies[.page(Bench.day, 2)])
        let person = Task { try await listing.entries(reaching: .max).count }
        await waitUntilRaised(second)
        bench.source.releaseAll()
        #expect(try await person.value == 500)
        _ = try await walk.value
        #expect((bench.source.urgencies[.page(Bench.day, 10)]?.priority ?? .preload) >= .shown)
    }

    @Test func theLastOneToLeaveAnUnopenedListingCancelsItsRequest() async throws {
        let catalog = try bench.open()
        bench.source.set { $0.isHeld = true }
        let readers = (0..<3).map { _ in Task { try await catalog.listings.open(Bench.key) } }
        await bench.source.waitForCalls(1)
        for reader in readers { reader.cancel() }
        for reader in readers { await #expect(throws: Failure.cancelled) { try await reader.value } }
        bench.source.releaseAll()
        #expect(try await catalog.listings.open(Bench.key).entries.count == 50)
    }
}
