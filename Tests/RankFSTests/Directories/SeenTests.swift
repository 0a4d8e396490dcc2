@testable import Fuse
import Rankings
import Testing

@testable import RankFS

/// `users/` and `works/` lead from the pictures that were read to their authors and works.
@Suite(.timeLimit(.minutes(1))) struct SeenTests {
    private let day = "ranking/daily/2024-05-01"

    private func read(_ rank: Int, _ bench: Workbench) async throws {
        _ = try await bench.contents(try await bench.stat("\(day)/\(Workbench.name(rank))").inode)
    }

    private static func entries() -> [ListedWork] {
        var entries = Workbench.entries(5)
        entries[1].work.author = UserID(rawValue: 9)
        entries[2].work.author = UserID(rawValue: 0)
        return entries
    }

    @Test func authorsAndWorksOfReadPicturesAreListedWithoutAQuestion() async throws {
        let bench = try Workbench(day: Self.entries())
        for rank in [4, 2, 1, 3] { try await read(rank, bench) }
        let asked = bench.source.asked
        #expect(try await bench.names("users") == [".", "..", "9", "11"], "by number; 0 is nobody's")
        #expect(try await bench.names("works") == [".", ".."] + (1001...1004).map(String.init))
        for path in ["users/9", "users/11", "works/1003"] {
            #expect(try await bench.stat(path).kind == .directory)
        }
        #expect(bench.source.asked == asked)

        // Opening asks; what the service does not have is listed no more.
        bench.source.setAuthor(UserID(rawValue: 11), [Workbench.work(1001)])
        #expect(try await bench.names("users/11").last == "1001-Title 1001.jpg")
        #expect(await bench.openDirectory(try await bench.stat("users/9").inode) == .failure(.ENOENT))
        #expect(bench.source.asked.dropFirst(asked.count) == ["author 11", "works of 11", "author 9"])
        #expect(try await bench.names("users") == [".", "..", "11"])
    }

    @Test(arguments: [true, false])
    func whoIsBeingOpenedIsListed(isThere: Bool) async throws {
        let bench = try Workbench()
        if isThere { bench.source.setAuthor(UserID(rawValue: 55), [Workbench.work(1001)]) }
        let typed = try await bench.stat("users/55").inode
        #expect(try await bench.names("users") == [".", ".."], "looked up, not opened")
        bench.source.hold(from: 0)
        async let opened = bench.openDirectory(typed)
        await bench.source.waitForQuestions(1)
        #expect(try await bench.names("users") == [".", "..", "55"])
        bench.source.letPagesCome()
        #expect(await opened.isOpened == isThere)
        #expect(try await bench.names("users") == [".", ".."] + (isThere ? ["55"] : []))
    }

    /// Clients of file servers list a directory again when its time has changed.
    @Test func aFolderChangesWhenANameIsAdded() async throws {
        let bench = try Workbench()
        bench.source.set { $0.hits = ["a": [Workbench.work(1001)], "b": [Workbench.work(1002)]] }
        bench.source.setRanking(.daily, Workbench.day, Self.entries())
        func modified(_ path: String) async throws -> Int64 { try await bench.stat(path).modified }
        let untouched = try await modified("series")
        for words in ["a", "b"] {
            bench.time += 100
            #expect(try await modified("search") < bench.time)
            _ = try await bench.names("search/\(words)")
            // The rows are on their way to the database.
            while try await modified("search") < bench.time { await Task.yield() }
            #expect(try await modified("search") == bench.time)
        }
        let search = try await bench.stat("search/a").inode
        bench.time += 100
        _ = await bench.ioctl(InodeTable.root, .forget, of: search)
        #expect(try await modified("search") == bench.time, "a name is removed")
        bench.time += 100
        try await read(2, bench)
        for folder in ["users", "works"] { #expect(try await modified(folder) == bench.time, "\(folder)") }
        #expect(try await modified("series") == untouched)
    }

    @Test(arguments: [true, false])
    func aDayThatIsBeingOpenedIsListed(isThere: Bool) async throws {
        let bench = try Workbench()
        // Long ago: no recent one.
        if isThere { bench.source.setRanking(.daily, Day(ordinal: 18_000), Workbench.entries(3)) }
        let (typed, name) = (try await bench.stat("ranking/daily/2019-04-14").inode, "2019-04-14")
        #expect(try await !bench.names("ranking/daily").contains(name), "looked up, not opened")
        bench.source.hold(from: 0)
        async let opened = bench.openDirectory(typed)
        await bench.source.waitForQuestions(1)
        #expect(try await bench.names("ranking/daily").contains(name))
        #expect(try await !bench.names("ranking/weekly").contains(name))
        bench.source.letPagesCome()
        _ = await opened
        #expect(try await bench.names("ranking/daily").contains(name) == isThere)
    }

    @Test func whatTheOwnerReadIsListedForNobodyElse() async throws {
        let bench = try Workbench(day: Self.entries(), .init(keepsOwners: true))
        try await read(1, bench)
        #expect(try await bench.names("users") == [".", "..", "11"])
        try await Workbench.$caller.withValue(Caller(user: 1001, process: 1)) { () async throws in
            #expect(try await bench.names("users") == [".", ".."])
            #expect(try await bench.names("works") == [".", ".."])
        }
    }

    @Test func nothingIsListedThatIsNotNoted() async throws {
        let bench = try Workbench(day: Self.entries(), .init(notesRecent: false))
        try await read(1, bench)
        #expect(bench.catalog.recents.pictures.isEmpty)
        bench.catalog.recents.note("\(day)/\(Workbench.name(1))")
        #expect(try await bench.names("users") == [".", ".."])
        #expect(try await bench.names("works") == [".", ".."])
    }
}
