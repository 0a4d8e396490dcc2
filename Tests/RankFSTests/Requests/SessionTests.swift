import Catalog
import Fuse
import Rankings
import Testing

@testable import RankFS

/// What is shown signed in, signed out, and with a session that the service no longer takes.
@Suite(.timeLimit(.minutes(1))) struct SessionTests {
    private let bench: Workbench
    private static let user = UserID(rawValue: 5)
    private let everyone = Workbench.root

    init() throws { bench = try Workbench() }

    @Test func theRootShowsWhatTheSessionAllows() async throws {
        #expect(try await bench.names("") == everyone)
        for session in [SignIn.signedIn(Self.user), .expired(Self.user)] {
            bench.source.set { $0.signIn = session }
            #expect(try await bench.names("") == everyone + Workbench.ofSession)
            #expect(try await bench.stat("bookmarks").kind == .directory)
        }
        bench.source.set { $0.signIn = .signedOut }
        for name in ["bookmarks", "bookmarks/5-A.jpg", "following", "following/5-Ann", "feed", "feed-r18"] {
            #expect(await bench.walk(name) == .failure(.EACCES), "\(name)")
        }
        #expect(bench.source.asked.isEmpty)
        let quiet = try Workbench(.init(notesRecent: false))
        #expect(try await quiet.names("") == everyone.filter { $0 != "recent" })
        #expect(await quiet.walk("recent").isAbsent)
    }

    /// A look costs system calls, and programs look up every name of a directory.
    @Test func entriesThatAreShownNeedNoLookAtTheSession() async throws {
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(50, withheld: [7]))
        let day = try await bench.stat("ranking/daily/2024-05-01").inode
        _ = try await bench.list(day)
        bench.source.set { $0.signInLooks = 0 }
        for rank in 1...50 where rank != 7 {
            #expect(await bench.lookup(day, Array(Workbench.name(rank).utf8)).isTold)
        }
        #expect(bench.source.state.withLock { $0.signInLooks } == 0)
        _ = try await bench.list(day)
        #expect((1...3).contains(bench.source.state.withLock { $0.signInLooks }), "at each open of a directory")
        // What is masked may be shown to somebody who has signed in since.
        bench.source.set { state in
            state.signInLooks = 0
            state.signIn = .signedIn(Self.user)
        }
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(50))
        #expect(try await bench.stat("ranking/daily/2024-05-01/\(Workbench.name(7))").size > 0)
    }

    @Test func rankingsForMembersAreRefusedAtOnceWhenTheSessionEnds() async throws {
        let mode = try #require(RankingMode(rawValue: "daily_r18"))
        bench.source.setRanking(mode, Workbench.day, Workbench.entries(2))
        let path = "ranking/daily_r18/2024-05-01/\(Workbench.name(1))"
        #expect(await bench.walk(path) == .failure(.EACCES))
        bench.source.set { $0.signIn = .signedIn(Self.user) }
        #expect(try await bench.names("ranking").contains("daily_r18"))
        let picture = try await bench.stat(path).inode
        let directory = try await bench.stat("ranking/daily_r18/2024-05-01").inode
        let latest = try await bench.stat("ranking/daily_r18/latest").inode
        // With an expired session, stored days are shown.
        bench.source.set { $0.signIn = .expired(Self.user) }
        #expect(try await bench.names("ranking").contains("daily_r18"))
        #expect(try await bench.stat(path).inode == picture)
        bench.source.set { $0.signIn = .signedOut }
        // The kernel may have the inodes for a day.
        #expect(await bench.open(picture) == .failure(.EACCES))
        #expect(await bench.openDirectory(directory) == .failure(.EACCES))
        #expect(await bench.lookup(directory, Array("002-x.jpg".utf8)) == .failure(.EACCES))
        #expect(await bench.openDirectory(latest) == .failure(.EACCES))
        #expect(await bench.lookup(latest, Array("002-x.jpg".utf8)) == .failure(.EACCES))
        #expect(try await bench.names("ranking").contains("daily_r18") == false)
        #expect(bench.reported.allSatisfy { $0.contains("rankfs login") })
    }

    /// The kernel may know both paths for a day: nothing is listed in between.
    @Test func aPictureThatOnlyTheAccountSawIsClosedWhenTheSessionEnds() async throws {
        bench.source.set { $0.signIn = .signedIn(Self.user) }
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(9))
        let folder = "ranking/daily/2024-05-01"
        let directory = try await bench.stat(folder).inode
        let own = try await bench.stat("\(folder)/\(Workbench.name(7))").inode
        let shared = try await bench.stat("\(folder)/\(Workbench.name(8))").inode
        #expect(await bench.open(own).isOpened)
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(9, withheld: [7]))
        bench.source.set { $0.signIn = .signedOut }
        // The kernel then looks the name up again, which asks what everybody sees.
        #expect(await bench.open(shared) == .failure(.ESTALE))
        #expect(await bench.lookup(directory, Array(Workbench.name(8).utf8)).isTold)
        #expect(await bench.open(shared).isOpened)
        #expect(await bench.open(own) == .failure(.EACCES))
        bench.source.set { $0.signIn = .expired(Self.user) }
        #expect(await bench.open(own).isOpened, "what is stored is served with an expired session")
    }

    /// What only another account's list shows is not named where the mount collects pictures.
    @Test func whatDoesNotOpenForTheAccountIsNeitherRecentNorRandom() async throws {
        bench.source.set { $0.signIn = .signedIn(Self.user) }
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(2))
        for rank in 1...2 {
            _ = try await bench.contents(
                try await bench.stat("ranking/daily/2024-05-01/\(Workbench.name(rank))").inode)
        }
        let recent = [2, 1].map { "2024-05-01_daily_\(Workbench.name($0))" }
        #expect(try await bench.names("recent") == [".", ".."] + recent)
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(2, withheld: [1]))
        bench.source.set { $0.signIn = .signedIn(UserID(rawValue: 6)) }
        _ = try await bench.names("ranking/daily/2024-05-01")
        #expect(try await bench.names("recent") == [".", "..", recent[0]])
        #expect(await bench.walk("recent/\(recent[1])").isAbsent)
        let second = try await bench.stat("ranking/daily/2024-05-01/\(Workbench.name(2))").inode
        for _ in 0..<3 { #expect(try await bench.stat("random.jpg").inode == second) }
    }

    /// No request tells what everybody sees.
    @Test func offlineWhatTheAccountReadStaysWhenItsSessionEnds() async throws {
        let bench = try Workbench(.init(isOffline: true))
        bench.source.signIn(Self.user, bookmarks: [30])
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(1))
        let picture = try await bench.stat("ranking/daily/2024-05-01/\(Workbench.name(1))").inode
        let own = try await bench.stat("bookmarks/30-Title 30.jpg").inode
        for inode in [picture, own] { _ = try await bench.contents(inode) }
        await bench.waitUntilStored(1001, 30)
        let recent = try await bench.names("recent")
        #expect(recent == [".", "..", "30-Title 30.jpg", "2024-05-01_daily_\(Workbench.name(1))"])
        bench.source.setFailure(.offline)
        bench.source.set { $0.signIn = .signedOut }
        #expect(try await bench.names("recent") == [".", "..", "2024-05-01_daily_\(Workbench.name(1))"])
        #expect(try await bench.stat("random.jpg").inode == picture)
        #expect(await bench.open(picture).isOpened)
        #expect(await bench.open(own) == .failure(.EACCES), "an account's own list")
    }

    /// The kernel may know all of the paths.
    @Test func anotherAccountOpensNothingThatIsTheFirstOnes() async throws {
        let (tag, name) = ("bookmark-tags/風景", "30-Title 30.jpg")
        bench.source.set { state in
            state.signIn = .signedIn(Self.user)
            state.bookmarks = [Workbench.work(30)]
            state.feeds[.feed] = [Workbench.work(30)]
            state.bookmarkTags = [("風景", [Workbench.work(30)])]
        }
        let folder = try await bench.stat(tag).inode
        var pictures: [String: UInt64] = [:]
        for path in ["bookmarks-private", "feed", tag, "bookmarks"] {
            guard case .entry(let shown, let kept, _) = await bench.walk("\(path)/\(name)") else { continue }
            #expect(kept <= TreeLimits.current, "another account may sign in: \(path)")
            #expect(await bench.open(shown.inode).isOpened)
            pictures[path] = shown.inode
        }
        #expect(pictures.count == 4)
        bench.source.set { $0.signIn = .signedIn(UserID(rawValue: 6)) }
        for (path, picture) in pictures {
            #expect(await bench.open(picture) == .failure(.ESTALE), "\(path)")
            guard path != "bookmarks" else { continue }
            #expect(await bench.attribute(picture, "user.dublincore.title") == .failure(.ESTALE), "\(path)")
        }
        #expect(await bench.openDirectory(folder) == .failure(.ESTALE))
        #expect(await bench.lookup(folder, Array(name.utf8)) == .failure(.ESTALE))
        // The kernel then looks the paths up again, which lead to the account's own.
        bench.source.set { state in
            state.bookmarks = [Workbench.work(40)]
            state.bookmarkTags = [("風景", [Workbench.work(40)])]
        }
        #expect(try await bench.names("bookmarks-private") == [".", "..", "40-Title 40.jpg"])
        #expect(try await bench.names(tag) == [".", "..", "40-Title 40.jpg"])
        for session in [SignIn.expired(Self.user), .signedIn(Self.user)] {
            bench.source.set { $0.signIn = session }
            #expect(try await bench.names(tag) == [".", "..", name])
            for picture in pictures.values { #expect(await bench.open(picture).isOpened) }
        }
    }

    /// The service shows each account its own part of them.
    @Test func bookmarksOfAnotherUserAreStoredForTheAccountThatSawThem() async throws {
        let folder = "users/7/bookmarks"
        func shows(_ works: Int64..., to user: Int64) async throws {
            bench.source.signIn(UserID(rawValue: user), bookmarks: works)
            let names = try await bench.names(folder)
            #expect(names == [".", ".."] + works.map { "\($0)-Title \($0).jpg" }, "user \(user)")
        }
        try await shows(89, 90, to: 12)
        let picture = try await bench.stat("\(folder)/90-Title 90.jpg").inode
        try await shows(60, 59, to: 13)
        #expect(await bench.open(picture) == .failure(.EACCES), "it is not shown to this account")
        try await shows(89, 90, to: 12)
        #expect(await bench.open(picture).isOpened)
        // The user's own list, where the service does not answer, and the first account's list for a third one.
        try await shows(70, to: 7)
        bench.source.setFailure(.unreachable("no route"))
        #expect(try await bench.names("bookmarks") == [".", "..", "70-Title 70.jpg"])
        try await shows(70, to: 14)
        #expect(bench.source.asked.filter { $0.hasPrefix("bookmarks 7") }.count == 4)
    }

    /// A shell may stand in the directory for which the kernel has the names.
    @Test func theSessionsPicturesTellNothingAfterItsEnd() async throws {
        bench.source.signIn(Self.user, bookmarks: [30])
        let picture = try await bench.stat("bookmarks-private/30-Title 30.jpg").inode
        #expect(try await bench.attributeNames(picture).contains("user.dublincore.title"))
        bench.source.set { $0.signIn = .signedOut }
        for name in ["user.dublincore.title", "user.rankfs.work", "user.rankfs.state"] {
            #expect(await bench.attribute(picture, name) == .failure(.EACCES), "\(name)")
        }
        #expect(await bench.attribute(picture, "security.selinux") == .failure(.ENODATA))
        await #expect(throws: Workbench.Unexpected.self) { try await bench.attributeNames(picture) }
        bench.source.set { $0.signIn = .expired(Self.user) }
        #expect(await bench.attribute(picture, "user.dublincore.title").text == "Title 30")
    }

    @Test func storedBookmarksAreServedWithAnExpiredSession() async throws {
        bench.source.signIn(Self.user, bookmarks: [30, 40])
        let names = [".", "..", "30-Title 30.jpg", "40-Title 40.jpg"]
        bench.source.setAuthor(Self.user, [])
        #expect(try await bench.names("users/5/bookmarks") == names)
        bench.source.set { $0.signIn = .expired(Self.user) }
        #expect(try await bench.names("users/5/bookmarks") == names)
        #expect(try await bench.names("bookmarks") == names, "a directory of its own")
        let own = try await bench.stat("bookmarks").inode
        #expect(try await bench.stat("users/5/bookmarks").inode != own)
        #expect(try await bench.names("users/5") == [".", "..", "profile.json", "avatar.jpg", "bookmarks"])
        bench.source.set { $0.signIn = .signedOut }
        #expect(await bench.walk("users/5/bookmarks") == .failure(.EACCES))
        #expect(try await bench.names("users/5") == [".", "..", "profile.json", "avatar.jpg"])
    }
}
