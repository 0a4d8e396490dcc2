import HTTP
import Rankings
import TestSupport
import Testing

@testable import ImageCache

/// Pictures that come from the tier, block by block.
@Suite(.timeLimit(.minutes(1))) struct SharedTests {
    /// A tier whose answers the test gives.
    final class HeldTier: PictureTier {
        private struct State {
            var sink: PictureSink?
            var answer: CheckedContinuation<Bool, Never>?
            var calls: [String] = []
        }

        private let state = Watched(State())

        var calls: [String] { state.withLock { $0.calls } }

        func fetch(_ picture: PictureID, length: Int64?, urgency: Urgency, into sink: PictureSink) async -> Bool {
            await withCheckedContinuation { continuation in
                state.withLock { ($0.answer, $0.sink) = (continuation, sink) }
            }
        }

        /// The sink of the question, once there is one.
        var asked: PictureSink {
            get async {
                await state.wait { $0.sink != nil }
                return state.withLock { $0.sink } ?? .ignoring
            }
        }

        /// Ends the question.
        func end(isWhole: Bool) {
            state.withLock { state in
                defer { state.answer = nil }
                return state.answer
            }?.resume(returning: isWhole)
        }

        private func note(_ call: String) { state.withLock { $0.calls.append(call) } }

        func keep(_ picture: PictureID, at path: String, length: Int64, hash: UInt64) { note("keep") }
        func hostBrought(_ bytes: Int64, firstAfter: Duration, in duration: Duration) { note("host") }
        func giveUp(_ picture: PictureID) { note("giveUp") }
        func distrust(_ picture: PictureID) { note("distrust") }
    }

    private let tier = HeldTier()
    private let bench: Bench

    init() throws { bench = try Bench(tier: tier) }

    /// Gives bytes up to an end, which are proven; whether more may come.
    private func give(_ bytes: [UInt8], _ range: Range<Int>, of length: Int, to sink: PictureSink) -> Bool {
        let part = Array(bytes[range])
        guard part.withUnsafeBytes({ sink.write($0, Int64(range.lowerBound)) }) else { return false }
        return sink.proven(Int64(range.upperBound), Int64(length))
    }

    @Test(arguments: [300_000, nil] as [Int64?])
    func aReaderHasEachBlockAsItComes(_ size: Int64?) async throws {
        let bytes = Sample.jpeg(300_000)
        let picture = Sample.picture(1, size: size)
        let open = try bench.open(picture)
        async let first = open.bytes(offset: 0, count: 1000).content
        let sink = await tier.asked
        #expect(give(bytes, 0..<100_000, of: 300_000, to: sink))
        #expect(try await first == Array(bytes[..<1000]))
        #expect(try open.availableBytes(offset: 99_000, count: 1000)?.content == Array(bytes[99_000..<100_000]))
        #expect(try open.availableBytes(offset: 99_001, count: 1000) == nil)
        async let last = open.bytes(offset: 299_000, count: 1000).content
        #expect(give(bytes, 100_000..<300_000, of: 300_000, to: sink))
        #expect(try await last == Array(bytes[299_000...]))
        tier.end(isWhole: true)
        await bench.settle()
        #expect(bench.cache.state(of: picture.id) == .stored(length: 300_000))
        #expect(bench.transport.requests.isEmpty)
        #expect(tier.calls.isEmpty)
    }

    /// Where the host fails once, the beginning that the tier brought is still right.
    @Test(arguments: [false, true]) func whatTheTierDoesNotBringComesFromTheHost(failsOnce: Bool) async throws {
        let bytes = Sample.jpeg(300_000)
        let picture = Sample.picture(1, size: 300_000)
        let open = try bench.open(picture)
        async let whole = open.bytes(offset: 0, count: 300_000).content
        let sink = await tier.asked
        #expect(give(bytes, 0..<200_000, of: 300_000, to: sink))
        tier.end(isWhole: false)
        if failsOnce {
            await bench.transport.waitForRequest(at: 0).respond(status: 502)
            bench.advance(.seconds(1))
        }
        let request = await bench.transport.waitForRequest(at: failsOnce ? 1 : 0)
        // A few bytes of both are compared.
        #expect(request.asked == "199936-299999")
        request.begin()
        request.answer(bytes)
        #expect(try await whole == bytes)
        await bench.settle()
        #expect(bench.cache.state(of: picture.id) == .stored(length: 300_000))
        #expect(tier.calls.sorted() == ["host", "keep"])
    }

    /// A host that names no version sends the whole, and the reader who has bytes of the tier reads on.
    @Test(arguments: [true, false]) func aHostWithoutVersionsContinuesAPicture(isSame: Bool) async throws {
        let bytes = Sample.jpeg(300_000)
        var other = bytes
        other[500] ^= 1
        let open = try bench.open(Sample.picture(1, size: 300_000))
        async let first = open.bytes(offset: 0, count: 1000).content
        let sink = await tier.asked
        #expect(give(bytes, 0..<100_000, of: 300_000, to: sink))
        #expect(try await first == Array(bytes[..<1000]))
        let last = Task { try await open.bytes(offset: 299_000, count: 1000) }
        tier.end(isWhole: false)
        let type = [(name: "content-type", value: "image/jpeg")]
        await bench.transport.waitForRequest(at: 0).answer(bytes, headers: type)
        let whole = await bench.transport.waitForRequest(at: 1)
        #expect(whole.asked == "whole")
        whole.answer(isSame ? bytes : other, headers: type)
        if isSame {
            #expect(try await last.value.content == Array(bytes[299_000...]))
        } else {
            #expect(await failure(of: { try await last.value }).isDamaged)
        }
    }

    @Test func aPageOfTextIsNoPicture() async throws {
        let bytes = Sample.jpeg(300_000)
        let open = try bench.open(Sample.picture(1, size: nil))
        async let whole = open.bytes(offset: 0, count: 300_000).content
        let sink = await tier.asked
        let page = [UInt8](repeating: 60, count: 300_000)
        #expect(!give(page, 0..<300_000, of: 300_000, to: sink))
        tier.end(isWhole: false)
        await bench.transport.waitForRequest(at: 0).answer(bytes)
        #expect(try await whole == bytes)
    }

    @Test func aPictureThatIsCutOffIsNotWhole() async throws {
        let bytes = Sample.jpeg(300_000)
        let open = try bench.open(Sample.picture(1, size: nil))
        async let first = open.bytes(offset: 0, count: 10).content
        let sink = await tier.asked
        #expect(give(bytes, 0..<100_000, of: 200_000, to: sink))
        #expect(try await first == Array(bytes[..<10]))
        async let last = failure(of: { try await open.bytes(offset: 199_000, count: 1000) })
        // Its bytes are the digest's, and its end is none: the structure decides.
        #expect(give(bytes, 100_000..<200_000, of: 200_000, to: sink))
        tier.end(isWhole: true)
        #expect(await last.isDamaged)
        await bench.settle()
        #expect(tier.calls == ["distrust"])
    }

    @Test func whatTheHostContradictsIsForgottenByTheTier() async throws {
        let bytes = Sample.jpeg(300_000)
        let picture = Sample.picture(1, size: 300_000)
        let open = try bench.open(picture)
        async let whole = failure(of: { try await open.bytes(offset: 0, count: 300_000) })
        let sink = await tier.asked
        #expect(give(Sample.jpeg(300_000, seed: 2), 0..<200_000, of: 300_000, to: sink))
        tier.end(isWhole: false)
        await bench.transport.waitForRequest(at: 0).answer(bytes)
        // No byte was given out: all of them come from the host.
        await bench.transport.waitForRequest(at: 1).answer(bytes)
        #expect(await whole == nil)
        await bench.settle()
        #expect(tier.calls.contains("distrust"))
        #expect(try open.availableBytes(offset: 0, count: 300_000)?.content == bytes)
    }

    @Test func anotherLengthThanTheOneShownIsNoneOfIt() async throws {
        let bytes = Sample.jpeg(300_000)
        let open = try bench.open(Sample.picture(1, size: 300_000))
        async let whole = open.bytes(offset: 0, count: 300_000).content
        let sink = await tier.asked
        #expect(!give(Sample.jpeg(200_000), 0..<200_000, of: 200_000, to: sink))
        tier.end(isWhole: false)
        await bench.transport.waitForRequest(at: 0).answer(bytes)
        #expect(try await whole == bytes)
    }
}
