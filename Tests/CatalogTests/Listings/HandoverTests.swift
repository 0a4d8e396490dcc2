import HTTP
import Rankings
import Synchronization
import Testing

@testable import Catalog

/// What pages bring is stored in the order of the pages, on whichever threads they come.
@Suite struct HandoverTests {
    /// Stores what comes; while the first page is being stored, the last one comes.
    private final class Owner: ListingOwner {
        let now: Int64 = 0
        let view = ListingView(rendition: .regular)
        let source: any RankingSource = FakeSource(newest: Bench.day)
        private let stored = Mutex<[Int]>([])

        var lastPages: [Int] { stored.withLock { $0 } }

        func appended(_ write: ListingWrite, entries: [ListingEntry], to listing: Listing) {
            let last = PageContent(works: [], pictures: [], last: 2)
            if write.header.nextPage == 2 { listing.arrived(2, .success(last)) }
            stored.withLock { $0.append(write.header.nextPage) }
        }

        func newestPossible(of mode: RankingMode) -> Day { Bench.day }
        func ask(page: Int, of listing: Listing, _ urgency: Urgency?) {}
    }

    @Test func theLastPageIsStoredLast() async throws {
        let (owner, bench) = (Owner(), Bench())
        let catalog = try bench.open()
        let pages = catalog.listings.pageFactory.pages(of: Bench.key)
        let listing = Listing(
            StoredKey(listing: Bench.key), pages: pages, owner: owner,
            state: ListingState(table: EntryTable(), paging: Paging(window: pages.window), fetched: 0))
        let first = ListedWork(rank: 1, previousRank: nil, work: FakeSource.work(1, title: "T"))
        let picture = ListedPicture(first, rendition: .regular, of: owner.source)
        listing.arrived(1, .success(PageContent(works: [first], pictures: [picture])))
        #expect(listing.isComplete)
        #expect(owner.lastPages == [2, 3])
        await catalog.close()
    }
}
