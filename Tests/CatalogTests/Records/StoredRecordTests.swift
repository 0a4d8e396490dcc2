import Rankings
import System
import TestSupport
import Testing

@testable import Catalog

/// The one record of a work, which every listing with it writes.
@Suite(.timeLimit(.minutes(1))) struct StoredRecordTests {
    let bench = Bench()
    let view: ListingView
    let search = ListingKey.search("x")
    /// The first work of the day: three pages, 1200 pixels wide, five views.
    let work = WorkID(rawValue: Int64(Bench.day.ordinal) * 1000 + 1)

    init() {
        var filter = ListingFilter()
        filter.minimumWidth = 500
        view = ListingView(rendition: .regular, allPages: true, filter: filter)
        bench.source.set { $0.entries = 1 }
    }

    private func list(_ change: (inout Work) -> Void) {
        var work = FakeSource.work(work.rawValue, title: "Title 1")
        change(&work)
        let page = ListingPage(works: [work])
        bench.source.set { $0.pages[search] = [.success(page)] }
    }

    /// A work that its author deleted stands in bookmarks as a row of placeholders.
    @Test func aWithheldWorkReplacesNothingThatIsStored() async throws {
        list { work in
            (work.title, work.authorName, work.tags, work.width, work.pageCount) = ("-----", "-----", [], 100, 1)
            (work.withheld, work.views) = ("masked", nil)
        }
        let first = try bench.open(view: view)
        let names = try await first.listings.open(Bench.key).entries.map(\.name)
        #expect(names.count == 3)
        _ = try await first.listings.open(search)
        let (catalog, listing) = try await bench.reopen(Bench.key, view: view)
        #expect(listing.entries.map(\.name) == names)
        let record = try await catalog.listings.record(of: listing.entries[0], in: listing).work
        #expect(record.title == "Title 1" && record.authorName == "Ann" && record.tags.count == 3 && record.views == 5)
    }

    @Test func whatAListingDoesNotNameKeepsItsValue() async throws {
        list { work in (work.views, work.title) = (nil, "Renamed") }
        let (catalog, listing) = try await bench.open(Bench.key)
        _ = try await catalog.listings.open(search)
        let record = try await catalog.listings.record(of: listing.entries[0], in: listing).work
        #expect(record.title == "Renamed" && record.views == 5)
    }

    /// A program that copies attributes has files open longer than their listing lives.
    @Test func aRecordOutlivesItsListing() async throws {
        let (catalog, listing) = try await bench.open(Bench.key)
        catalog.listings.forget(Bench.key)
        let record = try await catalog.listings.record(of: listing.entries[0], in: listing)
        #expect(record.work.title == "Title 1" && record.rank == 1)
        #expect(record.work.picture == listing.entries[0].reference)
    }

    @Test func recordsAreThereWhileTheDatabaseIsLocked() async throws {
        let catalog = try bench.open()
        let other = try Connection.openOrSetAside(path: bench.database, migrations: Schema.migrations).connection
        try other.run("BEGIN IMMEDIATE")
        for day in [Bench.day, Bench.day.advanced(by: -1), Bench.day.advanced(by: -2)] {
            let listing = try await catalog.listings.open(.ranking(.daily, day))
            #expect(try await catalog.listings.record(of: listing.entries[0], in: listing).work.views == 5)
        }
        try other.run("COMMIT")
    }

    @Test func whatOneListingDoesNotTellIsLeftAsAnotherToldIt() async throws {
        let connection = try Connection.openOrSetAside(path: bench.database, migrations: Schema.migrations).connection
        var work = FakeSource.work(51, title: "A")
        var (known, series): ([Bool?], [Int64?]) = ([], [])
        for told in [nil, true, nil, false, nil] as [Bool?] {
            work.isAI = told
            work.series = told.map { $0 ? 7 : 8 }
            try Rows.write(work, to: connection)
            let stored = try Rows.work(work.id, in: connection)
            known.append(stored?.isAI)
            series.append(stored?.series)
        }
        #expect(known == [nil, true, true, false, false])
        #expect(series == [nil, 7, 7, 8, 8])
        connection.close()
    }
}
