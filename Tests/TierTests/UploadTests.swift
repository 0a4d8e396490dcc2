import Foundation
import HTTP
import ImageCache
import Rankings
import Synchronization
import System
import TestSupport
import Testing
@testable import Tier

/// The pictures that wait to be brought to a store, and the order in which they are.
@Suite(.timeLimit(.minutes(1))) struct UploadTests {
    private let memory = MemoryStore()
    private let clock = ManualClock()
    private let folder = TemporaryFolder()
    private let bytes = [UInt8](repeating: 7, count: 3000)
    private let reports = Reports()
    private let path: String

    init() throws {
        path = "\(folder.path)/picture"
        try Data(bytes).write(to: URL(filePath: path))
    }

    private func machine(_ name: String) throws -> (uploads: Uploads, store: TierStore) {
        let store = TierStore(try memory.store(), time: TimeSource(clock)) { [reports] in reports.add($0) }
        let list = try UploadList(path: "\(folder.path)/\(name).sqlite", for: pool)
        return (Uploads(store, list: list) { true }, store)
    }

    /// The upload of the picture under `pictures/` and a name.
    private func upload(_ name: String, replaces: Bool = false) throws -> Upload {
        Upload(
            key: try #require(ObjectKey("pictures/\(name)")), path: path, length: 3000, hash: XXH3.hash(bytes),
            replaces: replaces)
    }

    @Test func aPictureThatTheStoreRefusesHoldsUpNoOther() async throws {
        memory.fail { $0.url.contains("/pictures/large") ? .status(400, "EntityTooLarge") : nil }
        // More than are on their way at once, each of them refused, left by the last run.
        let left = try UploadList(path: "\(folder.path)/first.sqlite", for: pool)
        for name in (0..<Uploads.mostAtOnce).map({ "large\($0)" }) + ["small"] { _ = await left.add(try upload(name)) }
        await left.close()
        let machine = try machine("first")
        try await clock.passing {
            machine.uploads.resume()
            while machine.store.figures.uploads == 0 { await Task.yield() }
        }
        #expect(memory.keys("pictures") == ["pictures/small"])
        #expect(machine.store.rests(.write) == nil)
        // A few times, and no longer.
        try await clock.passing(by: .seconds(1)) { while machine.uploads.waiting > 0 { await Task.yield() } }
        #expect(memory.count("PUT pictures/large") == Uploads.mostAtOnce * Uploads.mostTries)
        #expect(machine.store.figures.dropped == Uploads.mostAtOnce)
        #expect(reports.all.count { if case .notTaken = $0 { true } else { false } } == Uploads.mostAtOnce)
        await machine.uploads.close()
    }

    /// Another process has the database, as a full disk would.
    @Test func whatTheDiskTakesNoNoteOfIsGivenUpOrMadeAgainAfterAPause() async throws {
        memory.add("pictures/there", bytes)
        let left = try UploadList(path: "\(folder.path)/first.sqlite", for: pool)
        _ = await left.add(try upload("there"))
        await left.close()
        let machine = try machine("first")
        let other = try Connection(path: "\(folder.path)/first.sqlite")
        defer { other.close() }
        try other.execute("BEGIN IMMEDIATE")
        machine.uploads.resume()
        for tries in 1...3 {
            await clock.waitForSleepers(1)
            #expect(memory.count("HEAD") == tries)
            clock.advance(by: Uploads.pause)
        }
        // What cannot be listed is given up, and nobody waits for it.
        let followed = Atomic(false)
        machine.uploads.add(try upload("new")) { followed.store(true, ordering: .relaxed) }
        while !followed.load(ordering: .relaxed) { await Task.yield() }
        #expect(machine.uploads.followed == 0 && machine.store.figures.dropped == 1)
        try other.execute("ROLLBACK")
        try await clock.passing { while machine.uploads.waiting > 0 { await Task.yield() } }
        await machine.uploads.close()
    }

    @Test func afterOneThatIsNotTakenInTimeTheyGoOneByOne() async throws {
        memory.answer(after: TierStore.writePatience * 2, by: clock) { $0.url.contains("/pictures/") }
        let machine = try machine("first")
        machine.uploads.add(try upload("late")) {}
        try await clock.passing(by: .seconds(1)) { while machine.store.rests(.write) == nil { await Task.yield() } }
        #expect(machine.uploads.atOnce == 1)
        // What is there is read meanwhile.
        #expect(machine.store.rests(.read) == nil)
        memory.answer(after: .zero, by: clock) { _ in false }
        try await clock.passing(by: .seconds(1)) { while machine.uploads.waiting > 0 { await Task.yield() } }
        for number in 0..<32 where machine.uploads.atOnce == 1 {
            let before = machine.store.figures.uploads
            machine.uploads.add(try upload("\(number)")) {}
            try await clock.passing(by: .milliseconds(10)) {
                while machine.store.figures.uploads == before { await Task.yield() }
            }
        }
        #expect(machine.uploads.atOnce == Uploads.mostAtOnce)
        #expect(machine.store.figures.dropped == 0)
        await machine.uploads.close()
    }

    /// Semantics: "Shared with other machines".
    @Test func noMachineWaitsForALineWhoseUploadsTakeLong() async throws {
        memory.answer(after: .seconds(20), by: clock) { $0.method == .put && $0.url.contains("/pictures/slow") }
        let (slow, other) = (try machine("slow"), try machine("other"))
        slow.uploads.add(try upload("slow")) {}
        while slow.uploads.delay < TierPace.longestPatience {
            await clock.settle()
            clock.advance(by: .seconds(1))
        }
        let began = clock.now
        for (name, machine) in [("slow", slow), ("other", other)] {
            let pictures = TierPictures(
                machine.store, leases: Leases(machine.store, owner: name), service: "pixiv", uploads: machine.uploads)
            let urgency = Urgency()
            urgency.raise()
            let picture = PictureID(work: WorkID(rawValue: 97), page: 0, rendition: .regular, uploaded: 5)
            #expect(await !pictures.fetch(picture, length: 3000, urgency: urgency, into: .ignoring))
            while memory.keys("leases").isEmpty { await Task.yield() }
        }
        #expect(memory.count("PUT leases") == 2)
        #expect(clock.now == began)
        try await clock.passing(by: .seconds(1)) { while slow.uploads.waiting > 0 { await Task.yield() } }
        #expect(slow.uploads.delay >= TierPace.longestPatience)
        clock.advance(by: TierHealth.longestRest)
        #expect(slow.uploads.delay == .zero)
        await slow.uploads.close()
    }

    /// Semantics: "Shared with other machines".
    @Test func whatNobodyWaitsForIsBroughtOnlyIfItIsNotThere() async throws {
        memory.add("pictures/there", bytes)
        memory.add("pictures/awaited", bytes)
        let machine = try machine("first")
        for (name, isAwaited) in [("there", false), ("new", false), ("awaited", true)] {
            machine.uploads.add(try upload(name), then: isAwaited ? { @Sendable in } : nil)
        }
        try await clock.passing(by: .seconds(1)) { [memory] in
            while memory.count("HEAD") < 2 || memory.count("PUT") < 2 { await Task.yield() }
        }
        #expect(memory.count("PUT pictures/there") == 0)
        #expect(memory.count("PUT pictures/new 200") == 1)
        #expect(memory.count("PUT pictures/awaited 412") == 1)
        #expect(memory.count("HEAD") == 2)
        await machine.uploads.close()
    }

    @Test func whatIsCutFromTheListIsFollowedByNobody() async throws {
        let store = TierStore(try memory.store(), time: TimeSource(clock)) { _ in }
        let list = try UploadList(path: "\(folder.path)/short.sqlite", for: pool, most: 3)
        let uploads = Uploads(store, list: list) { false }
        let followed = Mutex(0)
        for name in 0..<5 { uploads.add(try upload("\(name)")) { followed.withLock { $0 += 1 } } }
        while uploads.followed > 3 { await Task.yield() }
        await uploads.close()
        #expect(followed.withLock { $0 } == 2)
        #expect(store.figures.dropped == 2)
    }

    /// A picture that was postponed stays while the list has room, however many have come and gone since.
    @Test func anOldUploadStaysInAListWithRoom() async throws {
        let list = try UploadList(path: "\(folder.path)/old.sqlite", for: pool, most: 3)
        let old = try upload("old")
        #expect(await list.add(old).isEmpty)
        _ = await list.postpone(old, until: 1000)
        for name in 0..<9 {
            let upload = try upload("\(name)")
            #expect(await list.add(upload).isEmpty)
            _ = await list.remove(upload)
        }
        #expect(await list.first(9, dueBy: 1000).map(\.key) == [old.key])
    }

    @Test func whatOthersWaitForGoesFirstAndTheRestOneByOne() async throws {
        let list = try UploadList(path: "\(folder.path)/list.sqlite", for: pool)
        for number in 0..<9 { _ = await list.add(try upload("\(number)")) }
        let awaited = [try upload("first"), try upload("second")]
        for upload in awaited { _ = await list.add(upload, isAwaited: true) }
        #expect(await list.first(4, dueBy: 0) == awaited)
        #expect(await list.first(1, dueBy: 0) == [awaited[0]])
        _ = await list.remove(awaited[0])
        // One that failed is no longer waited for.
        _ = await list.postpone(awaited[1], until: 30)
        var seen: Set<ObjectKey> = []
        for _ in 0..<500 {
            let next = await list.first(4, dueBy: 0)
            #expect(next.count == 1)
            seen.formUnion(next.map(\.key))
        }
        #expect(seen.count == 9)
        #expect(await list.first(4, dueBy: 30).count == 1)
        await list.close()
    }

    /// The picture may be read again, by a machine that has not seen the wrong object since its start.
    @Test func aReplacementThatWaitsStaysOne() async throws {
        let list = try UploadList(path: "\(folder.path)/waiting.sqlite", for: pool)
        let (replacement, upload) = (try upload("a", replaces: true), try upload("a"))
        _ = await list.add(replacement)
        _ = await list.add(upload, isAwaited: true)
        #expect(await list.first(1, dueBy: 0).map(\.replaces) == [true])
        _ = await list.remove(upload)
        _ = await list.add(upload)
        #expect(await list.first(1, dueBy: 0).map(\.replaces) == [false])
        await list.close()
    }

    /// Semantics: "Shared with other machines".
    ///
    /// The same cache directory may have another store, or share nothing private, at the next mount.
    @Test(arguments: [
        ("s3://pool", false, 0), ("s3://other", true, 0), ("s3://pool/a", true, 0), ("s3://pool", true, 1),
    ])
    func whatWaitedForAnotherStoreOrWasPrivateIsNotBrought(
        _ bucket: String, _ takesPrivate: Bool, _ count: Int
    ) async throws {
        func list(_ bucket: String, _ takesPrivate: Bool) throws -> UploadList {
            try UploadList(path: "\(folder.path)/list", for: (bucket, takesPrivate))
        }
        let left = try list("s3://pool", true)
        _ = await left.add(try upload("a"))
        await left.close()
        let next = try list(bucket, takesPrivate)
        #expect(await next.first(9, dueBy: 0).count == count)
        #expect(await next.count == count)
        await next.close()
    }

    /// Of those of earlier versions it is unknown.
    @Test func whatWaitedForAnUnknownStoreIsNotBrought() async throws {
        let path = "\(folder.path)/old"
        let old = try Connection(path: path)
        try old.migrate(Array(UploadList.migrations.prefix(4)))
        try old.run("INSERT INTO uploads(key, path, length, hash) VALUES('pictures/a', '/', 1, 1)")
        old.close()
        let list = try UploadList(path: path, for: pool)
        #expect(await list.count == 0)
        await list.close()
    }
}

/// What was told for the log.
private final class Reports: Sendable {
    private let events = Mutex<[TierEvent]>([])

    var all: [TierEvent] { events.withLock { $0 } }

    func add(_ event: TierEvent) { events.withLock { $0.append(event) } }
}
