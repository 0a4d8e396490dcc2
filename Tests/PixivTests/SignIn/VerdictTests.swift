import HTTP
import Rankings
import Sourcing
import Synchronization
import TestSupport
import Testing

@testable import Pixiv

@Suite("What each answer tells of the patience of the service")
struct VerdictTests {
    private func verdicts(_ service: FakeService) async -> [AnswerVerdict] {
        _ = await service.source().failure(of: .ranking(.daily, day))
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

    @Test("no answer and a server in trouble tell nothing", arguments: [Failure.timedOut, .cancelled, .broken("x")])
    func unknown(error: Failure) async {
        #expect(await verdicts(FakeService([.failure(error)])) == [.unknown])
        #expect(await verdicts(FakeService(status: 502, "<html>")) == [.unknown])
    }

    @Test("a ban is kept over a restart", arguments: [403, 429])
    func ban(status: Int) async throws {
        let stored = Mutex<Int64?>(nil)
        let transport = HeldTransport()
        func source(closedUntil: Int64?, now: Int64) -> PixivSource {
            var rules = RequestQueue.Rules(wallClock: { now })
            rules.rate = RequestRate(burst: 40, perSecond: 1, closedUntil: closedUntil)
            rules.report = { news, _ in
                if case .serviceClosed(_, let end) = news { stored.withLock { $0 = end } }
            }
            let client = HTTPClient(transport: RequestQueue(transport, rules: rules))
            return PixivSource(
                SourceMeans(
                    send: { request throws(Failure) in try await client.send(request) }, apiURL: nil, imageURL: nil,
                    wallClock: { now }))
        }
        func ask(_ source: PixivSource, _ deadline: ContinuousClock.Instant) async -> Failure? {
            await failure { try await source.page(of: .ranking(.daily, day), 1, deadline: deadline) }
        }
        let banned = source(closedUntil: nil, now: 1000)
        async let refusal = ask(banned, deadline)
        await transport.waitForRequest(at: 0).respond(status: status, body: Array("<html>banned</html>".utf8))
        #expect(await refusal == .limited(retryAfter: nil))
        let end = stored.withLock { $0 }
        #expect(end == 1120)

        let restarted = source(closedUntil: end, now: 1001)
        #expect(await ask(restarted, ContinuousClock.now.advanced(by: .seconds(15))) == .limited(retryAfter: 119))
        #expect(transport.requests.count == 1)
    }
}
