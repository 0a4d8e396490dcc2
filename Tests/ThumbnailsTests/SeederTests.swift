import System
import Foundation
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

/// Which thumbnails are made, in which order, and what they cost.
@Suite(.timeLimit(.minutes(1))) final class SeederTests: Sendable {
    private let folder = TemporaryFolder()
    let transport = HeldTransport()
    let clock = ManualClock()
    private let cache: ImageCache
    private let renderer = TestPrograms.renderer()
    let preview = JPEG.encode(Pixels(width: 480, height: 360, filledWith: 90), quality: 80) ?? []

    private var directory: URL { folder.url.appending(path: "home") }
    private var ledger: ThumbnailLedger { ThumbnailLedger(path: folder.path + "/list") }

    init() throws {
        cache = try ImageCache(
            CacheConfiguration(
                directory: folder.path + "/cache", budget: 1 << 30, freeFloor: 0, preload: 0, timeout: .seconds(10),
                networkTimeout: .seconds(10), now: { 0 }), host: ImageHost(OfflineNetwork()), report: { _ in })
    }

    deinit { renderer.close() }

    func seeder(
        in place: String? = nil, drawing: (any Rendering)? = nil, shared: (any SharedPreviews)? = nil,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) -> ThumbnailSeeder {
        let time = TimeSource(clock)
        let client = HTTPClient(
            transport: transport, policy: RetryPolicy(), time: time, wallClock: { 0 }, random: { 0 })
        let home = HomeThumbnails(
            path: place ?? directory.path, ledger: ledger, user: 1000, mountPoint: "/m n")
        let maker = ThumbnailMaker(
            home: home, cache: cache, host: ImageHost(client, time: time), shared: shared,
            renderer: drawing ?? renderer)
        return ThumbnailSeeder(maker: maker, time: time, report: report)
    }

    func jobs(
        _ count: Int, from first: Int = 1, _ spellings: [FileURI.Spelling] = [.glib, .qt]
    ) -> [ThumbnailJob] {
        (first..<first + count).map { number in
            ThumbnailJob(
                picture: PictureID(
                    work: WorkID(rawValue: Int64(number)), page: 0, rendition: .regular, uploaded: Int64(number)),
                paths: ["day/\(number).jpg"], spellings: spellings,
                preview: PictureLocation(
                    url: "https://img.test/\(number)", headers: ["Referer: x"], fileExtension: "jpg"),
                modified: Int64(number), length: nil)
        }
    }

    private func thumbnail(_ number: Int, _ size: ThumbnailSize = .large) -> Thumbnail {
        Thumbnail(uri: "file:///m%20n/day/\(number).jpg", size: size, modified: Int64(number), length: nil)
    }

    private func file(_ thumbnail: Thumbnail) -> URL { directory.appending(path: thumbnail.path) }

    /// Answers every request as it comes until so many were made.
    func answer(_ count: Int, from first: Int = 0) async {
        for index in first..<count { await transport.waitForRequest(at: index).respond(body: preview) }
    }

    /// Answers likewise that there is no preview, which nobody has to draw.
    func refuse(_ count: Int, from first: Int = 0) async {
        for index in first..<count { await transport.waitForRequest(at: index).respond(status: 404) }
    }

    /// Seeds pictures of a day, and answers so many requests for previews.
    private func seed(_ seeder: ThumbnailSeeder, _ jobs: [ThumbnailJob], answering count: Int) async {
        async let seeding: Void = seeder.seed("day", jobs)
        await answer(count)
        await seeding
    }

    @Test func bothSizesAreMadeOfOnePreview() async throws {
        let seeder = seeder()
        async let seeding: Void = seeder.seed("day", jobs(1))
        let request = await transport.waitForRequest(at: 0)
        #expect(request.request.url == "https://img.test/1")
        #expect(request.request.headers == ["Referer: x"])
        #expect(request.request.priority == .shown && request.request.transferClass == .metadata)
        request.respond(body: preview)
        await seeding
        for size in ThumbnailSize.allCases {
            let bytes = try Data(contentsOf: file(thumbnail(1, size)))
            #expect(thumbnail(1, size).isValid(Array(bytes)))
            let mode = try FileManager.default.attributesOfItem(atPath: file(thumbnail(1, size)).path)[
                .posixPermissions]
            #expect(mode as? Int == 0o600)
            let folder = directory.appending(path: size.directory).path
            #expect(try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int == 0o700)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
        }
        #expect(seeder.figures == (2, Int64(preview.count)))
    }

    @Test func noLineNamesASecret() async {
        let lines = Mutex<[String]>([])
        let seeder = seeder { line in lines.withLock { $0.append(line) } }
        async let seeding: Void = seeder.seed("bookmark-tags/SECRET (decoded)", jobs(1))
        await answer(1)
        await seeding
        #expect(lines.withLock { $0 } == ["made 2 thumbnails for bookmark-tags/…"])
    }

    /// Previews of other machines, of which one is damaged.
    private final class Shared: SharedPreviews {
        let sound: [UInt8]
        /// The ranks of the previews that were wrong.
        let wrong = Mutex<[Int]>([])

        init(_ sound: [UInt8]) { self.sound = sound }

        func preview(
            of picture: PictureID, rank: Int, in listing: ListingKey, isWrong: Bool,
            ask: nonisolated(nonsending) @Sendable () async -> ImageHost.Preview
        ) async -> ImageHost.Preview {
            guard isWrong else { return .bytes(rank == 2 ? [1, 2, 3] : sound) }
            wrong.withLock { $0.append(rank) }
            return await ask()
        }
    }

    @Test func aSharedPreviewThatIsDamagedIsAskedOfTheHost() async throws {
        let shared = Shared(preview)
        let seeder = seeder(shared: shared)
        var jobs = jobs(3)
        for index in jobs.indices {
            (jobs[index].listing, jobs[index].rank) = (.ranking(.daily, Day(ordinal: 19_000)), index + 1)
        }
        async let seeding: Void = seeder.seed("day", jobs)
        await transport.waitForRequest(at: 0).respond(body: preview)
        await seeding
        #expect(transport.requests.map(\.request.url) == ["https://img.test/2"])
        #expect(shared.wrong.withLock { $0 } == [2])
        #expect(seeder.figures.files == 6)
    }

    /// A renderer without a process.
    private struct Lacking: Rendering {
        let error: MediaError

        func perform(_ job: RenderJob, with descriptor: Int32?) async throws(MediaError) -> RenderAnswer { throw error }
    }

    /// The previews of the image host would have the same end.
    @Test(arguments: [MediaError.unavailable("no memory"), .cancelled, .noMemory, .lost("ended at it")])
    func aSharedPreviewThatCannotBeDecodedNowIsNotAskedOfTheHost(_ error: MediaError) async {
        let shared = Shared(preview)
        let seeder = seeder(drawing: Lacking(error: error), shared: shared)
        var jobs = jobs(3)
        for index in jobs.indices { jobs[index].listing = .ranking(.daily, Day(ordinal: 19_000)) }
        await seeder.seed("day", jobs)
        #expect(transport.requests.isEmpty && shared.wrong.withLock { $0.isEmpty })
    }

    @Test func aSecondLookAsksNothing() async {
        let seeder = seeder()
        await seed(seeder, jobs(3), answering: 3)
        await seeder.seed("day", jobs(3))
        // Nor does another process, which only has the files.
        await self.seeder().seed("day", jobs(3))
        #expect(transport.requests.count == 3)
    }

    /// A renderer whose process is killed at so many jobs.
    private final class Losing: Rendering {
        private let losses: Mutex<Int>
        private let renderer: Renderer

        init(_ losses: Int, _ renderer: Renderer) {
            self.losses = Mutex(losses)
            self.renderer = renderer
        }

        func perform(_ job: RenderJob, with descriptor: Int32?) async throws(MediaError) -> RenderAnswer {
            let isLost = losses.withLock { losses in
                losses -= 1
                return losses >= 0
            }
            if isLost { throw .lost("ended at it") }
            return try await renderer.perform(job, with: descriptor)
        }
    }

    /// Whatever killed it may be over; a preview at which it ends twice is at fault.
    @Test(arguments: [(1, 2), (2, 0)])
    func aPreviewWhoseDecoderWasKilledIsTriedOnceMore(_ losses: Int, _ files: Int) async {
        let seeder = seeder(drawing: Losing(losses, renderer))
        for look in 0..<2 {
            async let seeding: Void = seeder.seed("day", jobs(1))
            await answer(look + 1, from: look)
            await seeding
        }
        await seeder.seed("day", jobs(1))
        #expect(transport.requests.count == 2)
        #expect(seeder.figures.files == files)
    }

    @Test func whatIsValidStaysWhoeverMadeIt() async throws {
        let directory = HomeThumbnails(path: directory.path, ledger: ledger, user: 1000, mountPoint: "/m n")
        let others = try #require(thumbnail(1).file(of: Pixels(width: 9, height: 9)))
        #expect(directory.store(others, as: thumbnail(1)))
        let stale = Thumbnail(uri: thumbnail(2).uri, size: .large, modified: 77, length: nil)
        #expect(directory.store(try #require(stale.file(of: Pixels(width: 9, height: 9))), as: stale))
        let seeder = seeder()
        await seed(seeder, jobs(2), answering: 2)
        #expect(try Array(Data(contentsOf: file(thumbnail(1)))) == others)
        #expect(directory.holds(thumbnail(1, .normal)))
        #expect(directory.holds(thumbnail(2)))
    }

    /// What a window shows goes at once, before what nobody waits for; of the rest many go side by side.
    @Test func theFirstScreenfulGoesFirst() async {
        let seeder = seeder()
        let (shown, atOnce) = (ThumbnailSeeder.screenful, ThumbnailSeeder.atOnce)
        let all = jobs(shown + atOnce + 3)
        async let seeding: Void = seeder.seed("day", all)
        await transport.waitForRequests(shown)
        #expect(Set(transport.urls) == Set(all.prefix(shown).map(\.preview.url)))
        #expect(transport.requests.allSatisfy { $0.request.priority == .shown })
        // A few that are late hold nobody up.
        for index in ThumbnailSeeder.stragglers..<shown { transport.requests[index].respond(status: 404) }
        await transport.waitForRequests(shown + atOnce - ThumbnailSeeder.stragglers)
        #expect(transport.requests.dropFirst(shown).allSatisfy { $0.request.priority == .preload })
        await refuse(ThumbnailSeeder.stragglers)
        await refuse(all.count, from: shown)
        await seeding
        #expect(Set(transport.urls) == Set(all.map(\.preview.url)) && transport.urls.count == all.count)
    }

    /// Favourites are listed as they were chosen, and windows sort by name.
    @Test func whatAWindowShowsFirstIsDecidedByNames() async {
        let seeder = seeder()
        let (shown, all) = (ThumbnailSeeder.screenful, jobs(ThumbnailSeeder.screenful + 60))
        async let seeding: Void = seeder.seed("favourites", all.reversed())
        await transport.waitForRequests(shown)
        #expect(Set(transport.urls) == Set(all.prefix(shown).map(\.preview.url)))
        await refuse(all.count)
        await seeding
        #expect(transport.urls.count == all.count)
    }

    /// The first page may have the names that a window shows last.
    @Test func aLaterPageHasPicturesThatAWindowShowsFirst() async {
        let seeder = seeder()
        let (shown, atOnce) = (ThumbnailSeeder.screenful, ThumbnailSeeder.atOnce)
        let (first, later) = (jobs(shown + 50, from: 5000), jobs(50))
        await seeder.add("favourites", first)
        await transport.waitForRequests(shown)
        await seeder.add("favourites", later)
        await transport.waitForRequests(atOnce)
        #expect(Set(transport.urls.dropFirst(shown)) == Set(later.prefix(atOnce - shown).map(\.preview.url)))
        #expect(transport.requests.allSatisfy { $0.request.priority == .shown })
        let all = first + later
        await refuse(all.count)
        #expect(Set(transport.urls) == Set(all.map(\.preview.url)) && transport.urls.count == all.count)
        #expect(transport.requests.dropFirst(shown + later.count).allSatisfy { $0.request.priority == .preload })
    }

    @Test func whatWasLookedAtLastGoesFirst() async {
        let seeder = seeder()
        // So many may be under way.
        let (shown, more) = (ThumbnailSeeder.screenful, ThumbnailSeeder.atOnce)
        await seeder.add("a day", jobs(shown + more))
        await transport.waitForRequests(shown)
        await seeder.add("another", jobs(shown, from: 5000))
        await transport.waitForRequests(more)
        #expect(transport.requests[more - 1].request.priority == .shown)
        await refuse(2 * shown + more)
        #expect(transport.urls.count == 2 * shown + more)
    }

    @Test func aLookIsHeldForTwoSecondsAtMost() async {
        let seeder = seeder()
        let jobs = jobs(1)
        let look = Task { await seeder.wait { await seeder.seed("day", jobs) } }
        let request = await transport.waitForRequest(at: 0)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(2))
        await look.value
        #expect(!request.isFinished)
        // What is under way is not lost.
        request.respond(body: preview)
        await seeder.seed("day", jobs)
        #expect(transport.requests.count == 1)
        #expect(seeder.figures.files == 2)
    }

    @Test(arguments: [404, 403])
    func aPreviewThatIsNotThereIsAskedOnce(status: Int) async {
        let seeder = seeder()
        for _ in 0..<2 {
            async let seeding: Void = seeder.seed("day", jobs(1))
            await transport.waitForRequest(at: 0).respond(status: status)
            await seeding
        }
        #expect(transport.requests.count == 1)
    }

    @Test func whatIsNoPictureBecomesNoThumbnail() async {
        let seeder = seeder()
        async let seeding: Void = seeder.seed("day", jobs(1))
        await transport.waitForRequest(at: 0).respond(body: Array("<html>".utf8))
        await seeding
        #expect(!FileManager.default.fileExists(atPath: file(thumbnail(1)).path))
    }

    @Test func aNetworkInTroubleIsLeftAlone() async {
        let seeder = seeder()
        async let seeding: Void = seeder.seed("day", jobs(100))
        for index in 0..<ThumbnailSeeder.screenful { await transport.waitForRequest(at: index).fail(.timedOut) }
        await seeding
        #expect(transport.requests.count == ThumbnailSeeder.screenful)
    }

    // MARK: - Thumbnailers

    @Test func whatAThumbnailerWouldReadIsMadeOnceForAll() async throws {
        let seeder = seeder()
        async let seeding: Void = seeder.seed("day", jobs(1))
        let request = await transport.waitForRequest(at: 0)
        async let isThere = seeder.seedInPlaceOfThumbnailer(jobs(1)[0])
        async let isThereToo = seeder.seedInPlaceOfThumbnailer(jobs(1)[0])
        request.respond(body: preview)
        await seeding
        #expect(await isThere)
        #expect(await isThereToo)
        #expect(await seeder.seedInPlaceOfThumbnailer(jobs(1)[0]))
        #expect(try thumbnail(1).isValid(Array(Data(contentsOf: file(thumbnail(1))))))
        #expect(transport.requests.count == 1)
    }

    @Test func aThumbnailerWaitsForTwoSecondsAtMost() async {
        let seeder = seeder()
        let isRefused = Task { await seeder.seedInPlaceOfThumbnailer(self.jobs(1)[0]) }
        let request = await transport.waitForRequest(at: 0)
        #expect(request.request.priority == .shown)
        await clock.waitForSleepers(1)
        clock.advance(by: ThumbnailSeeder.patience)
        #expect(await isRefused.value, "reading the picture would take longer")
        #expect(!request.isFinished)
        request.respond(body: preview)
        await seeder.close()
    }

    @Test func whereThereIsNoPreviewTheThumbnailerMayRead() async {
        let seeder = seeder()
        async let isThere = seeder.seedInPlaceOfThumbnailer(jobs(1)[0])
        await transport.waitForRequest(at: 0).respond(status: 404)
        #expect(await !isThere)
        // Nor where nothing can be written.
        let homeless = self.seeder(in: "/proc/nowhere")
        async let isThereEither = homeless.seedInPlaceOfThumbnailer(jobs(1, from: 2)[0])
        await transport.waitForRequest(at: 1).respond(body: preview)
        #expect(await !isThereEither)
        await seeder.close()
        #expect(await !seeder.seedInPlaceOfThumbnailer(jobs(1)[0]))
    }

    /// What a file manager leaves whose thumbnailer failed.
    private func fail(_ number: Int, _ program: String) throws -> URL {
        let note = directory.appending(path: "fail/\(program)/\(MD5.hex("file:///m%20n/day/\(number).jpg".utf8)).png")
        try FileManager.default.createDirectory(
            at: note.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("note".utf8).write(to: note)
        return note
    }

    @Test func notesOfThumbnailersThatWereRefusedAreRemoved() async throws {
        let seeder = seeder()
        async let isThere = seeder.seedInPlaceOfThumbnailer(jobs(1)[0])
        await answer(1)
        #expect(await isThere)
        let notes = [try fail(1, "gnome-thumbnail-factory"), try fail(1, "mate-thumbnail-factory")]
        let others = try fail(2, "gnome-thumbnail-factory")
        await clock.waitForSleepers(1)
        clock.advance(by: ThumbnailSeeder.noteTime)
        // The suite's limit ends it if they stay.
        while notes.contains(where: { FileManager.default.fileExists(atPath: $0.path) }) { await Task.yield() }
        #expect(FileManager.default.fileExists(atPath: others.path))
        // And at the end those that are newer.
        #expect(await seeder.seedInPlaceOfThumbnailer(jobs(1)[0]))
        let last = try fail(1, "gnome-thumbnail-factory")
        await seeder.close()
        #expect(!FileManager.default.fileExists(atPath: last.path))
        #expect(FileManager.default.fileExists(atPath: others.path))
    }

    @Test func aWorkerWaitsWhileThumbnailsAreMadeAndForNothingElse() async {
        let seeder = seeder()
        await seeder.waitForThumbnails(of: "day")
        async let seeding: Void = seeder.seed("day", jobs(1))
        let request = await transport.waitForRequest(at: 0)
        await seeder.waitForThumbnails(of: "another")
        let worker = Task { await seeder.waitForThumbnails(of: "day") }
        await clock.waitForSleepers(1)
        request.respond(body: preview)
        await worker.value
        await seeding
        // Two seconds at most.
        async let more: Void = seeder.seed("day", jobs(2))
        let next = await transport.waitForRequest(at: 1)
        let patient = Task { await seeder.waitForThumbnails(of: "day") }
        await clock.waitForSleepers(1)
        clock.advance(by: ThumbnailSeeder.patience)
        await patient.value
        #expect(!next.isFinished)
        next.respond(body: preview)
        await more
    }

    @Test func anotherSpellingCostsNoFurtherPreview() async throws {
        let seeder = seeder()
        await seed(seeder, jobs(1), answering: 1)
        await seeder.seed("day (decoded)", jobs(1, FileURI.Spelling.allCases))
        #expect(transport.requests.count == 1)
        for size in ThumbnailSize.allCases {
            let decoded = Thumbnail(uri: "file:///m n/day/1.jpg", size: size, modified: 1, length: nil)
            #expect(try decoded.isValid(Array(Data(contentsOf: file(decoded)))))
        }
    }

    // MARK: - Shared stores

    private func shared(_ size: ThumbnailSize = .large) -> Thumbnail {
        Thumbnail(uri: "./1.jpg", size: size, modified: 1, length: nil)
    }

    @Test func aSharedThumbnailCostsOnePreviewForBothSizes() async throws {
        let seeder = seeder(in: "/proc/nowhere")
        async let large = seeder.file(of: shared(), jobs(1)[0])
        async let normal = seeder.file(of: shared(.normal), jobs(1)[0])
        let request = await transport.waitForRequest(at: 0)
        #expect(request.request.priority == .shown)
        request.respond(body: preview)
        #expect(shared().isValid(try #require(await large)))
        #expect(shared(.normal).isValid(try #require(await normal)))
        #expect(await seeder.file(of: shared(), jobs(1)[0]) == large)
        #expect(transport.requests.count == 1)
        #expect(cache.status().storedPictures == 2)
        #expect(seeder.figures == (2, Int64(preview.count)))
    }

    @Test func whatWasSeededIsSharedWithoutARequest() async throws {
        let seeder = seeder()
        await seed(seeder, jobs(1), answering: 1)
        #expect(shared().isValid(try #require(await seeder.file(of: shared(), jobs(1)[0]))))
        #expect(transport.requests.count == 1)
        #expect(cache.status().storedPictures == 0)
    }

    @Test func whatWasSharedIsSeededWithoutARequest() async throws {
        let seeder = seeder()
        async let file = seeder.file(of: shared(), jobs(1)[0])
        await answer(1)
        #expect(await file != nil)
        await seeder.seed("day", jobs(1))
        #expect(transport.requests.count == 1)
        #expect(try thumbnail(1).isValid(Array(Data(contentsOf: self.file(thumbnail(1))))))
    }

    @Test func whatTheHomeDoesNotTakeIsKeptAndNotAskedAgain() async {
        let seeder = seeder(in: "/proc/nowhere")
        await seed(seeder, jobs(1), answering: 1)
        await seeder.seed("day", jobs(1))
        #expect(await seeder.file(of: shared(), jobs(1)[0]) != nil)
        #expect(transport.requests.count == 1)
    }

    @Test func aSharedThumbnailIsWaitedForTwoSecondsAtMost() async {
        let seeder = seeder()
        async let file = seeder.file(of: shared(), jobs(1)[0])
        let request = await transport.waitForRequest(at: 0)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(2))
        #expect(await file == nil)
        #expect(!request.isFinished)
    }

    @Test func nothingIsMadeAfterTheEnd() async {
        let seeder = seeder()
        await seeder.close()
        #expect(await seeder.file(of: shared(), jobs(1)[0]) == nil)
        #expect(transport.requests.isEmpty)
    }

    /// What a window shows does not wait for the pace of what nobody sees.
    @Test func aPauseHoldsUpNoNewWindow() async {
        let seeder = seeder()
        let shown = ThumbnailSeeder.screenful
        await seeder.add("day", jobs(shown + 1))
        // As large as previews may be: the burst is spent before the last of them are there.
        let large = preview + [UInt8](repeating: 0, count: (1 << 20) - preview.count)
        for index in 0..<shown { await transport.waitForRequest(at: index).respond(body: large) }
        await clock.waitForSleepers(1)
        await seeder.add("another", jobs(5, from: 5000))
        await refuse(shown + 5, from: shown)
        #expect(transport.urls.count == shown + 5)
        await seeder.close()
    }
}
