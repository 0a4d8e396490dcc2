import Rankings
import TestSupport
import Testing

@testable import ImageCache

/// Pictures that are made here, and pictures picked at random.
@Suite(.timeLimit(.minutes(1))) struct MadeTests {
    private func made(_ number: Int64) -> PictureID {
        PictureID(work: WorkID(rawValue: number), page: 0, rendition: .webp, uploaded: 1)
    }

    private func webP(_ count: Int) -> [UInt8] {
        var bytes = Sample.jpeg(count)
        bytes.replaceSubrange(0..<4, with: Array("RIFF".utf8))
        for place in 0..<4 { bytes[4 + place] = UInt8(truncatingIfNeeded: (count - 8) >> (8 * place)) }
        bytes.replaceSubrange(8..<12, with: Array("WEBP".utf8))
        return bytes
    }

    @Test func whatIsLargerThanTheBudgetIsRefused() async throws {
        let bench = try Bench(budget: 4000)
        await #expect(throws: Failure.self) { try await bench.cache.keep(webP(5000), as: made(1)) }
        #expect(bench.cache.status().storedPictures == 0)
        try await bench.cache.keep(webP(2000), as: made(1))
    }

    @Test func aClosedCacheIsLeftAlone() async throws {
        let scratch = TemporaryFolder()
        let bench = try Bench(scratch)
        await bench.cache.close()
        await #expect(throws: Failure.self) { try await bench.cache.keep(webP(2000), as: made(1)) }
        let other = try Bench(scratch)
        #expect(other.cache.status().storedPictures == 0)
    }

    @Test func randomPicturesAreThoseThatAreAccepted() async throws {
        let bench = try Bench()
        #expect(bench.cache.randomPicture { _ in true } == nil)
        for number in 1...20 { try await bench.cache.keep(webP(100), as: made(Int64(number))) }
        var seen: Set<PictureID> = []
        for _ in 0..<400 { bench.cache.randomPicture { _ in true }.map { _ = seen.insert($0) } }
        #expect(seen == Set((1...20).map { made($0) }))
        let wanted = made(13)
        for _ in 0..<20 { #expect(bench.cache.randomPicture { $0 == wanted } == wanted) }
        #expect(bench.cache.randomPicture { _ in false } == nil)
    }
}
