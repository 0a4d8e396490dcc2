import Catalog
import Rankings
import TestSupport
import Testing

/// Semantics: "Authors, searches and what was seen".
@Suite(.timeLimit(.minutes(1))) struct FollowingTests {
    let bench = Bench()
    let key = ListingKey.following(UserID(rawValue: 5))

    func authors(_ numbers: some Sequence<Int>) -> [NamedAuthor] {
        numbers.map { NamedAuthor(id: UserID(rawValue: Int64($0)), name: "N/\($0)") }
    }

    @Test func twoThousandAuthorsComePageByPage() async throws {
        bench.source.set { $0.followed = authors(1...2000) }
        let (_, listing) = try await bench.open(key)
        #expect(listing.entries.map(\.author) == authors(1...24))
        #expect(listing.entries[0].name == "1-N／1")
        #expect(bench.source.calls == [.followed(1)])
        #expect(try await listing.entries(reaching: .max).map(\.author) == authors(1...2000))
        #expect(listing.isComplete && !listing.isFrozen)
        #expect(bench.source.calls.count == 84)
        let restarted = try await bench.reopen()
        #expect(try await restarted.listings.open(key).entries == listing.entries)
        #expect(bench.source.calls.count == 84)
        #expect(restarted.listings.opened == [key], "followed, not listed")
    }

    @Test(arguments: [Rendition.regular, .original])
    func aSecondTryGoesOnWhereTheFirstOneEnded(rendition: Rendition) async throws {
        bench.source.set { state in
            state.followed = authors(1...240)
            state.failures = [.followed(6): .unreachable("cut")]
        }
        let view = ListingView(rendition: rendition, allPages: true)
        let (first, listing) = try await bench.open(key, view: view)
        await #expect(throws: Failure.unreachable("cut")) { try await listing.entries(reaching: .max) }
        #expect(listing.entries.count == 120)
        await first.close()
        let asked = bench.source.calls.count
        bench.source.set { $0.failures = [:] }
        let (_, again) = try await bench.open(key, view: view)
        #expect(again.entries.map(\.author) == authors(1...120) && !again.isComplete)
        #expect(bench.source.calls.count == asked, "what came is shown at once")
        #expect(try await again.entries(reaching: .max).map(\.author) == authors(1...240))
        #expect(Set(bench.source.calls[asked...]) == Set((6...10).map { FakeSource.Call.followed($0) }))
    }

    @Test func aNameIsLookedForOnThePagesToCome() async throws {
        bench.source.set { $0.followed = authors(1...100) }
        let (_, listing) = try await bench.open(key)
        #expect(try await listing.find(named: Array(".hidden".utf8)) == nil)
        #expect(bench.source.calls.count == 1)
        #expect(try await listing.find(named: Array("60-N／60".utf8)) == 59)
        #expect(try await listing.find(named: Array("60-Other".utf8)) == nil)
        #expect(listing.isComplete)
    }

    /// A catalog that has read the whole list, and whom it names.
    private func read(_ followed: ClosedRange<Int>) async throws -> Catalog {
        bench.source.set { $0.followed = authors(followed) }
        let catalog = try bench.open()
        _ = try await catalog.listings.open(key).entries(reaching: .max)
        return catalog
    }

    @Test func whoIsFollowedAnewComesInFrontAfterAnHour() async throws {
        let catalog = try await read(10...60)
        let asked = bench.source.calls.count
        bench.now += 3600
        bench.source.set { $0.followed = authors(8...60) }
        #expect(try await catalog.listings.open(key).entries.map(\.author) == authors(8...60))
        #expect(bench.source.calls.count == asked + 1)
        bench.now += 3600
        bench.source.set { $0.failure = .needsSignIn }
        #expect(try await catalog.listings.open(key).entries.map(\.author) == authors(8...60), "what is stored serves")
        await #expect(throws: Failure.needsSignIn) {
            try await catalog.listings.open(.following(UserID(rawValue: 6)))
        }
    }

    @Test(arguments: [[], [99]]) func whoIsFollowedNoLongerGoesOnceTheWholeListCameAgain(new: [Int]) async throws {
        let catalog = try await read(1...60)
        bench.now += 3600
        let followed = authors(new + Array(1...29) + Array(31...60))
        bench.source.set { $0.followed = followed }
        #expect(try await catalog.listings.open(key).entries.contains { $0.author.id.rawValue == 60 })
        while try await catalog.listings.open(key).entries.contains(where: { $0.author.id.rawValue == 30 }) {
            await Task.yield()
        }
        #expect(try await catalog.listings.open(key).entries.map(\.author) == followed)
        #expect(try await bench.reopen(key).listing.entries.count == followed.count)
    }

    @Test func whileTheWholeListCannotComeNobodyGoes() async throws {
        let catalog = try await read(1...60)
        let asked = bench.source.calls.count
        bench.now += 3600
        bench.source.set { state in
            state.followed = authors(2...60)
            state.failures = [.followed(3): .timedOut]
        }
        #expect(try await catalog.listings.open(key).entries.count == 60)
        await bench.source.waitForCalls(asked + 3)
        #expect(try await bench.reopen(key).listing.entries.count == 60)
    }

    @Test func whoFollowsNobodyHasAnEmptyList() async throws {
        let (catalog, listing) = try await bench.open(key)
        #expect(listing.isComplete && listing.entries.isEmpty)
        #expect(catalog.listings.isKnownAbsent(.following(UserID(rawValue: 0))))
    }
}
