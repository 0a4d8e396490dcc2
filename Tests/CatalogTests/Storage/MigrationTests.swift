import Rankings
import System
import Testing

@testable import Catalog

/// A database of the first version: what it holds is served by this one.
@Suite(.timeLimit(.minutes(1))) struct MigrationTests {
    let bench = Bench()

    /// What the first version made, word for word.
    private static let firstVersion = """
        CREATE TABLE listings(
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, complete INTEGER NOT NULL, next_page INTEGER NOT NULL,
        last_page INTEGER, entry_count INTEGER NOT NULL, fetched INTEGER NOT NULL, remaining BLOB NOT NULL
        ) STRICT;
        CREATE TABLE entries(
        listing INTEGER NOT NULL REFERENCES listings(id) ON DELETE CASCADE, position INTEGER NOT NULL,
        rank INTEGER, previous_rank INTEGER, work INTEGER NOT NULL, name TEXT NOT NULL,
        uploaded INTEGER NOT NULL, reference TEXT NOT NULL, withheld INTEGER NOT NULL,
        PRIMARY KEY(listing, position)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE works(
        id INTEGER PRIMARY KEY, title TEXT NOT NULL, author INTEGER NOT NULL, author_name TEXT NOT NULL,
        tags TEXT NOT NULL, kind INTEGER NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL,
        page_count INTEGER NOT NULL, uploaded INTEGER NOT NULL, views INTEGER, ratings INTEGER,
        picture TEXT NOT NULL, withheld TEXT
        ) STRICT;
        CREATE TABLE sizes(
        work INTEGER NOT NULL, page INTEGER NOT NULL, rendition TEXT NOT NULL, uploaded INTEGER NOT NULL,
        size INTEGER NOT NULL CHECK(size > 0), PRIMARY KEY(work, page, rendition, uploaded)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE newest(mode TEXT PRIMARY KEY, day INTEGER NOT NULL, asked INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        """

    /// The rows of one day and one author as the first version wrote them.
    private func makeOldDatabase() throws {
        let connection = try Connection(path: bench.database)
        try connection.migrate([("listings, entries, works, sizes, newest days", Self.firstVersion)])
        try connection.execute(
            """
            INSERT INTO listings VALUES(1, 'ranking/daily/\(Bench.day)', 1, 2, 1, 2, 1777700000, x'');
            INSERT INTO listings VALUES(2, 'author/11', 0, 2, 1, 1, 1777766400, x'0900000000000000');
            INSERT INTO entries VALUES(1, 0, 1, 3, 51, '001-A.jpg', 1700000000, 'img/51', 0);
            INSERT INTO entries VALUES(1, 1, 2, NULL, 52, '002-B.jpg', 1700000001, 'img/52', 1);
            INSERT INTO entries VALUES(2, 0, NULL, NULL, 51, '51-A.jpg', 1700000000, 'img/51', 0);
            INSERT INTO works VALUES(51, 'A', 11, 'Ann', 'x' || char(31) || 'y', 0, 800, 600, 2, 1700000000, 5, NULL,
                'img/51', NULL);
            INSERT INTO works VALUES(52, 'B', 12, 'Bea', '', 0, 800, 600, 1, 1700000001, 5, NULL, 'img/52', 'r18');
            INSERT INTO sizes VALUES(51, 0, 'regular', 1700000000, 4321);
            INSERT INTO newest VALUES('daily', \(Bench.day.ordinal), 1777700000);
            """)
        connection.close()
    }

    @Test func oldListingsAreServed() async throws {
        try makeOldDatabase()
        bench.source.set { $0.failure = .unreachable("no route") }
        let catalog = try bench.open()
        #expect(bench.events.isEmpty)
        #expect(catalog.listings.keys == [Bench.key, .author(Bench.author)])
        let listing = try await catalog.listings.open(Bench.key)
        #expect(
            RestartTests.facts(listing) == [
                "001-A.jpg 1 51_p0_regular_1700000000 img/51 4321", "002-B.jpg 2 52_p0_regular_1700000001 img/52 -1",
            ])
        #expect(listing.isComplete && listing.entries[1].isWithheld)
        let record = try await catalog.listings.record(of: listing.entries[0], in: listing)
        #expect(record.work.tags == ["x", "y"] && record.work.isAI == nil && record.previousRank == 3)
        #expect(try await catalog.listings.open(.author(Bench.author)).entries.map(\.name) == ["51-A.jpg"])
        #expect(catalog.recents.pictures.isEmpty)
        catalog.recents.note("a")
        await catalog.close()
        #expect(bench.source.calls.isEmpty)
        let pages = try bench.open(view: ListingView(rendition: .regular, allPages: true))
        #expect(
            try await pages.listings.open(Bench.key).entries.map(\.name) == ["001-A.jpg", "001-A_p1.jpg", "002-B.jpg"])
        #expect(pages.recents.pictures.map(\.path) == ["a"])
    }

    @Test func whatOneListingDoesNotTellIsLeftAsAnotherToldIt() async throws {
        try makeOldDatabase()
        let connection = try Connection(path: bench.database)
        try connection.migrate(Schema.migrations)
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
