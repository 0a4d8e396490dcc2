import Rankings
import Testing

@testable import Catalog

/// Semantics: "A ranking is paged as it is read".
@Suite struct PagingTests {
    let window = Paging.Window(perPage: 50, pages: 10, lastPage: 40)

    func started(last: Int? = 10, of key: ListingKey = Bench.key) -> Paging {
        var paging = Paging(key, window: window)
        paging.arrive(1, Self.content(1, last: last))
        _ = paging.taken()
        return paging
    }

    /// A page with one work, whose number is that of the page unless another is given.
    static func content(
        _ page: Int, last: Int? = nil, goesOn: Bool = false, total: Int? = nil, work: Int? = nil
    ) -> Paging.Outcome {
        let work = FakeSource.work(Int64(work ?? page), title: "T")
        let listed = ListedWork(rank: page, previousRank: nil, work: work)
        return .success(PageContent(works: [listed], pictures: [], last: last, goesOn: goesOn, total: total))
    }

    @Test func pagesThatAreNotShownAreNotAskedForAndNotTakenForMissing() {
        var window = window
        window.shownPages = 2
        var paging = Paging(Bench.key, window: window)
        #expect(paging.ask(reaching: .max, known: 0) == [1, 2])
        paging.arrive(1, Self.content(1, last: 10))
        _ = paging.taken()
        #expect(!paging.isComplete)
        paging.arrive(2, Self.content(2, last: 10))
        _ = paging.taken()
        #expect(paging.isComplete && !paging.hasEverything)
        #expect(paging.ask(reaching: .max, known: 100) == [])
    }

    enum Second: Sendable { case untouched, asked, there }

    /// One page is ahead of a reader of the first one; whoever reads on gets all that are known of at once.
    @Test(
        arguments: [
            (10, .untouched, 0, 50, [2]), (10, .asked, 49, 50, []), (10, .there, 0, 100, []), (10, .there, 49, 100, []),
            (10, .asked, 50, 50, Array(3...10)), (10, .asked, 499, 50, Array(3...10)),
            (10, .asked, .max, 50, Array(3...10)), (nil, .untouched, 50, 50, [2, 3]),
            // A gap on the first page makes its end the border.
            (10, .untouched, 49, 49, Array(2...10)),
        ] as [(Int?, Second, Int, Int, [Int])])
    func aReaderGetsWhatComesNext(last: Int?, second: Second, index: Int, known: Int, asked: [Int]) {
        var paging = started(last: last)
        if second == .asked { _ = paging.ask(reaching: 0, known: 50) }
        if second == .there {
            paging.arrive(2, Self.content(2, last: last))
            _ = paging.taken()
        }
        #expect(paging.ask(reaching: index, known: known) == asked)
    }

    @Test func aPageWithContentIsNotBehindTheEnd() {
        var paging = started(last: 10)
        paging.arrive(2, Self.content(2, last: 1))
        #expect(paging.taken() == [2])
        #expect(paging.isComplete && paging.last == 2)
    }

    /// It is judged once the pages before it are there, with those that came after it.
    @Test(arguments: [nil, 10]) func aPageThatIsNotThereIsNoEndWhereOthersFollow(last: Int?) {
        var paging = started(last: last)
        _ = paging.ask(reaching: 50, known: 50)
        paging.arrive(4, Self.content(4, last: last))
        paging.arrive(3, .failure(.pastTheEnd))
        paging.arrive(2, Self.content(2, last: last))
        #expect(paging.taken() == [2] && paging.takeFailure() == nil && !paging.isComplete)
        #expect(paging.ask(reaching: 120, known: 100).first == 3, "asked once more")
        paging.arrive(3, .failure(.pastTheEnd))
        #expect(paging.taken() == [] && paging.takeFailure() == .missing(3))
    }

