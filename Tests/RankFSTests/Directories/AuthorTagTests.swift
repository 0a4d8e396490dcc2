@testable import Fuse
import Rankings
import Testing

@testable import RankFS

/// The tags of an author: one answer names them, and each is a directory that is opened by a person only.
@Suite(.timeLimit(.minutes(1))) struct AuthorTagTests {
    private let author = UserID(rawValue: 11)

    private func benchWithTags(_ wishes: Workbench.Wishes = Workbench.Wishes()) throws -> Workbench {
        let bench = try Workbench(wishes)
        bench.source.set { state in
            state.tags[author] = [
                ("風景", [Workbench.work(40), Workbench.work(30)]), ("Fate／GO", [Workbench.work(20)]), ("none", []),
            ]
        }
        return bench
    }

    /// Tags that look like names that programs probe.
    @Test func whateverIsListedExists() async throws {
        let bench = try benchWithTags()
        let named = [(".LIVE", [Workbench.work(20)]), ("Thumbs.db", [Workbench.work(30)])]
        bench.source.set { $0.tags[author] = named }
        #expect(await bench.walk("author-tags/11/.LIVE").isAbsent)
        #expect(try await bench.names("author-tags/11") == [".", "..", ".LIVE", "Thumbs.db"])
        #expect(try await bench.names("author-tags/11/.LIVE") == [".", "..", "20-Title 20.jpg"])
        #expect(try await bench.stat("author-tags/11/Thumbs.db").kind == .directory)
        #expect(await bench.walk("author-tags/11/.other").isAbsent)
        // Hours later, and after a restart.
        let asked = bench.source.asked
        bench.time += 7 * 3600
        _ = await bench.catalog.records.author(named: "nobody")
        for _ in 1...2 {
            #expect(try await bench.stat("author-tags/11/.LIVE").kind == .directory)
            #expect(await bench.walk("author-tags/11/.other").isAbsent)
            bench.catalog.listings.drop()
        }
        #expect(bench.source.asked == asked)
    }

    @Test func whatIsForgottenIsNamedNoMore() async throws {
        let bench = try benchWithTags()
        _ = try await bench.names("author-tags/11/風景")
        let tags = try await bench.stat("author-tags/11").inode
        _ = try await bench.names("author-tags/11")
        #expect(await bench.ioctl(InodeTable.root, .forget, of: tags) == .ioctl(result: 2, output: []))
        #expect(bench.invalidated.contains(tags))
        // Rows may still be on their way to the database.
        while !bench.catalog.listings.keys.isEmpty { await Task.yield() }
        #expect(try await bench.names("author-tags") == [".", ".."])
    }

    /// A path may have been opened by name, from a bookmark of the desktop for example.
    @Test(arguments: [false, true]) func whatStandsAboveAnOpenedDirectoryIsListed(isOffline: Bool) async throws {
        let bench = try benchWithTags(.init(isOffline: isOffline))
        bench.source.set { state in
            state.signIn = .signedIn(UserID(rawValue: 5))
            state.bookmarks = [Workbench.work(30)]
            state.bookmarkTags = [("猫", [Workbench.work(30)])]
        }
        let before = [try await bench.stat("author-tags").modified, try await bench.stat("users").modified]
        bench.time += 60
        for path in ["author-tags/11/風景", "users/6/bookmarks", "bookmark-tags/猫", "bookmarks"] {
            _ = try await bench.names(path)
        }
        // A record is answered once everything before it is stored.
        let picture = try await bench.stat("bookmarks/30-Title 30.jpg").inode
        _ = await bench.attribute(picture, "user.dublincore.creator")
        if isOffline { bench.source.setFailure(.offline) }
        #expect(try await bench.names("author-tags") == [".", "..", "11"])
        #expect(try await bench.names("users") == [".", "..", "6"], "the account's own stand in the root")
        let after = [try await bench.stat("author-tags").modified, try await bench.stat("users").modified]
        #expect(zip(before, after).allSatisfy { $0 < $1 }, "their times say so")
        #expect(try await bench.names("").contains("bookmark-tags"))
        if isOffline {
            #expect(try await bench.names("author-tags/11") == [".", "..", "風景"])
            #expect(try await bench.names("users/6") == [".", "..", "bookmarks"])
            #expect(try await bench.names("bookmark-tags") == [".", "..", "猫"])
            let empty = try await bench.stat("author-tags/12").inode
            #expect(await bench.openDirectory(empty) == .failure(.EHOSTUNREACH))
            #expect(try await bench.names("").contains("bookmark-months") == false)
        }
        bench.source.set { $0.signIn = .signedOut }
        #expect(try await bench.names("users") == [".", ".."])
        #expect(try await bench.names("works") == [".", ".."])
    }
}
