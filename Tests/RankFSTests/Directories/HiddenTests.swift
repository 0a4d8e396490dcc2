import Catalog
import Fuse
import Rankings
import Testing

@testable import RankFS

/// What the filter hides: absent everywhere, and in nobody's way.
@Suite(.timeLimit(.minutes(1))) struct HiddenTests {
    private let day = "ranking/daily/2024-05-01"

    private var wishes: Workbench.Wishes {
        var wishes = Workbench.Wishes()
        wishes.view.filter.minimumWidth = 1000
        return wishes
    }

    /// Entries of which only these ranks are wide enough.
    private func entries(_ count: Int, shown: (Int) -> Bool) -> [ListedWork] {
        Workbench.entries(count).map { listed in
            var listed = listed
            if let rank = listed.rank, !shown(rank) { listed.work.width = 500 }
            return listed
        }
    }

    /// Rooms of one entry, of three, and of all: hidden ones lie at the beginning, in between and at the end.
    @Test(arguments: [(176, true), (560, true), (560, false), (4096, true), (131_072, false)])
    func offsetsStayRightAcrossHiddenEntries(size: Int, plus: Bool) async throws {
        let bench = try Workbench(wishes)
        let isShown: (Int) -> Bool = { $0 % 7 == 3 || (20...24).contains($0) }
        bench.source.setRanking(.daily, Workbench.day, entries(120, shown: isShown))
        let inode = try await bench.stat(day).inode
        let listed = try await bench.list(inode, size: size, plus: plus)
        let shown = (1...120).filter(isShown)
        #expect(
            listed.map { String(decoding: $0.name, as: UTF8.self) } == [".", ".."]
                + shown.map { Workbench.name($0) })
        #expect(listed.map(\.nextOffset) == [1, 2] + shown.map { Int64($0 + 2) })
    }

    @Test(arguments: [(176, [2, 190]), (4096, [2, 190]), (4096, [])])
    func pagesOfWhichEverythingIsHiddenAreNotTheEnd(size: Int, shown: [Int]) async throws {
        let bench = try Workbench(day: entries(210, shown: shown.contains), wishes)
        let names = try await bench.list(try await bench.stat(day).inode, size: size)
            .map { String(decoding: $0.name, as: UTF8.self) }
        #expect(names == [".", ".."] + shown.map { Workbench.name($0) })
    }
}
