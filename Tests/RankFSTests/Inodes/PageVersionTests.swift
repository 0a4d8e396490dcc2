@testable import Fuse
import Rankings
import Synchronization
import Testing

@testable import ImageCache
@testable import RankFS

/// The kernel never joins pages of two versions: by the table alone, and by a file system above it.
@Suite(.timeLimit(.minutes(1))) struct PageVersionTests {
    private static let id = PictureID(work: WorkID(rawValue: 1), page: 0, rendition: .regular, uploaded: 0)
    private let path = "ranking/daily/2024-05-01/\(Workbench.name(1))"

    private func benchOfPicture() async throws -> (Workbench, UInt64) {
        let bench = try Workbench(day: Workbench.entries(3))
        bench.host.setVersion(nil)
        return (bench, try await bench.stat(path).inode)
    }

    private func request(_ work: Int64, _ bench: Workbench) -> PictureRequest {
        let work = Workbench.work(work)
        let id = PictureID(work: work.id, page: 0, rendition: .regular, uploaded: work.uploaded)
        let location = bench.source.location(of: work.id, picture: work.picture, page: 0, rendition: .regular)
        return PictureRequest(
            id: id, location: location ?? PictureLocation(url: "", headers: [], fileExtension: ""), size: nil)
    }

    @Test func whatIsStoredIsOpenedWithTheKernelsPages() async throws {
        let (bench, inode) = try await benchOfPicture()
        let bytes = PictureHost.picture(1001)
        for _ in 0..<3 { #expect(try await bench.contents(inode) == bytes) }
        #expect(bench.invalidated.isEmpty)
        #expect(bench.fileSystem.pages.count == 1)
        bench.fileSystem.forget(inode, lookups: 1000)
        #expect(bench.fileSystem.pages.count == 0, "nothing is remembered of what the kernel forgot")
    }

    @Test func admissionEndsWithItsEra() {
        let pages = PageVersions()
        let era = pages.era
        #expect(pages.admits(.init(token: 1), to: 7) && pages.admits(.init(token: 1), to: 7))
        #expect(pages.admits(.init(token: 2), to: 8))
        #expect(pages.era == era, "what is admitted again changes nothing for others")
        #expect(!pages.admits(.init(token: 2), to: 7))
        let spoilt = pages.era
        #expect(spoilt != era)
        #expect(pages.opening(7, of: Self.id, serving: .init(token: 2)) == .dropping)
        pages.dropped(7)
        let dropped = pages.era
        #expect(dropped != spoilt && pages.admits(.init(token: 2), to: 7))
        pages.forget(8)
        let forgotten = pages.era
        pages.spoil(7)
        #expect(forgotten != dropped && pages.era != forgotten)
    }

    @Test func aSettledPictureIsGivenWithoutAsking() async throws {
        let (bench, inode) = try await benchOfPicture()
        let bytes = PictureHost.picture(1001)
        let handle = try #require(await bench.open(inode).handle)
        let part = { (offset: Int64, size: Int) in
            bench.fileSystem.part(
                of: ReadRequest(
                    inode: inode, handle: handle, offset: offset, size: size, caller: Workbench.caller))
        }
        #expect(part(0, 4096) == nil, "nothing is there")
        #expect(await bench.read(inode, handle, 0, bytes.count) == .bytes(bytes))
        await bench.waitUntilStored(1001)
        #expect(await bench.read(inode, handle, 0, bytes.count) == .bytes(bytes))
        #expect(part(100, 4096)?.count == 4096)
        #expect(part(Int64(bytes.count) - 10, 4096) == nil, "the end decides")
        #expect(part(Int64(bytes.count), 1) == nil && part(-1, 4096) == nil && part(0, 0) == nil)
        bench.fileSystem.pages.spoil(inode)
        #expect(part(100, 4096) == nil, "spoilt pages are not added to")
        bench.fileSystem.release(inode, handle: handle)
        #expect(part(100, 4096) == nil, "closed")
    }

    /// Nothing shows later whether an answer is of the version that the kernel has pages of.
    @Test func whoOpensWhatWasEvictedWhileAnotherHasItOpenReadsPastThePages() async throws {
        let (bench, inode) = try await benchOfPicture()
        let bytes = PictureHost.picture(1001)
        #expect(try await bench.contents(inode) == bytes)
        await bench.waitUntilStored(1001)
        let evicting = try #require(await bench.open(inode).opened)
        #expect(!evicting.isDirect, "what is stored is opened with them")
        #expect(bench.cache.evict(request(1001, bench).id, openers: 1))
        let next = try #require(await bench.open(inode).opened)
        #expect(next.isDirect)
        for _ in 0..<2 {
            #expect(await bench.read(inode, next.handle, 8192, 4096) == .bytes(Array(bytes[8192..<12_288])))
        }
        bench.fileSystem.release(inode, handle: evicting.handle)
        #expect(await bench.read(inode, next.handle, 4096, 4096) == .bytes(Array(bytes[4096..<8192])))
        bench.fileSystem.release(inode, handle: next.handle)
        #expect(try await bench.contents(inode) == bytes)
    }

    /// A viewer has a picture open of which a download broke off, say; nothing of it is stored.
    @Test func aCommandByAHandleThatBypassesThePagesLeavesThemToTheirReader() async throws {
        let (bench, inode) = try await benchOfPicture()
        bench.host.setVersion("Wed, 01 May 2024")
        let bytes = PictureHost.picture(1001)
        #expect(try await bench.contents(inode) == bytes)
        await bench.waitUntilStored(1001)
        let viewer = try #require(await bench.open(inode).handle)
        #expect(bench.cache.evict(request(1001, bench).id, openers: 1))
        let own = try #require(await bench.open(inode).opened)
        #expect(own.isDirect)
        #expect(await bench.ioctl(inode, by: own.handle, .evict) == .ioctl(result: 0, output: []))
        bench.fileSystem.release(inode, handle: own.handle)
        #expect(await bench.read(inode, viewer, 0, 4096) == .bytes(Array(bytes[..<4096])))
        bench.fileSystem.release(inode, handle: viewer)
    }

    /// The same version comes again, while the pages may be those of a file that was changed on the disk.
    @Test(arguments: [false, true]) func pagesOfWhatIsEvictedAreDropped(byItself: Bool) async throws {
        let bench = try Workbench(day: Workbench.entries(3))
        let inode = try await bench.stat(path).inode
        let bytes = PictureHost.picture(1001)
        #expect(try await bench.contents(inode) == bytes)
        await bench.waitUntilStored(1001)
        #expect(try await bench.contents(inode) == bytes && bench.invalidated.isEmpty)
        let evicted = byItself ? inode : try await bench.stat("ranking/daily/\(Workbench.day)").inode
        let handle = byItself ? await bench.open(inode).handle : nil
        #expect(await bench.ioctl(evicted, by: handle ?? 0, .evict) == .ioctl(result: 1, output: []))
        if let handle { bench.fileSystem.release(inode, handle: handle) }
        // A download without the kernel, as a preload is, and an open after it.
        let preload = try bench.cache.open(request(1001, bench), neighbours: nil)
        _ = try await preload.bytes(offset: 0, count: bytes.count)
        preload.close()
        await bench.waitUntilStored(1001)
        #expect(try await bench.contents(inode) == bytes)
        #expect(bench.invalidated == [inode])
        #expect(try await bench.contents(inode) == bytes && bench.invalidated == [inode])
    }

    /// A second drop would wait for a page that the reader of the first one waits for.
    @Test func pagesAreDroppedOnceForAllWhoOpenMeanwhile() {
        let pages = PageVersions()
        let answered = Mutex(0)
        func opening() -> PageVersions.Opening {
            pages.opening(7, of: Self.id, serving: .init(token: 2), whenDropped: { answered.withLock { $0 += 1 } })
        }
        #expect(opening() == .keeping && pages.admits(.init(token: 1), to: 7))
        pages.closed(7)
        #expect(opening() == .dropping && opening() == .waiting && opening() == .waiting)
        #expect(answered.withLock { $0 } == 0)
        pages.dropped(7)
        #expect(answered.withLock { $0 } == 3)
        #expect(pages.admits(.init(token: 2), to: 7) && opening() == .keeping)
        #expect(answered.withLock { $0 } == 3)
    }

    @Test func pagesThatAreReadStayThoughAPictureIsDropped() {
        let pages = PageVersions()
        let version = PictureVersion(token: 1)
        for inode: UInt64 in 7...8 {
            #expect(pages.opening(inode, of: Self.id, serving: nil) == .keeping && pages.admits(version, to: inode))
        }
        pages.drop([Self.id], by: nil)
        #expect(pages.admits(version, to: 7) && pages.admits(version, to: 8))
        pages.drop([Self.id], by: 8)
        #expect(pages.admits(version, to: 7) && !pages.admits(version, to: 8))
    }

    @Test func anAnnouncedSizeIsNotKept() async throws {
        let (bench, inode) = try await benchOfPicture()
        let size = Int64(PictureHost.picture(1002).count)
        bench.host.setManner(.announcing(less: 1000))
        let picture = request(1002, bench)
        let reading = Task { try await bench.cache.learnSize(of: picture) }
        while bench.cache.state(of: picture.id) != .downloading(received: 0, total: size - 1000) {
            await Task.yield()
        }
        let second = "ranking/daily/2024-05-01/\(Workbench.name(2))"
        guard case .entry(let shown, .zero, .zero) = await bench.walk(second) else {
            Issue.record("an announced size is kept")
            return
        }
        #expect(shown.size == size - 1000)
        #expect(await bench.attributes(shown.inode) == .attributes(shown, timeout: .zero))
        #expect(await bench.attributes(inode).timeout == TreeLimits.frozen)
        bench.host.setManner(.serving)
        bench.host.answerHeld()
        _ = try? await reading.value
        while !bench.invalidated.contains(shown.inode) { await Task.yield() }
        #expect(try await bench.stat(second).size == size)
        #expect(try await bench.contents(shown.inode) == PictureHost.picture(1002))
    }

    /// An open may come between the end of an inode and that of its record.
    @Test func aRecordWithHandlesOutlivesItsInode() {
        let pages = PageVersions()
        #expect(pages.opening(7, of: Self.id, serving: .init(token: 1)) == .keeping)
        #expect(pages.admits(.init(token: 1), to: 7))
        pages.forget(7)
        #expect(pages.opening(7, of: Self.id, serving: .init(token: 2)) == .direct)
        pages.closed(7)
        pages.forget(7)
        #expect(pages.count == 0)
    }

    /// The kernel keeps the entries of a directory for a day: not beyond a sign-in or a logout.
    @Test func entriesOfADirectoryAreThoseOfOneViewer() {
        let pages = PageVersions()
        let (ann, ben) = (AnswerAudience.user(UserID(rawValue: 21)), AnswerAudience.user(UserID(rawValue: 22)))
        for (audience, isSame) in [
            (.everybody, true), (ann, false), (ann, true), (ben, false), (.everybody, false), (.everybody, true),
            (ann, false),
        ] {
            #expect(pages.hasEntries(of: audience, 5) == isSame)
            #expect(pages.hasEntries(of: .everybody, 6))
        }
        pages.forget(5)
        #expect(pages.hasEntries(of: .everybody, 5))
    }
}

extension Answer {
    fileprivate var timeout: Duration? {
        if case .attributes(_, let timeout) = self { timeout } else { nil }
    }
}
