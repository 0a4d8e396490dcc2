import Catalog
import Fuse
import Rankings
import Testing

@testable import RankFS

/// Semantics: "Unreachable never means deleted".
@Suite(.timeLimit(.minutes(1))) struct OfflineTests {
    private let day = "ranking/daily/2024-05-01"
    private let wishes = Workbench.Wishes(isOffline: true)

    @Test func onlyStoredPicturesOfStoredDaysAreListed() async throws {
        let bench = try Workbench(day: Workbench.entries(60, withheld: [2]), wishes)
        #expect(try await bench.names("ranking") == [".", ".."])
        #expect(
            try await bench.names("ranking/daily") == [".", ".."], "no day is stored, so there is no newest one")
        let latest = try await bench.stat("ranking/daily/latest")
        #expect(await bench.openDirectory(latest.inode) == .failure(.EHOSTUNREACH))
        #expect(await bench.walk("ranking/daily/latest/\(Workbench.name(1))") == .failure(.EHOSTUNREACH))
        #expect(await bench.attribute(latest.inode, "user.rankfs.day") == .failure(.ENODATA))
        for rank in [1, 3] {
            _ = try await bench.contents(bench.stat("\(day)/\(Workbench.name(rank))").inode)
        }
        await bench.waitUntilStored(1001, 1003)
        bench.source.setFailure(.offline)
        let asked = bench.source.asked.count
        #expect(try await bench.names("ranking") == [".", "..", "daily"])
        #expect(try await bench.names("ranking/daily") == [".", "..", "2024-05-01", "latest"])
        #expect(await bench.attribute(latest.inode, "user.rankfs.day").text == "2024-05-01")
        #expect(
            try await bench.names("ranking/daily/latest") == [".", "..", Workbench.name(1), Workbench.name(3)])
        #expect(try await bench.names(day) == [".", "..", Workbench.name(1), Workbench.name(3)])
        #expect(bench.source.asked.count == asked, "nor is a page asked for")
        #expect(try await bench.names("recent").count == 4)

        // What is not listed is found by name, as ever.
        #expect(try await bench.stat("\(day)/\(Workbench.name(5))").kind == .file)
        let opened = try #require(await bench.openDirectory(try await bench.stat(day).inode).opened)
        #expect(!opened.isCached, "the next look may show less")
        let work = Workbench.work(1001)
        let picture = PictureID(work: work.id, page: 0, rendition: .regular, uploaded: work.uploaded)
        #expect(bench.cache.evict(picture, openers: 0))
        #expect(try await bench.names(day) == [".", "..", Workbench.name(3)])
        #expect(try await bench.names("recent").count == 3)
    }

    @Test func filesThatAreMadeAreListedWithWhatTheyAreMadeOf() async throws {
        let bench = try Workbench(wishes)
        let film = try Film(count: 3)
        bench.add(film)
        bench.source.setAuthor(UserID(rawValue: 11), [Workbench.work(1)])
        bench.source.set { $0.avatar = "face.jpg" }
        // The archive's own bytes are not here yet.
        _ = try await bench.names("works/77")
        _ = try await bench.names("users/11")
        _ = try await bench.stat("users/11/profile.json")
        bench.source.setFailure(.offline)
        #expect(try await bench.names("works") == [".", "..", "77"])
        // Its record came with the directory.
        #expect(try await bench.names("works/77") == [".", "..", "info.json"])
        #expect(try await bench.names("users") == [".", "..", "11"])
        #expect(try await bench.names("users/11") == [".", "..", "profile.json"])

        bench.source.setFailure(nil)
        _ = try await bench.contents(bench.stat("works/77/ugoira.zip").inode)
        _ = try await bench.stat("works/77/info.json")
        _ = try await bench.contents(bench.stat("users/11/avatar.jpg").inode)
        await bench.waitUntilStored(
            PictureID(work: film.work, page: 0, rendition: .archive, uploaded: film.listed.uploaded))
        await bench.waitUntilStored(
            PictureID(work: WorkID(rawValue: 11), page: 0, rendition: .avatar, uploaded: 1_600_000_000))
        bench.source.setFailure(.offline)
        #expect(
            try await bench.names("works/77")
                == [".", "..", "info.json", "ugoira.mkv", "ugoira.webp", "ugoira.gif", "ugoira.zip"])
        #expect(try await bench.names("users/11") == [".", "..", "profile.json", "avatar.jpg"])
    }

    @Test func listsOfTheOwnerAreThereIfTheyAreStored() async throws {
        let bench = try Workbench(wishes)
        let user = UserID(rawValue: 5)
        bench.source.set { state in
            state.signIn = .signedIn(user)
            state.bookmarks = [Workbench.work(30)]
            state.followed = [
                NamedAuthor(id: UserID(rawValue: 11), name: "A"), NamedAuthor(id: UserID(rawValue: 12), name: "B"),
            ]
        }
        let usual = Workbench.root
        #expect(try await bench.names("") == usual)
        for author in [user, UserID(rawValue: 11)] { bench.source.setAuthor(author, []) }
        _ = try await bench.names("users/11")
        #expect(try await bench.names("following") == [".", "..", "11-A"])
        _ = try await bench.names("users/5/bookmarks")
        _ = try await bench.names("search/sea")
        bench.source.setFailure(.offline)
        #expect(try await bench.names("") == usual + ["bookmarks", "following"])
        #expect(try await bench.names("search") == [".", "..", "sea"])
    }
}
