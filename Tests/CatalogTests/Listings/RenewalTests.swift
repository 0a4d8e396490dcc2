import Rankings
import Testing

@testable import Catalog

/// What another answer changes in a stored list besides its beginning: works that are shown again, and places that others take.
@Suite(.timeLimit(.minutes(1))) struct RenewalTests {
    let bench = Bench()

    /// Answers with one page of these works, under their ranks if the kind has some.
    private func answer(_ key: ListingKey, _ works: [(rank: Int, work: Work)]) {
        let entries = works.map { ListedWork(rank: key.isRanked ? $0.rank : nil, previousRank: nil, work: $0.work) }
        bench.source.set { $0.pages[key] = [.success(ListingPage(entries: entries, hasNext: false))] }
    }

    private func answer(_ key: ListingKey, ranked works: KeyValuePairs<Int, Int64>) {
        answer(key, works.map { ($0.key, FakeSource.work($0.value, title: "T")) })
    }

    /// The ranks and the works of a listing once another object has taken the place of an older one.
    private func renewed(_ before: Listing, in catalog: Catalog) async throws -> [String] {
        // One that ends only now leaves this one to the next who opens the list.
        while catalog.listings.memory[before.stored] === before {
            _ = try await catalog.listings.open(before.key)
            await Task.yield()
        }
        return try await works(catalog.listings.open(before.key))
    }

    private func works(_ listing: Listing) -> [String] {
        listing.entries.map { "\($0.rank) \($0.picture.work.rawValue)" }
    }

    @Test(arguments: [
        ListingKind.bookmarks, .bookmarksPrivate, .bookmarkTag, .authorTag, .search, .feed, .series, .favorites, .pool,
    ])
    func aWithheldWorkThatIsShownAgainTakesItsPlace(kind: ListingKind) async throws {
        let key = ListingKey.sample(kind)
        func answer(withheld: Int64?) {
            let works: [Int64] = kind.facts.order == .ranked ? [1, 2, 3] : [3, 2, 1]
            self.answer(
                key,
                works.map { number in
                    let isWithheld = number == withheld
                    return (
                        Int(number),
                        isWithheld ? FakeSource.withheldWork(number) : FakeSource.work(number, title: "Shown")
                    )
                })
        }
        for isAsked in [true, false] {
            answer(withheld: 2)
            let (catalog, before) = try await bench.open(key)
            #expect(before.entries.map(\.isWithheld) == [false, true, false])
            answer(withheld: nil)
            if isAsked {
                try await catalog.listings.refresh(key)
            } else {
                bench.now += 86_400
                _ = try await catalog.listings.open(key)
            }
            _ = try await renewed(before, in: catalog)
            let after = try await catalog.listings.open(key)
            #expect(after.entries.map(\.picture.work) == before.entries.map(\.picture.work))
            #expect(after.entries.allSatisfy { !$0.isWithheld && $0.name.contains("Shown") } && after.isComplete)
            #expect(try await catalog.listings.record(of: after.entries[1], in: after).work.withheld == nil)
            let restarted = try await bench.reopen()
            #expect(try await restarted.listings.open(key).entries == after.entries)
            // What is withheld later stays.
            bench.now += 86_400
            answer(withheld: 3)
            if kind != .pool, kind != .series {
                #expect(try await restarted.listings.open(key).entries == after.entries)
            }
            restarted.listings.forget(key)
            await restarted.close()
        }
    }

    // MARK: - Refresh

    /// What was stored stays until all of the new answer has come, as far as the list was read before.
    @Test(arguments: [ListingKind.pool, .hot, .series])
    func aRefreshThatIsNotAnsweredToItsEndLosesNothing(kind: ListingKind) async throws {
        let key = ListingKey.sample(kind)
        let isRising = key.kind.facts.order != .lastFirst
        func page(_ works: ClosedRange<Int64>, _ title: String, hasNext: Bool) -> Result<ListingPage, Failure> {
            .page(key, isRising ? Array(works) : works.reversed(), title: title, hasNext: hasNext)
        }
        let (first, second): (ClosedRange<Int64>, ClosedRange<Int64>) = isRising ? (1...50, 51...80) : (31...80, 1...30)
        bench.source.set {
            $0.pages[key] = [page(first, "Old", hasNext: true), page(second, "Old", hasNext: false)]
        }
        let (catalog, before) = try await bench.open(key)
        #expect(try await before.entries(reaching: .max).count == 80)
        bench.source.set { $0.pages[key] = [page(first, "New", hasNext: true), .failure(.unreachable("away"))] }
        await #expect(throws: Failure.self) { try await catalog.listings.refresh(key) }
        #expect(try await catalog.listings.open(key) === before)
        bench.source.set {
            $0.pages[key] = [page(first, "New", hasNext: true), page(second, "New", hasNext: false)]
        }
        try await catalog.listings.refresh(key)
        let after = try await catalog.listings.open(key)
        #expect(after.count == 80 && after.isComplete && after.entries.allSatisfy { $0.name.contains("New") })
    }

    /// What is not shown to this reader may fill a page, which is no sign of the end.
    @Test func anEmptyPageBetweenOthersEndsNoRefresh() async throws {
        let key = ListingKey.sample(.pool)
        bench.source.set {
            $0.pages[key] = [.page(key, 1...20, hasNext: true), .page(key, [], hasNext: true), .page(key, 41...60)]
        }
        let catalog = try bench.open()
        #expect(try await catalog.listings.open(key).entries(reaching: .max).count == 40)
        try await catalog.listings.refresh(key)
        let after = try await catalog.listings.open(key)
        #expect(after.count == 40 && after.isComplete)
    }

    /// A hole or a false end that was stored once.
    @Test(arguments: [ListingKind.search, .bookmarks, .bookmarkTag, .authorTag, .artist, .favorites, .feed])
    func aRefreshPutsWhatIsMissingInItsPlace(kind: ListingKind) async throws {
        let key = ListingKey.sample(kind)
        typealias Answer = Result<ListingPage, Failure>
        let (first, second, third): (Answer, Answer, Answer) = (
            .page(key, [9, 8, 7], hasNext: true), .page(key, [6, 5, 4], hasNext: true),
            .page(key, [3, 2, 1], hasNext: false)
        )
        for stored in [[first, third], [.page(key, [9, 8, 7], hasNext: false)]] as [[Answer]] {
            bench.source.set { $0.pages[key] = stored }
            let (catalog, before) = try await bench.open(key)
            _ = try await before.entries(reaching: .max)
            #expect(before.isComplete)
            bench.source.set { $0.pages[key] = [first, second, .failure(.unreachable("away"))] }
            await #expect(throws: Failure.unreachable("away")) { try await catalog.listings.refresh(key) }
            #expect(try await catalog.listings.open(key) === before)
            // One is no longer there, and stays.
            bench.source.set { $0.pages[key] = [.page(key, [10, 9, 7], hasNext: true), second, third] }
            try await catalog.listings.refresh(key)
            let after = try await catalog.listings.open(key)
            #expect(after.entries.map(\.picture.work.rawValue) == (1...10).reversed() && after.isComplete)
            try await catalog.listings.refresh(key)
            #expect(try await catalog.listings.open(key) === after, "nothing is missing")
            let restarted = try await bench.reopen()
            #expect(try await restarted.listings.open(key).entries == after.entries)
            restarted.listings.forget(key)
            await restarted.close()
        }
    }

    /// An empty page after a full one may be an answer that failed.
    @Test(arguments: [ListingKind.pool, .series]) func aShorterEndIsBelievedOnceItHasComeAgain(
        kind: ListingKind
    ) async throws {
        let key = ListingKey.sample(kind)
        let isRising = kind.facts.order == .ranked
        func numbers(_ numbers: ClosedRange<Int64>) -> [Int64] { isRising ? Array(numbers) : numbers.reversed() }
        let (first, second) = isRising ? (numbers(1...3), numbers(4...6)) : (numbers(4...6), numbers(1...3))
        bench.source.set { $0.pages[key] = [.page(key, first, hasNext: true), .page(key, second, hasNext: false)] }
        let (catalog, before) = try await bench.open(key)
        #expect(try await before.entries(reaching: .max).count == 6)
        bench.source.set { $0.pages[key] = [.page(key, first, hasNext: true)] }
        for _ in 1...2 {
            await #expect(throws: Failure.missing(2)) { try await catalog.listings.refresh(key) }
            #expect(try await catalog.listings.open(key) === before)
        }
        bench.now += 3600
        try await catalog.listings.refresh(key)
        #expect(try await catalog.listings.open(key).entries.map(\.picture.work.rawValue) == first)
        // A last page that calls itself so is believed at once.
        bench.source.set { $0.pages[key] = [.page(key, Array(first.prefix(2)), hasNext: false)] }
        try await catalog.listings.refresh(key)
        #expect(try await catalog.listings.open(key).count == 2)
    }

    // MARK: - Series

    private let series = ListingKey(.series, 5)

    @Test(
        arguments: [
            // A chapter is inserted, deleted, exchanged with another, and uploaded in the place of the last one.
            ([4: 103, 3: 102, 2: 104, 1: 101], ["4 103", "3 102", "2 104", "1 101"]),
            ([2: 103, 1: 101], ["2 103", "1 101"]), ([3: 102, 2: 103, 1: 101], ["3 102", "2 103", "1 101"]),
            ([3: 105, 2: 102, 1: 101], ["3 105", "2 102", "1 101"]),
        ] as [(KeyValuePairs<Int, Int64>, [String])])
    func aSeriesThatIsRenumberedIsReadAnew(works: KeyValuePairs<Int, Int64>, expected: [String]) async throws {
        for isAsked in [true, false] {
            answer(series, ranked: [3: 103, 2: 102, 1: 101])
            let (catalog, before) = try await bench.open(series)
            answer(series, ranked: works)
            if isAsked {
                try await catalog.listings.refresh(series)
            } else {
                bench.now += 86_400
                #expect(try await catalog.listings.open(series) === before, "shown until all of it has come")
            }
            #expect(try await renewed(before, in: catalog) == expected)
            let restarted = try await bench.reopen()
            #expect(try await self.works(restarted.listings.open(series)) == expected)
            restarted.listings.forget(series)
            await restarted.close()
        }
    }

    @Test func newWorksOfASeriesAreJoined() async throws {
        answer(series, ranked: [3: 103, 2: 102, 1: 101])
        let (catalog, _) = try await bench.open(series)
        bench.now += 86_400
        // The page that is compared holds the last ones only.
        answer(series, ranked: [4: 90, 3: 103])
        #expect(try await works(catalog.listings.open(series)) == ["4 90", "3 103", "2 102", "1 101"])
    }

    // MARK: - Pools

    @Test(arguments: [ListingKind.pool, .favoriteGroup])
    func aPostThatIsTakenOutOfAPoolGoes(kind: ListingKind) async throws {
        let key = ListingKey.sample(kind)
        answer(key, ranked: [1: 11, 2: 12, 3: 13])
        let catalog = try bench.open()
        var listing = try await catalog.listings.open(key)
        for (works, expected) in [
            ([1: 11, 2: 13], ["1 11", "2 13"]), ([1: 11], ["1 11"]), ([2: 11], ["2 11"]),
        ] as [(KeyValuePairs<Int, Int64>, [String])] {
            answer(key, ranked: works)
            bench.now += 86_400
            #expect(try await catalog.listings.open(key) === listing)
            #expect(try await renewed(listing, in: catalog) == expected)
            listing = try await catalog.listings.open(key)
        }
        bench.now += 86_400
        let now = bench.now
        while listing.state.withLock({ $0.fetched }) != now {
            #expect(try await catalog.listings.open(key) === listing, "the same list leaves it as it is")
            await Task.yield()
        }
    }
}
