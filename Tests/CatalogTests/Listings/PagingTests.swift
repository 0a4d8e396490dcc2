import Rankings
import Testing

@testable import Catalog

/// Semantics: "A ranking is paged as it is read".
@Suite struct PagingTests {
    let window = Paging<String>.Window(perPage: 50, pages: 10, lastPage: 40)

    func started(last: Int? = 10) -> Paging<String> {
        var paging = Paging<String>(window: window)
        paging.arrive(1, "1", last: last)
        _ = paging.takeNext()
        return paging
    }

    @Test func pagesThatAreNotShownAreNotAskedForAndNotTakenForMissing() {
        var window = window
        window.shownPages = 2
        var paging = Paging<String>(window: window)
        #expect(paging.ask(reaching: .max, known: 0) == [1, 2])
        paging.arrive(1, "1", last: 10)
        _ = paging.takeNext()
        #expect(!paging.isComplete)
        paging.arrive(2, "2", last: 10)
        _ = paging.takeNext()
        #expect(paging.isComplete && !paging.hasEverything)
        #expect(paging.ask(reaching: .max, known: 100) == [])
    }

    @Test func aReaderOfTheFirstPageGetsOnePageAhead() {
        var paging = started()
        #expect(paging.ask(reaching: 0, known: 50) == [2])
        #expect(paging.ask(reaching: 49, known: 50) == [], "it is under way")
    }

    @Test(arguments: [0, 30, 49])
    func withTwoPagesThereTheFirstIsReadWithoutAsking(index: Int) {
        var paging = started()
        paging.arrive(2, "2", last: 10)
        _ = paging.takeNext()
        #expect(paging.ask(reaching: index, known: 100) == [])
    }

    @Test(arguments: [50, 51, 499, 100_000, Int.max])
    func aReaderBehindTheFirstPageGetsAllOthersAtOnce(index: Int) {
        var paging = started()
        _ = paging.ask(reaching: 0, known: 50)
        #expect(paging.ask(reaching: index, known: 50) == Array(3...10))
    }

    @Test func aGapOnTheFirstPageMakesItsEndTheBorder() {
        var paging = started()
        #expect(paging.ask(reaching: 49, known: 49) == Array(2...10))
    }

    @Test func withoutATotalOnlyTwoPagesAreAskedAtOnce() {
        var paging = started(last: nil)
        #expect(paging.ask(reaching: 50, known: 50) == [2, 3])
    }

    @Test func pagesAreAppendedInOrderHoweverTheyCome() {
        var paging = started(last: 4)
        _ = paging.ask(reaching: 50, known: 50)
        paging.arrive(4, "4", last: 4)
        paging.arrive(3, "3", last: 4)
        #expect(paging.takeNext() == nil)
        paging.arrive(2, "2", last: 4)
        var order: [String] = []
        while let (_, content) = paging.takeNext() { order.append(content) }
        #expect(order == ["2", "3", "4"])
        #expect(paging.isComplete)
        #expect(paging.ask(reaching: .max, known: 150) == [])
    }

    @Test func thePageBehindTheLastEndsTheListing() {
        var paging = started(last: nil)
        _ = paging.ask(reaching: 50, known: 50)
        paging.arrivePastTheEnd(3)
        #expect(!paging.isComplete)
        paging.arrive(2, "2", last: nil)
        #expect(paging.takeNext()?.content == "2")
        #expect(paging.isComplete)
    }

    @Test func aPageWithContentIsNotBehindTheEnd() {
        var paging = started(last: 10)
        paging.arrive(2, "2", last: 1)
        #expect(paging.takeNext()?.content == "2")
        #expect(paging.isComplete && paging.last == 2)
    }

    @Test func anEarlierEndDropsThePagesBehindIt() {
        var paging = started(last: 10)
        paging.arrive(4, "4", last: 10)
        paging.arrivePastTheEnd(3)
        paging.arrive(2, "2", last: 10)
        #expect(paging.takeNext()?.content == "2")
        #expect(paging.takeNext() == nil)
        #expect(paging.isComplete)
    }

    @Test func aPageBehindTheLastThatComesLateIsNoneOfTheList() {
        var paging = started(last: nil)
        #expect(paging.ask(reaching: 50, known: 50) == [2, 3])
        paging.arrive(2, "2", last: 2)
        #expect(paging.takeNext()?.content == "2" && paging.isComplete)
        paging.arrive(3, "3", last: 3)
        #expect(paging.takeNext() == nil && paging.last == 2)
    }

    @Test func aPageThatAnotherOneFollowsIsNotTheLast() {
        var paging = started(last: 2)
        paging.arrive(2, "2", last: nil, goesOn: true)
        #expect(paging.takeNext()?.content == "2" && !paging.isComplete)
        #expect(paging.ask(reaching: 150, known: 100) == [3, 4])
        paging.arrive(3, "3", last: 3)
        #expect(paging.takeNext()?.content == "3" && paging.isComplete)
    }

    @Test func aFailureIsToldOnceAndThePageAskedAgain() {
        var paging = started()
        _ = paging.ask(reaching: 0, known: 50)
        paging.fail(2, .timedOut)
        #expect(paging.takeFailure() == .timedOut)
        #expect(paging.takeFailure() == nil)
        #expect(paging.ask(reaching: 0, known: 50) == [2])
    }

    @Test func aLaterPagesFailureWaitsForItsTurn() {
        var paging = started(last: 3)
        _ = paging.ask(reaching: 50, known: 50)
        paging.fail(3, .timedOut)
        #expect(paging.takeFailure() == nil)
        #expect(paging.ask(reaching: 120, known: 50) == [], "not in a circle")
        paging.arrive(2, "2", last: 3)
        #expect(paging.takeNext()?.content == "2")
        #expect(paging.takeFailure() == nil)
        #expect(paging.ask(reaching: 120, known: 100) == [3], "asked once more")
        paging.fail(3, .timedOut)
        #expect(paging.takeFailure() == .timedOut)
    }

    @Test func whenTheNextPageFailsTheNextReaderAsksForAllAgain() {
        var paging = started(last: 4)
        _ = paging.ask(reaching: 50, known: 50)
        for page in [4, 3, 2] { paging.fail(page, .timedOut) }
        #expect(paging.takeFailure() == .timedOut)
        #expect(paging.ask(reaching: 50, known: 50) == [2, 3, 4])
    }

    @Test func endlessPagingHasABound() {
        var paging = Paging<String>(window: .init(perPage: 1, pages: 100, lastPage: 3))
        #expect(paging.ask(reaching: 90, known: 0) == [1, 2])
        for page in 1...3 {
            paging.arrive(page, "\(page)", last: page + 1)
            _ = paging.takeNext()
        }
        #expect(paging.isComplete)
    }
}
