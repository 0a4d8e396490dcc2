import Catalog
import Fuse
import Rankings
import Testing

@testable import RankFS

/// Inodes that are asked for by number, as servers of NFS do.
@Suite(.timeLimit(.minutes(1))) struct ExportTests {
    private let day = "ranking/daily/2024-05-01"

    private func lookup(_ bench: Workbench, _ number: UInt64, _ name: String) async -> UInt64? {
        guard case .entry(let attributes, _, _) = await bench.lookup(number, Array(name.utf8)) else { return nil }
        return attributes.inode
    }

    @Test func everyNodeIsFoundByItsNumberAfterTheKernelForgotIt() async throws {
        let film = try Film(count: 2)
        let bench = try Workbench(day: Workbench.entries(3))
        bench.add(film)
        bench.source.setAuthor(UserID(rawValue: 11), [Workbench.work(1001)])
        bench.source.set { $0.hits["風景"] = [Workbench.work(60)] }
        bench.source.set { $0.tags[UserID(rawValue: 11)] = [("風景", [Workbench.work(60)])] }
        for path in [day, "works/77", "users/11", "search/風景", "author-tags/11"] { _ = try await bench.names(path) }
        let picture = "\(day)/\(Workbench.name(2))"
        _ = try await bench.contents(try await bench.stat(picture).inode)
        let paths = [
            "ranking", "ranking/daily", "ranking/daily/latest", day, picture, "users", "users/11",
            "users/11/profile.json", "works", "works/77", "works/77/info.json", "works/1002", "search", "search/風景",
            "recent", ".rankfs/status.json", "author-tags/11/風景", "by-date", "by-date/daily_ai", "by-date/daily/2010",
            "by-date/daily/2010/03", "by-date/weekly/2010/03/2010-03-31", "by-date/daily_ai/2022/10/2022-10-31",
        ]
        for path in paths {
            let number = try await bench.stat(path).inode
            let above = path.split(separator: "/").dropLast().joined(separator: "/")
            let parent = above.isEmpty ? InodeTable.root : try await bench.stat(above).inode
            bench.fileSystem.inodes.forget(number, lookups: 1000)
            #expect(bench.fileSystem.inodes.node(number) == nil)
            #expect(await lookup(bench, number, ".") == number, "\(path)")
            bench.fileSystem.inodes.forget(number, lookups: 1000)
            #expect(await lookup(bench, number, "..") == parent, "\(path)")
            #expect(await lookup(bench, InodeTable.root, "..") == InodeTable.root)
        }
        // By its further names it is itself.
        let own = try await bench.stat(picture).inode
        #expect(try await bench.stat("recent/\(try await bench.names("recent").last ?? "")").inode == own)
        let questions = bench.source.asked
        #expect(await bench.lookup(987_654_321, Array(".".utf8)).isAbsent)
        #expect(bench.source.asked == questions)
    }

    @Test func whatIsInMemoryIsFoundHoweverOldItIs() async throws {
        let bench = try Workbench()
        let works = (1...Int64(TreeLimits.listingsSearched) + 1).map { Workbench.work($0) }
        bench.source.set { state in
            state.hits["a"] = [Workbench.work(1)]
            for work in works { state.records[work.id] = work }
        }
        _ = try await bench.names("search/a")
        for work in works { _ = try await bench.names("works/\(work.id.rawValue)") }
        let picture = try await bench.stat("search/a/1-Title 1.jpg").inode
        bench.time += 7 * 3600
        bench.fileSystem.inodes.forget(picture, lookups: 1000)
        #expect(await lookup(bench, picture, ".") == picture)
    }
}
