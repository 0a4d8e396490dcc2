import Rankings
import CLinux
import Foundation
import System
import TestSupport
import Testing

@testable import ImageCache

@Suite(.timeLimit(.minutes(1))) struct RestartTests {
    private let scratch = TemporaryFolder()

    /// Other users are spoken of only where a file system keeps no rights.
    @Test func aDirectoryThatOthersCouldReadIsClosedToThem() throws {
        #expect(mkdir(scratch.cache, 0o755) == 0)
        let bench = try Bench(scratch)
        let attributes = try FileManager.default.attributesOfItem(atPath: scratch.cache)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        #expect(bench.events.all.isEmpty)
    }

    // MARK: - A directory that goes in mid-work

    /// The pictures that come after that are stored, and what was pinned is pinned.
    @Test func aDirectoryThatWasRemovedIsMadeAgain() async throws {
        let bytes = Sample.jpeg(70_000)
        let first = try Bench(scratch)
        try await first.store(Sample.picture(1, size: 70_000), bytes)
        try await first.cache.setPinned(true, [Sample.picture(2, size: nil).id])
        try FileManager.default.removeItem(atPath: scratch.cache)
        try await first.store(Sample.picture(2, size: 70_000), bytes)
        #expect(first.cache.storedSize(of: Sample.picture(1, size: nil).id) == nil)
        let attributes = try FileManager.default.attributesOfItem(atPath: scratch.cache)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        #expect(first.events.texts == ["directoryRemade(\"\(scratch.cache)\")"])
        await first.cache.close()
        let second = try Bench(scratch)
        #expect(second.cache.storedSize(of: Sample.picture(2, size: nil).id) == 70_000)
        #expect(second.cache.status().storedPictures == 1)
        #expect(second.cache.isPinned(Sample.picture(2, size: nil).id))
        #expect(second.events.all.isEmpty)
    }

    /// As `rm -rf` leaves it, which cannot remove a directory in which something is made again meanwhile.
    @Test(arguments: [false, true]) func aLockThatLostItsNameIsTakenAgain(isEmpty: Bool) async throws {
        let bench = try Bench(scratch)
        let bytes = Sample.jpeg(70_000)
        try await bench.store(Sample.picture(1, size: 70_000), bytes)
        for name in try FileManager.default.contentsOfDirectory(atPath: scratch.cache) where isEmpty || name != "v2" {
            try FileManager.default.removeItem(atPath: "\(scratch.cache)/\(name)")
        }
        try await bench.store(Sample.picture(2, size: 70_000), bytes)
        #expect(bench.cache.storedSize(of: Sample.picture(1, size: nil).id) == (isEmpty ? nil : 70_000))
        #expect(bench.cache.storedSize(of: Sample.picture(2, size: nil).id) == 70_000)
        #expect(bench.events.texts == ["directoryRemade(\"\(scratch.cache)\")"])
        #expect(throws: Failure.busy(directory: scratch.cache)) { try Bench(scratch) }
        #expect(FileManager.default.fileExists(atPath: "\(scratch.cache)/\(Marks.tagName)"))
    }

    @Test(arguments: [false, true]) func whatLiesInThePlaceOfOnePictureIsNoMatterToOthers(isFan: Bool) async throws {
        let bench = try Bench(scratch)
        let bytes = Sample.jpeg(70_000)
        let stored = Sample.stored(1, bytes)
        let fan = "\(scratch.cache)/\(PictureStore.version)/\(stored.key.fan)"
        if isFan {
            try Data().write(to: URL(fileURLWithPath: fan))
        } else {
            try FileManager.default.createDirectory(
                atPath: "\(fan)/\(stored.name)/further", withIntermediateDirectories: true)
        }
        try await bench.store(Sample.picture(1, size: 70_000), bytes)
        #expect(bench.cache.storedSize(of: stored.key) == nil && bench.cache.status().isStoring)
        #expect(bench.events.all.count == 1 && bench.events.texts[0].hasPrefix("notKept"))
        try await bench.store(Sample.picture(2, size: 70_000), bytes)
        #expect(bench.cache.storedSize(of: Sample.picture(2, size: nil).id) == 70_000)
        #expect(bench.events.all.count == 1)
    }

    /// What could not be made again at once is tried again, with the lock that the first try gave back.
    @Test func aDirectoryThatCannotBeMadeAtOnceIsTriedAgain() async throws {
        let bytes = Sample.jpeg(70_000)
        let bench = try Bench(scratch)
        try await bench.store(Sample.picture(1, size: 70_000), bytes)
        try FileManager.default.removeItem(atPath: scratch.cache)
        try FileManager.default.createDirectory(atPath: scratch.cache, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: scratch.cache + "/v2"))
        try await bench.store(Sample.picture(2, size: 70_000), bytes)
        #expect(bench.cache.storedSize(of: Sample.picture(2, size: nil).id) == nil)
        try FileManager.default.removeItem(atPath: scratch.cache + "/v2")
        try await bench.store(Sample.picture(3, size: 70_000), bytes)
        #expect(bench.cache.storedSize(of: Sample.picture(3, size: nil).id) == 70_000)
    }

    /// One bit was flipped, or the file is another picture's.
    @Test(arguments: [true, false]) func aFileWithOtherBytesIsFoundAndThePictureFetchedAgain(
        isFlipped: Bool
    ) async throws {
        let bytes = Sample.jpeg(70_000)
        let picture = Sample.picture(1, size: 70_000)
        let first = try Bench(scratch)
        try await first.store(picture, bytes)
        await first.cache.close()
        var file = isFlipped ? bytes : Sample.jpeg(70_000, seed: 2)
        if isFlipped { file[33_333] ^= 1 }
        try Data(file).write(to: URL(fileURLWithPath: first.file(of: picture)))
        let second = try Bench(scratch)
        #expect(try await second.store(picture, bytes) == bytes)
        #expect(second.transport.requests.count == 1)
        #expect(second.events.texts.contains { $0.contains("removedBroken") })
    }

    /// A kill came between a picture's new file and the removal of its old one.
    @Test(arguments: [true, false]) func ofTwoFilesOfOnePictureTheNewerStays(areUsesKnown: Bool) async throws {
        let first = try Bench(scratch)
        let picture = Sample.picture(1, size: 5_000)
        try await first.store(picture, Sample.jpeg(5_000))
        await first.cache.close()
        let path = first.file(of: picture)
        let newer = Sample.jpeg(5_000, seed: 2)
        let other = first.cache.core.store.path(of: Sample.stored(1, newer))
        try Data(newer).write(to: URL(filePath: other))
        if !areUsesKnown { try FileManager.default.removeItem(atPath: scratch.cache + "/v2/uses") }
        let second = try Bench(scratch)
        await second.settle()
        #expect(second.cache.status().storedPictures == 1)
        let open = try second.open(picture)
        let found = try #require(try open.availableBytes(offset: 0, count: 5_000)?.content)
        #expect(found == newer || !areUsesKnown && found == Sample.jpeg(5_000))
        #expect([path, other].count { FileManager.default.fileExists(atPath: $0) } == 1)
    }

    @Test func aLaterFormatIsASentenceAndStays() async throws {
        let bench = try Bench(scratch)
        try await bench.store(Sample.picture(1, size: 5_000), Sample.jpeg(5_000))
        await bench.cache.close()
        try FileManager.default.moveItem(atPath: scratch.cache + "/v2", toPath: scratch.cache + "/v3")
        #expect(ImageCache.makeFolders(in: scratch.cache) == nil)
        for body in [
            { _ = try Bench(scratch) }, { _ = try ImageCache.verify(directory: scratch.cache) },
            { _ = try ImageCache.clear(directory: scratch.cache, others: []) },
            { _ = try ImageCache.inspect(directory: scratch.cache) },
        ] as [() throws -> Void] {
            let error = #expect(throws: Failure.self) { try body() }
            #expect(error?.cause.contains("written by a later rankfs (its format is v3, this one knows v2)") == true)
        }
        #expect(try FileManager.default.subpathsOfDirectory(atPath: scratch.cache).count { $0.hasPrefix("v3/") } > 2)
        #expect(!FileManager.default.fileExists(atPath: scratch.cache + "/v2"))
    }

    /// A copy of the directory is what kill -9 leaves.
    @Test func usesAreWrittenManyAtATimeAndSurviveAKill() async throws {
        let first = try Bench(scratch)
        let pictures = (1...Core.touchesTogether).map { Sample.picture(Int64($0), size: 1_000) }
        for picture in pictures {
            try await first.store(picture, Sample.jpeg(1_000, seed: UInt64(picture.id.work.rawValue)))
        }
        await first.cache.close()
        let second = try Bench(scratch)
        for picture in pictures.reversed() {
            await second.settle()
            #expect(
                second.cache.core.withLock { $0.touches } == pictures.count - Int(picture.id.work.rawValue))
            let open = try second.open(picture)
            #expect(try open.availableBytes(offset: 0, count: 1_000) != nil)
            open.close()
        }
        await second.settle()
        #expect(second.cache.core.withLock { $0.touches } == 0)
        // Stored after that: the newest of all, although it is not written down.
        try await second.store(Sample.picture(0, size: 1_000), Sample.jpeg(1_000, seed: 99))
        try FileManager.default.copyItem(atPath: scratch.cache, toPath: scratch.path + "/copy")
        let third = try Bench(scratch, directory: scratch.path + "/copy")
        let order = third.cache.core.withLock { core in
            core.index.evict(bytes: .max, sparesUnread: false) { _ in false }.map(\.key.work.rawValue)
        }
        #expect(order == (0...Int64(pictures.count)).reversed())
    }

    /// They are kept in memory and written with what is pinned next.
    @Test func pinsThatCouldNotBeWrittenAreNotForgotten() async throws {
        let first = try Bench(scratch)
        for number in [Int64(1), 2] { try await first.store(Sample.picture(number, size: 1_000), Sample.jpeg(1_000)) }
        try Data().write(to: URL(filePath: scratch.cache + "/v2/pinned"))
        await #expect(throws: SystemError.self) {
            try await first.cache.setPinned(true, [Sample.picture(1, size: nil).id])
        }
        #expect(first.events.texts.count { $0.contains("a pin cannot be kept") } == 1)
        try FileManager.default.removeItem(atPath: scratch.cache + "/v2/pinned")
        try await first.cache.setPinned(true, [Sample.picture(2, size: nil).id])
        // As a kill leaves it.
        try FileManager.default.copyItem(atPath: scratch.cache, toPath: scratch.path + "/copy")
        let second = try Bench(scratch, directory: scratch.path + "/copy")
        for number in [Int64(1), 2] { #expect(second.cache.isPinned(Sample.picture(number, size: nil).id)) }
        // Evicting lets go.
        #expect(second.cache.evict(Sample.picture(1, size: nil).id, openers: 0))
        await second.cache.close()
        let third = try Bench(scratch, directory: scratch.path + "/copy")
        #expect([1, 2].map { third.cache.isPinned(Sample.picture($0, size: nil).id) } == [false, true])
        #expect(third.cache.status().storedPictures == 1)
    }

    @Test func aPictureWithoutItsFileVanishesWhenMet() async throws {
        let picture = Sample.picture(1, size: 5_000)
        let bench = try Bench(scratch)
        try await bench.store(picture, Sample.jpeg(5_000))
        try FileManager.default.removeItem(atPath: bench.file(of: picture))
        // Its length is still right.
        #expect(bench.cache.storedSize(of: picture.id) == 5_000)
        let open = try bench.open(picture)
        #expect(try open.availableBytes(offset: 0, count: 10) == nil)
        #expect(bench.cache.storedSize(of: picture.id) == nil)
        #expect(bench.cache.state(of: picture.id) == .absent)
        #expect(try await bench.read(open, 5_000, at: 1, Sample.jpeg(5_000)).content == Sample.jpeg(5_000))
        open.close()
        await bench.settle()
        #expect(bench.cache.state(of: picture.id) == .stored(length: 5_000))
    }

    @Test func aLinkInPlaceOfTheDirectoryIsRefused() throws {
        try FileManager.default.createSymbolicLink(atPath: scratch.cache, withDestinationPath: "/tmp")
        #expect(throws: Failure.self) { try Bench(scratch) }
    }
}
