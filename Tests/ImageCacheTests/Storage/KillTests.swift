#if DEBUG
import System
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ImageCache

/// kill -9 before each call that changes the directory: what is there then is opened again.
@Suite(.serialized, .timeLimit(.minutes(2))) struct KillTests {
    /// Copies of a cache's directory, one before each change that `work` makes.
    private func copies(
        of cache: String, in scratch: TemporaryFolder, while work: () async throws -> Void
    ) async throws -> [String] {
        let copies = Mutex<[String]>([])
        Files.beforeChanges { descriptor in
            var name = [UInt8](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(descriptor)", &name, name.count)
            guard count > 0, String(decoding: name.prefix(count), as: UTF8.self).hasPrefix(cache) else { return }
            copies.withLock { copies in
                let copy = "\(scratch.path)/copy-\(copies.count)"
                do { try FileManager.default.copyItem(atPath: cache, toPath: copy) } catch {
                    Issue.record("\(error)")
                }
                copies.append(copy)
            }
        }
        defer { Files.beforeChanges(nil) }
        try await work()
        return copies.withLock { $0 }
    }

    private static let length = 5000
    private static func bytes(_ seed: UInt64) -> [UInt8] { Sample.jpeg(length, seed: seed) }
    private static func picture(_ number: Int64) -> PictureRequest { Sample.picture(number, size: Int64(length)) }

    /// The bytes of a picture, from the disk if they are there.
    private func read(_ picture: PictureRequest, _ bytes: [UInt8], _ bench: Bench) async throws -> [UInt8] {
        if let found = try bench.found(picture) { return found }
        return try await bench.store(picture, bytes)
    }

    /// What stays behind may be beginnings of downloads, and nothing else.
    private func checkRest(_ copy: String) throws {
        let mistakes = try ImageCache.verify(directory: copy).mistakes
        #expect(mistakes.allSatisfy { $0.path.hasPrefix("v2/partial/") }, "\(mistakes)")
    }

    @Test func aPictureThatIsStoredIsWholeOrComesAgain() async throws {
        let scratch = TemporaryFolder()
        let bench = try Bench(scratch)
        try await bench.store(Self.picture(1), Self.bytes(1))
        try await bench.cache.setPinned(true, [Self.picture(1).id])
        let copies = try await copies(of: scratch.cache, in: scratch) {
            try await bench.store(Self.picture(2), Self.bytes(2))
            await bench.cache.close()
        }
        #expect(copies.count > 8)
        var wasThere = false
        for copy in copies {
            let second = try Bench(scratch, directory: copy)
            #expect(second.cache.isPinned(Self.picture(1).id))
            #expect(try await read(Self.picture(1), Self.bytes(1), second) == Self.bytes(1))
            #expect(second.transport.requests.isEmpty)
            let isThere = second.cache.storedSize(of: Self.picture(2).id) != nil
            #expect(isThere || !wasThere, "stored once, it stays")
            wasThere = isThere
            #expect(try await read(Self.picture(2), Self.bytes(2), second) == Self.bytes(2))
            #expect(second.transport.requests.isEmpty == isThere)
            await second.settle()
            await second.cache.close()
            try checkRest(copy)
        }
        #expect(wasThere)
    }

    /// Other bytes of one picture take the place of those that are there.
    @Test func ofAPictureThatIsReplacedOneStays() async throws {
        let scratch = TemporaryFolder()
        let bench = try Bench(scratch)
        let made = Self.picture(1).id
        try await bench.cache.keep(Self.bytes(1), as: made)
        try await bench.cache.setPinned(true, [made])
        let copies = try await copies(of: scratch.cache, in: scratch) {
            try await bench.cache.keep(Self.bytes(2), as: made)
            await bench.settle()
        }
        var found: [Bool] = []
        for copy in copies {
            let second = try Bench(scratch, directory: copy)
            let bytes = await second.cache.kept(made)
            #expect(bytes == Self.bytes(1) || bytes == Self.bytes(2))
            #expect(second.cache.isPinned(made))
            found.append(bytes == Self.bytes(2))
            await second.settle()
            await second.cache.close()
            try checkRest(copy)
            #expect(try ImageCache.inspect(directory: copy).pictures == 1)
        }
        #expect(found.first == false && found.last == true && found.sorted { !$0 && $1 } == found)
    }

    @Test func whatIsPinnedReleasedAndEvictedIsSoOrAsBefore() async throws {
        let scratch = TemporaryFolder()
        let bench = try Bench(scratch)
        for number in Int64(1)...3 { try await bench.store(Self.picture(number), Self.bytes(UInt64(number))) }
        let copies = try await copies(of: scratch.cache, in: scratch) {
            try await bench.cache.setPinned(true, [Self.picture(1).id])
            try await bench.cache.setPinned(true, [Self.picture(2).id])
            try await bench.cache.setPinned(false, [Self.picture(1).id])
            #expect(bench.cache.evict(Self.picture(3).id, openers: 0))
            await bench.settle()
            await bench.cache.close()
        }
        var states: [[Bool]] = []
        for copy in copies + [scratch.cache] {
            let second = try Bench(scratch, directory: copy)
            let state = [
                second.cache.isPinned(Self.picture(1).id), second.cache.isPinned(Self.picture(2).id),
                second.cache.storedSize(of: Self.picture(3).id) == nil,
            ]
            if states.last != state { states.append(state) }
            for number in Int64(1)...2 {
                let bytes = Self.bytes(UInt64(number))
                #expect(try await read(Self.picture(number), bytes, second) == bytes)
            }
            #expect(second.transport.requests.isEmpty)
            await second.cache.close()
            try checkRest(copy)
        }
        #expect(
            states == [
                [false, false, false], [true, false, false], [true, true, false], [false, true, false],
                [false, true, true],
            ])
    }
}
#endif
