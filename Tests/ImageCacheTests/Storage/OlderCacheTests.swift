import System
import Foundation
import TestSupport
import Testing

@testable import ImageCache

/// Caches as earlier builds left them: `Recorded/v1.tar.gz` and `v2.tar.gz`, five pictures of 1000 to 5000 bytes, the fourth
/// pinned, the second used last, and of a sixth one the first 3500 of its 6000 bytes.
struct RecordedCache {
    static func unpacked(_ name: String) throws -> TemporaryFolder {
        let scratch = TemporaryFolder()
        try unpack(name, into: scratch.cache)
        return scratch
    }

    static func unpack(_ name: String, into directory: String) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let tar = Process()
        tar.executableURL = URL(filePath: "/usr/bin/env")
        tar.arguments = ["tar", "-xzf", folder.appending(path: "Recorded/\(name).tar.gz").path, "-C", directory]
        try tar.run()
        tar.waitUntilExit()
        #expect(tar.terminationStatus == 0)
        // Only what was written since the machine started is gone on with.
        let store = try #require(try? Files.open("/proc/sys/kernel/random/boot_id", in: AT_FDCWD, O_RDONLY))
        defer { close(store) }
        let boot = String(decoding: try Files.read(store, at: 0, count: 36), as: UTF8.self)
        let partial = "\(directory)/\(name)/partial"
        for file in try FileManager.default.contentsOfDirectory(atPath: partial) where file.hasSuffix(".state") {
            let url = URL(filePath: "\(partial)/\(file)")
            var state = try #require(PartialState(Array(try Data(contentsOf: url))))
            state.boot = boot
            try Data(state.encoded).write(to: url)
        }
    }

    static func bytes(_ number: Int64) -> [UInt8] { Sample.jpeg(Int(number) * 1000, seed: UInt64(number)) }
    static func picture(_ number: Int64) -> PictureRequest { Sample.picture(number, size: number * 1000) }

    /// Reads all of it: nothing is asked for but the rest of the sixth picture.
    static func check(_ bench: Bench) async throws {
        for number in Int64(1)...5 {
            #expect(try bench.found(picture(number)) == bytes(number))
        }
        #expect(bench.transport.requests.isEmpty)
        let open = try bench.open(picture(6))
        async let whole = open.bytes(offset: 0, count: 6000)
        let rest = await bench.transport.waitForRequest(at: 0)
        #expect(rest.asked == "3436-5999" && rest.request.ifRange == Bench.version)
        rest.answer(bytes(6))
        #expect(try await whole.content == bytes(6))
        open.close()
        #expect(bench.events.all.isEmpty, "\(bench.events.texts)")
    }
}

