import Rankings
import Foundation
import Glibc
import HTTP
import Sourcing
import System
import TestSupport
import Testing

@testable import ImageCache

/// Looking after a cache that no daemon uses.
@Suite(.timeLimit(.minutes(1))) struct MaintenanceTests {
    private static let length = 40_000

    /// A closed cache with so many pictures.
    private func filled(_ count: Int, pinned: Int = 0) async throws -> TemporaryFolder {
        let scratch = TemporaryFolder()
        let bench = try Bench(scratch)
        for number in 1...count {
            let picture = Sample.picture(Int64(number), size: Int64(Self.length))
            try await bench.store(picture, Sample.jpeg(Self.length, seed: UInt64(number)))
            try await bench.cache.setPinned(number <= pinned, [picture.id])
        }
        await bench.cache.close()
        return scratch
    }

    private func file(_ number: Int64, _ scratch: TemporaryFolder) -> String {
        let picture = Sample.stored(number, Sample.jpeg(Self.length, seed: UInt64(number)))
        return "\(scratch.cache)/v2/\(picture.path)"
    }

    private func write(_ bytes: [UInt8], at offset: Int, to path: String) throws {
        let descriptor = try Files.open(path, in: AT_FDCWD, O_WRONLY | O_CREAT)
        defer { close(descriptor) }
        try Files.write(bytes, to: descriptor, at: Int64(offset))
    }

    /// A refusal of the disk is no mistake of a picture: here it denies the cut that a picture with a footer needs, by a lease
    /// (fcntl(2), F_SETLEASE: a conflicting open with O_NONBLOCK fails with EAGAIN).
    @Test func whatTheDiskDoesNotGiveOutStays() async throws {
        let scratch = try await filled(2)
        let path = file(1, scratch)
        try write([1, 2, 3], at: Self.length, to: path)
        let holder = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(holder) }
        #expect(fcntl(holder, 10 /* F_SETSIG */, SIGURG) == 0 && fcntl(holder, 1024 /* F_SETLEASE */, F_RDLCK) == 0)
        let found = try ImageCache.verify(directory: scratch.cache)
        #expect(found.pictures == 1 && found.mistakes.map(\.isKept) == [true], "\(found)")
        do {
            // A reader gets it from the network, and it stays.
            let bench = try Bench(scratch)
            let opened = try bench.open(Sample.picture(1, size: Int64(Self.length)))
            let read = Task { try await opened.bytes(offset: 0, count: 10) }
            _ = await bench.transport.waitForRequest(at: 0)
            read.cancel()
            _ = await read.result
            opened.close()
            #expect(bench.cache.status().storedPictures == 2)
            await bench.cache.close()
        }
        #expect(fcntl(holder, 1024, F_UNLCK) == 0)
        #expect(try ImageCache.verify(directory: scratch.cache).mistakes.isEmpty)
        #expect(FileManager.default.contents(atPath: path)?.count == Self.length)
    }

    @Test func whatIsNotRightGoesAndTheRestStays() async throws {
        let scratch = try await filled(7)
        let outside = scratch.path + "/outside"
        try Data("precious".utf8).write(to: URL(filePath: outside))
        try write([0], at: 500, to: file(1, scratch))
        #expect(truncate(file(2, scratch), 1000) == 0)
        try FileManager.default.removeItem(atPath: file(3, scratch))
        try FileManager.default.createSymbolicLink(atPath: file(3, scratch), withDestinationPath: outside)
        // The bytes of another picture under this one's name.
        try FileManager.default.removeItem(atPath: file(4, scratch))
        try FileManager.default.copyItem(atPath: file(7, scratch), toPath: file(4, scratch))
        try FileManager.default.removeItem(atPath: file(5, scratch))
        #expect(mkfifo(file(5, scratch), 0o600) == 0)
        try write([1], at: 0, to: "\(scratch.cache)/v2/stray")
        try write([1], at: 0, to: "\(scratch.cache)/v2/partial/1_p0_regular_2")
        // The picture of another key under a name of its own, in a directory where nobody looks for it.
        let elsewhere = file(6, scratch).replacing("/\(Sample.stored(6, []).key.fan)/", with: "/zz/")
        try FileManager.default.createDirectory(
            atPath: scratch.cache + "/v2/zz", withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: file(6, scratch), toPath: elsewhere)

        let found = try ImageCache.verify(directory: scratch.cache)
        #expect(found.pictures == 2)
        #expect(found.mistakes.count == 8, "\(found.mistakes)")
        let reasons = found.mistakes.map(\.reason).joined(separator: "; ")
        for reason in ["bytes do not fit", "has 1000 bytes, not", "a link lies", "no picture has", "no file"] {
            #expect(reasons.contains(reason), "\(reason) in \(reasons)")
        }
        #expect(FileManager.default.contents(atPath: outside) == Data("precious".utf8))
        #expect(try ImageCache.verify(directory: scratch.cache).mistakes.isEmpty)
        let bench = try Bench(scratch)
        #expect(bench.cache.storedSize(of: Sample.picture(6, size: nil).id) == Int64(Self.length))
        #expect(bench.cache.status().storedPictures == 2, "what went is gone")
    }

    @Test func clearRemovesWhatIsStoredAndNothingElse() async throws {
        let scratch = try await filled(3, pinned: 2)
        let outside = scratch.path + "/outside"
        try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: true)
        try Data("precious".utf8).write(to: URL(filePath: outside + "/file"))
        // Somebody's link in the middle of the tree, and one in place of what also goes.
        try FileManager.default.createSymbolicLink(atPath: scratch.cache + "/v2/zz", withDestinationPath: outside)
        try FileManager.default.createSymbolicLink(atPath: scratch.cache + "/catalog", withDestinationPath: outside)
        try Data("kept".utf8).write(to: URL(filePath: scratch.cache + "/cooldown"))
        let removal = try ImageCache.clear(directory: scratch.cache, others: ["catalog"])
        #expect(removal.pictures == 3 && removal.bytes == Int64(3 * Self.length) && removal.pinned == 2)
        #expect(removal.partialPictures == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside) == ["file"])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: scratch.cache).sorted()
                == [".busy", ".nomedia", ".trackerignore", "CACHEDIR.TAG", "cooldown"])
        let bench = try Bench(scratch)
        #expect(bench.cache.status().storedPictures == 0)
    }

    @Test func pruneKeepsToTheBudgetOldestFirst() async throws {
        let scratch = try await filled(5, pinned: 1)
        var configuration = CacheConfiguration(
            directory: scratch.cache, budget: Int64(2 * Self.length) + 1000, freeFloor: 0, preload: 0,
            timeout: .seconds(1), networkTimeout: .seconds(1), now: { 1_700_000_000 })
        configuration.hasTimer = false
        let cache = try ImageCache(configuration, host: ImageHost(OfflineNetwork())) { _ in }
        await cache.prune()
        await cache.close()
        #expect(try ImageCache.inspect(directory: scratch.cache).pictures == 2)
        #expect(access(file(1, scratch), F_OK) == 0, "pinned")
        #expect(access(file(5, scratch), F_OK) == 0, "the last one used")
    }

    @Test func onlyAnUnusedDirectoryOfItsOwnIsTouched() async throws {
        let scratch = try await filled(1)
        let held = try Bench(scratch)
        for refused in [
            Self.refusal { _ = try ImageCache.verify(directory: scratch.cache) },
            Self.refusal { _ = try ImageCache.clear(directory: scratch.cache, others: []) },
            Self.refusal { try ImageCache.checkIsOwn(directory: scratch.cache) },
            Self.refusal { _ = try Bench(scratch) },
        ] { #expect(refused == .busy(directory: scratch.cache)) }
        await held.cache.close()

        let other = scratch.path + "/other"
        for (name, content) in [
            ("v1/ab/\(String(repeating: "a", count: 32))", "x"), (".busy", ""), ("index.sqlite", "x"),
            // Another program's cache: the signature is everybody's.
            ("CACHEDIR.TAG", Marks.signature + "\n# by somebody else\n"),
        ] {
            let url = URL(filePath: "\(other)/\(name)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(content.utf8).write(to: url)
        }
        let link = scratch.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: scratch.cache)
        for directory in [other, link, scratch.path, scratch.path + "/missing"] {
            guard case .unusable = Self.refusal({ _ = try ImageCache.clear(directory: directory, others: []) }) else {
                return #expect(Bool(false), "\(directory) was taken")
            }
        }
        #expect(access("\(other)/v1/ab/\(String(repeating: "a", count: 32))", F_OK) == 0)
        #expect(access(file(1, scratch), F_OK) == 0)
    }

    private static func refusal(_ body: () throws -> Void) -> Failure? {
        do {
            try body()
            return nil
        } catch { return error as? Failure }
    }
}
