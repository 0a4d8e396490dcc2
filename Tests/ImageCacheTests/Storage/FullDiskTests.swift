import CLinux
import Foundation
import Glibc
import Rankings
import System
import TestSupport
import Testing

@testable import ImageCache

/// A file system in memory, as small as asked; unmounted and removed with its object.
final class SmallDisk: Sendable {
    let path: String

    /// nil if this process may not mount.
    init?(bytes: Int, inodes: Int = 1000) {
        path = NSTemporaryDirectory() + "rankfs-disk-\(UUID().uuidString)"
        guard mkdir(path, 0o700) == 0 else { return nil }
        guard mount("tmpfs", path, "tmpfs", UInt(MS_NOSUID), "size=\(bytes),nr_inodes=\(inodes)") == 0 else {
            rmdir(path)
            return nil
        }
    }

    deinit {
        // Lazily: SQLite and open pictures may hold it a moment longer.
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }

    /// Fills the disk but for so many bytes.
    func fill(sparing spared: Int) throws {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { throw SystemError("statvfs") }
        let free = Int(status.f_bavail) * Int(status.f_frsize)
        try Data(repeating: 1, count: max(0, free - spared)).write(to: URL(fileURLWithPath: path + "/ballast"))
    }

    /// Leaves no place for a further file.
    func fillWithFiles() {
        for number in 0... { guard mkdir("\(path)/file\(number)", 0o700) == 0 else { return } }
    }

    func empty() throws { try FileManager.default.removeItem(atPath: path + "/ballast") }

    static let isPossible = SmallDisk(bytes: 1 << 16) != nil
}

/// A disk that is really full (ENOSPC), not one that is said to be.
@Suite(.timeLimit(.minutes(1)), .enabled(if: SmallDisk.isPossible, "mounting needs root")) struct FullDiskTests {
    static let size = 1_000_000
    static let bytes = Sample.jpeg(size)

    /// Reads a picture that is not stored, in the pieces that a network brings.
    private func read(_ number: Int64, _ bench: Bench) async throws -> [UInt8] {
        let open = try bench.open(Sample.picture(number, size: Int64(Self.size)))
        let index = bench.transport.requests.count
        async let whole = open.bytes(offset: 0, count: Self.size)
        let request = await bench.transport.waitForRequest(at: index)
        request.headOnly(length: Self.size)
        for start in stride(from: 0, to: Self.size, by: 50_000) {
            request.body(Array(Self.bytes[start..<min(Self.size, start + 50_000)]))
        }
        request.finish()
        let content = try await whole.content
        open.close()
        await bench.settle()
        return content
    }

    private func toldOfStoring(_ bench: Bench) -> [String] {
        bench.events.all.compactMap { event in
            switch event {
            case .notStoring: "not"
            case .storingAgain: "again"
            default: nil
            }
        }
    }

    @Test(arguments: [0, 300_000]) func onAFullDiskTheLeastRecentlyUsedGivesWay(spared: Int) async throws {
        let disk = try #require(SmallDisk(bytes: 6 << 20))
        let bench = try Bench(on: disk)
        for number in Int64(1)...4 { #expect(try await read(number, bench) == Self.bytes) }
        try disk.fill(sparing: spared)
        for number in Int64(5)...7 {
            #expect(try await read(number, bench) == Self.bytes)
            #expect(bench.cache.storedSize(of: Sample.picture(number, size: nil).id) == Int64(Self.size))
        }
        #expect(bench.cache.storedSize(of: Sample.picture(1, size: nil).id) == nil)
        #expect(bench.cache.status().storedPictures >= 2)
        #expect(bench.cache.status().isStoring)
    }

    /// Several downloads end one after the other, and each looks at the disk: the lack that the first one finds is made up for once.
    @Test func whatLacksAtTheFloorIsEvictedOnce() async throws {
        let floor = 1 << 20
        let disk = try #require(SmallDisk(bytes: 8 << 20))
        let bench = try Bench(freeFloor: Int64(floor), on: disk)
        for number in Int64(1)...5 { try await bench.store(Self.small(number), Self.smallBytes) }
        try disk.fill(sparing: floor - Self.smallBytes.count / 2)
        // They stand in line before the first one has begun.
        let core = bench.cache.core
        core.disk.async { for _ in 0..<5 { core.checkDisk() } }
        await bench.settle()
        #expect(bench.cache.status().storedPictures == 4)
        #expect(bench.cache.storedSize(of: Self.small(1).id) == nil && toldOfStoring(bench).isEmpty)
    }

    @Test(arguments: [0, 300_000]) func aFullDiskIsReadThroughAndToldOnce(spared: Int) async throws {
        let disk = try #require(SmallDisk(bytes: 4 << 20))
        let bench = try Bench(on: disk)
        #expect(try await read(1, bench) == Self.bytes)
        #expect(bench.cache.status().storedPictures == 1)
        try await bench.cache.setPinned(true, [Sample.picture(1, size: nil).id])
        try disk.fill(sparing: spared)
        for number in Int64(2)...4 { #expect(try await read(number, bench) == Self.bytes) }
        #expect(toldOfStoring(bench) == ["not"])
        #expect(bench.cache.status().storedPictures == 1)
        // Nothing is left behind of what did not fit.
        #expect(try ImageCache.inspect(directory: disk.path + "/cache").partialPictures == 0)
        // What is stored is still read from the disk.
        #expect(try bench.found(Sample.picture(1, size: Int64(Self.size))) == Self.bytes)
        // It is empty, full again, and empty: that is not worth a line each time.
        try disk.empty()
        #expect(try await read(5, bench) == Self.bytes)
        #expect(bench.cache.status().storedPictures == 2 && bench.cache.status().isStoring)
        try await bench.cache.setPinned(true, [Sample.picture(5, size: nil).id])
        try disk.fill(sparing: spared)
        #expect(try await read(6, bench) == Self.bytes)
        #expect(toldOfStoring(bench) == ["not"])
        try disk.empty()
        bench.advance(.seconds(30))
        #expect(try await read(7, bench) == Self.bytes)
        #expect(toldOfStoring(bench) == ["not", "again"])
        #expect(bench.cache.status().storedPictures == 3)
        await bench.cache.close()
        let second = try Bench(on: disk)
        #expect(second.cache.status().storedPictures == 3)
    }

    /// Where there is no file left for a pin, pictures give way to it; where none may, the pin fails.
    @Test(arguments: [(stored: 4, isKept: true), (1, false)])
    func aPinIsOnTheDiskOrFails(stored: Int, isKept: Bool) async throws {
        let disk = try #require(SmallDisk(bytes: 8 << 20, inodes: 100))
        let bench = try Bench(on: disk)
        for number in Int64(1)...Int64(stored) { try await bench.store(Self.small(number), Self.smallBytes) }
        disk.fillWithFiles()
        let pinned = Self.small(Int64(stored))
        if isKept {
            #expect(try await bench.cache.setPinned(true, [pinned.id]) == 1)
        } else {
            await #expect(throws: SystemError.self) { try await bench.cache.setPinned(true, [pinned.id]) }
        }
        let scratch = TemporaryFolder()
        // As a kill leaves it.
        try FileManager.default.copyItem(atPath: disk.path + "/cache", toPath: scratch.cache)
        let second = try Bench(scratch)
        #expect(second.cache.isPinned(pinned.id) == isKept)
        #expect(second.cache.storedSize(of: pinned.id) == Int64(Self.smallBytes.count))
    }

    static let smallBytes = Sample.jpeg(300_000)
    static func small(_ number: Int64) -> PictureRequest {
        Sample.picture(number, size: Int64(smallBytes.count))
    }
}
