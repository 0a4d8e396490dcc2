import HTTP
import Rankings
import Synchronization
import Testing

@testable import Catalog

/// What pages bring is stored in the order of the pages, on whichever threads they come.
@Suite struct HandoverTests {
    private let bench = Bench()

    /// Stores what comes; while the first page is being stored, the last one comes, if it is the second.
    private final class Owner: ListingOwner {
        let version = "1"
        private let hasTwoPages: Bool
        let now: Int64 = 0
        let view = ListingView(rendition: .regular)
        let source: any RankingSource = FakeSource(newest: Bench.day)
        private let stored = Mutex<[Int]>([])

        init(hasTwoPages: Bool) { self.hasTwoPages = hasTwoPages }

        var lastPages: [Int] { stored.withLock { $0 } }

        func appended(_ write: ListingWrite, entries: [ListingEntry], to listing: Listing) {
            let last = PageContent(works: [], pictures: [], last: 2)
            if hasTwoPages, write.header.nextPage == 2 { listing.arrived(2, .success(last)) }
            stored.withLock { $0.append(write.header.nextPage) }
        }

        func newestPossible(of mode: RankingMode) -> Day { Bench.day }
        func ask(page: Int, of listing: Listing, _ urgency: Urgency) {}
    }

    private func listing(_ catalog: Catalog, _ owner: Owner) -> Listing {
        let pages = catalog.listings.pageFactory.pages(of: Bench.key)
        return Listing(
            StoredKey(listing: Bench.key), pages: pages, owner: owner,
            state: ListingState(table: EntryTable(), paging: pages.paging(), fetched: 0))
    }

    private func page(_ number: Int, of owner: Owner, last: Int? = nil) -> Result<PageContent, Failure> {
        let work = ListedWork(rank: number, previousRank: nil, work: FakeSource.work(Int64(number), title: "T"))
        let picture = ListedPicture(work, rendition: .regular, of: owner.source)
        return .success(PageContent(works: [work], pictures: [picture], last: last))
    }

    @Test func theLastPageIsStoredLast() async throws {
        let owner = Owner(hasTwoPages: true)
        let catalog = try bench.open()
        let listing = listing(catalog, owner)
        listing.arrived(1, page(1, of: owner))
        #expect(listing.isComplete)
        #expect(owner.lastPages == [2, 3])
    }

    /// All pages after the first are requested at once, and come in any order.
    @Test func aPageThatIsNotThereEndsNoListBeforeItsTurn() async throws {
        let owner = Owner(hasTwoPages: false)
        let catalog = try bench.open()
        let listing = listing(catalog, owner)
        listing.arrived(1, page(1, of: owner, last: 5))
        listing.arrived(4, .failure(.pastTheEnd))
        for number in [2, 3, 5] { listing.arrived(number, page(number, of: owner, last: 5)) }
        #expect(!listing.isComplete && owner.lastPages == [2, 3, 4])
        listing.arrived(4, page(4, of: owner, last: 5))
        #expect(listing.isComplete)
    }
}
