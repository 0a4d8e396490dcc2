import HTTP
import Sourcing
import Rankings
import TestSupport
import Testing

@testable import ImageCache

/// What nobody waits for gives its slot to a reader, and goes on later.
@Suite(.timeLimit(.minutes(1))) struct GivingWayTests {
    private static let size = 200_000

    private func picture(_ number: Int64) -> PictureRequest { Sample.picture(number, size: Int64(Self.size)) }

    /// Begins a preload, as a walk would.
    private func preload(_ number: Int64, _ bench: Bench) {
        let wish = picture(number)
        bench.cache.core.run { core in _ = core.wish([wish], directory: 1) }
    }

    @Test func aPreloadGivesItsSlotUpAndGoesOnFromWhatIsThere() async throws {
        let bench = try Bench(preload: 1, connections: 1)
        let bytes = Sample.jpeg(Self.size, seed: 2)
        preload(2, bench)
        let preload = await bench.transport.waitForRequest(at: 0)
        preload.begin(bytes, to: 100_000)
        let open = try bench.open(picture(7))
        async let read = open.bytes(offset: 0, count: Self.size)
        let reader = await bench.transport.waitForRequest(at: 1)
        #expect(reader.request.priority == .reader && reader.request.url.contains("/7_"))
        await preload.waitForEnd()
        #expect(preload.isCancelled)
        #expect(bench.transport.requests.count == 2, "a preload never takes a reader's slot")
        reader.answer(Sample.jpeg(Self.size, seed: 7))
        _ = try await read
        let rest = await bench.transport.waitForRequest(at: 2)
        #expect(rest.asked == "99936-199999" && rest.request.ifRange == Bench.version)
        rest.answer(bytes)
        await bench.settle()
        #expect(bench.cache.storedSize(of: picture(2).id) == Int64(Self.size))
        #expect(bench.events.texts.isEmpty, "giving way is no failure: \(bench.events.texts)")
    }

    /// Bytes of a version without a name cannot be gone on with.
    @Test func aPreloadWithoutAVersionBeginsAgain() async throws {
        let bench = try Bench(preload: 1, connections: 1)
        let bytes = Sample.jpeg(Self.size, seed: 2)
        let headers = [(name: "content-type", value: "image/jpeg")]
        preload(2, bench)
        let preload = await bench.transport.waitForRequest(at: 0)
        preload.begin(bytes, to: 100_000, headers: headers)
        let open = try bench.open(picture(7))
        _ = try await bench.read(open, Self.size, at: 1, Sample.jpeg(Self.size, seed: 7))
        let again = await bench.transport.waitForRequest(at: 2)
        #expect(again.asked == "whole" && again.request.ifRange == nil)
        again.answer(bytes, headers: headers)
        await bench.settle()
        #expect(bench.cache.storedSize(of: picture(2).id) == Int64(Self.size))
    }
}
