import Foundation
import Rankings
import TestSupport
import Testing

@testable import ImageCache

@Suite(.timeLimit(.minutes(1))) struct EvictionTests {
    static func key(_ number: Int) -> PictureID { PictureID(high: 0, low: UInt64(number)) }

    private func picture(_ number: Int) -> StoredPicture {
        StoredPicture(key: Self.key(number), length: 1000, hash: UInt64(number))
    }

    @Test func whatIsPinnedStaysUntilItIsReleased() {
        var index = StoredIndex()
        // Before it is stored, and after.
        index.setPinned(true, Self.key(0))
        for number in 0..<3 { #expect(index.insert(picture(number), isUnread: false, now: 0) == nil) }
        index.setPinned(true, Self.key(1))
        #expect(index.evictableBytes(sparesUnread: false, protected: []) == 1000)
        #expect(index.takeUnwrittenPins() == [Self.key(0): true, Self.key(1): true])
        #expect(index.evict(bytes: .max, sparesUnread: false) { _ in false }.map(\.key) == [Self.key(2)])
        #expect(index.evictableBytes(sparesUnread: false, protected: []) == 0)
        // A new upload of the bytes stays pinned, and releasing is written.
        let upload = StoredPicture(key: Self.key(1), length: 1000, hash: 77)
        #expect(index.insert(upload, isUnread: false, now: 0) == picture(1), "its old file goes")
        #expect(index.isPinned(Self.key(1)) && index.takeUnwrittenPins().isEmpty)
        index.setPinned(false, Self.key(0))
        #expect(index.takeUnwrittenPins() == [Self.key(0): false])
        #expect(index.evict(bytes: .max, sparesUnread: false) { _ in false }.map(\.key) == [Self.key(0)])
        index.setPinned(true, Self.key(7))
        index.setPinned(false, Self.key(7))
        #expect(index.insert(picture(7), isUnread: false, now: 0) == nil)
        #expect(!index.isPinned(Self.key(7)))
    }

    @Test func theLeastRecentlyUsedGoesFirstAndProtectedOnesStay() {
        var index = StoredIndex()
        for number in 0..<6 { #expect(index.insert(picture(number), isUnread: number == 2, now: 0) == nil) }
        index.touch(Self.key(0), now: 0)
        let victims = index.evict(bytes: 2500, sparesUnread: true) { $0 == Self.key(1) }
        #expect(victims.map(\.key) == [3, 4, 5].map(Self.key))
        #expect(index.bytes == 3000)
        // Used since the order was made: met again, and last.
        #expect(index.insert(picture(9), isUnread: false, now: 0) == nil)
        #expect(index.evict(bytes: 1, sparesUnread: false) { _ in false }.map(\.key) == [Self.key(0)])
        #expect(index.evict(bytes: 10_000, sparesUnread: false) { _ in false }.map(\.key) == [1, 2, 9].map(Self.key))
        #expect(index.bytes == 0)
        #expect(index.evict(bytes: 1, sparesUnread: false) { _ in false }.isEmpty)
    }

    /// Opened but not yet looked at: its file must not go before the first read hashes it.
    @Test func whatIsOpenIsNotEvictedBeforeItsFirstRead() async throws {
        let scratch = TemporaryFolder()
        let bytes = Sample.jpeg(10_000)
        let earlier = try Bench(scratch, budget: 50_000)
        try await earlier.store(Sample.picture(1, size: 10_000), bytes)
        await earlier.cache.close()
        let bench = try Bench(scratch, budget: 50_000)
        let open = try bench.open(Sample.picture(1, size: 10_000))
        for number in 2..<9 { try await bench.store(Sample.picture(Int64(number), size: 10_000), bytes) }
        #expect(bench.cache.status().evicted > 0)
        #expect(try open.availableBytes(offset: 0, count: 10_000)?.content == bytes)
    }

    @Test func aPictureLargerThanTheBudgetIsServedAndNotKept() async throws {
        let bench = try Bench(budget: 50_000)
        let bytes = Sample.jpeg(80_000)
        try await bench.store(Sample.picture(2, size: 40_000), Sample.jpeg(40_000))
        let open = try bench.open(Sample.picture(1, size: 80_000))
        #expect(try await bench.read(open, 80_000, at: 1, bytes).content == bytes)
        #expect(try open.availableBytes(offset: 5, count: 5)?.content == Array(bytes[5..<10]))
        open.close()
        await bench.settle()
        #expect(bench.cache.status().storedPictures == 1, "nothing went to make room for it")
        #expect(try ImageCache.inspect(directory: bench.scratch.cache).partialPictures == 0)
    }

    /// What a source tells of a length is no reason to throw away what is stored.
    @Test(arguments: [Int64(1) << 40, 1_000_000_000_000_000_000, .max])
    func lengthsThatNoPictureHasPushNothingOut(told: Int64) async throws {
        let bench = try Bench(preload: 2)
        let bytes = Sample.jpeg(40_000)
        try await bench.store(Sample.picture(1, size: 40_000), bytes)
        for number in Int64(2)...13 {
            // As stat may show it by what was kept of earlier answers.
            let known = try bench.open(Sample.picture(number, size: told))
            #expect(
                await failure { try await known.bytes(offset: 0, count: 10) }
                    == .lengthContradicts(told: nil, shown: told))
            #expect(await failure { try await known.bytes(offset: .max, count: .max) } != nil)
            known.close()
            // And as the answer of the download itself tells it.
            let index = bench.transport.requests.count
            let unknown = try bench.open(Sample.picture(number, size: nil))
            async let failure = failure { try await unknown.bytes(offset: 0, count: 10) }
            let answer = await bench.transport.waitForRequest(at: index)
            #expect(!answer.head(200, Bench.imageHeaders + [(name: "content-length", value: "\(told)")]))
            if case .broken = await failure {} else { Issue.record("\(told) was believed") }
            unknown.close()
        }
        await bench.settle()
        #expect(bench.cache.status().storedPictures == 1 && bench.cache.status().evicted == 0)
    }

    @Test func theFreeFloorIsKept() async throws {
        let bench = try Bench(freeFloor: .max)
        try await bench.store(Sample.picture(1, size: 10_000), Sample.jpeg(10_000))
        await bench.settle()
        #expect(bench.cache.status().storedPictures == 0)
        #expect(bench.events.texts.contains { $0.contains("notStoring") })
    }

    @Test func whatTheDiskRefusesIsServedFromMemory() async throws {
        let bench = try Bench()
        let partial = bench.scratch.cache + "/v2/partial"
        try FileManager.default.removeItem(atPath: partial)
        try Data().write(to: URL(fileURLWithPath: partial))
        let bytes = Sample.jpeg(60_000)
        #expect(try await bench.store(Sample.picture(1, size: 60_000), bytes) == bytes)
        #expect(bench.events.texts.count { $0.contains("notStoring") } == 1)
        #expect(bench.cache.status().storedPictures == 0)
        // Mended: stored again, and told.
        try FileManager.default.removeItem(atPath: partial)
        bench.advance(.seconds(30))
        try await bench.store(Sample.picture(2, size: 60_000), bytes)
        #expect(bench.cache.status().storedPictures == 1)
        #expect(bench.events.texts.contains { $0.contains("storingAgain") })
    }
}
