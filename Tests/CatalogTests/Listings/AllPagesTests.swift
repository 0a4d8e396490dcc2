import Rankings
import TestSupport
import Testing

@testable import Catalog

/// Listings that show every page of a work, and what the filter hides.
@Suite(.timeLimit(.minutes(1))) struct AllPagesTests {
    let bench = Bench()
    let all = ListingView(rendition: .regular, allPages: true)

    init() {
        bench.source.set { state in
            state.entries = 3
            for (rank, pages, withheld) in [(1, 3, nil), (2, 1, nil), (3, 5, "login_only")] as [(Int, Int, String?)] {
                let number = Int64(Bench.day.ordinal) * 1000 + Int64(rank)
                var work = FakeSource.work(number, title: "T")
                (work.pageCount, work.withheld, work.width) = (pages, withheld, rank * 500)
                state.records[work.id] = work
            }
        }
    }

    private let names = ["001-T.jpg", "001-T_p1.jpg", "001-T_p2.jpg", "002-T.jpg", "003-T.jpg"]

    @Test func pagesAndTheirSizesComeBackWithoutARequest() async throws {
        let (first, before) = try await bench.open(Bench.key, view: all)
        #expect(before.entries.map(\.name) == names, "a withheld work has nothing to show but its name")
        for (index, entry) in before.entries.enumerated() where !entry.isWithheld {
            first.sizes.set(Int64(100 + index), of: entry.picture)
        }
        let facts = RestartTests.facts(before)
        bench.source.set { $0.failure = .unreachable("no route") }
        let (_, after) = try await bench.reopen(Bench.key, view: all)
        #expect(RestartTests.facts(after) == facts)
        #expect((0..<4).map { after.size(at: $0) } == [100, 101, 102, 103])
        #expect(try await after.find(named: Array("001-T_p2.jpg".utf8)) == 2)
        #expect(bench.transport.requests.isEmpty && bench.source.calls.count == 1)
    }

    @Test func oneCacheServesBothWaysInTurn() async throws {
        for _ in 0..<2 {
            #expect(try await bench.open(Bench.key, view: all).listing.entries.map(\.name) == names)
            let firsts = try await bench.reopen()
            #expect(
                try await firsts.listings.open(Bench.key).entries.map(\.name) == [
                    "001-T.jpg", "002-T.jpg", "003-T.jpg",
                ])
            await firsts.close()
        }
        #expect(bench.source.calls.count == 1)
    }

    @Test func originalsOfAllPagesHaveTheFormatOfTheFirst() async throws {
        bench.host.setUsual { $0.hasSuffix(".png/p0") ? .size(9) : .status(404) }
        let view = ListingView(rendition: .original, allPages: true)
        let (_, before) = try await bench.open(Bench.key, view: view, answers: true)
        #expect(
            before.entries.map(\.name) == [
                "001-T.png", "001-T_p1.png", "001-T_p2.png", "002-T.png", "003-T.jpg",
            ])
        #expect((0..<4).map { before.size(at: $0) } == [9, nil, nil, 9])
        bench.host["img/\(before.entries[0].picture.work.rawValue).png/p2"] = .size(77)
        #expect(try await before.resolveSize(at: 2, wholeListing: false) == 77)
        let asked = bench.host.asked.count
        let (_, after) = try await bench.reopen(Bench.key, view: view, answers: true)
        #expect(after.entries == before.entries)
        #expect((0..<4).map { after.size(at: $0) } == [9, nil, 77, 9])
        #expect(bench.host.asked.count == asked)
    }

    @Test func newWorksInFrontLeavePagesAndSizesAlone() async throws {
        bench.source.set { $0.hits["x"] = [20, 10] }
        let (catalog, before) = try await bench.open(.search("x"), view: all)
        #expect(before.entries.count == 6)
        catalog.sizes.set(55, of: before.entries[2].picture)
        bench.now += 3600
        bench.source.set { $0.hits["x"] = [30, 20, 10] }
        let after = try await catalog.listings.open(.search("x"))
        #expect(after.entries.count == 9)
        #expect(Array(after.entries[3...]) == before.entries)
        #expect(after.size(at: 5) == 55)
        let (_, stored) = try await bench.reopen(.search("x"), view: all)
        #expect(stored.entries == after.entries && stored.size(at: 5) == 55)
    }

    @Test func theFilterJudgesWhatIsStored() async throws {
        let first = try bench.open()
        #expect(try await first.listings.open(Bench.key).entries.allSatisfy { !$0.isHidden })
        await first.close()
        var view = all
        view.filter.minimumWidth = 900
        let (_, listing) = try await bench.open(Bench.key, view: view)
        #expect(listing.entries.map(\.name) == names)
        #expect(listing.entries.map(\.isHidden) == [true, true, true, false, false])
        #expect(bench.source.calls.count == 1)
    }
}
