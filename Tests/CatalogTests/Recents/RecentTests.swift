import Rankings
import Testing

@testable import Catalog

/// What was read last, and where pictures are listed.
@Suite(.timeLimit(.minutes(1))) struct RecentTests {
    let bench = Bench()

    @Test func theNewestStandsInFrontAndTheOldestGoes() {
        var recent: [RecentPicture] = []
        for number in 0..<250 { recent.note(RecentPicture(path: "\(number % 120)", opened: Int64(number))) }
        #expect(recent.count == RecentPicture.bound)
        #expect(recent.map(\.path) == (150..<250).reversed().map { "\($0 % 120)" })
        recent.note(RecentPicture(path: "5", opened: 999))
        #expect(recent.first == RecentPicture(path: "5", opened: 999))
        #expect(Set(recent.map(\.path)).count == recent.count)
    }

    /// Names that begin with a place are the same in many directories.
    @Test func picturesOfEqualNamesAreDistinguished() {
        var recent: [RecentPicture] = []
        let long = String(repeating: "長", count: 66)
        for path in [
            "series/5/001-A.jpg", "series/6/001-A.jpg", "pools/\(long)/001-\(long).jpg", "collections/7/001-A.jpg",
            "works/5/p0.png", "users/5/77-A.jpg", "search/x/77-A.jpg",
        ] { recent.note(RecentPicture(path: path, opened: 1)) }
        #expect(
            recent.map(\.name) == [
                "77-A.jpg", "5_p0.png", "7_001-A.jpg", "\(String(long.prefix(16)))_001-\(long).jpg", "6_001-A.jpg",
                "5_001-A.jpg",
            ])
    }

    @Test func orderAndBoundSurviveARestartWhateverTheClockSays() async throws {
        let catalog = try bench.open()
        #expect(catalog.recents.pictures.isEmpty)
        for number in 0..<130 { catalog.recents.note("\((number * 37) % 130)") }
        bench.now -= 86_400
        catalog.recents.note("7")
        catalog.recents.note("3")
        let before = catalog.recents.pictures
        #expect(
            before.prefix(2) == [
                RecentPicture(path: "3", opened: bench.now), RecentPicture(path: "7", opened: bench.now),
            ])
        #expect(before.count == RecentPicture.bound)
        let restarted = try await bench.reopen()
        #expect(restarted.recents.pictures == before)
        restarted.recents.note("7")
        #expect(restarted.recents.pictures.map(\.path).prefix(2) == ["7", "3"])
        let again = try await bench.reopen()
        #expect(again.recents.pictures.map(\.path).prefix(2) == ["7", "3"])
    }

    @Test func theWorksOfReadPicturesAreKnownAfterARestart() async throws {
        bench.source.set { $0.entries = 3 }
        let first = try bench.open()
        let entries = try await first.listings.open(Bench.key).entries(reaching: .max)
        let paths = [
            "ranking/daily/\(Bench.day)/\(entries[2].name)", "ranking/daily/\(Bench.day)/\(entries[0].name)",
            "ranking/daily/\(Bench.day)/009-Gone.jpg", "ranking/weekly/\(Bench.day)/\(entries[1].name)",
            "users/11/4000-Title.jpg", "search/\u{301}x/\(entries[1].picture.work.rawValue)-Title.jpg",
            "users/12/bookmarks/6000-Title.jpg", "works/5000/p0.png", "works/5000", "", "x",
        ]
        for path in paths { first.recents.note(path) }
        let works = [entries[0].picture.work.rawValue, entries[2].picture.work.rawValue]
        #expect(await first.recents.seenWorks().map(\.work.rawValue) == works)
        bench.source.set { $0.failure = .unreachable("no route") }
        let catalog = try await bench.reopen()
        let calls = bench.source.calls.count
        let seen = await catalog.recents.seenWorks()
        #expect(seen.map(\.work.rawValue) == works)
        let authors = Dictionary(uniqueKeysWithValues: seen.map { ($0.work, $0.author) })
        for entry in [entries[0], entries[2]] {
            let author = try await catalog.listings.record(of: entry, in: try await catalog.listings.open(Bench.key))
                .work.author
            #expect(authors[entry.picture.work] == author)
        }
        #expect(await catalog.recents.places().map(\.index) == [0, 2])
        let name = Array(catalog.recents.pictures.last?.name.utf8 ?? "".utf8)
        #expect(await catalog.recents.place(named: name)?.index == 2)
        #expect(await catalog.recents.place(named: Array("x".utf8)) == nil)
        catalog.recents.note(paths[1])
        #expect(await catalog.recents.seenWorks().first?.work == entries[0].picture.work, "in the order of reading")
        #expect(bench.source.calls.count == calls)
    }

    /// Its author renamed it, or its rank is another one.
    @Test func aPictureWithAnotherNameIsFound() async throws {
        func answer(_ titles: [Int64: String]) {
            let works = titles.sorted { $0.value < $1.value }.enumerated().map { place, work in
                ListedWork(rank: place + 1, previousRank: nil, work: FakeSource.work(work.key, title: work.value))
            }
            bench.source.set { $0.pages[Bench.key] = [.success(ListingPage(entries: works, day: Bench.day))] }
        }
        answer([1: "A", 2: "B"])
        var catalog = try bench.open()
        let entries = try await catalog.listings.open(Bench.key).entries
        for entry in entries { catalog.recents.note("ranking/daily/\(Bench.day)/\(entry.name)", entry.picture) }
        let names = catalog.recents.pictures.map(\.name)
        answer([1: "C", 2: "B"])
        try await catalog.listings.refresh(Bench.key)
        for _ in 1...2 {
            let places = await catalog.recents.places()
            #expect(places.map(\.picture.name) == names && places.map(\.index) == [0, 1])
            #expect(places.map { $0.listing.entries[$0.index].name } == ["001-B.jpg", "002-C.jpg"])
            catalog = try await bench.reopen()
        }
        let read = try await catalog.listings.open(Bench.key).entries[1]
        catalog.recents.note("ranking/daily/\(Bench.day)/\(read.name)", read.picture)
        #expect(await catalog.recents.places().map(\.index) == [1, 0], "each once")
    }

    @Test func whatTheAccountSawIsNotSeenSignedOut() async throws {
        let user = UserID(rawValue: 7)
        bench.source.set {
            $0.signIn = .signedIn(user)
            $0.bookmarks = [5]
        }
        let catalog = try bench.open()
        let key = try #require(ListingKey(of: TreePath("bookmarks"), user: user))
        let entry = try #require(try await catalog.listings.open(key).entries(reaching: .max).first)
        catalog.recents.note("bookmarks/\(entry.name)")
        #expect(await catalog.recents.seenWorks().map(\.work) == [entry.picture.work])
        bench.source.set { $0.signIn = .signedOut }
        #expect(await catalog.recents.seenWorks().isEmpty)
    }

    @Test func aPictureIsFoundWhereItIsListed() async throws {
        bench.source.set { $0.entries = 3 }
        let first = try bench.open()
        let picture = try await first.listings.open(Bench.key).entries[1].picture
        _ = try await first.listings.open(.ranking(.weekly, Bench.day))
        #expect(await first.listings.place(of: picture, where: { _, _ in true })?.index == 1)
        bench.source.set { $0.failure = .unreachable("no route") }
        let catalog = try await bench.reopen()
        let place = try #require(
            await catalog.listings.place(of: picture, where: { listing, _ in listing.key == Bench.key }))
        #expect(place.listing.key == Bench.key && place.index == 1)
        #expect(await catalog.listings.place(of: picture, where: { _, _ in false }) == nil)
        let other = PictureID(work: picture.work, page: 1, rendition: .regular, uploaded: picture.uploaded)
        #expect(await catalog.listings.place(of: other, where: { _, _ in true }) == nil)
        #expect(bench.source.calls.count == 2)
    }
}
