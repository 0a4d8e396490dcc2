import HTTP
import Rankings
import Synchronization
import Testing

@testable import Pixiv

@Suite("What the gate hears of each answer")
struct VerdictTests {
    private func verdicts(_ service: FakeService) async -> [GateVerdict] {
        let source = service.source()
        _ = await failure { () async throws(SourceError) in
            try await source.rankingPage(.daily, day: day, page: 1, deadline: deadline)
        }
        return service.verdicts
    }

    @Test("every answer that is no limit is a welcome, whatever it says")
    func fine() async {
        #expect(await verdicts(FakeService(ranking())) == [.fine])
        for status in [400, 401, 403, 404] {
            #expect(
                await verdicts(FakeService(status: status, "{\"error\":true,\"message\":\"\",\"body\":[]}")) == [.fine])
        }
        #expect(await verdicts(FakeService("<html>", ranking())) == [.fine, .fine])
    }

    @Test("a limit is told with its time, and whether the service named it")
    func limited() async {
        #expect(await verdicts(FakeService(status: 429, "")) == [.limited(seconds: 120, told: false)])
        #expect(await verdicts(FakeService(status: 403, "<html>")) == [.limited(seconds: 120, told: false)])
        let asking = FakeService(status: 429, headers: [("retry-after", "9")], "")
        #expect(await verdicts(asking) == [.limited(seconds: 9, told: true)])
    }

    @Test("no answer and a server in trouble tell nothing", arguments: [HTTPError.timedOut, .cancelled, .broken("x")])
    func unknown(error: HTTPError) async {
        #expect(await verdicts(FakeService([.failure(error)])) == [.unknown])
        #expect(await verdicts(FakeService(status: 502, "<html>")) == [.unknown])
    }

    @Test("a ban is kept over a restart", arguments: [403, 429])
    func ban(status: Int) async throws {
        let stored = Mutex<Int64?>(nil)
        let open = TokenBucketGate(
            burst: 40, perSecond: 1, closedUntil: nil, now: { 1000 }, onClose: { end in stored.withLock { $0 = end } })
        let service = FakeService(status: status, "<html>banned</html>")
        let source = service.source(gate: open)
        #expect(
            await failure { () async throws(SourceError) in
                try await source.rankingPage(.daily, day: day, page: 1, deadline: deadline)
            } == .limited(retryAfter: nil))
        let end = stored.withLock { $0 }
        #expect(end == 1120)

        let restarted = TokenBucketGate(
            burst: 40, perSecond: 1, closedUntil: end, now: { 1001 }, onClose: { _ in })
        let after = FakeService(ranking())
        let later = after.source(gate: restarted)
        let soon = ContinuousClock.now.advanced(by: .seconds(15))
        #expect(
            await failure { () async throws(SourceError) in
                try await later.rankingPage(.daily, day: day, page: 1, deadline: soon)
            } == .timedOut)
        #expect(after.requests.isEmpty)
    }
}
