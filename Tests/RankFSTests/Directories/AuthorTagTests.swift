@testable import Fuse
import Rankings
import Testing

@testable import RankFS

/// The tags of an author: one answer names them, and each is a directory that is opened by a person only.
@Suite(.timeLimit(.minutes(1))) struct AuthorTagTests {
    private let author = UserID(rawValue: 11)

    private func withTags(
        _ wishes: Workbench.Wishes = Workbench.Wishes(), _ body: (Workbench) async throws -> Void
    ) async throws {
        try await Workbench.with(wishes) { bench in
            bench.source.set { state in
                state.tags[author] = [
                    ("風景", [Workbench.work(40), Workbench.work(30)]), ("Fate／GO", [Workbench.work(20)]), ("none", []),
                ]
            }
            try await body(bench)
        }
    }

    @Test func theTagsAreNamedByOneRequestAndOpenByName() async throws {
        try await withTags { bench async throws in
            let tags = "author-tags/11"
            #expect(try await bench.names(tags) == [".", "..", "風景", "Fate／GO", "none"])
            #expect(try await bench.stat("\(tags)/風景").kind == .directory)
            #expect(bench.source.asked == ["author-tags/11"])
            #expect(try await bench.names("\(tags)/風景") == [".", "..", "40-Title 40.jpg", "30-Title 30.jpg"])
            #expect(try await bench.names("\(tags)/Fate／GO") == [".", "..", "20-Title 20.jpg"])
            #expect(try await bench.stat("\(tags)/風景/30-Title 30.jpg").kind == .file)
            #expect(await bench.walk("\(tags)/風景/31-Title 31.jpg").isAbsent)
            #expect(bench.source.asked.count == 3)
            // A tag that is not named is asked for, and absent if it has no works.
            #expect(
                await bench.walk("\(tags)/other/1-A.jpg").isAbsent && bench.source.asked.last == "author-tag/11/other 1"
            )
            // One that is named and has none is refused.
            let none = try await bench.stat("\(tags)/none").inode
            #expect(await bench.openDirectory(none) == .failure(Failure.withheld("").errno))
            #expect(await bench.walk("\(tags)/.hidden").isAbsent)
            #expect(try await bench.names("author-tags") == [".", "..", "11"])
            #expect(await bench.walk("author-tags/12/a.jpg").isAbsent == false)
        }
    }

    /// Tags that look like names that programs probe.
    @Test func whateverIsListedExists() async throws {
        try await withTags { bench async throws in
            let named = [(".LIVE", [Workbench.work(20)]), ("Thumbs.db", [Workbench.work(30)])]
            bench.source.set { $0.tags[author] = named }
            #expect(await bench.walk("author-tags/11/.LIVE").isAbsent)
            #expect(try await bench.names("author-tags/11") == [".", "..", ".LIVE", "Thumbs.db"])
            #expect(try await bench.names("author-tags/11/.LIVE") == [".", "..", "20-Title 20.jpg"])
            #expect(try await bench.stat("author-tags/11/Thumbs.db").kind == .directory)
            #expect(await bench.walk("author-tags/11/.other").isAbsent)
        }
    }

    @Test func anInodeIsFoundByItsNumber() async throws {
        try await withTags { bench async throws in
            _ = try await bench.names("author-tags/11")
            let inode = try await bench.stat("author-tags/11/風景").inode
            #expect(inode == InodeNumber.of("author-tags/11/風景"))
        }
    }

    @Test func whatIsForgottenIsNamedNoMore() async throws {
        try await withTags { bench async throws in
            _ = try await bench.names("author-tags/11/風景")
            let tags = try await bench.stat("author-tags/11").inode
            _ = try await bench.names("author-tags/11")
            #expect(await bench.ioctl(InodeTable.root, .forget, of: tags) == .ioctl(result: 2, output: []))
            #expect(bench.invalidated.contains(tags))
            // Rows may still be on their way to the database.
            while !bench.catalog.listings.keys.isEmpty { await Task.yield() }
            #expect(try await bench.names("author-tags") == [".", ".."])
        }
    }

    @Test func offlineOnlyOpenedTagsAreListed() async throws {
        var wishes = Workbench.Wishes()
        wishes.isOffline = true
        try await withTags(wishes) { bench async throws in
            _ = try await bench.names("author-tags/11")
            _ = try await bench.names("author-tags/11/風景")
            #expect(try await bench.names("author-tags/11") == [".", "..", "風景"])
        }
    }
}
