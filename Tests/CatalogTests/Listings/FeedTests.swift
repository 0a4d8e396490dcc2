import Rankings
import Testing

@testable import Catalog

/// New works of followed authors: a list without a sign of its end, that grows by more than a page between two visits.
@Suite(.timeLimit(.minutes(1))) struct FeedTests {
    let bench = Bench()
    let key = ListingKey(.feed, 5)

    private func feed(_ numbers: some Sequence<Int64>) {
        bench.source.set { $0.feed = Array(numbers) }
    }

    /// A catalog that has read the whole feed of works 1 to 130, and the requests that this took.
    private func readOnce() async throws -> (Catalog, requests: Int) {
        feed((1...130).reversed())
        let catalog = try bench.open()
        _ = try await catalog.listings.open(key).entries(reaching: .max)
        return (catalog, pages.count)
    }

    private func works(_ listing: Listing) -> [Int64] { listing.entries.map(\.picture.work.rawValue) }

    private var pages: [Int] {
        bench.source.calls.compactMap { if case .feed(let page) = $0 { page } else { nil } }
    }

    @Test func aPageThatComesAgainIsTheEnd() async throws {
        feed((1...130).reversed())
        let (_, listing) = try await bench.open(key)
        _ = try await listing.entries(reaching: .max)
        #expect(works(listing) == (1...130).reversed() && listing.isComplete)
        #expect(pages.sorted() == [1, 2, 3, 4])
        #expect(try await bench.reopen(key).listing.isComplete, "the end is stored")
    }

    @Test func anEndThatIsRepeatedAcrossAMountIsFoundToo() async throws {
        feed((1...60).reversed())
        let catalog = try bench.open()
        #expect(try await !catalog.listings.open(key).isComplete)
        let (_, listing) = try await bench.reopen(key)
        _ = try await listing.entries(reaching: .max)
        #expect(works(listing) == (1...60).reversed() && listing.isComplete)
    }

    @Test func newPagesAreJoinedToWhatIsStored() async throws {
        let (catalog, before) = try await readOnce()
        bench.now += 299
        #expect(try await catalog.listings.open(key).count == 130 && pages.count == before)
        bench.now += 1
        // The oldest works are no longer there; what is stored is complete all the same.
        feed((50...280).reversed())
        let joined = try await catalog.listings.open(key)
        #expect(works(joined) == (1...280).reversed() && joined.isComplete)
        #expect(pages.dropFirst(before) == [1, 2, 3])
        #expect(joined.entries.last?.name == "1-New 1.jpg")
    }

    @Test func aListWithNothingInCommonIsReadFurtherAndLosesNothing() async throws {
        let (catalog, before) = try await readOnce()
        bench.now += 300
        feed((1001...2000).reversed())
        let old = try await catalog.listings.open(key)
        #expect(works(old) == (1...130).reversed() && pages.dropFirst(before).starts(with: 1...10))
        while !catalog.listings.unanswered.holds(old.stored, now: bench.now) { await Task.yield() }
        #expect(pages.dropFirst(before) == ArraySlice(1...18), "the page that repeats the one before it is the end")
        // An end without a known work is believed once it has come again.
        bench.now += 3600
        #expect(try await catalog.listings.open(key) === old)
        while catalog.listings.memory[old.stored] === old { await Task.yield() }
        let joined = try await catalog.listings.open(key)
        #expect(works(joined) == (1001...2000).reversed() + (1...130).reversed() && joined.isComplete)
        #expect(pages.dropFirst(before + 18) == ArraySlice(1...18))
    }

    /// The works between would be missing for good.
    @Test(arguments: [true, false], [true, false])
    func anEndBeforeAnyKnownWorkIsNotJoined(isEmpty: Bool, isRequested: Bool) async throws {
        let (catalog, _) = try await readOnce()
        let before = try await catalog.listings.open(key)
        bench.now += 300
        func page(_ works: ClosedRange<Int64>) -> Result<ListingPage, Failure> {
            .page(key, works.reversed(), hasNext: true)
        }
        let newest = page(141...200)
        bench.source.set { [key] in $0.pages[key] = isEmpty ? [newest] : [newest, newest] }
        if isRequested { await #expect(throws: Failure.missing(2)) { try await catalog.listings.refresh(key) } }
        #expect(try await catalog.listings.open(key) === before)
        bench.source.set { [key] in $0.pages[key] = [newest, page(81...140), page(21...80), page(1...20)] }
        bench.now += 300
        if isRequested { try await catalog.listings.refresh(key) }
        #expect(try await works(catalog.listings.open(key)) == (1...200).reversed())
    }
}
