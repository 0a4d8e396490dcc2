import System
import Foundation
import HTTP
import ImageCache
@testable import Tier
import Rankings
import Synchronization
import TestSupport
import Testing

/// Pictures that machines share, each machine with a memory of its own.
@Suite(.timeLimit(.minutes(1))) struct PictureTests {
    private let memory = MemoryStore()
    private let clock = ManualClock()
    private let folder = TemporaryFolder()
    private let picture = PictureID(work: WorkID(rawValue: 97), page: 0, rendition: .regular, uploaded: 5)
    private let key = "pictures/pixiv/61/97_p0_regular_5"
    private let bytes = [UInt8](repeating: 7, count: 3000)
    private let secret: ObjectSecret

    init() throws { secret = try #require(ObjectSecret(Array("a secret of 128 bits".utf8))) }

    private struct Machine: Sendable {
        let pictures: TierPictures
        let uploads: Uploads
        let store: TierStore
    }

    private func machine(
        _ name: String, maySpend: Bool = true, mayWrite: Bool = true, ahead: Int64 = 0, secret: ObjectSecret? = nil
    ) throws -> Machine {
        let store = TierStore(
            try memory.store(ahead: ahead, secret: secret), time: TimeSource(clock), mayWrite: mayWrite
        ) { _ in }
        let uploads = Uploads(store, list: try UploadList(path: "\(folder.path)/\(name).sqlite", for: pool)) {
            maySpend
        }
        return Machine(
            pictures: TierPictures(store, leases: Leases(store, owner: name), service: "pixiv", uploads: uploads),
            uploads: uploads, store: store)
    }

    /// What a fetch brought.
    private func fetch(
        _ machine: Machine, length: Int64? = 3000, isRead: Bool = true, _ urgency: Urgency = Urgency()
    ) async -> [UInt8]? {
        if isRead { urgency.raise() }
        let found = Mutex<[UInt8]>([])
        let sink = PictureSink { bytes, offset in
            let copy = Array(bytes)
            found.withLock { found in
                found = Array(found.prefix(Int(offset))) + copy
            }
            return true
        } proven: { _, _ in
            true
        }
        let isWhole = await machine.pictures.fetch(picture, length: length, urgency: urgency, into: sink)
        return isWhole ? found.withLock { $0 } : nil
    }

    private func keep(_ machine: Machine) throws {
        let path = "\(folder.path)/picture"
        try Data(bytes + [0, 0, 0]).write(to: URL(filePath: path))
        machine.pictures.keep(picture, at: path, length: 3000, hash: hash)
    }

    private var hash: UInt64 { XXH3.hash(bytes) }

    /// Brings the picture to the store.
    private func bring() async throws {
        let machine = try machine("first")
        #expect(await fetch(machine) == nil)
        try await bring(by: machine)
        await machine.uploads.close()
    }

    /// Brings what a machine has downloaded to the store.
    private func bring(by machine: Machine) async throws {
        try await clock.passing {
            try keep(machine)
            while machine.store.figures.uploads == 0 { await Task.yield() }
        }
    }

    @Test(arguments: [(TierStore.renewedAfter - 1, 0), (TierStore.renewedAfter, 1)])
    func aPictureThatIsReadIsAsOldAsItsLastReadingToAWeek(_ age: Int64, _ renewals: Int) async throws {
        memory.add(key, bytes)
        memory.pass(age)
        let machine = try machine("first")
        for _ in 0..<2 {
            #expect(await fetch(machine) == bytes)
            while memory.count("PUT \(key) 200") < renewals { await Task.yield() }
        }
        #expect(memory.count("PUT") == renewals)
        #expect(memory.object(key)?.bytes == bytes)
    }

    /// The proof of the others would be lost.
    @Test func aMachineWithoutTheSecretLeavesTheAgeAsItIs() async throws {
        memory.add(key, bytes, secret: secret)
        memory.pass(TierStore.renewedAfter)
        #expect(await fetch(try machine("stranger")) == bytes)
        #expect(await fetch(try machine("first", secret: secret)) == bytes)
        // The one with the secret comes later, and is the only one.
        while memory.count("PUT") == 0 { await Task.yield() }
        #expect(memory.count("PUT") == 1)
        #expect(await fetch(try machine("second", secret: secret)) == bytes)
    }

    @Test func aStoreThatCannotCopyIsAskedOnce() async throws {
        memory.add(key, bytes)
        memory.pass(TierStore.renewedAfter)
        memory.fail { $0.method == .put ? .status(501, "") : nil }
        let machine = try machine("first")
        let object = try #require(machine.pictures.key(of: picture))
        let description = ObjectDescription(of: bytes, key: object)
        for _ in 0..<2 { await machine.store.renew(object, description, if: "\"1\"") }
        #expect(memory.count("PUT") == 1)
        #expect(machine.store.rests(.write) == nil)
    }

    @Test(arguments: [3600, -3600] as [Int64])
    func aClockThatIsWrongCostsOneRequest(_ ahead: Int64) async throws {
        try await bring()
        // As a store does it with what the clock of the machine signs.
        memory.fail { request in
            let isRight = request.headers.contains { $0.hasPrefix("x-amz-date: 20231114T22") }
            return isRight ? nil : .status(403, "<Code>Expired</Code>")
        }
        let before = memory.log.count
        let second = try machine("second", ahead: ahead)
        #expect(await fetch(second).map { $0 == bytes } == true)
        #expect(await fetch(second).map { $0 == bytes } == true)
        #expect(memory.log.count == before + 3)
        #expect(second.store.rests(.write) == nil)
    }

    @Test func whoComesMeanwhileWaitsForTheDownload() async throws {
        let (first, second) = (try machine("first"), try machine("second"))
        #expect(await fetch(first) == nil)
        let found = try await clock.passing {
            async let waiting = fetch(second)
            while memory.count("PUT leases") < 2 { await Task.yield() }
            try keep(first)
            return await waiting
        }
        #expect(found.map { $0 == bytes } == true)
        #expect(second.store.figures.awaited == 1)
    }

    @Test func aMissingPictureWithANewLeaseIsLookedForOnce() async throws {
        #expect(await fetch(try machine("first")) == nil)
        #expect(
            memory.log.filter { !$0.contains("pauses") } == [
                "GET \(key) 404", "PUT leases/\(key) 200",
            ])
    }

    /// Semantics: "Shared with other machines".
    ///
    /// The lease comes beside the image host's answer, and holds until the picture is brought, or given up.
    @Test(arguments: [true, false])
    func aReaderWaitsForALeaseAsLongAsForAFirstByte(_ isKept: Bool) async throws {
        let machine = try machine("first")
        machine.pictures.hostBrought(1 << 20, firstAfter: .milliseconds(20), in: .milliseconds(100))
        memory.answer(after: .seconds(1), by: clock) { $0.url.contains("/leases/") && $0.method == .put }
        let (found, waited) = try await clock.passing { [clock] in
            let began = clock.now
            return (await fetch(machine), clock.now - began)
        }
        #expect(found == nil)
        #expect(waited <= UsualAnswer.limits.least + .milliseconds(50))
        if !isKept { machine.pictures.giveUp(picture) }
        try await clock.passing { while memory.count("PUT leases") == 0 { await Task.yield() } }
        if isKept {
            #expect(memory.keys("leases").count == 1)
            try keep(machine)
        }
        try await clock.passing { while !memory.keys("leases").isEmpty { await Task.yield() } }
        #expect(memory.keys("pictures").count == (isKept ? 1 : 0))
    }

    @Test func whatAnotherMachineBringsIsNotBroughtThoughItsLeaseWasFoundLate() async throws {
        let (first, second) = (try machine("first"), try machine("second"))
        #expect(await fetch(first) == nil)
        second.pictures.hostBrought(1 << 20, firstAfter: .milliseconds(20), in: .milliseconds(100))
        memory.answer(after: .seconds(1), by: clock) { $0.url.contains("/leases/") }
        #expect(try await clock.passing { await fetch(second) } == nil)
        try await clock.passing { while memory.count("GET leases") == 0 { await Task.yield() } }
        await clock.settle()
        try keep(second)
        #expect(second.uploads.waiting == 0)
    }

    /// Waits until the store is asked no more while time stands still, and somebody waits for that.
    private func quiet() async {
        var seen = -1
        while seen != memory.log.count || clock.sleeperCount == 0 {
            seen = memory.log.count
            for _ in 0..<3 { await clock.settle() }
        }
    }

    /// The next readers ask the image host at once, and so do preloads but for one, until that one's wait was worth it.
    @Test func afterAWaitInVainOnlyATrialWaits() async throws {
        let second = try machine("second")
        #expect(await fetch(try machine("dead")) == nil)
        while !second.pictures.areWaitsVain { #expect(try await clock.passing { await fetch(second) } == nil) }
        let (began, urgency) = (clock.now, Urgency())
        #expect(await fetch(second) == nil)
        let trial = Task { await fetch(second, isRead: false, urgency) }
        await quiet()
        // A reader who comes waits for nothing.
        urgency.raise()
        #expect(await trial.value == nil)
        #expect(clock.now == began)
        // One that comes in time, although it was not there at first.
        while second.pictures.areWaitsVain {
            memory.remove(key)
            let again = Task { await fetch(second, isRead: false) }
            await quiet()
            memory.add(key, bytes)
            #expect(try await clock.passing { await again.value }.map { $0 == bytes } == true)
        }
        memory.remove(key)
        while !second.pictures.areWaitsVain { #expect(try await clock.passing { await fetch(second) } == nil) }
        clock.advance(by: TierHealth.longestRest)
        #expect(!second.pictures.areWaitsVain)
    }

    /// The pauses of a preload are longer than those of a reader.
    @Test func aReaderWhoComesCutsThePauseOfAPreload() async throws {
        let (second, urgency) = (try machine("second"), Urgency())
        #expect(await fetch(try machine("first")) == nil)
        let waiting = Task { await fetch(second, isRead: false, urgency) }
        await quiet()
        let (before, now) = (memory.count("GET pictures"), clock.now)
        urgency.raise()
        while memory.count("GET pictures") == before { await Task.yield() }
        #expect(clock.now == now)
        waiting.cancel()
        #expect(await waiting.value == nil)
    }

    @Test func whenALeaseHasEndedAnotherMachineHasIt() async throws {
        let (dead, second) = (try machine("dead"), try machine("second"))
        #expect(await fetch(dead) == nil)
        memory.pass(TierPictures.leaseSeconds + 1)
        let before = memory.count("PUT leases")
        // At once: by the store's clock nobody has it any more.
        #expect(try await clock.passing { await fetch(second, isRead: false) } == nil)
        #expect(memory.count("PUT leases") == before + 2)
    }

    @Test func aKeyThatMayNotRemoveObjectsBringsThem() async throws {
        memory.fail { $0.method == .delete ? .status(403, "<Error><Code>AccessDenied</Code></Error>") : nil }
        let machine = try machine("first")
        #expect(await fetch(machine) == nil)
        try await bring(by: machine)
        try await clock.passing { while machine.uploads.followed > 0 { await Task.yield() } }
        await clock.settle()
        #expect(memory.count("DELETE leases") == 1)
        #expect(machine.store.state == .works && machine.uploads.areWelcome)
    }

    @Test func whoFindsThePictureGivesTheLeaseBack() async throws {
        let (first, second) = (try machine("first"), try machine("second"))
        #expect(await fetch(first) == nil)
        // Brought by the first while the second gets the lease that has ended.
        memory.pass(TierPictures.leaseSeconds + 1)
        let path = "\(folder.path)/picture"
        try Data(bytes).write(to: URL(filePath: path))
        memory.fail { [memory, bytes, key] request in
            if request.method == .put, request.headers.contains(where: { $0.hasPrefix("If-Match") }) {
                memory.fail(nil)
                memory.add(key, bytes)
            }
            return nil
        }
        let found = try await clock.passing { await fetch(second) }
        #expect(found.map { $0 == bytes } == true)
        try await clock.passing { while !memory.keys("leases").isEmpty { await Task.yield() } }
    }

    @Test(arguments: ["flipped", "short", "length", "copied"])
    func wrongBytesAreNeverAPicture(_ damage: String) async throws {
        try await bring()
        let key = try #require(memory.keys("pictures").first)
        switch damage {
        case "flipped": memory.fail { $0.method == .get ? .flipped : nil }
        case "short": memory.fail { $0.method == .get ? .short : nil }
        case "length": memory.change(key) { $0.bytes += [0] }
        default:
            memory.change(key) { object in
                object.headers = object.headers.map { header in
                    header.name.hasSuffix("-key") ? (name: header.name, value: "pictures/other") : header
                }
            }
        }
        let second = try machine("second")
        #expect(await fetch(second) == nil)
        #expect(second.store.figures.wrong == 1)
        // What comes from the image host takes its place.
        memory.fail(nil)
        try await bring(by: second)
        #expect(await fetch(try machine("third")).map { $0 == bytes } == true)
    }

    /// Fleet: "Who is trusted".
    ///
    /// Three of them would otherwise end the use of the tier.
    @Test(arguments: ["bare", "moved", "digests that fit"])
    func withASecretWhatStrangersPutOrMovedThereIsNoAccident(_ what: String) async throws {
        memory.add("pictures/other", bytes, secret: secret)
        let moved = try #require(memory.object("pictures/other")).headers
        let isPage = what == "digests that fit"
        memory.add(key, isPage ? Array("<html>".utf8) : bytes)
        if !isPage { memory.change(key) { $0.headers = what == "moved" ? moved : [] } }
        let machine = try machine("first", secret: secret)
        #expect(await fetch(machine, length: isPage ? nil : 3000) == nil)
        #expect(machine.store.figures.wrong == 0 && machine.store.figures.unproven == 1)
        try await bring(by: machine)
        #expect(await fetch(try self.machine("second", secret: secret)) == bytes)
        #expect(await fetch(try self.machine("third")) == bytes)
    }

    @Test(arguments: [false, true])
    func noReaderWaitsForARemoval(_ isDamaged: Bool) async throws {
        memory.add(key, bytes, secret: isDamaged ? secret : nil)
        if isDamaged { memory.change(key) { $0.bytes[7] ^= 1 } }
        memory.answer(after: .seconds(1), by: clock) { $0.method == .delete }
        let machine = try machine("first", secret: secret)
        // No time passes meanwhile.
        #expect(await fetch(machine) == nil)
        #expect(machine.store.figures.wrong == (isDamaged ? 1 : 0))
        try await clock.passing {
            while memory.count("DELETE \(key)") < (isDamaged ? 1 : 0) { await Task.yield() }
            try keep(machine)
            while machine.store.figures.uploads == 0 { await Task.yield() }
        }
        #expect(memory.object(key)?.bytes == bytes)
    }

    @Test func nobodyWaitsForAQueueAndNobodyBringsAPictureTwice() async throws {
        let second = try machine("second")
        // Another machine has downloaded it, and has pictures to bring for a minute.
        let busy = Leases(TierStore(try memory.store(), time: TimeSource(clock)) { _ in }, owner: "busy")
        let key = try #require(second.pictures.key(of: picture))
        guard case .held = await busy.claim(key, seconds: 10, queue: .seconds(45)) else {
            Issue.record("no lease")
            return
        }
        let began = clock.now
        #expect(await fetch(second) == nil)
        #expect(clock.now == began)
        try keep(second)
        #expect(second.uploads.waiting == 0)
    }

    @Test func whatTurnedOutWrongIsNotTakenAgain() async throws {
        try await bring()
        let second = try machine("second")
        for _ in 0..<2 { second.pictures.distrust(picture) }
        #expect(await fetch(second) == nil)
        try await clock.passing { while !memory.keys("pictures").isEmpty { await Task.yield() } }
        #expect(second.store.figures.wrong == 1)
    }

    @Test func whoMayNotWriteWaitsLikeTheOthers() async throws {
        let (first, second) = (try machine("first"), try machine("second", mayWrite: false))
        #expect(await fetch(first) == nil)
        let found = try await clock.passing {
            async let waiting = fetch(second)
            while memory.count("GET leases") < 1 { await Task.yield() }
            try keep(first)
            return await waiting
        }
        #expect(found.map { $0 == bytes } == true)
        #expect(second.store.figures.awaited == 1)
        #expect(memory.count("PUT leases") == 1)
        // Nobody brings another one.
        memory.add("pictures/other", [1])
        let third = try machine("third", mayWrite: false)
        memory.change(key) { $0.headers = [] }
        #expect(try await clock.passing { await fetch(third) } == nil)
        try keep(third)
        #expect(third.uploads.waiting == 0)
    }

    /// The user may have forbidden it since the last run.
    @Test func whoMayNotWriteLeavesWhatTheLastRunWouldHaveBrought() async throws {
        let left = try UploadList(path: "\(folder.path)/first.sqlite", for: pool)
        _ = await left.add(Upload(key: try #require(ObjectKey("pictures/a")), path: "/", length: 1, hash: 1))
        await left.close()
        let machine = try machine("first", mayWrite: false)
        machine.uploads.resume()
        for _ in 0..<1000 { await Task.yield() }
        #expect(machine.uploads.waiting == 0)
        #expect(clock.sleeperCount == 0 && memory.log.isEmpty)
        await machine.uploads.close()
    }

    @Test func whoWouldNotUploadHoldsNoLease() async throws {
        let machine = try machine("metered", maySpend: false)
        let began = clock.now
        #expect(try await clock.passing { await fetch(machine) } == nil)
        #expect(memory.count("PUT") == 0)
        #expect(clock.now - began < .milliseconds(200))
    }

    @Test func aPictureWithoutReadersIsNotWaitedForForEver() async throws {
        let (first, second) = (try machine("first"), try machine("second"))
        #expect(await fetch(first) == nil)
        let before = memory.log.count
        let found = try await clock.passing(by: .milliseconds(200)) { await fetch(second, isRead: false) }
        #expect(found == nil)
        // The store's clock stands still, so that the lease never ends.
        #expect(memory.log.count - before < 300)
    }

    /// Two machines that disagree do not replace each other's object all the time.
    @Test(arguments: [AnswerAge.changing - 1, AnswerAge.changing])
    func anObjectOfAnotherLengthIsReplacedByWhatTheServiceHas(_ age: Int64) async throws {
        memory.add(key, bytes + [1])
        memory.pass(age)
        let machine = try machine("first")
        #expect(await fetch(machine) == nil)
        try await clock.passing {
            try keep(machine)
            while machine.uploads.waiting > 0 || memory.log.allSatisfy({ $0.hasPrefix("GET") }) { await Task.yield() }
        }
        let isReplaced = age >= AnswerAge.changing
        #expect(memory.object(key)?.bytes == (isReplaced ? bytes : bytes + [1]))
        #expect(machine.store.figures.uploads == (isReplaced ? 1 : 0))
        #expect(await fetch(try self.machine("second")) == (isReplaced ? bytes : nil))
    }

    /// An object that cannot be had says nothing of others (Amazon S3 API Reference, `InvalidObjectState`).
    @Test func anObjectInAnArchiveIsReplaced() async throws {
        memory.add(key, bytes)
        memory.fail { $0.method == .get ? .status(403, "<Code>InvalidObjectState</Code>") : nil }
        let machine = try machine("first")
        #expect(await fetch(machine) == nil)
        #expect(machine.store.rests(.picture) == nil)
        memory.fail(nil)
        try await bring(by: machine)
        #expect(memory.count("PUT \(key)") == 1 && memory.count("DELETE \(key)") == 0)
    }

    /// No other machine lacks it meanwhile, and the end of a mount loses nothing.
    @Test func anObjectThatIsReplacedStaysUntilTheNewOneIsThere() async throws {
        memory.add(key, bytes + [1])
        memory.pass(AnswerAge.changing)
        let machine = try machine("first")
        #expect(await fetch(machine) == nil)
        memory.fail { $0.method == .put ? .status(500, "") : nil }
        try await clock.passing {
            try keep(machine)
            while memory.count("PUT \(key)") == 0 { await Task.yield() }
            await machine.uploads.close()
        }
        #expect(memory.object(key)?.bytes == bytes + [1])
        memory.fail(nil)
        let next = try self.machine("first")
        try await clock.passing {
            next.uploads.resume()
            while next.store.figures.uploads == 0 { await Task.yield() }
        }
        #expect(memory.object(key)?.bytes == bytes && memory.count("DELETE \(key)") == 0)
    }

    @Test func aStoreThatIsBackGetsWhatWasDownloadedMeanwhile() async throws {
        memory.fail { _ in .unreachable }
        let machine = try machine("first")
        #expect(await fetch(machine) == nil)
        try keep(machine)
        memory.fail(nil)
        let began = clock.now
        try await clock.passing { while machine.store.figures.uploads == 0 { await Task.yield() } }
        #expect(clock.now - began <= TierHealth.closedRests.first + Uploads.probePause)
        await machine.uploads.close()
    }

    @Test func nothingIsBroughtOverANetworkThatCostsUntilTheNextRun() async throws {
        let first = try machine("first", maySpend: false)
        try keep(first)
        await clock.waitForSleepers(1)
        #expect(memory.count("PUT") == 0)
        #expect(first.uploads.waiting == 1)
        await first.uploads.close()
        let next = try machine("first")
        next.uploads.resume()
        try await clock.passing { while memory.keys("pictures").isEmpty { await Task.yield() } }
        #expect(await fetch(try machine("second")).map { $0 == bytes } == true)
    }

    @Test func whatIsNoLongerStoredOrDamagedIsNotBrought() async throws {
        let first = try machine("first")
        first.pictures.keep(picture, at: "\(folder.path)/nothing", length: 3000, hash: hash)
        try await clock.passing { while first.uploads.waiting > 0 { await Task.yield() } }
        let path = "\(folder.path)/damaged"
        try Data(bytes.dropLast() + [8]).write(to: URL(filePath: path))
        first.pictures.keep(picture, at: path, length: 3000, hash: hash)
        try await clock.passing { while first.uploads.waiting > 0 { await Task.yield() } }
        #expect(memory.count("PUT pictures") == 0)
    }
}
