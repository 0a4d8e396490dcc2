@testable import Fuse
import Glibc
import Catalog
import Rankings
import Testing

@testable import RankFS

/// Sizes, bytes and attributes of pictures.
@Suite(.timeLimit(.minutes(1))) struct PictureTests {
    private let day = "ranking/daily/2024-05-01"

    private func benchOfDay(
        _ entries: [ListedWork] = Workbench.entries(5), top: Int? = nil, preload: Int = 0, processes: Processes? = nil
    ) throws -> Workbench {
        let view = ListingView(rendition: .regular, top: top)
        return try Workbench(day: entries, .init(preload: preload, view: view, processes: processes))
    }

    private func path(_ rank: Int) -> String {
        "\(day)/\(Workbench.name(rank))"
    }

    @Test func aPictureThatIsStoredNeedsNoQuestion() async throws {
        let bench = try benchOfDay()
        bench.host.setManner(.withoutLengths)
        let attributes = try await bench.stat(path(1))
        #expect(attributes.size == Int64(PictureHost.picture(1001).count), "learnt by downloading")
        let gets = bench.host.gets.count
        #expect(try await bench.contents(attributes.inode) == PictureHost.picture(1001))
        #expect(try await bench.stat(path(1)) == attributes)
        #expect(bench.host.gets.count == gets)
    }

    @Test func readsEndWhereTheFileEnds() async throws {
        let bench = try benchOfDay()
        let picture = PictureHost.picture(1001)
        let inode = try await bench.stat(path(1)).inode
        let opened = try #require(await bench.open(inode).opened)
        #expect(opened.keepsCache && !opened.isDirect)
        let handle = opened.handle
        let size = Int64(picture.count)
        #expect(await bench.read(inode, handle, size, 4096) == .bytes([]))
        #expect(await bench.read(inode, handle, size + 1_000_000, 4096) == .bytes([]))
        #expect(await bench.read(inode, handle, size - 10, 4096) == .bytes(Array(picture.suffix(10))))
        bench.fileSystem.release(inode, handle: handle)
        #expect(await bench.read(inode, handle, 0, 4096) == .failure(.EBADF))
    }

    @Test(arguments: [O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC])
    func writingIsRefused(flags: Int32) async throws {
        let bench = try benchOfDay()
        let inode = try await bench.stat(path(1)).inode
        #expect(await bench.open(inode, flags: flags) == .failure(.EROFS))
        #expect(await bench.open(InodeTable.root) == .failure(.EISDIR))
        #expect(await bench.openDirectory(inode) == .failure(.ENOTDIR))
        #expect(await bench.lookup(inode, Array("x".utf8)) == .failure(.ENOTDIR))
    }

    /// Semantics: "True metadata before any download": the rank of what is withheld is a gap, counted by the directory.
    @Test func withheldPicturesAreFoundByNameAndRefused() async throws {
        let bench = try benchOfDay(Workbench.entries(3, withheld: [2]))
        let directory = try await bench.stat(day).inode
        #expect(await bench.attribute(directory, "user.rankfs.withheld") == .failure(.ENODATA), "nobody asked yet")
        #expect(try await bench.names(day) == [".", "..", Workbench.name(1), Workbench.name(3)])
        #expect(await bench.attribute(directory, "user.rankfs.withheld").text == "1")
        let withheld = try await bench.stat(path(2))
        #expect(withheld.size == 0)
        #expect(await bench.open(withheld.inode) == .failure(.EACCES))
        #expect(await bench.attribute(withheld.inode, "user.rankfs.withheld").text == "login_only")
        #expect(bench.host.asked.isEmpty)
        #expect(bench.reported.count == 1)
        #expect(bench.reported.first?.hasPrefix("\(path(2)): ") == true)
        let other = try await bench.stat(path(1)).inode
        #expect(await bench.attribute(other, "user.rankfs.withheld") == .failure(.ENODATA))
        let listing = try Workbench(.init(listsWithheld: true))
        listing.source.setRanking(.daily, Workbench.day, Workbench.entries(3, withheld: [2]))
        #expect(try await listing.names(day) == [".", ".."] + (1...3).map { Workbench.name($0) })
        #expect(await listing.attribute(try await listing.stat(day).inode, "user.rankfs.withheld").text == "0")
    }

    @Test func aReaderGetsThePicturesAfterIt() async throws {
        let bench = try benchOfDay(Workbench.entries(6, withheld: [2]), top: 4, preload: 2)
        let inode = try await bench.stat(path(1)).inode
        #expect(try await bench.contents(inode) == PictureHost.picture(1001))
        await bench.waitUntilStored(1003, 1004)
        let expected = ["GET 1001", "GET 1003", "GET 1004"]
        #expect(bench.host.downloads == expected, "the withheld one is passed over")
        let last = try await bench.stat(path(4)).inode
        #expect(try await bench.contents(last) == PictureHost.picture(1004))
        #expect(bench.host.heads == ["HEAD 1001"], "what was preloaded tells its size")
        #expect(bench.host.downloads == expected, "nothing beyond top")
    }

    @Test func whoLooksAtTheKindOfAFileGetsNoPicturesAfterIt() async throws {
        let bench = try benchOfDay(Workbench.entries(6), preload: 1)
        let inode = try await bench.stat(path(1)).inode
        #expect(try await bench.contents(inode, flags: O_RDONLY | O_NONBLOCK) == PictureHost.picture(1001))
        let next = try await bench.stat(path(4)).inode
        #expect(
            try await bench.contents(next, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK) == PictureHost.picture(1004))
        await bench.waitUntilStored(1005)
        #expect(bench.host.downloads == ["GET 1001", "GET 1004", "GET 1005"])
    }

    @Test func aServerOfOtherMachinesThatWaitsForNoDeviceGetsThePicturesAfterIt() async throws {
        var samba = Processes.system
        samba.program = { CallingProgram(process: $0, name: "smbd[127.0.0.1]") }
        let bench = try benchOfDay(Workbench.entries(3), preload: 1, processes: samba)
        let inode = try await bench.stat(path(1)).inode
        #expect(try await bench.contents(inode, flags: O_RDONLY | O_NONBLOCK) == PictureHost.picture(1001))
        await bench.waitUntilStored(1002)
        #expect(bench.host.downloads == ["GET 1001", "GET 1002"])
    }

    @Test func whoeverOpensWithoutFollowingLinksCopies() {
        func isBulk(_ flags: Int32) -> Bool { OpenRequest(inode: 1, flags: flags, caller: Workbench.caller).isBulk }
        #expect(isBulk(O_RDONLY | O_NOFOLLOW) && isBulk(O_NOCTTY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC))
        #expect(!isBulk(O_RDONLY) && !isBulk(O_RDONLY | O_CLOEXEC))
    }

    @Test func neighboursAreCountedWithoutWhatIsWithheld() async throws {
        let bench = try benchOfDay(Workbench.entries(8, withheld: [2, 5]), top: 7)
        let listing = try await bench.catalog.listings.open(.ranking(.daily, Workbench.day))
        // Ranks 1 3 4 6 7 can be read, so they have the places 0 to 4 whichever of them is open.
        let works: [Int64?] = [nil, 1001, 1003, 1004, 1006, 1007, nil, nil]
        for (place, index) in [0, 2, 3, 5, 6].enumerated() {
            let neighbours = bench.fileSystem.neighbours(listing, index)
            #expect(neighbours.index == place)
            #expect(neighbours.directory == Node.day(.daily, Workbench.day).inodeNumber)
            #expect((-1...6).map { neighbours.picture($0)?.id.work.rawValue } == works)
        }
        #expect(bench.host.asked.isEmpty)
    }

    @Test func extendedAttributesAgreeWithTheRecord() async throws {
        let bench = try benchOfDay()
        let inode = try await bench.stat(path(2)).inode
        let expected = [
            "user.xdg.origin.url": "https://www.pixiv.net/artworks/1002",
            "user.xdg.referrer.url": "https://fake.test/", "user.dublincore.title": "Title 1002",
            "user.dublincore.creator": "Author", "user.xdg.tags": "a,b，c", "user.mime_type": "image/jpeg",
            "user.rankfs.work": "1002", "user.rankfs.page": "0", "user.rankfs.type": "illustration",
            "user.rankfs.user": "11", "user.rankfs.rank": "2",
            "user.rankfs.previous_rank": "3", "user.rankfs.width": "1200", "user.rankfs.height": "900",
            "user.rankfs.views": "10", "user.rankfs.ratings": "5", "user.rankfs.series": "77",
            "user.rankfs.posted": "2024-04-30T15:16:42Z", "user.rankfs.state": "absent",
            "user.rankfs.progress": "0/\(PictureHost.picture(1002).count)", "user.rankfs.kept": "no",
        ]
        let asked = bench.source.asked.count + bench.host.asked.count
        let names = try await bench.attributeNames(inode)
        // Who lists attributes copies them: what is live stays behind.
        let live: Set = ["user.rankfs.state", "user.rankfs.progress", "user.rankfs.kept"]
        #expect(Set(names) == Set(expected.keys).subtracting(live))
        for (name, value) in expected { #expect(await bench.attribute(inode, name).text == value, "\(name)") }
        for name in ["security.selinux", "system.posix_acl_access", "user.rankfs.nothing", "user.xdg.comment", ""] {
            #expect(await bench.attribute(inode, name) == .failure(.ENODATA), "\(name)")
        }
        #expect(bench.source.asked.count + bench.host.asked.count == asked)
        let first = try await bench.stat(path(1)).inode
        let listed = try await bench.attributeNames(first)
        #expect(!listed.contains("user.rankfs.previous_rank"))
        #expect(
            await bench.attribute(first, "user.rankfs.previous_rank") == .failure(.ENODATA))
        #expect(try await bench.attributeNames(InodeTable.root).isEmpty)
        #expect(await bench.attribute(InodeTable.root, "user.rankfs.rank") == .failure(.ENODATA))
    }

    /// A copy of it to ext4 would fail.
    @Test func aValueTooLongForOtherFileSystemsIsFoundByNameOnly() async throws {
        let entries = Workbench.entries(2).map { entry in
            var entry = entry
            entry.work.tags = (1...(entry.rank == 1 ? 512 : 513)).map { _ in "abc" }
            return entry
        }
        let bench = try benchOfDay(entries)
        for rank in [1, 2] {
            let inode = try await bench.stat(path(rank)).inode
            #expect(try await bench.attributeNames(inode).contains("user.xdg.tags") == (rank == 1))
            #expect(await bench.attribute(inode, "user.xdg.tags").text?.utf8.count == (rank == 1 ? 2047 : 2051))
        }
    }

    @Test func stateAndProgressAreLive() async throws {
        let bench = try benchOfDay()
        let size = PictureHost.picture(1001).count
        let inode = try await bench.stat(path(1)).inode
        _ = try await bench.contents(inode)
        #expect(await bench.attribute(inode, "user.rankfs.progress").text == "\(size)/\(size)")
        // The file is put into the store after its last byte was answered.
        while await bench.attribute(inode, "user.rankfs.state").text != "stored", !Task.isCancelled {
            await Task.yield()
        }
        guard case .statistics(let blocks, let freeBlocks, _) = await bench.statistics() else { return }
        #expect(blocks == (1 << 30) / 4096)
        #expect(blocks - freeBlocks <= UInt64(size / 4096 + 2))
        #expect(freeBlocks < blocks)
    }
}
