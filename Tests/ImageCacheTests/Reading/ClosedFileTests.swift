import Rankings
import Foundation
import Glibc
import TestSupport
import Testing

@testable import ImageCache
@testable import System

/// Files of open pictures that were closed for want of descriptors while nobody read them.
@Suite(.timeLimit(.minutes(1))) struct ClosedFileTests {
    static let size = 300_000
    static let bytes = Sample.jpeg(size)
    static let picture = Sample.picture(1, size: Int64(size))

    private func file(_ found: PictureBytes?) throws -> StoredFile {
        guard case .file(let file, _, _, _) = found else { throw Missing() }
        return file
    }

    private struct Missing: Error {}

    @Test(arguments: [4096, 200_000]) func aStoredPictureIsReadOn(first: Int) async throws {
        let bench = try Bench()
        try await bench.store(Self.picture, Self.bytes)
        let open = try bench.open(Self.picture)
        let file = try file(try await open.bytes(offset: 0, count: first))
        #expect(file.close())
        #expect(try await open.bytes(offset: 4096, count: 4096).content == Array(Self.bytes[4096..<8192]))
        #expect(file.close())
        #expect(try await open.bytes(offset: 0, count: Self.size).content == Self.bytes)
    }

    @Test func anotherFileInItsPlaceIsAnErrorOfThatHandleAlone() async throws {
        let bench = try Bench()
        try await bench.store(Self.picture, Self.bytes)
        let open = try bench.open(Self.picture)
        let file = try file(try await open.bytes(offset: 0, count: 4096))
        let path = bench.file(of: Self.picture)
        #expect(file.close())
        try FileManager.default.copyItem(atPath: path, toPath: path + ".new")
        #expect(rename(path + ".new", path) == 0)
        #expect(throws: Failure.self) { try file.picture() }
        let again = try bench.open(Self.picture)
        #expect(try await again.bytes(offset: 0, count: Self.size).content == Self.bytes)
        for open in [open, again] { open.close() }
    }

    /// Closed while it comes, whole, and when it has its place.
    @Test func aDownloadGoesOn() async throws {
        let (bench, open) = try Bench.opened(Self.picture)
        async let first = open.bytes(offset: 0, count: 4096)
        let request = await bench.transport.waitForRequest(at: 0)
        request.begin(Self.bytes, to: 100_000)
        let file = try file(try await first)
        #expect(file.close())
        request.body(Array(Self.bytes[100_000..<200_000]))
        #expect(
            try file.use { descriptor throws(SystemError) in try Files.read(descriptor, at: 0, count: 200_000) }
                == Array(Self.bytes[..<200_000]))
        #expect(file.close())
        request.body(Array(Self.bytes[200_000...]))
        request.finish()
        #expect(try await open.bytes(offset: 0, count: Self.size).content == Self.bytes)
        await bench.settle()
        #expect(bench.cache.storedSize(of: Self.picture.id) == Int64(Self.size))
        #expect(file.close())
        #expect(try await open.bytes(offset: 0, count: Self.size).content == Self.bytes)
    }

    /// The picture is larger than the cache may be, and so loses its name when it is whole.
    @Test func whatIsNotStoredStaysOpen() async throws {
        let bench = try Bench(budget: 1000)
        let open = try bench.open(Self.picture)
        let file = try file(try await bench.read(open, Self.size, at: 0, Self.bytes))
        await bench.settle()
        #expect(!file.close())
        #expect(try await open.bytes(offset: 0, count: Self.size).content == Self.bytes)
    }

    /// A socket has taken its place, which open(2) refuses.
    @Test func whatCannotBeOpenedIsDownloaded() async throws {
        let bench = try Bench()
        try await bench.store(Self.picture, Self.bytes)
        let path = bench.file(of: Self.picture)
        #expect(unlink(path) == 0)
        #expect(mknod(path, S_IFSOCK | 0o600, 0) == 0)
        #expect(try await bench.store(Self.picture, Self.bytes) == Self.bytes)
        await bench.settle()
    }
}
