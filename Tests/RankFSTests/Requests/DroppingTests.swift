import Rankings
import Testing

@testable import Fuse
@testable import RankFS

/// Semantics: "Commands", those that need no network.
@Suite(.timeLimit(.minutes(1))) struct DroppingTests {
    @Test func whatIsKnownIsDroppedWithoutARequest() async throws {
        let bench = try Workbench(day: Workbench.entries(3, withheld: [2]))
        let day = try await bench.stat("ranking/daily/\(Workbench.day)").inode
        #expect(await bench.ioctl(day, .pin) == .ioctl(result: 2, output: []))
        #expect(await bench.ioctl(day, .lacking) == .ioctl(result: 2, output: []))
        _ = try await bench.contents(bench.stat("ranking/daily/\(Workbench.day)/\(Workbench.name(1))").inode)
        #expect(await bench.ioctl(day, .lacking) == .ioctl(result: 1, output: []), "in its place, without a wait")

        let other = try await bench.stat("ranking/daily/2024-04-30").inode
        let modes = try await bench.stat("ranking").inode
        let asked = bench.source.asked
        bench.source.setFailure(.offline)
        for command in [MountCommand.unpin, .evict, .forget] {
            #expect(await bench.ioctl(other, command) == .ioctl(result: 0, output: []))
        }
        #expect(await bench.ioctl(InodeTable.root, .unpin) == .ioctl(result: 2, output: []))
        #expect(await bench.ioctl(modes, .unpin) == .ioctl(result: 0, output: []))
        #expect(await bench.ioctl(modes, .evict) == .ioctl(result: 1, output: []))
        #expect(await bench.ioctl(InodeTable.root, .evict, of: day) == .ioctl(result: 0, output: []))
        #expect(await bench.ioctl(InodeTable.root, .forget) == .ioctl(result: 1, output: []))
        #expect(bench.invalidated.contains(day))
        #expect(bench.source.asked == asked)
    }

    /// The kernel keeps the names of a past day for a day.
    @Test func aNameWithAnotherPictureIsDropped() async throws {
        let bench = try Workbench()
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(3))
        let day = try await bench.stat("ranking/daily/\(Workbench.day)").inode
        for rank in 1...2 { _ = try await bench.stat("ranking/daily/\(Workbench.day)/\(Workbench.name(rank))") }
        var entries = Workbench.entries(3)
        entries[1].work.uploaded += 60
        bench.source.setRanking(.daily, Workbench.day, entries)
        #expect(await bench.ioctl(day, .refresh) == .ioctl(result: 1, output: []))
        #expect(bench.invalidatedNames == ["\(day) \(Workbench.name(2))"])
        #expect(await bench.ioctl(day, .forget) == .ioctl(result: 1, output: []))
        #expect(Set(bench.invalidatedNames.suffix(2)) == Set((1...2).map { "\(day) \(Workbench.name($0))" }))
    }

    /// What lacks is an error of the command that counts it, as for `rankfs fetch`.
    @Test func offlineWhatIsKnownOfAListIsPinned() async throws {
        let bench = try Workbench(day: Workbench.entries(120), .init(isOffline: true))
        let day = try await bench.stat("ranking/daily/\(Workbench.day)").inode
        let listing = try await bench.catalog.listings.open(.ranking(.daily, Workbench.day))
        bench.source.setFailure(.offline)
        let known = listing.count
        #expect((1..<120).contains(known))
        #expect(await bench.ioctl(day, .pin) == .ioctl(result: Int32(known), output: []))
        #expect(await bench.ioctl(day, .lacking) == .failure(.EHOSTUNREACH))
    }

    /// The bookmarks of an author stand in the author's directory.
    @Test func bookmarksAreForgottenWithTheirAuthor() async throws {
        let bench = try Workbench()
        let user = UserID(rawValue: 5)
        bench.source.signIn(user, bookmarks: [30])
        bench.source.setAuthor(user, [])
        let author = try await bench.stat("users/5").inode
        _ = try await bench.names("users/5")
        #expect(try await bench.names("users/5/bookmarks").count == 3)
        #expect(await bench.ioctl(author, .forget) == .ioctl(result: 2, output: []))
        while !bench.catalog.listings.keys.isEmpty { await Task.yield() }
    }
}
