import Rankings
import Testing

@testable import Catalog

/// Related works: the first answer names all of them, and another day's answer takes the place of the whole list.
@Suite(.timeLimit(.minutes(1))) struct SnapshotTests {
    let bench = Bench()
    let key = ListingKey(.related, 9)

    private func relate(_ numbers: some Sequence<Int64>) {
        bench.source.set { $0.related[WorkID(rawValue: 9)] = Array(numbers) }
    }

    private func works(_ listing: Listing) -> [Int64] { listing.entries.map(\.picture.work.rawValue) }

    @Test func recordsOfTheFirstAnswerAreNotRequestedAgain() async throws {
        relate([50, 3, 70] + (101...137))
        let (_, listing) = try await bench.open(key)
        #expect(works(listing) == [50, 3, 70] + (101...115) && bench.source.calls == [.related(key.work)])
        _ = try await listing.entries(reaching: .max)
        #expect(works(listing) == [50, 3, 70] + (101...137) && listing.isComplete)
        #expect(
            Set(bench.source.calls.dropFirst()) == [
                .works(18, first: WorkID(rawValue: 116)), .works(4, first: WorkID(rawValue: 134)),
            ])
    }

    @Test func anotherDaysListReplacesItOnceAllOfItHasCome() async throws {
        relate(1...40)
        let (catalog, first) = try await bench.open(key)
        _ = try await first.entries(reaching: .max)
        bench.now += 86_399
        #expect(try await catalog.listings.open(key) === first)
        bench.now += 1
        relate((21...60).reversed())
        bench.source.set { $0.isHeld = true }
        async let opened = catalog.listings.open(key)
        bench.source.release(.related(key.work))
        let shown = try await opened
        #expect(works(shown) == Array(1...40), "until then the list of the day before is shown")
        bench.source.releaseAll()
        while catalog.listings.memory[StoredKey(listing: key)] === shown { await Task.yield() }
        let second = try await catalog.listings.open(key)
        #expect(works(second) == (21...60).reversed() && second.isComplete)
        #expect(works(first) == Array(1...40), "an open directory keeps its version")
        let restarted = try await bench.reopen()
        #expect(works(try await restarted.listings.open(key)) == (21...60).reversed())
    }

    @Test func noAnswerAndAnEmptyOneLeaveWhatIsStored() async throws {
        relate(1...10)
        let (catalog, _) = try await bench.open(key)
        bench.now += 86_400
        relate([])
        #expect(works(try await catalog.listings.open(key)) == Array(1...10))
        bench.now += 86_400
        bench.source.set { $0.failure = .unreachable("no route") }
        #expect(works(try await catalog.listings.open(key)) == Array(1...10))
    }

    @Test func aRefreshReplacesItAtOnce() async throws {
        relate(1...10)
        let (catalog, _) = try await bench.open(key)
        relate([7, 30])
        try await catalog.listings.refresh(key)
        #expect(works(try await catalog.listings.open(key)) == [7, 30])
    }
}
