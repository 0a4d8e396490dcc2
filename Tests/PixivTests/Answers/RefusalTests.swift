import Foundation
import HTTP
import Rankings
import Sourcing
import TestSupport
import Testing

@testable import Pixiv

@Suite("Refusals and failures")
struct RefusalTests {
    private func ask(_ service: FakeService) async -> Failure? {
        await service.source().failure(of: .ranking(.daily, day))
    }

    private typealias Headers = [(name: String, value: String)]

    @Test("too many requests close the gate for as long as asked, at most an hour")
    func limited() async {
        let date = (name: "date", value: "Sun, 06 Nov 1994 08:49:37 GMT")
        let cases: [(Headers, Int64?, Int64)] = [
            ([], nil, 120), ([("retry-after", "30")], 30, 30), ([("retry-after", "0")], 1, 1),
            ([("retry-after", "99999999999999999999")], 3600, 3600), ([("retry-after", "soon")], nil, 120),
            ([date, ("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")], 60, 60),
            ([date, ("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], 1, 1),
            ([date, ("retry-after", "Sun, 06 Nov 2094 08:49:00 GMT")], 3600, 3600),
            ([("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")], 1, 1),
        ]
        for (headers, told, closed) in cases {
            let service = FakeService(status: 429, headers: headers, "<html>")
            #expect(await ask(service) == .limited(retryAfter: told))
            #expect(service.verdicts == [.limited(seconds: closed, told: told != nil)])
            #expect(service.closings == [closed] && service.requests.count == 1)
        }
    }

    @Test("trouble of the server is passing")
    func trouble() async {
        let plain = FakeService(status: 503, "<html>")
        if case .troubled = await ask(plain) {} else { Issue.record("503 is no answer") }
        #expect(plain.closings.isEmpty)
        let asking = FakeService(status: 503, headers: [("retry-after", "7")], "<html>")
        #expect(await ask(asking) == .limited(retryAfter: 7))
        #expect(asking.closings == [7])
    }

    @Test("a refusal by the front server is a limit, one with a reason is told")
    func forbidden() async {
        let refusing = FakeService(status: 403, "<html>")
        #expect(await ask(refusing) == .limited(retryAfter: nil))
        #expect(refusing.closings == [120] && refusing.verdicts == [.limited(seconds: 120, told: false)])
        guard
            case .unreadable(let reason) = await ask(
                FakeService(status: 403, "{\"error\":true,\"message\":\"no\\u0000\\u202e way\",\"body\":[]}"))
        else {
            Issue.record("403 with a reason")
            return
        }
        #expect(reason.contains("403") && reason.contains("“no way”"))
    }

    @Test("what failed on the way is told by its kind, and asked no second time")
    func onTheWay() async {
        let cases: [(Failure, Failure)] = [
            (.unreachable("a"), .unreachable("a")), (.broken("b"), .unreachable("b")), (.timedOut, .timedOut),
            (.untrusted("c"), .unreachable("c")), (.invalidAnswer("d"), .unreadable("d")), (.cancelled, .cancelled),
            (.redirectRefused("e"), .unreadable("e")), (.unsendable("f"), .unreadable("f")),
        ]
        for (error, expected) in cases {
            let service = FakeService([.failure(error)])
            #expect(await ask(service) == expected)
            #expect(service.requests.count == 1)
        }
        #expect(isUnreadable(await ask(FakeService([.failure(.tooLarge)]))))
    }

    @Test("every answer that is no limit is a welcome, whatever it says; no answer and trouble tell nothing")
    func verdicts() async {
        let words = "{\"error\":true,\"message\":\"\",\"body\":[]}"
        let welcomes = [FakeService(ranking())] + [400, 401, 403, 404].map { FakeService(status: $0, words) }
        let silences = [Failure.timedOut, .cancelled, .broken("x")].map { FakeService([.failure($0)]) }
        for (services, verdict) in [
            (welcomes, AnswerVerdict.fine), (silences + [FakeService(status: 502, "<html>")], .unknown),
        ] {
            for service in services {
                _ = await ask(service)
                #expect(service.verdicts == [verdict])
            }
        }
        let garbled = FakeService("<html>", ranking())
        #expect(await ask(garbled) == nil && garbled.verdicts == [.fine, .fine])
    }
}
