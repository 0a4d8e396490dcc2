import HTTP
import ImageHost
import Rankings
import Synchronization
import TestSupport
import Testing

@testable import ImageCache

/// What nobody waits for gives its slot to a reader, and goes on later.
@Suite(.timeLimit(.minutes(1))) struct GivingWayTests {
    private static let size = 200_000

    private func picture(_ number: Int64) -> PictureRequest { Sample.picture(number, size: Int64(Self.size)) }

    private func preview(_ bench: Bench, _ name: String = "small") -> Task<[UInt8]?, Never> {
        let host = bench.cache.otherRequests
        return Task {
            let location = PictureLocation(url: "https://i.example/\(name)", headers: [], fileExtension: "jpg")
            guard case .bytes(let bytes) = await host.preview(at: location, within: .seconds(60)) else { return nil }
            return bytes
        }
    }

    /// Begins a preload, as a walk would.
    private func preload(_ number: Int64, _ bench: Bench) {
        let wish = picture(number)
        bench.cache.run { core in _ = core.wish([wish], directory: 1, now: bench.clock.now) }
    }

    @Test func aPreloadGivesItsSlotUpAndGoesOnFromWhatIsThere() async throws {
        let bench = try Bench(preload: 1, connections: 1)
        let bytes = Sample.jpeg(Self.size, seed: 2)
        preload(2, bench)
        let preload = await bench.transport.waitForRequest(at: 0)
        preload.headOnly(length: Self.size)
        preload.body(Array(bytes[..<100_000]))
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
        #expect(rest.asked == "100000-199999" && rest.request.ifRange == Bench.version)
        rest.answer(bytes)
        await bench.settle()
        #expect(bench.cache.storedSize(of: picture(2).id) == Int64(Self.size))
        #expect(bench.events.texts.isEmpty, "giving way is no failure: \(bench.events.texts)")
        open.close()
    }

    /// Bytes of a version without a name cannot be gone on with.
    @Test func aPreloadWithoutAVersionBeginsAgain() async throws {
        let bench = try Bench(preload: 1, connections: 1)
        let bytes = Sample.jpeg(Self.size, seed: 2)
        let headers = [(name: "content-type", value: "image/jpeg")]
        preload(2, bench)
        let preload = await bench.transport.waitForRequest(at: 0)
        preload.headOnly(length: Self.size, headers: headers)
        preload.body(Array(bytes[..<100_000]))
        let open = try bench.open(picture(7))
        async let read = open.bytes(offset: 0, count: Self.size)
        await bench.transport.waitForRequest(at: 1).answer(Sample.jpeg(Self.size, seed: 7))
        _ = try await read
        let again = await bench.transport.waitForRequest(at: 2)
        #expect(again.asked == "whole" && again.request.ifRange == nil)
        again.answer(bytes, headers: headers)
        await bench.settle()
        #expect(bench.cache.storedSize(of: picture(2).id) == Int64(Self.size))
        open.close()
    }

    @Test func aPreviewWaitsForASlotThatNoReaderNeeds() async throws {
        let bench = try Bench(connections: 1)
        let open = try bench.open(picture(7))
        async let read = open.bytes(offset: 0, count: Self.size)
        let reader = await bench.transport.waitForRequest(at: 0)
        let small = preview(bench)
        await bench.otherWaits()
        #expect(bench.transport.requests.count == 1)
        reader.answer(Sample.jpeg(Self.size, seed: 7))
        _ = try await read
        let request = await bench.transport.waitForRequest(at: 1)
        #expect(request.request.purpose == .preview)
        request.respond(body: [1, 2, 3])
        #expect(await small.value == [1, 2, 3])
        open.close()
    }

    @Test func aPreviewThatGaveWayIsAskedForAgain() async throws {
        let bench = try Bench(connections: 1)
        let small = preview(bench)
        let first = await bench.transport.waitForRequest(at: 0)
        let open = try bench.open(picture(7))
        async let read = open.bytes(offset: 0, count: Self.size)
        let reader = await bench.transport.waitForRequest(at: 1)
        await first.waitForEnd()
        #expect(first.isCancelled && reader.request.url.contains("/7_"))
        await bench.otherWaits()
        reader.answer(Sample.jpeg(Self.size, seed: 7))
        _ = try await read
        await bench.transport.waitForRequest(at: 2).respond(body: [4])
        #expect(await small.value == [4])
        #expect(bench.cache.core.withLock { $0.others.account.running.isEmpty })
        open.close()
    }

    @Test func whoGivesAPreviewUpLeavesNoTrace() async throws {
        let bench = try Bench(connections: 1)
        let (first, second) = (preview(bench, "a"), preview(bench, "b"))
        let held = await bench.transport.waitForRequest(at: 0)
        await bench.otherWaits()
        first.cancel()
        second.cancel()
        #expect(await first.value == nil)
        #expect(await second.value == nil)
        #expect(bench.transport.requests.allSatisfy { $0.isFinished } && held.isFinished)
        #expect(!bench.cache.core.withLock { $0.others.isWaiting || !$0.others.account.running.isEmpty })
    }

    @Test func onesThatWaitEndInTimeAndWithTheCache() async throws {
        let bench = try Bench(connections: 1)
        let host = bench.cache.otherRequests
        let sinks = [EndSink(), EndSink(), EndSink()]
        func start(_ sink: EndSink, seconds: Int) {
            _ = host.transport.start(
                HTTPRequest(
                    url: "https://i.example/x", priority: .preload, transferClass: .bulk,
                    deadline: bench.clock.now + .seconds(seconds), bodyLimit: 10, purpose: .preview), sink: sink)
        }
        start(sinks[0], seconds: 60)
        start(sinks[1], seconds: 5)
        start(sinks[2], seconds: 60)
        bench.advance(.seconds(4))
        #expect(sinks.allSatisfy { $0.error == nil })
        bench.advance(.seconds(1))
        #expect(sinks.map(\.error) == [nil, .timedOut, nil])
        await bench.cache.close()
        #expect(sinks.map(\.error) == [nil, .timedOut, .cancelled])
        let late = EndSink()
        start(late, seconds: 60)
        #expect(late.error == .cancelled)
        #expect(bench.transport.requests.count == 1)
    }

    @Test func smallAnswersNeedNoSlot() async throws {
        let bench = try Bench(connections: 1)
        let small = preview(bench)
        await bench.transport.waitForRequests(1)
        let host = bench.cache.otherRequests
        let location = picture(7).location
        async let size = host.size(at: location, within: .seconds(60))
        await bench.transport.waitForRequest(at: 1).respond(
            headers: [(name: "content-type", value: "image/jpeg"), (name: "content-length", value: "77")])
        #expect(await size == .size(77))
        bench.transport.requests[0].respond(body: [1])
        #expect(await small.value == [1])
    }
}

extension Bench {
    /// Returns once a preview or the like waits for a slot.
    func otherWaits() async {
        while !cache.core.withLock({ $0.others.isWaiting }) { await Task.yield() }
    }
}

/// Takes the end of a request.
private final class EndSink: ResponseSink {
    private let end = Mutex<HTTPError?>(nil)

    var error: HTTPError? { end.withLock { $0 } }

    func head(_ head: HTTPHead) -> Bool { true }
    func body(_ bytes: UnsafeRawBufferPointer) -> Bool { true }
    func finish(_ result: Result<Void, HTTPError>) {
        if case .failure(let error) = result { end.withLock { $0 = error } }
    }
}
