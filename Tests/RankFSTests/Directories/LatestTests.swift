import Catalog
@testable import Fuse
import Rankings
import Testing

@testable import RankFS

/// Semantics: "The newest day".
@Suite(.timeLimit(.minutes(1))) struct LatestTests {
    private let bench: Workbench
    private let latest = "ranking/daily/latest"
    private let newest = "ranking/daily/\(Workbench.newest)"
    private let next = Workbench.newest.advanced(by: 1)
    /// 2024-05-04 12:00 in Japan.
    private let noon = Workbench.now + 23 * 3600 + 1800

    init() throws { bench = try Workbench() }

    private func shown(_ from: Int64, _ count: Int = 3) -> [String] {
        [".", ".."] + (1...count).map { Workbench.name($0, from: from) }
    }

    private func day(_ bench: Workbench) async throws -> String? {
        await bench.attribute(try await bench.stat(latest).inode, RankFileSystem.dayAttribute).text
    }

    @Test func latestIsTheNewestDay() async throws {
        bench.source.setRanking(.daily, Workbench.newest, Workbench.entries(3))
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(3, from: 2001))
        let directory = try await bench.stat(latest)
        #expect(directory.kind == .directory && directory.permissions == 0o755)
        #expect(directory.modified == bench.fileSystem.tree.publication(of: Workbench.newest, in: .daily))
        #expect(await bench.attributes(directory.inode) == .attributes(directory, timeout: TreeLimits.current))
        #expect(try await day(bench) == nil, "nobody knows yet")
        let asked = bench.source.asked.count
        #expect(try await bench.names(latest) == shown(1001))
        #expect(try await day(bench) == "2024-05-02")
        #expect(bench.source.asked.count == asked + 1, "the newest day came with its first page")
        #expect(try await bench.names(latest) == shown(1001))
        #expect(bench.source.asked.count == asked + 1)
        #expect(await bench.readLink(directory.inode) == .failure(.EINVAL))
        let theDay = try await bench.stat(newest)
        #expect(theDay.inode != directory.inode, "a directory is in one place")
        #expect(theDay.modified == directory.modified)
        #expect(await bench.attribute(theDay.inode, RankFileSystem.dayAttribute).text == "2024-05-02")
        #expect(try await bench.attributeNames(theDay.inode).isEmpty)
        #expect(try await bench.attributeNames(directory.inode).isEmpty, "a copy would tell it for ever")
        let mode = try await bench.stat("ranking/daily").inode
        #expect(await bench.attribute(mode, RankFileSystem.dayAttribute) == .failure(.ENODATA))
    }

    @Test func theKernelKeepsNoNameOfItForLong() async throws {
        bench.source.setRanking(.daily, Workbench.newest, Workbench.entries(3))
        let inode = try await bench.stat(latest).inode
        guard case .opened(_, let keepCache, _, let isCached) = await bench.openDirectory(inode),
            case .entry(_, let timeout, _) = await bench.walk("\(latest)/\(Workbench.name(2))"),
            case .entry(_, let own, _) = await bench.walk("\(newest)/\(Workbench.name(2))"),
            case .absent(let absent) = await bench.walk("\(latest)/cover.jpg"),
            case .absent(let past) = await bench.walk("\(latest)/\(Workbench.name(4))")
        else {
            Issue.record("not as expected")
            return
        }
        #expect(!keepCache && !isCached)
        #expect([timeout, absent, past].allSatisfy { $0 <= TreeLimits.current })
        #expect(own == TreeLimits.frozen)
        // While the service is late the newest day is older than the calendar's, and frozen by its own name.
        bench.time = noon
        _ = try await bench.names(latest)
        #expect(await bench.openDirectory(try await bench.stat(newest).inode).opened?.isCached == true)
        #expect(await bench.openDirectory(inode).opened?.isCached == false)
    }

    @Test func atNoonItShowsTheNextDay() async throws {
        bench.source.setRanking(.daily, Workbench.newest, Workbench.entries(60))
        let inode = try await bench.stat(latest).inode
        #expect(try await bench.names(latest) == shown(1001, 60))
        let old = try await bench.stat("\(latest)/\(Workbench.name(1))")
        let handle = try #require(await bench.openDirectory(inode).handle)
        let begun = try #require(await bench.readDirectory(inode, handle, 0, size: 1000).entries())
        bench.time = noon
        bench.source.setRanking(.daily, next, Workbench.entries(5, from: 3001))
        #expect(try await day(bench) == nil, "nobody has asked since noon")
        #expect(try await bench.stat(latest).modified == bench.fileSystem.tree.publication(of: next, in: .daily))
        #expect(await bench.walk("\(latest)/\(Workbench.name(1))").isAbsent)
        #expect(try await bench.stat("\(latest)/\(Workbench.name(1, from: 3001))").links == 3)
        #expect(try await bench.names(latest) == shown(3001, 5))
        #expect(try await day(bench) == next.description)
        #expect(try await bench.stat("\(newest)/\(Workbench.name(1))").inode == old.inode)
        #expect(try await bench.stat("\(newest)/\(Workbench.name(1))").links == 2)

        // Who is in the middle of the day before comes to its end.
        var names = begun.map(\.name)
        var offset = try #require(begun.last).nextOffset
        while let more = await bench.readDirectory(inode, handle, offset).entries(), let last = more.last {
            names += more.map(\.name)
            offset = last.nextOffset
        }
        #expect(names.map { String(decoding: $0, as: UTF8.self) } == shown(1001, 60))
    }

    @Test func commandsAreForTheNewestDay() async throws {
        bench.source.setRanking(.daily, Workbench.newest, Workbench.entries(3, withheld: [2]))
        let inode = try await bench.stat(latest).inode
        #expect(await bench.ioctl(inode, .pin) == .ioctl(result: 2, output: []))
        _ = try await bench.contents(bench.stat("\(latest)/\(Workbench.name(1))").inode)
        #expect(try await bench.names("recent").count == 3)
        #expect(
            try await bench.names("recent")[2] == "\(Workbench.newest)_daily_\(Workbench.name(1))",
            "what was read keeps its name")
        #expect(await bench.ioctl(inode, .unpin) == .ioctl(result: 2, output: []))
        bench.source.setRanking(.daily, Workbench.newest, Workbench.entries(4))
        #expect(await bench.ioctl(inode, .refresh) == .ioctl(result: 1, output: []))
        let theDay = try await bench.stat(newest).inode
        #expect(bench.invalidated.suffix(2) == [inode, theDay])
        #expect(try await bench.names(latest) == shown(1001, 4))
        #expect(try await bench.names(newest) == shown(1001, 4))
        #expect(await bench.ioctl(inode, .forget) == .ioctl(result: 1, output: []))
        let asked = bench.source.asked.count
        #expect(try await bench.names(newest) == shown(1001, 4))
        #expect(bench.source.asked.count > asked)
    }
}
