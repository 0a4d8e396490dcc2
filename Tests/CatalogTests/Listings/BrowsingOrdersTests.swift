import Foundation
import Rankings
import Testing

@testable import Catalog

@Suite struct BrowsingOrdersTests {
    private let bench = Bench()

    func entry(
        _ rank: Int32, work: Int64, page: Int = 0, uploaded: Int64, rendition: Rendition = .regular,
        isWithheld: Bool = false, isHidden: Bool = false
    ) -> ListingEntry {
        ListingEntry(
            name: "\(rank)-\(work)_p\(page).jpg", rank: rank,
            picture: PictureID(work: WorkID(rawValue: work), page: page, rendition: rendition, uploaded: uploaded),
            reference: "", isWithheld: isWithheld, isHidden: isHidden)
    }

    @Test func byTimeAndEqualTimesByName() {
        let orders = BrowsingOrders([
            entry(1, work: 40, uploaded: 900), entry(2, work: 30, uploaded: 100), entry(3, work: 20, uploaded: 900),
            entry(4, work: 10, uploaded: 500), entry(5, work: 50, uploaded: 100),
        ])
        #expect(orders.places == [0, 1, 2, 3, 4])
        #expect(orders.byTime.indices == [1, 4, 3, 0, 2])
        #expect(orders.byTime.places == [3, 0, 4, 2, 1])
    }

    @Test func worksWithoutRanksAreNamedByTheirNumbersAndTheirPages() {
        // Newest first, as authors' works are listed; the times are equal, so the numbers tell, by value and not by digits.
        let orders = BrowsingOrders([
            entry(0, work: 1000, uploaded: 7), entry(0, work: 999, page: 0, uploaded: 7),
            entry(0, work: 999, page: 2, uploaded: 7), entry(0, work: 999, page: 10, uploaded: 7),
        ])
        #expect(orders.byTime.indices == [1, 2, 3, 0])
        #expect(orders.byName?.indices == [1, 2, 3, 0])
        #expect(BrowsingOrders([3, 2, 1].map { entry(0, work: $0, uploaded: 7) }).byName == nil, "the reverse")
    }

    /// Favourites are listed as they were chosen.
    @Test func aWindowSortsByName() {
        let orders = BrowsingOrders([
            entry(0, work: 1000, uploaded: 1), entry(0, work: 30, page: 1, uploaded: 2),
            entry(0, work: 999, uploaded: 3), entry(0, work: 7, uploaded: 4, isHidden: true),
            entry(0, work: 30, uploaded: 5), entry(0, work: 8, uploaded: 6),
        ])
        #expect(orders.windowPlaces == [4, 2, 3, 0, 1, 0])
        let ranked = BrowsingOrders([
            entry(1, work: 50, uploaded: 1), entry(2, work: 40, uploaded: 1, isWithheld: true),
            entry(4, work: 30, uploaded: 1),
        ])
        #expect(ranked.windowPlaces == ranked.places)
        #expect(ranked.byName == nil)
        #expect(orders.byName?.indices == [4, 3, 1, 2, 0])
        #expect(orders.byName?.places == [4, 2, 3, 1, 0])
    }

    /// File managers compare numbers by their value.
    @Test func placesOfNamesAreInTheOrderOfFileManagers() {
        typealias Named = (place: NamePlace, name: String)
        func picture(_ work: Int64, _ page: Int = 0) -> PictureID {
            PictureID(work: WorkID(rawValue: work), page: page, rendition: .regular, uploaded: 1)
        }
        let works = ([7, 10, 99, 100, 829_697, 1_000_000_000] as [Int64]).flatMap { number in
            [0, 2, 10].map { page -> Named in
                let name = FileName.work(WorkID(rawValue: number), title: "Title", fileExtension: "jpg")
                let ofPage = page == 0 ? name : "\(name.dropLast(4))_p\(page).jpg"
                return (NamePlace(rank: 0, picture(number, page)), ofPage)
            }
        }
        // Of ranks, later works may come first.
        let ranks = [1, 9, 10, 999, 1000].map { rank -> Named in
            let name = FileName.ranked(rank, title: "Title", fileExtension: "jpg")
            return (NamePlace(rank: rank, picture(5000 - Int64(rank))), name)
        }
        for names in [works, ranks] {
            let shown = names.shuffled().sorted { $0.name.compare($1.name, options: .numeric) == .orderedAscending }
            #expect(shown.map(\.name) == names.shuffled().sorted { $0.place < $1.place }.map(\.name))
        }
    }

    @Test func whatNobodyPagesToHasNoPlace() {
        let orders = BrowsingOrders([
            entry(1, work: 1, uploaded: 5, isWithheld: true), entry(2, work: 2, uploaded: 4),
            entry(3, work: 3, uploaded: 3, isHidden: true), entry(4, work: 4, uploaded: 2, rendition: .archive),
            entry(5, work: 5, uploaded: 1),
        ])
        #expect(orders.places == [0, 0, 1, 1, 1])
        #expect(orders.byTime.indices == [1, 0])
        #expect(orders.byTime.places == [1, 0])
    }

    @Test func theTwoDirectionsAreInverse() {
        let entries = (0..<997).map { number in
            let time: Int = number * 31 % 997 / 3
            return entry(Int32(number + 1), work: Int64(number), uploaded: Int64(time))
        }
        let orders = BrowsingOrders(entries)
        #expect(orders.byTime.indices.count == 997)
        #expect(orders.byTime.indices.enumerated().allSatisfy { orders.byTime.places[Int($1)] == $0 })
        let sorted = orders.byTime.indices.map { entries[Int($0)] }
        for (one, next) in zip(sorted, sorted.dropFirst()) {
            #expect((one.picture.uploaded, one.rank) < (next.picture.uploaded, next.rank))
        }
    }

    @Test func aListingThatGrowsIsSortedAgain() async throws {
        let (_, listing) = try await bench.open(Bench.key)
        let first = try await listing.entries(reaching: 0)
        #expect(listing.browsingOrders == BrowsingOrders(listing.entries))
        #expect(listing.browsingOrders.places.count >= first.count)
        let all = try await listing.entries(reaching: .max)
        #expect(all.count > first.count)
        #expect(listing.browsingOrders == BrowsingOrders(all))
    }
}
