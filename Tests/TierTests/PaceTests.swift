import System
import HTTP
@testable import Tier
import Rankings
import TestSupport
import Testing

/// How fast pictures must come, and what becomes of those that do not.
@Suite(.timeLimit(.minutes(1))) struct PaceTests {
    private let clock = ManualClock()
    private let transport = HeldTransport()
    private let picture = PictureID(work: WorkID(rawValue: 97), page: 0, rendition: .regular, uploaded: 5)
    private let bytes = [UInt8](repeating: 7, count: 3000)
    private let folder = TemporaryFolder()
    private let store: TierStore
    private let uploads: Uploads
    private let pictures: TierPictures

    init() throws {
        let place = StorePlace(try #require(BucketAddress("s3://pool")), origin: "http://store", region: nil)
        store = TierStore(
            ObjectStore(
                place, keys: KeyRing(try #require(StoreKeys(keyID: "AK", secret: "hidden"))), transport: transport,
                time: TimeSource(clock)), time: TimeSource(clock)
        ) { _ in }
        uploads = Uploads(store, list: try UploadList(path: "\(folder.path)/uploads.sqlite", for: pool)) { true }
        pictures = TierPictures(store, leases: Leases(store, owner: "me"), service: "pixiv", uploads: uploads)
    }

    /// Asks for the picture; whether it came.
    private func fetch(isRead: Bool = true, length: Int64 = 3000) -> Task<Bool, Never> {
        Task { [pictures, picture] in
            let urgency = Urgency()
            if isRead { urgency.raise() }
            return await pictures.fetch(picture, length: length, urgency: urgency, into: .ignoring)
        }
    }

    /// Asks for the picture, of which nothing comes in time.
    private func beLate(at index: Int = 0, isRead: Bool = true) async {
        let found = fetch(isRead: isRead)
        (await transport.waitForRequest(at: index)).begin()
        await clock.waitForSleepers(1)
        clock.advance(by: TierPace().firstBlock(of: 3000))
        #expect(await !found.value)
    }

    /// Semantics: "Shared with other machines".
    @Test func aLateDownloadSaysMuchOfAStoreThatIsOftenLate() {
        let (pace, now, late) = (TierPace(), clock.now, Duration.milliseconds(300))
        pace.learn(1 << 20, firstAfter: .milliseconds(20), in: .milliseconds(100))
        for _ in 0..<8 { pace.came(after: .milliseconds(10), now: now) }
        pace.came(after: late, isGivenUp: true, now: now)
        #expect(!pace.isShunned(now: now))
        for _ in 0..<8 { pace.came(after: late, isGivenUp: true, now: now) }
        #expect(pace.isShunned(now: now))
        #expect(!pace.isShunned(now: now + TierPace.shuns))
    }

    private var headers: [(name: String, value: String)] { get throws { try headers(of: bytes) } }

    private func headers(of bytes: [UInt8]) throws -> [(name: String, value: String)] {
        let key = try #require(ObjectKey("pictures/pixiv/61/97_p0_regular_5"))
        return ObjectDescription(of: bytes, key: key).headers(nil).map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (String(parts[0]), String(parts[1].dropFirst()))
        } + [("content-length", "\(bytes.count)")]
    }

    @Test func timeInTheQueueIsNotTheStores() async throws {
        let found = fetch()
        let held = await transport.waitForRequest(at: 0)
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(7500))
        held.begin()
        await clock.waitForSleepers(1)
        // Past the longest wait for a turn, and before the first byte is late.
        clock.advance(by: UsualAnswer.limits.unknown - .milliseconds(100))
        held.respond(status: 200, headers: try headers, body: bytes)
        #expect(await found.value)
        #expect(store.rests(.read) == nil)
    }

    @Test func whoWaitsTooLongForATurnAsksTheHost() async throws {
        let found = fetch()
        let held = await transport.waitForRequest(at: 0)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(8))
        #expect(await !found.value)
        #expect(held.isCancelled)
        #expect(store.state == .works)
    }

    @Test func picturesOfAStoreThatIsSilentOnceAskedRest() async throws {
        for number in 0..<TierHealth.mostAccidents {
            #expect(store.rests(.picture) == nil)
            await beLate(at: number, isRead: false)
            clock.advance(by: TierPace.shuns)
        }
        #expect(store.rests(.picture) != nil)
        #expect(store.rests(.read) == nil)
        #expect(store.figures.slow == TierHealth.mostAccidents)
    }

    @Test func aFirstByteMayTakeAsLongAsThatOfTheHost() {
        let pace = TierPace()
        #expect(pace.firstByte == UsualAnswer.limits.unknown)
        pace.learn(1 << 20, firstAfter: .milliseconds(20), in: .milliseconds(100))
        #expect(pace.firstByte == UsualAnswer.limits.least)
        for _ in 0..<40 { pace.learn(1 << 20, firstAfter: .milliseconds(600), in: .milliseconds(100)) }
        #expect(pace.firstByte > .milliseconds(1100) && pace.firstByte <= .milliseconds(1200))
        for _ in 0..<40 { pace.learn(1 << 20, firstAfter: .seconds(60), in: .milliseconds(100)) }
        #expect(pace.firstByte == UsualAnswer.limits.most)
    }

    @Test func beforeItsFirstBlockAPictureHasTheTimeOfTheHostTwice() {
        let pace = TierPace()
        #expect(pace.firstBlock(of: 3000) == UsualAnswer.limits.unknown + .milliseconds(250))
        pace.learn(4 << 20, firstAfter: .milliseconds(60), in: .seconds(1))
        #expect(pace.firstBlock(of: nil) == .milliseconds(250) + .microseconds(62_500))
        // Larger pictures have larger blocks.
        #expect(pace.firstBlock(of: 8 << 20) == .milliseconds(250) + .milliseconds(125))
        let shares = (0..<8).map { _ in pace.begin(now: .now) }
        #expect(pace.firstBlock(of: nil) == .milliseconds(750) && shares.count == 8)
        for _ in 0..<80 { _ = pace.begin(now: .now) }
        #expect(pace.firstBlock(of: nil) == UsualAnswer.limits.most)
    }

    @Test func aReaderWaitsForNoRestThatTheHostWouldHaveBroughtWhole() {
        let pace = TierPace()
        // Of an unknown host: half a second, and 2 MB a second.
        #expect(!pace.isBehind(1 << 20, of: 2 << 20, at: 1_048_576))
        #expect(pace.isBehind(1 << 20, of: 2 << 20, at: 690_000))
        #expect(pace.isBehind(1 << 20, of: 2 << 20, at: 262_144))
        pace.learn(4 << 20, firstAfter: .milliseconds(250), in: .seconds(1))
        #expect(!pace.isBehind(1 << 20, of: 3 << 20, at: 1_048_576))
        #expect(pace.isBehind(1 << 20, of: 3 << 20, at: 1_000_000))
        #expect(pace.isBehind(1, of: 3 << 20, at: 0))
        #expect(!pace.isBehind(0, of: 3 << 20, at: 0))
    }

    @Test func aStoreIsFarIfItUsuallyTakesLongerThanTheHost() {
        let (pace, start) = (TierPace(), ContinuousClock.now)
        func isFar(after seconds: Int64) -> Bool { pace.isFar(now: start + .seconds(seconds)) }
        #expect(!isFar(after: 0))
        pace.came(after: .milliseconds(400), now: start)
        #expect(!isFar(after: 0))
        // A first block after 260 + 31 ms.
        pace.learn(4 << 20, firstAfter: .milliseconds(260), in: .seconds(1))
        #expect(isFar(after: 0))
        pace.came(after: .milliseconds(150), now: start + .seconds(1))
        #expect(!isFar(after: 1))
        pace.came(after: .seconds(1), now: start + .seconds(2))
        #expect(isFar(after: 31) && !isFar(after: 32))
        #expect(!pace.isShunned(now: start + .seconds(2)))
        pace.came(after: .seconds(1), isGivenUp: true, now: start + .seconds(40))
        #expect(pace.isShunned(now: start + .seconds(54)) && !pace.isShunned(now: start + .seconds(55)))
        // Near enough, however near the host is.
        let near = TierPace()
        near.learn(4 << 20, firstAfter: .milliseconds(1), in: .milliseconds(10))
        near.came(after: TierPace.near, now: start)
        #expect(!near.isFar(now: start))
        // Further than any usual host.
        let unknown = TierPace()
        unknown.came(after: .milliseconds(700), now: start)
        #expect(unknown.isFar(now: start))
    }

    @Test func theNextPicturesOfAFarStoreComeFromTheHost() async throws {
        let late = TierPace().firstBlock(of: 3000)
        let first = fetch()
        (await transport.waitForRequest(at: 0)).begin()
        await clock.waitForSleepers(1)
        clock.advance(by: late - .milliseconds(10))
        // One that is under way meanwhile, without a reader.
        let ahead = fetch(isRead: false)
        let left = await transport.waitForRequest(at: 1)
        left.begin()
        await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(10))
        #expect(await !first.value)
        #expect(await !ahead.value)
        #expect(left.isCancelled)
        #expect(await !fetch(isRead: false).value)
        #expect(transport.requests.count == 2)
        // One that was not tried counts too, and ends nothing.
        #expect(store.figures.slow == 2 && store.rests(.picture) == nil)
    }

    @Test func aStoreThatIsShunnedIsTriedByPreloadsFirst() async throws {
        await beLate()
        #expect(await !fetch(isRead: false).value)
        clock.advance(by: TierPace.shuns)
        #expect(await !fetch().value)
        let probe = fetch(isRead: false)
        let next = await transport.waitForRequest(at: 1)
        next.begin()
        next.respond(status: 200, headers: try headers, body: bytes)
        #expect(await probe.value)
    }

    @Test(arguments: [false, true])
    func aReaderWhoJoinsTheProbeOfAFarStoreAsksTheHost(_ isLate: Bool) async throws {
        await beLate()
        clock.advance(by: TierPace.shuns)
        let urgency = Urgency()
        let probe = Task { await pictures.fetch(picture, length: 3000, urgency: urgency, into: .ignoring) }
        let held = await transport.waitForRequest(at: 1)
        held.begin()
        if isLate { clock.advance(by: TierPace.near + .milliseconds(1)) }
        urgency.raise()
        #expect(await !probe.value)
        #expect(held.isCancelled)
        #expect(store.figures.slow == (isLate ? 2 : 1))
        let next = fetch(isRead: false)
        guard !isLate else {
            #expect(await !next.value)
            return
        }
        // A moment is no time of the store.
        (await transport.waitForRequest(at: 2)).respond(status: 200, headers: try headers, body: bytes)
        #expect(await next.value)
    }

    @Test func aReaderLeavesARestThatTheHostWouldHaveBroughtBeforeTheFirstBlockIsLate() async throws {
        // A block and a half, of which one block comes.
        let large = [UInt8](repeating: 7, count: 200_000)
        let found = fetch(length: 200_000)
        let held = await transport.waitForRequest(at: 0)
        held.begin()
        await clock.waitForSleepers(1)
        clock.advance(by: TierPace.interval)
        await clock.waitForSleepers(1)
        #expect(held.head(200, try headers(of: large)))
        #expect(held.body(Array(large.prefix(140_000))))
        clock.advance(by: TierPace.interval)
        await clock.waitForSleepers(1)
        #expect(!held.isCancelled)
        clock.advance(by: TierPace.interval)
        #expect(await !found.value)
        #expect(TierPace.interval * 3 < TierPace().firstBlock(of: 200_000))
    }

    /// A reader who comes does not wait for the next look at the pace.
    @Test func aReaderWhoJoinsASlowDownloadLeavesItAtOnce() async throws {
        let long = [UInt8](repeating: 7, count: 4 << 20)
        pictures.hostBrought(4 << 20, firstAfter: .milliseconds(60), in: .seconds(1))
        let urgency = Urgency()
        let found = Task { await pictures.fetch(picture, length: 4 << 20, urgency: urgency, into: .ignoring) }
        let held = await transport.waitForRequest(at: 0)
        held.begin()
        #expect(held.head(200, try headers(of: long)))
        #expect(held.body(Array(long.prefix(256 << 10))))
        clock.advance(by: TierPace.glance + .milliseconds(50))
        #expect(held.body(Array(long.prefix(16 << 10))))
        urgency.raise()
        #expect(await !found.value)
        #expect(held.isCancelled)
    }

    /// A picture that came whole, and late, does not stand for a quick store.
    @Test func aWholePictureIsQuickIfItTakesAboutTheHostsTime() {
        let pace = TierPace()
        pace.learn(4 << 20, firstAfter: .milliseconds(60), in: .seconds(1))
        #expect(pace.isQuick(4 << 20, in: .milliseconds(1270)) && !pace.isQuick(4 << 20, in: .milliseconds(1280)))
        #expect(pace.isQuick(1000, in: TierPace.near) && !pace.isQuick(1000, in: TierPace.near + .milliseconds(1)))
    }

    @Test func besideASlowHostLessIsEnough() {
        let (pace, start) = (TierPace(), ContinuousClock.now)
        pace.learn(1 << 20, firstAfter: .milliseconds(20), in: .seconds(8))
        let share = pace.begin(now: start)
        // Half of 128 KB a second.
        let due = pace.due(share, now: start + .seconds(10))
        #expect(due > 500 << 10 && due <= 640 << 10)
    }

    @Test func whatWaitsForItsTurnIsWithdrawnOnceTheStoreRests() async throws {
        let waiting = fetch()
        let queued = await transport.waitForRequest(at: 0)
        let found = fetch()
        let held = await transport.waitForRequest(at: 1)
        held.begin()
        held.fail(.unreachable("gone"))
        #expect(await !found.value)
        #expect(await !waiting.value)
        #expect(queued.isCancelled)
        #expect(store.rests(.picture) != nil)
    }

    @Test(arguments: [false, true])
    func oneThatCrawlsIsAskedOfTheHostAndIsNotBroughtAgain(_ standsStill: Bool) async throws {
        let found = fetch()
        let held = await transport.waitForRequest(at: 0)
        held.begin()
        #expect(held.head(200, try headers))
        #expect(held.body([7]))
        if standsStill {
            await clock.waitForSleepers(1)
            clock.advance(by: TierPace().firstBlock(of: 3000))
        } else {
            clock.advance(by: .seconds(4))
            #expect(!held.body([7]))
            held.fail(.cancelled)
        }
        #expect(await !found.value)
        #expect(store.state == .works)
        // What is there already.
        pictures.keep(picture, at: "\(folder.path)/picture", length: 3000, hash: XXH3.hash(bytes))
        #expect(uploads.waiting == 0)
        #expect(transport.requests.count == 1)
    }

    @Test func aShareIsThatOfAllThatAreOnTheirWay() {
        let (pace, start) = (TierPace(), ContinuousClock.now)
        let shares = (0..<8).map { _ in pace.begin(now: start) }
        #expect(pace.due(shares[0], now: start + .seconds(1)) == 0)
        #expect(pace.due(shares[0], now: start + .seconds(9)) == TierPace.slowest)
        for _ in 0..<7 { pace.end(now: start + .seconds(9)) }
        // Alone from then on.
        let due = pace.due(shares[0], now: start + .seconds(18))
        #expect(due > TierPace.slowest * 9 && due <= TierPace.slowest * 10)
        pace.end(now: start + .seconds(18))
        // Nobody's time counts.
        let next = pace.begin(now: start + .seconds(100))
        #expect(pace.due(next, now: start + .seconds(101)) == 0)
        #expect(pace.due(next, now: start + .seconds(102)) == TierPace.slowest)
    }

    /// A reader joins a preload of a distant store between two looks at it.
    @Test func whatIsLeftBeforeItIsAskedForIsNotWaitedFor() async throws {
        let (memory, clock, pace) = (MemoryStore(), ManualClock(), TierPace())
        for _ in 0..<4 { pace.learn(1 << 20, firstAfter: .milliseconds(50), in: .milliseconds(250)) }
        for _ in 0..<2 { pace.came(after: .seconds(1.5), now: clock.now) }
        let time = TimeSource(clock)
        let store = try memory.store(time: time)
        let key = try #require(ObjectKey("pictures/p/1/a"))
        let download = TierDownload(length: 3000, key: key, secret: nil, time: time, pace: pace, sink: .ignoring)
        memory.answer(after: .seconds(1.5), by: clock) { _ in true }
        download.joined()
        // The clock stands still.
        guard case .withdrawn = await download.run(on: store, deadline: clock.now + .seconds(20)) else {
            return #expect(Bool(false), "it was waited for")
        }
    }
}
