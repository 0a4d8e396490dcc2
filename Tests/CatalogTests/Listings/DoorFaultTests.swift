import Rankings
import Testing

@testable import Catalog

/// Answers that fail, over each kind of listing: never an empty directory, never gone, and nothing stored is lost.
@Suite(.timeLimit(.minutes(1))) struct DoorFaultTests {
    let bench = Bench()

    static let kinds = ListingKind.allCases.filter { ![.ranking, .work].contains($0) }

    static let failures: [Failure] = [
        .notFound, .gone, .pastTheEnd, .notPublished, .needsSignIn, .withheld("x"), .refused("x"), .notTaken("x"),
        .unreadable("x"),
        .limited(retryAfter: nil), .limited(retryAfter: 5), .turnedAway("x"), .troubled("x"), .answered(status: 500),
        .unreachable("x"), .timedOut, .broken("x"), .untrusted("x"), .redirectRefused("x"), .invalidAnswer("x"),
        .tooLarge,
        .offline,
    ]

    private func page(_ key: ListingKey, _ numbers: [Int64], hasNext: Bool = false) -> Result<ListingPage, Failure> {
        if key.listsNames {
            let named = numbers.map { NamedAuthor(id: UserID(rawValue: $0), name: "N\($0)") }
            return .success(ListingPage(authors: named, total: nil, hasNext: hasNext))
        }
        return .page(key, numbers, hasNext: hasNext)
    }

    private func answer(_ key: ListingKey, _ pages: Result<ListingPage, Failure>...) {
        bench.source.set { $0.pages[key] = pages }
    }

    private func shown(_ key: ListingKey, _ catalog: Catalog) async throws(Failure) -> Set<Int64> {
        Set(try await catalog.listings.open(key).entries(reaching: .max).map(\.picture.work.rawValue))
    }

    @Test(arguments: kinds.filter { $0.facts.most > 1 && !$0.facts.isIndexed })
    func aLaterPageThatFailsIsNoEnd(kind: ListingKind) async throws {
        let key = ListingKey.sample(kind)
        let catalog = try bench.open()
        let first = page(key, [6, 5, 4], hasNext: true)
        for failure in Self.failures where failure != .pastTheEnd {
            answer(key, first, .failure(failure))
            await #expect(throws: failure.ofPage(2)) { _ = try await shown(key, catalog) }
        }
        #expect(try await !catalog.listings.open(key).isComplete)
        if !key.kind.facts.repeatsLastPage {
            answer(key, first, first, page(key, [3]))
            await #expect(throws: Failure.self, "the same page") { _ = try await shown(key, catalog) }
        }
        answer(key, first, page(key, [9, 8, 7]))
        #expect(try await shown(key, catalog) == [4, 5, 6, 7, 8, 9])
    }

    /// The page before once more is the end only of a list that has no other sign of one, whatever else its pages lack.
    @Test(arguments: [ListingKind.search, .authorTag, .artist]) func aRepeatedPageIsNoEnd(
        kind: ListingKind
    ) async throws {
        let key = ListingKey.sample(kind)
        let catalog = try bench.open()
        func page(_ numbers: [Int64], total: Int?, last: Int?) -> Result<ListingPage, Failure> {
            .success(
                ListingPage(
                    works: numbers.map { FakeSource.work($0, title: "T") }, total: total, hasNext: true, lastPage: last)
            )
        }
        let end = self.page(key, [3])
        for (total, last) in [(6, nil), (nil, 3), (nil, nil)] as [(Int?, Int?)] {
            let (first, second) = (page([9, 8], total: total, last: last), page([6, 5], total: total, last: last))
            answer(key, first, first, end)
            await #expect(throws: Failure.repeated(2)) { _ = try await shown(key, catalog) }
            answer(key, first, second, end)
            #expect(try await shown(key, catalog) == [3, 5, 6, 8, 9])
            catalog.listings.forget(key)
        }
    }

    /// A hole that was stored so would stay for good.
    @Test(arguments: [ListingKind.search, .bookmarks, .authorTag, .artist])
    func aRepeatedPageIsNoneAfterARestartEither(kind: ListingKind) async throws {
        let key = ListingKey.sample(kind)
        let size = Int64(bench.source.description.entries(of: kind))
        func page(_ number: Int64) -> Result<ListingPage, Failure> {
            let first = 10_000 - (number - 1) * size
            return self.page(key, Array((first - size + 1...first).reversed()), hasNext: number < 4)
        }
        answer(key, page(1), page(2), page(2), page(4))
        for _ in 1...2 {
            let catalog = try bench.open()
            await #expect(throws: Failure.repeated(3)) { _ = try await shown(key, catalog) }
            await catalog.close()
        }
        answer(key, page(1), page(2), page(3), page(4))
        let catalog = try bench.open()
        #expect(try await shown(key, catalog).count == Int(4 * size))
    }

    /// A list whose length is known costs no request beyond its end.
    @Test(arguments: [ListingKind.search, .authorTag, .bookmarks, .series, .pool, .following])
    func noPageBehindTheLastOneIsRequested(kind: ListingKind) async throws {
        let catalog = try bench.open()
        let pages = catalog.listings.pageFactory.pages(of: .sample(kind))
        let size = pages.window.perPage
        func last(total: Int?, _ last: Int? = nil) throws -> Int? {
            let works = [FakeSource.work(9, title: "T")]
            let page = ListingPage(works: works, total: total, hasNext: total ?? .max > size, lastPage: last)
            return try pages.content(of: page, number: 1).last
        }
        #expect(try last(total: 1) == 1 && last(total: size) == 1)
        #expect(try last(total: size + 1) == 2 && last(total: 2 * size) == 2 && last(total: 2 * size + 1) == 3)
        #expect(try last(total: nil) == nil && last(total: 9 * size, 2) == 2)
    }

    /// A day that was stored so would lack ranks for good.
    @Test(arguments: [true, false]) func aRankingIsNotOverWhereItLeadsOn(isCounted: Bool) async throws {
        func page(_ number: Int, hasNext: Bool = true, total: Int? = 200) -> Result<ListingPage, Failure> {
            let ranks = (number - 1) * 50 + 1...number * 50
            let works = ranks.map {
                ListedWork(rank: $0, previousRank: nil, work: FakeSource.work(Int64($0), title: "T"))
            }
            return .success(ListingPage(entries: works, day: Bench.day, total: total, hasNext: hasNext))
        }
        let catalog = try bench.open()
        let total = isCounted ? 200 : 50
        let (one, two, last) = (page(1, total: total), page(2, total: total), page(4, hasNext: false, total: total))
        answer(Bench.key, one, two, .failure(.pastTheEnd), last)
        for _ in 1...2 {
            await #expect(throws: Failure.unreadable("page 3 is missing, and the list goes on")) {
                _ = try await shown(Bench.key, catalog)
            }
        }
        #expect(try await !catalog.listings.open(Bench.key).isComplete)
        answer(Bench.key, one, two, page(3, total: total), last)
        #expect(try await shown(Bench.key, catalog).count == 200)
        #expect(try await catalog.listings.open(Bench.key).isComplete)
        // Read anew, it keeps what it has.
        answer(Bench.key, one, two, .failure(.pastTheEnd), last)
        await #expect(throws: Failure.self) { try await catalog.listings.refresh(Bench.key) }
        #expect(try await shown(Bench.key, catalog).count == 200)
        // Its own word is the end, whatever it counts.
        catalog.listings.forget(Bench.key)
        answer(Bench.key, one, page(2, hasNext: false, total: total))
        let anew = try await shown(Bench.key, catalog)
        #expect(anew.count == 100)
    }

    /// A first page alone may be all that there is; that the second one is missing is believed of no mount but the present one.
    @Test(arguments: [200, 50])
    func aRankingOfWhichOnlyTheFirstPageComesIsRequestedAgainAtEachMount(total: Int) async throws {
        let works = (1...51).map {
            ListedWork(rank: $0, previousRank: nil, work: FakeSource.work(Int64($0), title: "T"))
        }
        let first = ListingPage(entries: Array(works[..<50]), day: Bench.day, total: total, hasNext: true)
        let second = ListingPage(entries: [works[50]], day: Bench.day, total: total, hasNext: false)
        for mount in 1...3 {
            answer(Bench.key, .success(first), .failure(.pastTheEnd))
            let catalog = try bench.open()
            #expect(try await shown(Bench.key, catalog).count == 50, "\(mount)")
            #expect(try await catalog.listings.open(Bench.key).isComplete)
            await catalog.close()
        }
        answer(Bench.key, .success(first), .success(second))
        let catalog = try bench.open()
        #expect(try await shown(Bench.key, catalog).count == 51)
    }

    /// ENOENT would be taken for the end of the directory, and a copy's `--delete` for works that are gone.
    @Test func onlyAFirstPageCanBeAbsent() {
        let absent: [Failure] = [.absent, .notFound, .gone, .notPublished]
        for failure in Self.failures + absent {
            let isChanged = failure.ofPage(2) != failure
            #expect(isChanged == absent.contains(failure), "\(failure)")
            if isChanged, case .unreadable = failure.ofPage(2) { continue }
            #expect(!isChanged, "\(failure)")
        }
    }

    /// The service names a list and shows nobody a work of it: that is no empty list.
    @Test(arguments: kinds.filter { $0.facts.most > 1 && !$0.facts.isIndexed })
    func aListOfWhichNothingIsShownIsNoEmptyOne(kind: ListingKind) async throws {
        let key = ListingKey.sample(kind)
        let catalog = try bench.open()
        let (more, last) = (page(key, [], hasNext: true), page(key, []))
        for pages in [[more, last], [more, more, last], [more]] {
            bench.source.set { $0.pages[key] = pages }
            await #expect(throws: Failure.self) { _ = try await shown(key, catalog) }
            catalog.listings.forget(key)
        }
        answer(key, more, page(key, [3, 2]))
        #expect(try await shown(key, catalog) == [2, 3])
    }

    /// A collection of texts is there and has no pictures; of other lists an empty answer means that there is none.
    @Test func anEmptyCollectionIsThere() async throws {
        let catalog = try bench.open()
        let (collection, series) = (ListingKey.sample(.collection), ListingKey.sample(.series))
        for key in [collection, series] { answer(key, page(key, [])) }
        #expect(try await shown(collection, catalog) == [])
        #expect(!catalog.listings.isKnownAbsent(collection) && catalog.listings.isStored(collection))
        await #expect(throws: Failure.absent) { _ = try await shown(series, catalog) }
    }

    /// The first names of a listing decide how wide its numbers are, and stay when it grows.
    @Test func numbersAreAsWideAsTheLastOne() async throws {
        let key = ListingKey.sample(.pool)
        func page(_ ranks: [Int64], total: Int?, hasNext: Bool) -> Result<ListingPage, Failure> {
            .page(key, ranks, total: total, hasNext: hasNext)
        }
        var catalog = try bench.open()
        func names() async throws -> [String] {
            try await catalog.listings.open(key).entries(reaching: .max).map(\.name)
        }
        for (total, first) in [(1001, "0001-T.jpg"), (999, "001-T.jpg"), (nil, "001-T.jpg")] as [(Int?, String)] {
            answer(key, page([1], total: total, hasNext: true), page([1001], total: total, hasNext: false))
            #expect(try await names() == [first, "1001-T.jpg"])
            answer(key, page([1, 2], total: 1002, hasNext: true), page([1001], total: 1002, hasNext: false))
            try await catalog.listings.refresh(key)
            #expect(try await names() == [first, first.replacing("1-", with: "2-"), "1001-T.jpg"])
            catalog = try await bench.reopen()
            answer(key, page([1, 3], total: 10_001, hasNext: true), page([1001], total: 10_001, hasNext: false))
            try await catalog.listings.refresh(key)
            #expect(try await names() == [first, first.replacing("1-", with: "3-"), "1001-T.jpg"])
            catalog.listings.forget(key)
        }
        // No service has so many.
        answer(key, page([1], total: 1_000_000_000, hasNext: false))
        let most = bench.source.description.entries(of: .pool) * ListingKind.pool.facts.most
        #expect(try await names() == [String(repeating: "0", count: "\(most)".count - 1) + "1-T.jpg"])
        let series = ListingKey.sample(.series)
        answer(series, page([1001], total: nil, hasNext: true), page([1], total: nil, hasNext: false))
        let listed = try await catalog.listings.open(series).entries(reaching: .max)
        #expect(listed.map(\.name) == ["1001-T.jpg", "0001-T.jpg"])
    }

    @Test func aTagThatIsListedAndShowsNothingIsRefused() async throws {
        let tags = ListingKey(.authorTags, 5)
        let names = ["a", "b"].map { NamedAuthor(id: UserID(rawValue: $0 == "a" ? 1 : 2), name: $0) }
        answer(tags, .success(ListingPage(authors: names, total: 2, hasNext: false)))
        let (catalog, _) = try await bench.open(tags)
        for (name, failure) in [("a", Failure.withheld("none is shown")), ("c", .absent)] {
            let key = try #require(ListingKey(text: "author-tag/5/\(name)"))
            answer(key, .success(ListingPage(works: [], total: 0)))
            await #expect(throws: failure) { try await catalog.listings.open(key) }
            #expect(catalog.listings.isKnownAbsent(key) == (failure == .absent))
        }
        // The service's own word that there is none counts.
        let gone = try #require(ListingKey(text: "author-tag/5/b"))
        answer(gone, .failure(.notFound))
        await #expect(throws: Failure.absent) { try await catalog.listings.open(gone) }
    }

    /// A tag with a full-width slash of its own, for example.
    @Test func aTagIsRequestedAsTheServiceCallsIt() async throws {
        var works = ["a", "c／d"].enumerated().map { Work(NamedAuthor(id: UserID(rawValue: Int64($0 + 1)), name: $1)) }
        works[1].picture = "c%EF%BC%8Fd"
        answer(ListingKey(.authorTags, 5), .success(ListingPage(works: works, total: 2)))
        for name in ["a", "c／d", "e／f"] {
            let key = try #require(ListingKey(text: "author-tag/5/\(name)"))
            answer(key, page(key, [4, 3], hasNext: true), page(key, [2]))
        }
        var catalog = try bench.open()
        #expect(try await shown(ListingKey(.authorTags, 5), catalog) == [1, 2])
        for name in ["a", "e／f", "c／d"] {
            if name == "c／d" {
                catalog = try await bench.reopen()
            }
            let key = try #require(ListingKey(text: "author-tag/5/\(name)"))
            #expect(try await shown(key, catalog) == [2, 3, 4])
        }
        #expect(bench.source.state.withLock(\.named) == ["c%EF%BC%8Fd", "c%EF%BC%8Fd"])
    }

    @Test func worksOfAnIndexThatMakeNoSenseAreReported() async throws {
        let key = ListingKey(.related, 5)
        var page = ListingPage(works: [FakeSource.work(3, title: "T")], further: [])
        page.unreadable = 2
        answer(key, .success(page))
        let catalog = try bench.open()
        #expect(try await shown(key, catalog) == [3])
        #expect(bench.events == [.entriesUnreadable(count: 2, listing: key, page: 1)])
    }

    /// Each opening would cost a request for records that are not there.
    @Test func anAuthorOfWhomNoRecordComesIsLeftAloneForAWhile() async throws {
        let (author, work) = (UserID(rawValue: 5), WorkID(rawValue: 3))
        bench.source.set { ($0.works[author], $0.lost) = ([work], [work]) }
        let catalog = try bench.open()
        func open() async throws -> [WorkID] {
            try await catalog.listings.open(.author(author)).entries(reaching: .max).map(\.picture.work)
        }
        for _ in 1...3 { await #expect(throws: Failure.withheld("none is shown")) { try await open() } }
        #expect(bench.source.calls == [.ids(author), .works(1, first: work)])
        bench.now += Freshness.failedSeconds
        await #expect(throws: Failure.withheld("none is shown")) { try await open() }
        #expect(bench.source.calls.count == 3)
        bench.source.set { $0.lost = [] }
        try await catalog.listings.refresh(.author(author))
        #expect(try await open() == [work])
    }
}
