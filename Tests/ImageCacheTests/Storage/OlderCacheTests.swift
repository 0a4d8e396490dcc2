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
        let archive = TestPrograms.root.appending(path: "Tests/ImageCacheTests/Recorded/\(name).tar.gz").path
        #expect(try Tool("tar").run(["-xzf", archive, "-C", directory]).status == 0)
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
}
