import Catalog
@testable import Fuse
import Rankings
import Testing

@testable import RankFS

/// Directories: paged as they are read, offsets that hold, counts that come back.
@Suite(.timeLimit(.minutes(1))) struct DirectoryTests {
    private let day = "ranking/daily/2024-05-01"

    @Test(arguments: [(256, true), (4096, true), (4096, false), (131_072, true)])
    func fiveHundredEntriesCrossEveryBuffer(size: Int, plus: Bool) async throws {
        let bench = try Workbench(day: Workbench.entries(500))
        let inode = try await bench.stat(day).inode
        let entries = try await bench.list(inode, size: size, plus: plus)
        #expect(
            entries.map { String(decoding: $0.name, as: UTF8.self) } == [".", ".."]
                + (1...500).map { Workbench.name($0) })
        #expect(Set(entries.map(\.inode)).count == 502)
        #expect(entries.map(\.nextOffset) == Array(1...502))
        #expect(entries.dropFirst(2).allSatisfy { $0.kind == .file })
        #expect(entries[0].inode == inode)
        let parent = try await bench.stat("ranking/daily").inode
        #expect(entries[1].inode == parent)
        #expect(bench.host.asked.isEmpty)
    }

    /// Semantics: "Authors, searches and what was seen".
    @Test func aRewoundDirectoryShowsWhatIsThereAtThatMoment() async throws {
        let bench = try Workbench()
        let inode = try await bench.stat("search").inode
        let handle = try #require(await bench.openDirectory(inode).handle)
        func names(from offset: Int64) async -> [String] {
            guard let entries = await bench.readDirectory(inode, handle, offset).entries() else { return [] }
            return entries.map { String(decoding: $0.name, as: UTF8.self) }
        }
        #expect(await names(from: 0) == [".", ".."])
        _ = try await bench.names("search/sea")
        #expect(await names(from: 2) == [], "it goes on in the old list")
        #expect(await names(from: 0) == [".", "..", "sea"])
        _ = try await bench.names("search/sun")
        #expect(await names(from: 2) == ["sea"])
        #expect(await names(from: 0) == [".", "..", "sea", "sun"])
    }

    @Test func everySpellingIsADirectoryOfItsOwn() async throws {
        let parent = "search"
        let bench = try Workbench()
        let spellings = ["ガンダム", "カ\u{3099}ンタ\u{3099}ム"]
        let inodes = try await [
            bench.stat("\(parent)/\(spellings[0])").inode, bench.stat("\(parent)/\(spellings[1])").inode,
        ]
        #expect(inodes[0] != inodes[1])
        #expect(bench.fileSystem.inodes.node(inodes[1])?.path.name.utf8.elementsEqual(spellings[1].utf8) == true)
        // No name that is listed is longer than one that can be looked up.
        let growing = Array(String(repeating: "\u{958}", count: 40).utf8)
        #expect(await bench.lookup(try await bench.stat(parent).inode, growing).isAbsent)
    }

    @Test func theFirstPageComesBeforeTheOthers() async throws {
        let bench = try Workbench(day: Workbench.entries(120))
        bench.source.hold(from: 2)
        let inode = try await bench.stat(day).inode
        let opened = try #require(await bench.openDirectory(inode).opened)
        let handle = opened.handle
        #expect(!opened.keepsCache && !opened.isCached, "not complete yet")
        let first = try #require(await bench.readDirectory(inode, handle, 0, size: 1 << 20).entries())
        #expect(first.count == 52)
        async let rest = bench.readDirectory(inode, handle, 52, size: 1 << 20)
        await bench.source.waitForQuestions(2)
        bench.source.letPagesCome()
        let more = try #require(await rest.entries())
        #expect(more.first?.nextOffset == 53)
        bench.fileSystem.release(inode, handle: handle)
        #expect(try await bench.list(inode).count == 122)
        let again = try #require(await bench.openDirectory(inode).opened)
        #expect(again.keepsCache && !again.isDirect && again.isCached, "a frozen day is cached")
    }

    @Test func seekingGoesBackToTheSameEntry() async throws {
        let bench = try Workbench(day: Workbench.entries(30))
        let inode = try await bench.stat(day).inode
        let all = try await bench.list(inode)
        let handle = try #require(await bench.openDirectory(inode).handle)
        for offset in [31, 0, 17, 2, 1] {
            let entries = await bench.readDirectory(inode, handle, Int64(offset)).entries()
            #expect(entries?.first?.name == all[offset].name)
        }
        #expect(await bench.readDirectory(inode, handle, 32) == .bytes([]))
        #expect(await bench.readDirectory(inode, handle, 9999) == .bytes([]))
    }

    @Test func attributesComeAlongOnlyWhereTheyAreKnown() async throws {
        let bench = try Workbench(day: Workbench.entries(5, withheld: [4]), .init(listsWithheld: true))
        let known = try await bench.stat("\(day)/\(Workbench.name(2))")
        let inode = try await bench.stat(day).inode
        let entries = try await bench.list(inode)
        #expect(entries.map { $0.attributes != nil } == [false, false, false, true, false, true, false])
        #expect(entries[3].attributes == known)
        #expect(entries[3].inode == known.inode)
        #expect(try await bench.list(inode, plus: false).allSatisfy { $0.attributes == nil })
        #expect(bench.host.asked == ["HEAD 1002"])
    }

    @Test func forgettingEverythingReturnsToTheRoot() async throws {
        let bench = try Workbench(day: Workbench.entries(20, withheld: Set(1...20)), .init(listsWithheld: true))
        var counts: [UInt64: UInt64] = [:]
        func count(_ path: String) async {
            var parent = InodeTable.root
            for name in path.split(separator: "/") {
                guard case .entry(let found, _, _) = await bench.lookup(parent, Array(name.utf8)) else { return }
                counts[found.inode, default: 0] += 1
                parent = found.inode
            }
        }
        await count("\(day)/\(Workbench.name(7))")
        let inode = try #require(counts.keys.first { Node.day(.daily, Workbench.day).inodeNumber == $0 })
        for size in [300, 4096] {
            for entry in try await bench.list(inode, size: size) where entry.attributes != nil {
                counts[entry.inode, default: 0] += 1
            }
        }
        #expect(bench.fileSystem.figures.inodes == counts.count + 1)
        for (inode, lookups) in counts { bench.fileSystem.forget(inode, lookups: lookups) }
        #expect(bench.fileSystem.figures.inodes == 1)
        #expect(bench.fileSystem.figures.handles == 0)
        #expect(await bench.attributes(inode) == .failure(.ESTALE))
    }
}
