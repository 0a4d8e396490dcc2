import Foundation
import Fuse
import HTTP
import ImageCache
import Sourcing
import Media
import Rankings
import Render
import Synchronization
import TestSupport
import Testing

@testable import RankFS

/// What a file manager is told of the first directory that it opens, of which the listing tells all sizes.
///
/// As Dolphin does it: one thread watches, another one reads and asks for the attributes of each entry; some time later the first
/// looks up `.hidden`, and shows what it has been told of.
@Suite(.timeLimit(.minutes(1))) final class VisitorTests: Sendable {
    private static let count = 2 * FakeSource.perPage
    private let folder = TemporaryFolder()
    private let transport = HeldTransport()
    private let clock = ManualClock()
    private let renderer = TestPrograms.renderer()
    private let preview = JPEG.encode(Pixels(width: 480, height: 360, filledWith: 90), quality: 80) ?? []

    deinit { renderer.close() }

    /// A bench with a day of which all sizes are known, and with `isKnown` all names; the caller is one program, which watches all
    /// directories or none.
    private func benchOfDay(
        watches: Bool = true, isKnown: Bool = false, program: String = "filer"
    ) async throws -> (Workbench, UInt64) {
        let (time, clock) = (TimeSource(clock), clock)
        let client = HTTPClient(
            transport: transport, policy: RetryPolicy(), time: time, wallClock: { 0 }, random: { 0 })
        let home = HomeThumbnails(
            path: folder.path + "/home", ledger: ThumbnailLedger(path: folder.path + "/list"), user: 1000,
            mountPoint: "/mount")
        let cache = try ImageCache(
            CacheConfiguration(
                directory: folder.path + "/cache", budget: 1 << 30, freeFloor: 0, preload: 0, timeout: .seconds(10),
                networkTimeout: .seconds(10), now: { 0 }), host: ImageHost(OfflineNetwork()), report: { _ in })
        let maker = ThumbnailMaker(
            home: home, cache: cache, host: ImageHost(client, time: time), renderer: renderer)
        var wishes = Workbench.Wishes()
        wishes.thumbnails = ThumbnailSeeder(maker: maker, time: time, report: { _ in })
        wishes.monotonicNow = { clock.now }
        wishes.processes = Processes(
            program: { _ in CallingProgram(process: 7, name: program) }, watches: { _, _ in watches },
            arguments: { _ in [program] }, starters: { _ in [] })
        let bench = try Workbench(day: Workbench.entries(Self.count), wishes)
        let inode = try await bench.stat("ranking/daily/2024-05-01").inode
        for rank in 1...Self.count {
            let attributes = try #require(await lookup(bench, inode, rank).attributes)
            if !isKnown { bench.fileSystem.forget(attributes.inode, lookups: 1) }
        }
        return (bench, inode)
    }

    /// Opens and reads the directory; how many entries were told with attributes.
    private func told(_ bench: Workbench, _ inode: UInt64) async throws -> Int {
        let entries = try await bench.list(inode, size: 1 << 16).dropFirst(DirectoryView.dots)
        #expect(entries.count == Self.count)
        return entries.count { $0.attributes != nil }
    }

    private func expectTold(
        _ count: Int, _ bench: Workbench, _ inode: UInt64, _ place: SourceLocation = #_sourceLocation
    ) async throws {
        let told = try await told(bench, inode)
        #expect(told == count, sourceLocation: place)
    }

    private func makeThumbnails() async {
        for index in 0..<Self.count { await transport.waitForRequest(at: index).respond(body: preview) }
    }

    private func lookup(_ bench: Workbench, _ inode: UInt64, _ rank: Int) async -> Answer {
        await bench.lookup(inode, Array(Workbench.name(rank).utf8))
    }

    @Test func whoWatchesIsToldOfLittleBeforeItShowsItself() async throws {
        let (bench, inode) = try await benchOfDay()
        try await expectTold(TreeLimits.toldToWatchers, bench, inode)
        // One more takes so long that a file manager looks.
        async let next = lookup(bench, inode, TreeLimits.toldToWatchers + 1)
        await clock.waitForSleepers(1)
        clock.advance(by: TreeLimits.announcement)
        #expect(await next.isTold)
        let isTold = Mutex(false)
        let further = Task {
            let answer = await self.lookup(bench, inode, TreeLimits.toldToWatchers + 2)
            isTold.withLock { $0 = true }
            return answer
        }
        await clock.waitForSleepers(1)
        #expect(transport.requests.isEmpty)
        #expect(await bench.lookup(inode, Array(".hidden".utf8)).isAbsent)
        // What it is told of from now on has its thumbnails.
        await transport.waitForRequest(at: 0)
        let wasTold = isTold.withLock { $0 }
        #expect(!wasTold)
        await makeThumbnails()
        #expect(await further.value.isTold)
    }

    @Test func aVisitThatHasBegunIsNotWaitedFor() async throws {
        let (bench, _) = try await benchOfDay()
        let callers = bench.fileSystem.tree.callers
        callers.noteVisit(to: "ranking/daily/2024-05-01", by: CallingProgram(process: 7, name: "filer"))
        await callers.waitForVisit(to: "ranking/daily/2024-05-01", by: Workbench.caller)
    }

    /// Semantics: "Looking is cheap".
    ///
    /// Of a name that the kernel knows nothing is asked, and an empty window is worse than one without thumbnails.
    @Test func namesAreListedAtOnce() async throws {
        let (bench, inode) = try await benchOfDay(isKnown: true)
        let entries = try await bench.list(inode, size: 1 << 16)
        #expect(entries.count == DirectoryView.dots + Self.count)
        #expect(await bench.lookup(inode, Array(".hidden".utf8)).isAbsent)
        #expect(try await bench.list(inode, size: 1 << 16).count == DirectoryView.dots + Self.count)
        await makeThumbnails()
    }

    /// Semantics: "Looking is cheap".
    @Test func onlyWhatAWindowShowsFirstWaitsAndTwoSecondsInAll() async throws {
        let (bench, inode) = try await benchOfDay()
        try await expectTold(TreeLimits.toldToWatchers, bench, inode)
        #expect(await bench.lookup(inode, Array(".hidden".utf8)).isAbsent)
        await transport.waitForRequest(at: 0)
        #expect(await lookup(bench, inode, TreeLimits.heldUp + 1).isTold)
        #expect(clock.sleeperCount == 0)
        let first = Task { await self.lookup(bench, inode, TreeLimits.heldUp) }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        let second = Task { await self.lookup(bench, inode, TreeLimits.heldUp - 1) }
        await clock.waitForSleepers(2)
        clock.advance(by: TreeLimits.visit - .seconds(1))
        #expect(await first.value.isTold)
        #expect(await second.value.isTold)
        #expect(await lookup(bench, inode, 1).isTold)
        #expect(clock.sleeperCount == 0)
        await makeThumbnails()
    }

    /// Semantics: "Looking is cheap".
    ///
    /// An author's works are listed newest first, and windows sort by name.
    @Test func whatAWindowShowsFirstIsDecidedByNames() async throws {
        let (bench, _) = try await benchOfDay()
        let works = (1...Self.count).map { Workbench.work(Int64($0)) }
        bench.source.setAuthor(UserID(rawValue: 11), works.reversed())
        let names = works.map { FileName.work($0.id, title: $0.title, fileExtension: "jpg") }
        for name in names {
            let inode = try await bench.stat("users/11/\(name)").inode
            bench.fileSystem.forget(inode, lookups: 1)
        }
        let inode = try await bench.stat("users/11").inode
        _ = try await bench.list(inode, size: 1 << 16)
        #expect(await bench.lookup(inode, Array(".hidden".utf8)).isAbsent)
        await transport.waitForRequest(at: 0)
        let last = Task { await bench.lookup(inode, Array(names[TreeLimits.heldUp - 1].utf8)) }
        await clock.waitForSleepers(1)
        // The first that is listed.
        #expect(await bench.lookup(inode, Array(names[Self.count - 1].utf8)).isTold)
        #expect(await bench.lookup(inode, Array(names[TreeLimits.heldUp].utf8)).isTold)
        await makeThumbnails()
        #expect(await last.value.isTold)
    }

    /// Semantics: "Looking is cheap".
    @Test func aProgramThatReadsWhatHasNoThumbnailWaitsForMore() async throws {
        let (bench, inode) = try await benchOfDay(program: "pcmanfm-qt")
        _ = try await told(bench, inode)
        #expect(await bench.lookup(inode, Array(".hidden".utf8)).isAbsent)
        await transport.waitForRequest(at: 0)
        for rank in TreeLimits.heldUp + 1...TreeLimits.heldUp + 2 {
            let late = Task { await self.lookup(bench, inode, rank) }
            await clock.waitForSleepers(1)
            clock.advance(by: TreeLimits.visit)
            #expect(await late.value.isTold)
        }
        // It goes on with pictures that have thumbnails.
        await transport.waitForRequests(Self.count)
        transport.requests[0].respond(body: preview)
        let rank = try #require(
            (1...Self.count).first { transport.urls[0].hasSuffix("/\(1000 + $0).jpg") })
        #expect(await lookup(bench, inode, rank).isTold)
        for _ in 0..<2 {
            clock.advance(by: TreeLimits.visit - .milliseconds(1))
            #expect(await lookup(bench, inode, rank).isTold)
        }
        let last = Task { await self.lookup(bench, inode, Self.count) }
        await clock.waitForSleepers(1)
        for index in 1..<Self.count { transport.requests[index].respond(body: preview) }
        #expect(await last.value.isTold)
    }

    /// Semantics: "Looking is cheap".
    ///
    /// It goes on for longer than a visit lasts: each lookup has two seconds of its own.
    @Test func dolphinIsToldOfPicturesWithTheirThumbnails() async throws {
        let (bench, inode) = try await benchOfDay(program: "dolphin")
        // Of none at once, and in its first directory too: it has what it sees read before it shows itself.
        try await expectTold(0, bench, inode)
        #expect(await bench.lookup(inode, Array(".hidden".utf8)).isAbsent)
        await transport.waitForRequest(at: 0)
        for rank in Self.count - 3..<Self.count {
            let late = Task { await self.lookup(bench, inode, rank) }
            await clock.waitForSleepers(1)
            clock.advance(by: TreeLimits.visit)
            #expect(await late.value.isTold)
        }
        let last = Task { await self.lookup(bench, inode, Self.count) }
        await clock.waitForSleepers(1)
        await makeThumbnails()
        #expect(await last.value.isTold)
    }

    /// UsingItWith: gThumb reads few pictures, and PCManFM-Qt hardly any on a busy machine.
    ///
    /// It reads each picture without a thumbnail, one after the other: the first one that it comes to waits for all thumbnails of the
    /// folder. A picture that is here, or on its way, waits for nothing.
    @Test(arguments: ["gthumb", "pcmanfm-qt"])
    func aStripOfPicturesWaitsForItsThumbnails(_ program: String) async throws {
        let (bench, inode) = try await benchOfDay(watches: false, program: program)
        func picture(_ rank: Int) async throws -> UInt64 {
            try await bench.stat("ranking/daily/2024-05-01/\(Workbench.name(rank))").inode
        }
        let (stored, first, second) = try await (picture(1), picture(2), picture(Self.count))
        _ = try await bench.contents(stored)
        try await expectTold(Self.count, bench, inode)
        #expect(await bench.lookup(inode, Array(".hidden".utf8)).isAbsent)
        await transport.waitForRequest(at: 0)
        #expect(await bench.open(stored).isOpened)
        #expect(clock.sleeperCount == 0)
        let late = Task { await bench.open(first) }
        await clock.waitForSleepers(1)
        clock.advance(by: ThumbnailSeeder.patience)
        #expect(await late.value.isOpened)
        let last = Task { await bench.open(second) }
        await clock.waitForSleepers(1)
        await makeThumbnails()
        #expect(await last.value.isOpened)
        #expect(bench.host.downloads.count == 1)
    }

    @Test func whoShowsNothingWaitsALittleOnly() async throws {
        let (bench, inode) = try await benchOfDay()
        try await expectTold(TreeLimits.toldToWatchers, bench, inode)
        for rank in 1...TreeLimits.toldToWatchers {
            #expect(await lookup(bench, inode, rank).isTold)
        }
        #expect(clock.sleeperCount == 0)
        var waited = Duration.zero
        while waited < TreeLimits.watch {
            async let next = lookup(bench, inode, TreeLimits.toldToWatchers + 1)
            await clock.waitForSleepers(1)
            clock.advance(by: TreeLimits.announcement)
            waited += TreeLimits.announcement
            #expect(await next.isTold)
        }
        #expect(await lookup(bench, inode, Self.count).isTold)
        #expect(clock.sleeperCount == 0 && transport.requests.isEmpty)
        try await expectTold(Self.count, bench, inode)
    }

    @Test func whoDoesNotWatchIsToldAtOnce() async throws {
        let (bench, inode) = try await benchOfDay(watches: false)
        try await expectTold(Self.count, bench, inode)
        #expect(await lookup(bench, inode, Self.count).isTold)
        #expect(clock.sleeperCount == 0 && transport.requests.isEmpty)
    }
}
