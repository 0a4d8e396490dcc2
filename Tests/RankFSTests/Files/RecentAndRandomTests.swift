import Catalog
import TestSupport
@testable import Fuse
import Rankings
import Testing

@testable import RankFS

/// `recent/`, `random.jpg`, searches and names of authors.
@Suite(.timeLimit(.minutes(1))) struct RecentAndRandomTests {
    private let day = "ranking/daily/2024-05-01"

    private func path(_ rank: Int) -> String { "\(day)/\(Workbench.name(rank))" }

    private func read(_ bench: Workbench, _ path: String, _ offset: Int64, _ count: Int) async throws {
        let inode = try await bench.stat(path).inode
        let handle = try #require(await bench.open(inode).handle)
        _ = await bench.read(inode, handle, offset, count)
    }

    @Test func onlyWhatIsReadCounts() async throws {
        let bench = try Workbench(day: Workbench.entries(5))
        let start = 128 << 10
        try await read(bench, path(1), 0, start)
        #expect(bench.catalog.recents.pictures.isEmpty, "a look at the beginning")
        try await read(bench, path(2), 0, start + 1)
        try await read(bench, path(3), Int64(start), 1)
        #expect(bench.catalog.recents.pictures.map(\.path) == [path(3), path(2)])
        _ = try await bench.contents(try await bench.stat(path(2)).inode)
        #expect(bench.catalog.recents.pictures.map(\.path) == [path(2), path(3)])
        // The kernel may have all of a picture that was read before; of others it has nothing.
        for rank in [3, 4] {
            let inode = try await bench.stat(path(rank)).inode
            let handle = try #require(await bench.open(inode).handle)
            bench.fileSystem.release(inode, handle: handle)
        }
        #expect(bench.catalog.recents.pictures.map(\.path) == [path(3), path(2)])
    }

    @Test func archivesAreNoPictures() async throws {
        let film = try Film(count: 2)
        let bench = try Workbench()
        bench.add(film)
        _ = try await bench.contents(try await bench.stat("works/77/ugoira.zip").inode)
        _ = try await bench.contents(try await bench.stat("works/77/ugoira.webp").inode)
        #expect(bench.catalog.recents.pictures.isEmpty)
        #expect(try await random(bench, for: 0) == inode(bench, ".rankfs/nothing-stored.jpg"))
        _ = try await bench.contents(try await bench.stat("works/77/p0.png").inode)
        #expect(try await bench.names("recent") == [".", "..", "77_p0.png"])
    }

    private func recentName(_ rank: Int) -> String { "2024-05-01_daily_\(Workbench.name(rank))" }

    /// Semantics: "Preload", of which there is none here, and that what is read here is not read anew.
    @Test func lookingThroughWhatWasReadMovesNothing() async throws {
        let bench = try Workbench(day: Workbench.entries(9), .init(preload: 2))
        for rank in [1, 4, 9] { _ = try await bench.contents(try await bench.stat(path(rank)).inode) }
        // With the two behind each.
        await bench.waitUntilStored(1001, 1002, 1003, 1004, 1005, 1006, 1009)
        let names = try await bench.names("recent")
        let listing = try await bench.catalog.listings.open(.ranking(.daily, Workbench.day))
        for entry in listing.entries { _ = bench.cache.evict(entry.picture, openers: 0) }
        func downloads() -> Int { bench.host.asked.count { !$0.hasPrefix("HEAD") } }
        let before = downloads()
        for rank in [1, 4, 1] {
            _ = try await bench.contents(try await bench.stat("recent/\(recentName(rank))").inode)
        }
        #expect(try await bench.names("recent") == names)
        _ = try await bench.contents(try await bench.stat("random.jpg").inode)
        #expect(downloads() == before + 2, "nothing is downloaded ahead")
        // It is read where it is, by the same program or another one.
        for program in [1, 9_000_001] as [Int32] {
            try await Workbench.$caller.withValue(Caller(user: 1000, process: program)) {
                _ = try await bench.contents(try await bench.stat(path(program == 1 ? 4 : 1)).inode)
            }
        }
        #expect(try await bench.names("recent") == [".", ".."] + [1, 4, 9].map(recentName))
        // What no listing has any more is no longer there.
        bench.catalog.listings.forget(.ranking(.daily, Workbench.day))
        #expect(try await bench.names("recent") == [".", ".."])
        #expect(await bench.walk("recent/\(recentName(1))").isAbsent)
    }

    // MARK: - random.jpg

    /// What it is for a program, of which each number is one.
    private func random(_ bench: Workbench, for program: Int32) async throws -> UInt64 {
        try await Workbench.$caller.withValue(Caller(user: 1000, process: 9_000_000 + program)) {
            try await bench.stat("random.jpg").inode
        }
    }

    private func inode(_ bench: Workbench, _ path: String) async throws -> UInt64 { try await bench.stat(path).inode }

    /// Stored, and in no directory that is shown: hidden, beyond `top`, or forgotten.
    @Test func randomPassesOverWhatIsNotShown() async throws {
        var wishes = Workbench.Wishes()
        wishes.view.top = 3
        wishes.view.filter.minimumWidth = 1000
        let bench = try Workbench(wishes)
        var entries = Workbench.entries(5)
        entries[1].work.width = 10
        bench.source.setRanking(.daily, Workbench.day, entries)
        let listing = try await bench.catalog.listings.open(.ranking(.daily, Workbench.day))
        bench.source.set { $0.hits["x"] = [Workbench.work(50)] }
        let search = try await bench.catalog.listings.open(.search("x"))
        for entry in listing.entries + search.entries {
            try await bench.cache.keep([0xFF, 0xD8, 0xFF, 0xD9], as: entry.picture)
        }
        bench.catalog.listings.forget(.search("x"))
        var seen: Set<UInt64> = []
        for program in 0..<40 as Range<Int32> { seen.insert(try await random(bench, for: program)) }
        #expect(try await seen == [inode(bench, path(1)), inode(bench, path(3))])
    }

    /// Wallpapers and screens show it, and `recent/` has none of them either.
    @Test func randomIsNoSecret() async throws {
        let bench = try Workbench()
        bench.source.signIn(UserID(rawValue: 5), bookmarks: [30, 1001])
        let own = try await bench.catalog.listings.open(ListingKey(.bookmarksPrivate, 5))
        for entry in own.entries { try await bench.cache.keep([0xFF, 0xD8, 0xFF, 0xD9], as: entry.picture) }
        #expect(try await random(bench, for: 0) == inode(bench, ".rankfs/nothing-stored.jpg"))
        // One of them is in a ranking too.
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(1))
        _ = try await bench.names(day)
        for program in 1..<9 as Range<Int32> {
            #expect(try await random(bench, for: program) == inode(bench, path(1)))
        }
    }

    @Test func theOnlyOneThatIsShownStaysReachable() async throws {
        let bench = try Workbench(day: Workbench.entries(1))
        bench.source.set { $0.hits["x"] = [Workbench.work(50)] }
        let listing = try await bench.catalog.listings.open(.ranking(.daily, Workbench.day))
        let search = try await bench.catalog.listings.open(.search("x"))
        for entry in listing.entries + search.entries {
            try await bench.cache.keep([0xFF, 0xD8, 0xFF, 0xD9], as: entry.picture)
        }
        bench.catalog.listings.forget(.search("x"))
        for program in 0..<5 as Range<Int32> {
            #expect(try await random(bench, for: program) == inode(bench, path(1)))
        }
    }
}
