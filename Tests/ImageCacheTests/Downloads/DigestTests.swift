import System
import HTTP
import Rankings
import TestSupport
import Testing

@testable import ImageCache

/// Pictures whose digest the listing tells: not one byte is given out before all of them have been found to have it.
@Suite(.timeLimit(.minutes(1))) struct DigestTests {
    private static let right = Sample.jpeg(200_000)

    private static func picture(_ digest: String = MD5.hex(right), fileExtension: String = "jpg") -> PictureRequest {
        var picture = Sample.picture(1, size: 200_000, fileExtension: fileExtension)
        picture.location.digest = digest
        return picture
    }

    private static var flipped: [UInt8] {
        var bytes = right
        bytes[100_000] ^= 1
        return bytes
    }

    @Test func nothingIsGivenOutBeforeTheWholeWasChecked() async throws {
        let (bench, open) = try Bench.opened(Self.picture())
        async let first = open.bytes(offset: 0, count: 1000)
        let request = await bench.transport.waitForRequest(at: 0)
        // Somebody who wants the beginning alone needs all of it.
        #expect(request.asked == "whole")
        request.begin(Self.right, to: 199_999)
        #expect(try open.availableBytes(offset: 0, count: 10) == nil)
        request.body(Array(Self.right[199_999...]))
        request.finish()
        #expect(try await first.content == Array(Self.right[..<1000]))
        #expect(try await open.bytes(offset: 0, count: 200_000).content == Self.right)
        await bench.settle()
        #expect(bench.cache.state(of: Self.picture().id) == .stored(length: 200_000))
    }

    /// Authors' programs leave bytes behind the end mark; the digest knows them.
    @Test(arguments: ["jpg", "png", "mp4", "avif"]) func theDigestSaysMoreThanAnyMark(
        fileExtension: String
    ) async throws {
        let bench = try Bench()
        let bytes = Array(repeating: UInt8(7), count: 200_000)
        #expect(try await bench.store(Self.picture(MD5.hex(bytes), fileExtension: fileExtension), bytes) == bytes)
    }

    /// What came before a restart is resumed, and checked as a whole.
    @Test(arguments: [true, false]) func aResumedPictureIsCheckedAsAWhole(isRight: Bool) async throws {
        let scratch = TemporaryFolder()
        let before = isRight ? Self.right : Self.flipped
        do {
            let bench = try Bench(scratch)
            let open = try bench.open(Self.picture())
            async let failed = failure(of: { try await open.bytes(offset: 0, count: 1000) })
            let request = await bench.transport.waitForRequest(at: 0)
            request.begin(before, to: 150_000)
            await bench.cache.close()
            _ = await failed
        }
        let bench = try Bench(scratch)
        let open = try bench.open(Self.picture())
        async let content = open.bytes(offset: 0, count: 200_000).content
        let rest = await bench.transport.waitForRequest(at: 0)
        #expect(rest.asked == "150000-199999")
        rest.answer(before)
        if !isRight { await bench.transport.waitForRequest(at: 1).answer(Self.right) }
        #expect(try await content == Self.right)
    }
}