@Suite(.timeLimit(.minutes(1))) struct OlderCacheTests {
    private static let versions = ["v1", "v2"]

    /// The names of pictures in the order of last use.
    private func order(_ bench: Bench) -> [Int64] {
        bench.cache.core.withLock { core in
            var index = core.index
            for pin in index.pins { index.setPinned(false, pin) }
            return index.evict(bytes: .max, sparesUnread: false) { _ in false }.map(\.key.work.rawValue)
        }
    }

    @Test(arguments: versions) func whatAnEarlierBuildStoredIsThereAtOnce(version: String) async throws {
        let scratch = try RecordedCache.unpacked(version)
        let bench = try Bench(scratch)
        #expect(bench.cache.status().storedPictures == 5 && bench.cache.status().storedBytes == 15_000)
        #expect((1...5).filter { bench.cache.isPinned(RecordedCache.picture($0).id) } == [4])
        await bench.settle()
        #expect(order(bench) == [1, 3, 4, 5, 2])
        try await RecordedCache.check(bench)
        await bench.settle()
        await bench.cache.close()
        let top = try FileManager.default.contentsOfDirectory(atPath: scratch.cache).sorted()
        #expect(top == [".busy", ".nomedia", ".trackerignore", "CACHEDIR.TAG", "v2"])
        for number in Int64(1)...6 {
            #expect(
                FileManager.default.contents(atPath: bench.file(of: RecordedCache.picture(number)))
                    == Data(RecordedCache.bytes(number)))
        }
        let found = try ImageCache.verify(directory: scratch.cache)
        #expect(found == CacheVerification(pictures: 6, bytes: 21_000, partialPictures: 0, mistakes: []))
        let again = try Bench(scratch)
        #expect(order(again) == [1, 2, 3, 4, 5, 6])
        #expect(again.cache.isPinned(RecordedCache.picture(4).id))
    }

    @Test func oneThatIsAskedForComesBeforeItsTurnAndTheOldestFirst() async throws {
        let scratch = try RecordedCache.unpacked("v1")
        let bench = try Bench(scratch)
        bench.cache.core.disk.suspend()
        // Whether its turn has come or not: known by what its row says, and then by its name.
        #expect(bench.cache.storedSize(of: RecordedCache.picture(5).id) == 5000)
        #expect(bench.cache.state(of: RecordedCache.picture(2).id) == .stored(length: 2000))
        #expect(try bench.found(RecordedCache.picture(2)) == RecordedCache.bytes(2))
        #expect(bench.file(of: RecordedCache.picture(2)).contains("/v2/"))
        bench.cache.core.disk.resume()
        try await bench.cache.setPinned(false, [RecordedCache.picture(4).id])
        #expect(!bench.cache.isPinned(RecordedCache.picture(4).id))
        #expect(bench.cache.evict(RecordedCache.picture(5).id, openers: 0))
        #expect(bench.cache.storedSize(of: RecordedCache.picture(5).id) == nil)
        #expect(bench.cache.status().storedPictures == 4 && bench.cache.status().storedBytes == 10_000)
    }

    @Test func theOldestAreConvertedFirst() throws {
        let scratch = try RecordedCache.unpacked("v1")
        let store = try PictureStore(directory: scratch.cache) { _ in }
        var surplus: [StoredPicture] = []
        var index = StoredIndex(store.contents(), surplus: &surplus)
        let name = { OlderName(RecordedCache.picture($0).id) }
        #expect(index.count == 5 && index.bytes == 15_000)
        #expect(index.evictableBytes(sparesUnread: false, protected: []) == 0)
        #expect(index.older.sorted { $0.value.used < $1.value.used }.map(\.key) == [1, 3, 4, 5, 2].map(name))
        for number in [Int64(3), 4] {
            let row = try #require(index.older[name(number)])
            let picture = try OlderFormat.convert(name(number), isPinned: row.isPinned, store)
            #expect(picture == Sample.stored(number, RecordedCache.bytes(number)))
            let isNew = index.convert(name(number), to: picture)
            #expect(isNew)
        }
        #expect(index.count == 5 && index.bytes == 15_000 && surplus.isEmpty)
        #expect(index.evictableBytes(sparesUnread: false, protected: []) == 3000)
        let contents = store.contents()
        #expect(contents.pictures.count == 2 && contents.older.count == 3)
        #expect(contents.pins == [RecordedCache.picture(4).id])
        store.unlock()
    }

    /// Before anything is converted: in the budget, for the commands that work without a mount, and beside a cache of today.
    @Test func theyCountBeforeTheyAreConverted() async throws {
        let scratch = try RecordedCache.unpacked("v1")
        let found = try ImageCache.inspect(directory: scratch.cache)
        #expect(found.pictures == 5 && found.bytes == 15_000 && found.partialPictures == 1)
        #expect(ImageCache.makeFolders(in: scratch.cache) == nil)
        #expect(try ImageCache.inspect(directory: scratch.cache) == found)
        let small = try Bench(scratch, budget: 12_000)
        await small.settle()
        #expect(order(small) == [4, 5, 2])
        await small.cache.close()

        let other = scratch.path + "/other"
        try RecordedCache.unpack("v1", into: other)
        let removal = try ImageCache.clear(directory: other, others: [])
        #expect(removal.pictures == 5 && removal.pinned == 1 && removal.partialPictures == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: other).count == 4)
    }

    @Test func whatAnEarlierRankfsStoredMeanwhileIsAdded() async throws {
        let scratch = TemporaryFolder()
        let bench = try Bench(scratch)
        try await bench.store(Sample.picture(9, size: 900), Sample.jpeg(900))
        // With other bytes than there.
        try await bench.store(Sample.picture(1, size: 800), Sample.jpeg(800))
        await bench.cache.close()
        try RecordedCache.unpack("v1", into: scratch.cache)
        let second = try Bench(scratch)
        await second.settle()
        #expect(order(second) == [9, 1, 3, 4, 5, 2])
        #expect(second.cache.storedSize(of: RecordedCache.picture(1).id) == 800)
        #expect(!FileManager.default.fileExists(atPath: scratch.cache + "/v1"))
        #expect(try second.found(RecordedCache.picture(2)) == RecordedCache.bytes(2))
        await second.cache.close()
        #expect(try ImageCache.verify(directory: scratch.cache).pictures == 6)
    }

    @Test(arguments: [true, false]) func whatIsBrokenGoesAndTheRestIsConverted(byVerify: Bool) async throws {
        let scratch = try RecordedCache.unpacked("v1")
        let paths = [1, 2, 3].map { number in
            "\(scratch.cache)/v1/" + OlderName(RecordedCache.picture(number).id).path
        }
        var file = try Data(contentsOf: URL(filePath: paths[0]))
        file[file.count - 100] ^= 1
        try file.write(to: URL(filePath: paths[0]))
        // Its bytes, which only its first reader finds.
        file = try Data(contentsOf: URL(filePath: paths[1]))
        file[1234] ^= 1
        try file.write(to: URL(filePath: paths[1]))
        try FileManager.default.removeItem(atPath: paths[2])
        if byVerify {
            let found = try ImageCache.verify(directory: scratch.cache)
            #expect(found.pictures == 2 && found.mistakes.count == 2, "\(found.mistakes)")
        }
        let bench = try Bench(scratch)
        await bench.settle()
        #expect(order(bench) == (byVerify ? [4, 5] : [4, 5, 2]))
        #expect(bench.cache.status().storedBytes == (byVerify ? 9000 : 11_000))
        let open = try bench.open(RecordedCache.picture(2))
        #expect(try open.availableBytes(offset: 0, count: 10) == nil)
        open.close()
        #expect(bench.events.texts.count == (byVerify ? 0 : 1))
        #expect(!FileManager.default.fileExists(atPath: scratch.cache + "/index.sqlite"))
    }

    /// What the disk refuses to convert comes from the network, and is converted once the disk takes it.
    @Test func aDiskThatRefusesCostsARequestAndNoPicture() async throws {
        let scratch = try RecordedCache.unpacked("v1")
        // A file where the folder of pins would be: the fourth picture is pinned.
        try Data().write(to: URL(filePath: scratch.cache + "/v1/pinned"))
        let first = try Bench(scratch)
        await first.settle()
        #expect(first.cache.status().storedPictures == 5 && first.cache.isPinned(RecordedCache.picture(4).id))
        #expect(FileManager.default.fileExists(atPath: scratch.cache + "/index.sqlite"))
        let open = try first.open(RecordedCache.picture(4))
        #expect(try open.availableBytes(offset: 0, count: 4000) == nil)
        open.close()
        #expect(first.events.texts.count { $0.contains("notStoring") } == 1)
        await first.cache.close()
        try FileManager.default.removeItem(atPath: scratch.cache + "/v2/pinned")
        let second = try Bench(scratch)
        try await RecordedCache.check(second)
        #expect(second.cache.isPinned(RecordedCache.picture(4).id))
        #expect(!FileManager.default.fileExists(atPath: scratch.cache + "/index.sqlite"))
    }

    /// Without its database the pictures are there, and only pins and the order of use are lost.
    @Test func aLostDatabaseCostsNoPicture() async throws {
        let scratch = try RecordedCache.unpacked("v1")
        try Data(repeating: 0x55, count: 8192).write(to: URL(filePath: scratch.cache + "/index.sqlite"))
        let bench = try Bench(scratch)
        #expect(bench.cache.status().storedBytes == 15_000)
        try await RecordedCache.check(bench)
    }
}
