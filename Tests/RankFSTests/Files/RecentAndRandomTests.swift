import Catalog
import Fuse
import Rankings
import Testing

@testable import RankFS

/// `recent/`, `random.jpg`, searches and names of authors.
@Suite(.timeLimit(.minutes(1))) struct RecentAndRandomTests {
    private let day = "ranking/daily/2024-05-01"

    private func path(_ rank: Int) -> String { "\(day)/\(Workbench.name(rank))" }

    private func read(_ bench: Workbench, _ path: String, _ offset: Int64, _ count: Int) async throws {
        let inode = try await bench.stat(path).inode
        guard case .opened(let handle, _, _, _) = await bench.open(inode) else { return }
        _ = await bench.read(inode, handle, offset, count)
        bench.fileSystem.release(ReleaseRequest(inode: inode, handle: handle))
    }

    @Test func onlyWhatIsReadCounts() async throws {
        try await Workbench.with { bench in
            bench.source.setRanking(.daily, Workbench.day, Workbench.entries(5))
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
                guard case .opened(let handle, _, _, _) = await bench.open(inode) else { return }
                bench.fileSystem.release(ReleaseRequest(inode: inode, handle: handle))
            }
            #expect(bench.catalog.recents.pictures.map(\.path) == [path(3), path(2)])
        }
    }

    @Test func whatCouldNotBeReadDoesNotCount() async throws {
        try await Workbench.with { bench in
            bench.source.setRanking(.daily, Workbench.day, Workbench.entries(1))
            let inode = try await bench.stat(path(1)).inode
            bench.host.setManner(.status(404))
            guard case .opened(let handle, _, _, _) = await bench.open(inode) else { return }
            guard case .failure = await bench.read(inode, handle, 0, 200_000) else {
                Issue.record("it was read")
                return
            }
            bench.fileSystem.release(ReleaseRequest(inode: inode, handle: handle))
            #expect(bench.catalog.recents.pictures.isEmpty)
        }
    }

    @Test func archivesAreNoPictures() async throws {
        let film = try Film(count: 2)
        try await Workbench.with { bench in
            bench.add(film)
            _ = try await bench.contents(try await bench.stat("works/77/ugoira.zip").inode)
            #expect(bench.catalog.recents.pictures.isEmpty)
            _ = try await bench.contents(try await bench.stat("works/77/p0.png").inode)
            #expect(try await bench.names("recent") == [".", "..", "77_p0.png"])
        }
    }

    @Test func recentNamesLeadToThePictures() async throws {
        try await Workbench.with { bench in
            bench.source.setRanking(.daily, Workbench.day, Workbench.entries(3))
            for rank in 1...3 { _ = try await bench.contents(try await bench.stat(path(rank)).inode) }
            #expect(
                try await bench.names("recent") == [".", ".."] + [3, 2, 1].map(recentName))
            let link = try await bench.stat("recent/\(recentName(2))")
            #expect(await bench.readLink(link.inode) == .link("../\(path(2))"))
            #expect(link.size == "../\(path(2))".utf8.count && link.modified == Workbench.now)
            #expect(await bench.walk("recent/\(recentName(4))").isAbsent)
        }
        var quiet = Workbench.Wishes()
        quiet.notesRecent = false
        try await Workbench.with(quiet) { bench in
            bench.source.setRanking(.daily, Workbench.day, Workbench.entries(1))
            _ = try await bench.contents(try await bench.stat(path(1)).inode)
            #expect(bench.catalog.recents.pictures.isEmpty)
        }
    }

    private func recentName(_ rank: Int) -> String { "2024-05-01_daily_\(Workbench.name(rank))" }

    @Test func lookingThroughWhatWasReadMovesNothing() async throws {
        try await Workbench.with { bench in
            bench.source.setRanking(.daily, Workbench.day, Workbench.entries(3))
            for rank in 1...3 { _ = try await bench.contents(try await bench.stat(path(rank)).inode) }
            let names = try await bench.names("recent")
            for rank in [1, 2] {
                _ = await bench.readLink(try await bench.stat("recent/\(recentName(rank))").inode)
                _ = try await bench.contents(try await bench.stat(path(rank)).inode)
            }
            #expect(try await bench.names("recent") == names)
            // Another program reads it where it is.
            try await Workbench.$caller.withValue(Caller(user: 1000, group: 1000, process: 9_000_001)) {
                _ = try await bench.contents(try await bench.stat(path(1)).inode)
            }
            #expect(try await bench.names("recent") == [".", ".."] + [1, 3, 2].map(recentName))
        }
    }

    // MARK: - random.jpg

    /// Where the link leads for a program, of which each number is one.
    private func target(_ bench: Workbench, for program: Int32) async throws -> Answer {
        try await Workbench.$caller.withValue(Caller(user: 1000, group: 1000, process: 9_000_000 + program)) {
            await bench.readLink(try await bench.stat("random.jpg").inode)
        }
    }

    @Test func randomIsNeverTheSameTwiceAndAlwaysThere() async throws {
        let film = try Film(count: 2)
        // A program's choice lasts some seconds, which pass on a busy machine.
        let start = ContinuousClock.now
        try await Workbench.with(Workbench.Wishes(monotonicNow: { start })) { bench in
            #expect(try await target(bench, for: 0) == .link(".rankfs/nothing-stored.jpg"))
            _ = try await bench.stat(".rankfs/nothing-stored.jpg")
            bench.source.setRanking(.daily, Workbench.day, Workbench.entries(4))
            bench.add(film)
            _ = try await bench.contents(try await bench.stat("works/77/ugoira.zip").inode)
            _ = try await bench.contents(try await bench.stat("works/77/ugoira.webp").inode)
            #expect(try await target(bench, for: 0) == .link(".rankfs/nothing-stored.jpg"), "archives are no pictures")
            func store(_ rank: Int) async throws {
                _ = try await bench.contents(try await bench.stat(path(rank)).inode)
                let work = Workbench.work(1000 + Int64(rank))
                let picture = PictureID(work: work.id, page: 0, rendition: .regular, uploaded: work.uploaded)
                // The file is put into the store after its last byte was answered.
                while bench.cache.storedSize(of: picture) == nil { await Task.yield() }
            }
            try await store(2)
            for program in 0..<3 as Range<Int32> {
                #expect(try await target(bench, for: program) == .link(path(2)), "the only one")
            }
            try await store(3)
            try await store(4)
            var last = Answer.link(path(2))
            var seen: Set<String> = []
            for program in 10..<70 as Range<Int32> {
                let next = try await target(bench, for: program)
                #expect(next != last)
                #expect(try await target(bench, for: program) == next, "a program sees one")
                guard case .link(let target) = next else { break }
                seen.insert(target)
                last = next
            }
            #expect(seen == [path(2), path(3), path(4)])
            for target in seen { _ = try await bench.stat(target) }
            #expect(bench.source.asked.filter { $0.hasPrefix("daily") }.count == 1)
        }
    }

    /// NFS servers refuse links whose length is another one than `stat` told.
    @Test func theLengthThatStatTellsIsThatOfTheNextTarget() async throws {
        try await Workbench.with { bench in
            let titles = ["a", "bb", "cccc", "dddddddd"]
            var entries = Workbench.entries(titles.count)
            for (index, title) in titles.enumerated() { entries[index].work.title = title }
            bench.source.setRanking(.daily, Workbench.day, entries)
            func isTrue() async throws -> Bool {
                let link = try await bench.stat("random.jpg")
                let again = try await bench.stat("random.jpg")
                guard case .link(let target) = await bench.readLink(link.inode) else { return false }
                return link.size == target.utf8.count && again.size == link.size
            }
            #expect(try await isTrue(), "nothing is stored")
            let listing = try await bench.catalog.listings.open(.ranking(.daily, Workbench.day))
            for entry in listing.entries { try await bench.cache.keep([0xFF, 0xD8, 0xFF, 0xD9], as: entry.picture) }
            for program in 0..<20 as Range<Int32> {
                let isTrue = try await Workbench.$caller.withValue(
                    Caller(user: 1000, group: 1000, process: 9_000_000 + program)
                ) { try await isTrue() }
                #expect(isTrue)
            }
        }
    }

    /// Stored, and in no directory that is shown: hidden, beyond `top`, or forgotten.
    @Test func randomPassesOverWhatIsNotShown() async throws {
        var wishes = Workbench.Wishes()
        wishes.view.top = 3
        wishes.view.filter.minimumWidth = 1000
        try await Workbench.with(wishes) { bench in
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
            var seen: Set<String> = []
            for program in 0..<40 as Range<Int32> {
                guard case .link(let target) = try await target(bench, for: program) else { break }
                seen.insert(target)
            }
            #expect(seen == [path(1), path(3)])
        }
    }

    @Test func theOnlyOneThatIsShownStaysReachable() async throws {
        try await Workbench.with { bench in
            bench.source.setRanking(.daily, Workbench.day, Workbench.entries(1))
            bench.source.set { $0.hits["x"] = [Workbench.work(50)] }
            let listing = try await bench.catalog.listings.open(.ranking(.daily, Workbench.day))
            let search = try await bench.catalog.listings.open(.search("x"))
            for entry in listing.entries + search.entries {
                try await bench.cache.keep([0xFF, 0xD8, 0xFF, 0xD9], as: entry.picture)
            }
            bench.catalog.listings.forget(.search("x"))
            for program in 0..<5 as Range<Int32> { #expect(try await target(bench, for: program) == .link(path(1))) }
        }
    }

    // MARK: - Searches and authors

    @Test func aSearchIsAskedForWhenItIsRead() async throws {
        try await Workbench.with { bench in
            bench.source.set { $0.hits["風景"] = [Workbench.work(60), Workbench.work(50)] }
            let search = try await bench.stat("search/風景")
            #expect(search.kind == .directory && bench.source.asked.isEmpty, "naming it asks nothing")
            #expect(try await bench.names("search") == [".", ".."])
            #expect(try await bench.names("search/風景") == [".", "..", "60-Title 60.jpg", "50-Title 50.jpg"])
            #expect(try await bench.names("search") == [".", "..", "風景"])
            for name in ["desktop.ini", ".hidden", "Thumbs.db", ".Trash"] {
                #expect(await bench.walk("search/\(name)").isAbsent, "\(name)")
            }
            #expect(bench.source.asked == ["search 風景 1"])
        }
    }

    @Test func anAuthorIsFoundByNameAndDescribed() async throws {
        try await Workbench.with { bench in
            bench.source.setRanking(.daily, Workbench.day, Workbench.entries(2))
            #expect(await bench.walk("users/@Author").isAbsent)
            _ = try await bench.names(day)
            let link = try await bench.stat("users/@Author")
            #expect(await bench.readLink(link.inode) == .link("11"))
            #expect(await bench.walk("users/@Nobody").isAbsent)
            bench.source.setAuthor(UserID(rawValue: 11), [Workbench.work(1001)])
            bench.source.set { $0.avatar = "11.jpg" }
            #expect(
                try await bench.names("users/11") == [
                    ".", "..", "profile.json", "avatar.jpg", "1001-Title 1001.jpg",
                ])
            let profile = try await bench.stat("users/11/profile.json")
            #expect(try await bench.contents(profile.inode).count == Int(profile.size))
            let avatar = try await bench.stat("users/11/avatar.jpg")
            #expect(try await bench.contents(avatar.inode) == PictureHost.picture(11))
            #expect(avatar.modified == 1_600_000_000)
            #expect(bench.source.asked.filter { $0 == "profile 11" }.count == 1)
            #expect(bench.host.heads == ["HEAD 11"])
            #expect(bench.catalog.recents.pictures.isEmpty)
        }
    }
}
