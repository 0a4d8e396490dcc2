import HTTP
import Synchronization
import TestSupport
import Testing

@testable import HTTP

@Suite("RequestQueue", .timeLimit(.minutes(1)))
struct RequestQueueTests {
    private let clock = ManualClock()
    private let inner = HeldTransport()
    private let closings = Closings()

    private final class Closings: Sendable {
        let all = Mutex<[[String: Int64]]>([])
        let ofService = Mutex<[Int64]>([])
    }

    /// Wall time starts at 1000 and follows the clock.
    private func queue(
        tooOften: Set<Int> = [429], closedUntil: [String: Int64] = [:], rate: RequestRate? = nil
    ) -> RequestQueue {
        let (clock, start, closings) = (clock, clock.now, closings)
        var rules = RequestQueue.Rules(wallClock: { 1000 + (clock.now - start).components.seconds })
        rules.tooOften = tooOften
        rules.pauses = closedUntil.mapValues { HostPause(end: $0) }
        rules.time = TimeSource(clock)
        if let rate { rules.rate = rate }
        rules.report = { news, all in
            if case .serviceClosed(_, let end) = news { return closings.ofService.withLock { $0.append(end) } }
            closings.all.withLock { $0.append(all.mapValues(\.end)) }
        }
        return RequestQueue(inner, rules: rules)
    }

    private func request(_ path: String, seconds: Int64 = 15, purpose: RequestPurpose = .size) -> HTTPRequest {
        HTTPRequest(
            method: .head, url: "https://I.example/\(path)", transferClass: .metadata,
            deadline: clock.now.advanced(by: .seconds(seconds)), bodyLimit: 1, purpose: purpose)
    }