    /// Only what follows it shows that such a page is none of the ranking.
    @Test(arguments: [true, false]) func aRepeatedPageOfARankingIsAnErrorWheneverItComes(isEarly: Bool) {
        var paging = started(last: 4)
        _ = paging.ask(reaching: 50, known: 50)
        let repeated = Self.content(3, last: 4, work: 2)
        if isEarly { paging.arrive(3, repeated) }
        #expect(paging.taken() == [])
        paging.arrive(2, Self.content(2, last: 4))
        #expect(paging.taken() == [2] && paging.takeFailure() == nil)
        if isEarly { #expect(paging.ask(reaching: 120, known: 100) == [3], "asked once more") }
        paging.arrive(3, repeated)
        #expect(paging.taken() == [] && paging.takeFailure() == .repeated(3) && !paging.isComplete)
    }

    static func content(works: some Sequence<Int>) -> Paging.Outcome {
        let listed = works.map {
            ListedWork(rank: $0, previousRank: nil, work: FakeSource.work(Int64($0), title: "T"))
        }
        return .success(PageContent(works: listed, pictures: [], goesOn: true))
    }

    /// A paging that goes on with page 3 after a restart, and the outcome of that page of four works, where 1 to 8 are listed.
    private func goesOn(_ kind: ListingKind, with works: [Int], listed: [Int] = Array(1...8)) -> (taken: Bool, Paging) {
        var paging = Paging(.sample(kind), window: .init(perPage: 4, pages: 1, lastPage: 35), next: 3)
        paging.arrive(3, Self.content(works: works))
        return (!paging.taken(listed: listed).isEmpty, paging)
    }

    /// What was uploaded since moves works to later pages: all of one, if as many are new.
    @Test func aPageOfListedWorksInTheirPlaceIsAPage() {
        #expect(goesOn(.search, with: [5, 6, 7, 8], listed: [91, 92, 93, 94, 1, 2, 3, 4, 5, 6, 7, 8]).taken)
        #expect(goesOn(.search, with: [7, 8, 9, 10]).taken)
        #expect(goesOn(.search, with: [7, 8]).taken, "too few show nothing")
        #expect(goesOn(.search, with: [5, 6, 7, 9]).taken, "one is new")
    }

    @Test func onlyNewWorksOfFollowedAuthorsEndWithTheLastPageOnceMore() {
        var (isTaken, paging) = goesOn(.feed, with: [5, 6, 7, 8])
        #expect(!isTaken && paging.isComplete && paging.takeFailure() == nil)
        (isTaken, paging) = goesOn(.feed, with: [1, 2, 3, 4])
        #expect(!isTaken && !paging.isComplete && paging.takeFailure() == .repeated(3))
    }

    /// Deleted works are missing from bookmarks, whose total counts them; a page that counts nothing either is an answer that failed.
    @Test(arguments: [ListingKind.search, .bookmarks, .bookmarkTag, .authorTag, .series, .following])
    func anEmptyPageThatCountsNothingIsNoEndWhereOthersFollow(kind: ListingKind) {
        let window = Paging.Window(perPage: 4, pages: 4, lastPage: 35)
        func outcome(total: Int?, isFollowed: Bool = false, last: Int?) -> (pages: Int, Paging) {
            var paging = Paging(.sample(kind), window: window, next: 3, last: last)
            if isFollowed { paging.arrive(4, Self.content(works: [13, 14])) }
            let (told, goesOn) = (total.map { $0 / 4 } ?? 3, total != nil)
            paging.arrive(3, .success(PageContent(works: [], pictures: [], last: told, goesOn: goesOn, total: total)))
            return (paging.taken().count, paging)
        }
        for (isFollowed, last) in [(false, 5), (true, nil)] as [(Bool, Int?)] {
            var (pages, paging) = outcome(total: nil, isFollowed: isFollowed, last: last)
            #expect(pages == 0 && !paging.isComplete && paging.takeFailure() == .missing(3))
        }
        #expect(outcome(total: 20, last: 5).pages == 1)
        let (pages, paging) = outcome(total: nil, last: nil)
        #expect(pages == 1 && paging.isComplete, "nothing says that others follow")
    }

    @Test func aPageBehindTheLastThatComesLateIsNoneOfTheList() {
        var paging = started(last: nil)
        #expect(paging.ask(reaching: 50, known: 50) == [2, 3])
        paging.arrive(2, Self.content(2, last: 2))
        #expect(paging.taken() == [2] && paging.isComplete)
        paging.arrive(3, Self.content(3, last: 3))
        #expect(paging.taken() == [] && paging.last == 2)
    }

    @Test func aPageThatAnotherOneFollowsIsNotTheLast() {
        var paging = started(last: 2)
        paging.arrive(2, Self.content(2, goesOn: true))
        #expect(paging.taken() == [2] && !paging.isComplete)
        #expect(paging.ask(reaching: 150, known: 100) == [3, 4])
        paging.arrive(3, Self.content(3, last: 3))
        #expect(paging.taken() == [3] && paging.isComplete)
    }

    @Test func aLaterPagesFailureWaitsForItsTurn() {
        var paging = started(last: 3)
        _ = paging.ask(reaching: 50, known: 50)
        paging.arrive(3, .failure(.timedOut))
        #expect(paging.taken() == [] && paging.takeFailure() == nil)
        #expect(paging.ask(reaching: 120, known: 50) == [], "not in a circle")
        paging.arrive(2, Self.content(2, last: 3))
        #expect(paging.taken() == [2])
        #expect(paging.takeFailure() == nil)
        #expect(paging.ask(reaching: 120, known: 100) == [3], "asked once more")
        paging.arrive(3, .failure(.timedOut))
        #expect(paging.taken() == [] && paging.takeFailure() == .timedOut)
    }

    @Test func whenTheNextPageFailsTheNextReaderAsksForAllAgain() {
        var paging = started(last: 4)
        _ = paging.ask(reaching: 50, known: 50)
        for page in [4, 3, 2] { paging.arrive(page, .failure(.timedOut)) }
        #expect(paging.taken() == [] && paging.takeFailure() == .timedOut)
        #expect(paging.ask(reaching: 50, known: 50) == [2, 3, 4])
    }

    @Test func endlessPagingHasABound() {
        var paging = Paging(Bench.key, window: .init(perPage: 1, pages: 100, lastPage: 3))
        #expect(paging.ask(reaching: 90, known: 0) == [1, 2])
        for page in 1...3 {
            paging.arrive(page, Self.content(page, last: page + 1))
            _ = paging.taken()
        }
        #expect(paging.isComplete)
    }
}

extension Paging {
    /// The ranks of the pages that are appended now to a list that has entries.
    fileprivate mutating func taken(listed: [Int] = []) -> [Int?] {
        var ranks: [Int?] = []
        while let content = takeNext(isEmpty: false, row: { work in listed.firstIndex { $0 == work.rawValue } }) {
            ranks.append(content.works.first?.rank)
        }
        return ranks
    }
}