    @Test func whatIsRefusedIsSentAgainUnseen() async {
        let queue = queue()
        let recorders = (0..<6).map { _ in Recorder() }
        for (number, recorder) in recorders.enumerated() { _ = queue.start(request("\(number)"), sink: recorder) }
        #expect(await inner.waitForRequest(at: 3).request.url.hasSuffix("/3"))
        #expect(inner.requests.count == 4)
        for index in 0..<4 {
            let held = await inner.waitForRequest(at: index)
            held.respond(status: index < 2 ? 429 : 503, headers: [(name: "retry-after", value: "4")], body: [])
        }
        #expect(queue.closedUntil == ["i.example": 1004])
        #expect(closings.all.withLock { $0 } == [["i.example": 1004]])
        #expect(recorders.allSatisfy { $0.record.head == nil && $0.record.result == nil })
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(4))
        // One first, and with its good answer all the others.
        let probe = await inner.waitForRequest(at: 4)
        #expect(inner.requests.count == 5)
        probe.respond(status: 200)
        for index in 5..<10 { await inner.waitForRequest(at: index).respond(status: 200) }
        for recorder in recorders {
            #expect(Kind(await recorder.end().result) == .success)
            #expect(recorder.record.head?.status == 200 && recorder.record.finishes == 1)
        }
        #expect(inner.requests.count == 10 && queue.closedUntil.isEmpty)
    }

    @Test func aRequestIsWithdrawnOnlyWhileItWaits() async {
        let queue = queue()
        let recorders = (0..<8).map { _ in Recorder() }
        let transfers = recorders.enumerated().map { queue.start(request("\($0.offset)"), sink: $0.element) }
        await inner.waitForRequests(4)
        for transfer in transfers[2...5] { transfer.withdraw() }
        for recorder in recorders[4...5] { #expect(Kind(await recorder.end().result) == .cancelled) }
        for index in 0..<6 { await inner.waitForRequest(at: index).respond(status: 200) }
        for number in [0, 1, 2, 3, 6, 7] { #expect(Kind(await recorders[number].end().result) == .success) }
        #expect(inner.urls.map { $0.last } == ["0", "1", "2", "3", "6", "7"])
        #expect(queue.counts == (0, 0))
    }

    @Test func whoHasNoTimeIsToldAtOnce() async {
        let queue = queue(closedUntil: ["i.example": 1100, "other.example": 1_000_000])
        let late = Recorder()
        _ = queue.start(request("a"), sink: late)
        guard case .failure(.limited(let seconds)) = await late.end().result else {
            Issue.record("not limited")
            return
        }
        #expect(seconds == 100)
        #expect(queue.closedUntil == ["i.example": 1100, "other.example": 4600], "an hour at most")
        // Questions to the service pass by.
        let question = Recorder()
        _ = queue.start(request("b", purpose: .api), sink: question)
        await inner.waitForRequest(at: 0).respond(status: 429)
        #expect(await question.end().head?.status == 429)
        #expect(inner.requests.count == 1)
    }

    @Test func aPauseOfAnotherMachineIsKeptAndReportedByNobody() async {
        let queue = queue()
        queue.pause("i.example", .host, forSeconds: 4)
        #expect(queue.closedUntil == ["i.example": 1004])
        // A shorter one changes nothing.
        queue.pause("i.example", .host, forSeconds: 2)
        #expect(queue.closedUntil == ["i.example": 1004])
        #expect(queue.service.closedUntil == nil)
        queue.pause("i.example", .interface, forSeconds: 9)
        #expect(queue.service.closedUntil == 1009)
        let recorders = [RequestPurpose.size, .api].map { purpose in
            let recorder = Recorder()
            _ = queue.start(request("\(purpose)", purpose: purpose), sink: recorder)
            return recorder
        }
        #expect(inner.requests.isEmpty)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(4))
        await inner.waitForRequest(at: 0).respond(status: 200)
        #expect(Kind(await recorders[0].end().result) == .success)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        await inner.waitForRequest(at: 1).respond(status: 200)
        #expect(Kind(await recorders[1].end().result) == .success)
        #expect(closings.all.withLock(\.isEmpty) && closings.ofService.withLock(\.isEmpty))
        // Names from outside do not fill the memory.
        for number in 0..<1000 { queue.pause("\(number).example", .host, forSeconds: 100) }
        #expect(queue.pauses.count < 100)
    }

    @Test func waitingAndRunningOnesMayBeCancelled() async {
        let queue = queue()
        let recorders = (0..<6).map { _ in Recorder() }
        let transfers = zip(0..., recorders).map { queue.start(request("\($0)"), sink: $1) }
        _ = await inner.waitForRequest(at: 3)
        transfers[5].cancel()
        #expect(Kind(await recorders[5].end().result) == .cancelled)
        transfers[0].cancel()
        #expect(Kind(await recorders[0].end().result) == .cancelled)
        // Its place is free.
        let fifth = await inner.waitForRequest(at: 4)
        #expect(fifth.request.url.hasSuffix("/4"))
        #expect(inner.requests.count == 5)
    }

    @Test func questionsGoAtTheRateOfTheService() async {
        let queue = queue(rate: RequestRate(burst: 1, perSecond: 1))
        #expect(queue.service.tokens == 1)
        for path in ["a", "b"] { _ = queue.start(request(path, purpose: .api), sink: Recorder()) }
        _ = queue.start(request("picture"), sink: Recorder())
        #expect(await inner.waitForRequest(at: 1).request.url.hasSuffix("/picture"))
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(1001))
        #expect(await inner.waitForRequest(at: 2).request.url.hasSuffix("/b"))
        #expect(queue.service.tokens < 1)
    }

    /// The text may tell what the status does not.
    @Test func aRefusalOfTheServiceIsJudgedAndPassedOn() async {
        let queue = queue(rate: RequestRate(burst: 5, perSecond: 1))
        var question = request("a", purpose: .api)
        question.method = .get
        question.judge = { $0.body == [1, 2] ? .limited(seconds: 9, told: true) : .fine }
        for (index, (body, end)) in ([([1], nil), ([1, 2], 1009)] as [([UInt8], Int64?)]).enumerated() {
            let recorder = Recorder()
            _ = queue.start(question, sink: recorder)
            await inner.waitForRequest(at: index).respond(status: 403, body: body)
            let record = await recorder.end()
            #expect(record.head?.status == 403 && record.body == body && queue.service.closedUntil == end)
        }
        #expect(closings.ofService.withLock { $0 } == [1009] && queue.closedUntil.isEmpty)
        let late = Recorder()
        _ = queue.start(request("b", seconds: 8, purpose: .api), sink: late)
        #expect(Kind(await late.end().result) == .limited)
        #expect(inner.requests.count == 2)
    }

    @Test func whatWaitsPatientlyHasItsTimeFromItsTurn() async {
        let queue = queue(rate: RequestRate(burst: 2, perSecond: 1))
        var patient = request("a", seconds: 10, purpose: .api)
        (patient.priority, patient.patience) = (.preload, .seconds(120))
        let transfers = (0..<100).map { _ in queue.start(patient, sink: Recorder()) }
        #expect(await inner.waitForRequest(at: 0).request.deadline == clock.now + .seconds(10))
        for index in 1...20 {
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(2))
            _ = await inner.waitForRequest(at: index)
        }
        #expect(inner.requests[20].request.deadline == clock.now + .seconds(10), "long after its own")
        transfers[99].setPriority(.reader)
        #expect(await inner.waitForRequest(at: 21).request.deadline == clock.now + .seconds(10))
    }

    /// Services have statuses of their own that mean it, with a time or without.
    @Test(
        arguments: [
            (421, nil, 1005), (503, nil, 1005), (503, "9", 1009), (429, nil, 1005),
        ] as [(Int, String?, Int64)])
    func aStatusThatMeansTooOftenClosesTheHost(status: Int, pause: String?, end: Int64) async {
        let queue = queue(tooOften: [421, 429, 503])
        let recorder = Recorder()
        _ = queue.start(request("a"), sink: recorder)
        let headers = pause.map { [(name: "retry-after", value: $0)] } ?? []
        await inner.waitForRequest(at: 0).respond(status: status, headers: headers, body: [])
        #expect(queue.closedUntil == ["i.example": end] && recorder.record.head == nil)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(end - 1000))
        await inner.waitForRequest(at: 1).respond(status: 200)
        #expect(await recorder.end().head?.status == 200)
    }

    @Test func otherAnswersAndFailuresPassThrough() async {
        let queue = queue()
        for (index, status) in [404, 500, 503, 421, 200].enumerated() {
            let recorder = Recorder()
            _ = queue.start(request("\(index)"), sink: recorder)
            await inner.waitForRequest(at: index).respond(status: status)
            #expect(await recorder.end().head?.status == status)
        }
        let recorder = Recorder()
        _ = queue.start(request("x"), sink: recorder)
        await inner.waitForRequest(at: 5).fail(.unreachable("gone"))
        #expect(Kind(await recorder.end().result) == .unreachable)
        #expect(closings.all.withLock { $0.isEmpty })
    }

    /// Holds requests until it is open; from then on each has ended before `begin` returns.
    private final class Lock: Transport {
        let limits = HostLimits(connections: 1)
        private let held = Mutex<[Transfer]?>([])

        func begin(_ transfer: Transfer) {
            let isHeld = held.withLock { $0?.append(transfer) != nil }
            if !isHeld { transfer.end(.failure(.cancelled)) }
        }

        func open() {
            let all = held.withLock { held in
                defer { held = nil }
                return held ?? []
            }
            for transfer in all { transfer.end(.failure(.cancelled)) }
        }
    }

    /// However many wait, and on a stack that does not grow with them.
    @Test func eachThatEndsAtOnceLetsTheNextGo() {
        let transport = Lock()
        let queue = RequestQueue(transport)
        let waiting = (0..<20_000).map { _ in Recorder() }
        for recorder in waiting { _ = queue.start(request("a", seconds: 600), sink: recorder) }
        #expect(queue.counts == (100, 19_900))
        transport.open()
        #expect(waiting.allSatisfy { $0.record.finishes == 1 } && queue.counts == (0, 0))
    }

    @Test func whatHasEndedIsNotKept() {
        let transport = Lock()
        transport.open()
        let queue = RequestQueue(transport)
        weak var sink: Recorder?
        do {
            let recorder = Recorder()
            sink = recorder
            _ = queue.start(request("a"), sink: recorder)
            #expect(recorder.record.finishes == 1)
        }
        #expect(sink == nil)
    }

    @Test(arguments: [
        ("https://I.pximg.net/a/b.jpg", "i.pximg.net"), ("https://i.pximg.net", "i.pximg.net"),
        ("http://127.0.0.1:81/a?b=c://d", "127.0.0.1:81"), ("https://a@b.example#c", "b.example"), ("", ""),
    ])
    func hostsAreToldApart(_ url: String, _ host: String) {
        #expect(RequestQueue.host(of: url) == host)
    }
}

extension RequestQueue {
    fileprivate var closedUntil: [String: Int64] { pauses.mapValues(\.end) }
}
