import HTTP
import Synchronization
import TestSupport
import Testing

@testable import HTTP

@Suite("HostCoolDown")
struct HostCoolDownTests {
    private let start = ContinuousClock.now
    private let wall: Int64 = 1_000_000

    private func after(_ seconds: Int64) -> (now: ContinuousClock.Instant, wall: Int64) {
        (start + .seconds(seconds), wall + seconds)
    }

    /// A host that many wait for, each for so many seconds.
    private func host(_ count: Int, patience: Int64 = 60, closedUntil: Int64? = nil) -> HostCoolDown {
        var host = HostCoolDown(closedUntil.map { HostPause(end: $0) })
        for id in 0..<count { host.join(id, priority: .reader, deadline: start + .seconds(patience)) }
        return host
    }

    private func next(_ host: inout HostCoolDown, _ seconds: Int64 = 0) -> [HostCoolDown.Action] {
        host.next(now: after(seconds).now, wall: after(seconds).wall)
    }

    private func settle(_ host: inout HostCoolDown, _ id: Int, _ verdict: GateVerdict, _ seconds: Int64 = 0) -> Int64? {
        host.settle(id, verdict, now: after(seconds).now, wall: after(seconds).wall)
    }

    @Test func aBurstBeginsWithAFewAndGrowsWithGoodAnswers() {
        var host = host(50)
        #expect(next(&host) == (0..<4).map { .send($0) })
        #expect(next(&host) == [])
        #expect(settle(&host, 1, .unknown) == nil)
        #expect(next(&host) == [.send(4)])
        // Three go for each that was answered well.
        #expect(settle(&host, 0, .fine) == nil)
        #expect(next(&host) == (5..<8).map { .send($0) })
        for id in 2..<8 { #expect(settle(&host, id, .fine) == nil) }
        #expect(next(&host) == (8..<26).map { .send($0) })
        for id in 8..<26 { #expect(settle(&host, id, .fine) == nil) }
        // The next burst goes on where this one ended, but only for a while.
        #expect(next(&host, 5).count == 24)
        for id in 26..<50 { #expect(settle(&host, id, .unknown) == nil) }
        for id in 50..<70 { host.join(id, priority: .reader, deadline: start + .seconds(60)) }
        #expect(next(&host, 6) == (50..<54).map { .send($0) })
    }

    /// What hangs is no sign of a host that wants to be left alone.
    @Test func whatHangsHoldsNobodyUp() {
        var host = host(10)
        #expect(next(&host).count == 4)
        #expect(host.wake(now: start, wall: wall) == start + .seconds(1))
        #expect(next(&host, 1) == (4..<8).map { .send($0) })
        #expect(next(&host, 1) == [])
        #expect(next(&host, 2) == [.send(8), .send(9)])
        #expect(host.wake(now: after(2).now, wall: wall) == nil)
    }

    /// What was sent again counts from then on, and nobody is looked at for one who left.
    @Test func whatWasSentAgainCountsAnew() {
        var host = host(4, patience: 600)
        #expect(next(&host).count == 4)
        #expect(settle(&host, 0, .limited(seconds: 1, told: true)) == wall + 1)
        for id in 1..<4 { _ = settle(&host, id, .unknown) }
        for id in 0..<4 { host.join(id, priority: .reader, deadline: start + .seconds(600)) }
        #expect(next(&host, 1) == [.send(0)])
        #expect(settle(&host, 0, .fine, 1) == nil)
        #expect(next(&host, 1) == [.send(1), .send(2), .send(3)])
        for id in 1..<4 { #expect(settle(&host, id, .fine, 1) == nil) }
        host.join(9, priority: .reader, deadline: start + .seconds(3))
        host.leave(9)
        for id in 10..<40 { host.join(id, priority: .reader, deadline: start + .seconds(600)) }
        #expect(next(&host, 2).count == 12)
        #expect(host.wake(now: after(2).now, wall: after(2).wall) == start + .seconds(3))
        #expect(next(&host, 3).count == 12)
    }

    @Test func aRefusalMakesTheNextBurstBeginWithAFew() {
        var host = host(40)
        for id in 0..<4 { #expect(next(&host).isEmpty == (id > 0)) }
        for id in 0..<4 { #expect(settle(&host, id, .fine) == nil) }
        #expect(next(&host).count == 12)
        for id in 4..<16 { _ = settle(&host, id, .limited(seconds: 10, told: true)) }
        #expect(next(&host, 10) == [.send(16)])
        #expect(settle(&host, 16, .fine, 10) == nil)
        #expect(next(&host, 10).count == 6)
    }

    @Test func readersGoFirst() {
        var host = HostCoolDown()
        for id in 0..<6 { host.join(id, priority: .preload, deadline: start + .seconds(60)) }
        host.join(6, priority: .reader, deadline: start + .seconds(60))
        host.setPriority(3, .reader)
        let left = [host.leave(0), host.leave(0)]
        #expect(left == [true, false])
        #expect(next(&host) == [6, 3, 1, 2].map { .send($0) })
        host.setPriority(6, .preload)
        let isWaiting = host.leave(6)
        #expect(!isWaiting)
    }

    /// A picture that will be read next does not wait for the sizes of a whole listing.
    @Test func ofWhatNobodyWaitsForBodiesGoFirst() {
        var host = HostCoolDown()
        let deadline = start + .seconds(60)
        for id in 0..<4 { host.join(id, priority: .preload, deadline: deadline) }
        for id in 4..<6 { host.join(id, priority: .preload, transferClass: .bulk, deadline: deadline) }
        for id in 6..<8 { host.join(id, priority: .reader, deadline: deadline) }
        host.join(8, priority: .reader, transferClass: .bulk, deadline: deadline)
        #expect(next(&host) == [6, 7, 8, 4].map { .send($0) })
        host.setPriority(3, .reader)
        host.setPriority(5, .reader)
        for id in [6, 7, 8, 4] { _ = settle(&host, id, .unknown) }
        #expect(next(&host) == [3, 5, 0, 1].map { .send($0) })
    }

    @Test func whoHasTimeWaitsForTheEndAndTheProbe() {
        var host = host(4)
        #expect(next(&host).count == 4)
        #expect(settle(&host, 0, .limited(seconds: 10, told: true)) == wall + 10)
        #expect(host.closedUntil(wall: wall) == wall + 10)
        host.join(10, priority: .reader, deadline: start + .seconds(8))
        host.join(11, priority: .reader, deadline: start + .seconds(15))
        host.join(12, priority: .reader, deadline: start + .seconds(30))
        #expect(next(&host) == [.refuse(10, seconds: 10)])
        #expect(host.wake(now: start, wall: wall) == start + .seconds(10))
        // Those under way together are refused together, and tell nothing of the time after it.
        #expect(settle(&host, 1, .limited(seconds: 10, told: true)) == nil)
        #expect(settle(&host, 2, .fine) == nil)
        #expect(next(&host, 9) == [])
        #expect(next(&host, 10) == [.send(11)])
        #expect(next(&host, 11) == [])
        #expect(host.wake(now: after(11).now, wall: after(11).wall) == start + .seconds(30))
        #expect(settle(&host, 11, .fine, 12) == nil)
        #expect(next(&host, 12) == [.send(12)])
        #expect(host.closedUntil(wall: wall + 12) == nil)
    }

    @Test func aProbeThatIsRefusedClosesForLonger() {
        var host = host(1)
        var now: Int64 = 0
        var pauses: [Int64] = []
        for id in 0..<16 {
            if id > 0 { host.join(id, priority: .reader, deadline: after(now + 100_000).now) }
            #expect(next(&host, now) == [.send(id)])
            let end = settle(&host, id, .limited(seconds: 5, told: false), now)
            pauses.append((end ?? 0) - wall - now)
            now = (end ?? 0) - wall
        }
        #expect(pauses.prefix(5) == [5, 10, 20, 40, 80])
        #expect(pauses.suffix(5).allSatisfy { $0 == 3600 })
    }

    /// A second, told again and again, is not obeyed to the letter.
    @Test func tenSecondsOfRefusalsCostFewRequests() {
        var host = host(500, patience: 100)
        var sent = 0
        for second in 0..<10 {
            let actions = next(&host, Int64(second))
            sent += actions.count
            for case .send(let id) in actions { _ = settle(&host, id, .limited(seconds: 1, told: true), Int64(second)) }
        }
        #expect(sent <= 10)
    }

    @Test func aProbeWithoutAnAnswerIsFollowedByAnother() {
        var host = host(2, closedUntil: wall - 1)
        #expect(next(&host) == [.send(0)])
        #expect(settle(&host, 0, .unknown) == nil)
        #expect(next(&host) == [.send(1)])
        #expect(!host.isIdle(wall: wall))
    }

    @Test func whoseTimeIsUpEnds() {
        var host = host(6, patience: 5)
        #expect(next(&host).count == 4)
        #expect(host.wake(now: start, wall: wall) == start + .seconds(1))
        #expect(next(&host, 5) == [.late(4), .late(5)])
        #expect(host.wake(now: after(5).now, wall: after(5).wall) == nil)
    }

    @Test(arguments: [Int64.min, -1, 0, .max])
    func clocksAndFilesMayHoldAnything(_ number: Int64) {
        var host = HostCoolDown(
            HostPause(
                end: number,
                front: number == 0 ? nil : FrontStop(refusal: .block, step: Int(truncatingIfNeeded: number), mark: "")))
        for wall in [Int64.min, -1, 0, .max] {
            _ = host.closedUntil(wall: wall)
            host.join(1, priority: .reader, deadline: start)
            _ = host.next(now: start - .seconds(1), wall: wall)
            _ = host.pause(wall: wall)?.began
            _ = host.turnAway(1, .challenge, mark: "", hasOtherWay: number == 0, wall: wall)
            _ = host.settle(1, .limited(seconds: number, told: true), now: start, wall: wall)
            _ = host.wake(now: start, wall: wall)
            _ = host.leave(1)
        }
    }
}

@Suite("CoolDownTransport", .timeLimit(.minutes(1)))
struct CoolDownTransportTests {
    private let clock = ManualClock()
    private let inner = HeldTransport()
    private let closings = Closings()

    private final class Closings: Sendable {
        let all = Mutex<[[String: Int64]]>([])
    }

    /// Wall time starts at 1000 and follows the clock.
    private func door(tooOften: Set<Int> = [429], closedUntil: [String: Int64] = [:]) -> CoolDownTransport {
        let (clock, start, closings) = (clock, clock.now, closings)
        return CoolDownTransport(
            inner, tooOften: tooOften, pauses: closedUntil.mapValues { HostPause(end: $0) },
            wallClock: { 1000 + (clock.now - start).components.seconds },
            time: TimeSource(clock), tell: { _, all in closings.all.withLock { $0.append(all.mapValues(\.end)) } })
    }

    private func request(_ path: String, seconds: Int64 = 15, purpose: RequestPurpose = .size) -> HTTPRequest {
        HTTPRequest(
            method: .head, url: "https://I.example/\(path)", transferClass: .metadata,
            deadline: clock.now.advanced(by: .seconds(seconds)), bodyLimit: 1, purpose: purpose)
    }

    @Test func whatIsRefusedIsSentAgainUnseen() async {
        let door = door()
        let recorders = (0..<6).map { _ in Recorder() }
        for (number, recorder) in recorders.enumerated() { _ = door.start(request("\(number)"), sink: recorder) }
        #expect(await inner.waitForRequest(at: 3).request.url.hasSuffix("/3"))
        #expect(inner.requests.count == 4)
        for index in 0..<4 {
            let held = await inner.waitForRequest(at: index)
            held.respond(status: index < 2 ? 429 : 503, headers: [(name: "retry-after", value: "4")], body: [])
        }
        #expect(door.closedUntil == ["i.example": 1004])
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
        #expect(inner.requests.count == 10 && door.closedUntil.isEmpty)
    }

    @Test func whoHasNoTimeIsToldAtOnce() async {
        let door = door(closedUntil: ["i.example": 1100, "other.example": 1_000_000])
        let late = Recorder()
        _ = door.start(request("a"), sink: late)
        guard case .failure(.limited(let seconds)) = await late.end().result else {
            Issue.record("not limited")
            return
        }
        #expect(seconds == 100)
        #expect(door.closedUntil == ["i.example": 1100, "other.example": 4600], "an hour at most")
        // Questions to the service pass by.
        let question = Recorder()
        _ = door.start(request("b", purpose: .api), sink: question)
        await inner.waitForRequest(at: 0).respond(status: 429)
        #expect(await question.end().head?.status == 429)
        #expect(inner.requests.count == 1)
    }

    @Test func aLongPauseEndsWhatWasRefused() async {
        let door = door()
        let recorder = Recorder()
        _ = door.start(request("a"), sink: recorder)
        await inner.waitForRequest(at: 0).respond(
            status: 429,
            headers: [
                (name: "date", value: "Sun, 06 Nov 1994 08:49:37 GMT"),
                (name: "retry-after", value: "Sun, 06 Nov 1994 08:50:37 GMT"),
            ])
        guard case .failure(.limited(let seconds)) = await recorder.end().result else {
            Issue.record("not limited")
            return
        }
        #expect(seconds == 60)
    }

    @Test func waitingAndRunningOnesMayBeCancelled() async {
        let door = door()
        let recorders = (0..<6).map { _ in Recorder() }
        let transfers = zip(0..., recorders).map { door.start(request("\($0)"), sink: $1) }
        _ = await inner.waitForRequest(at: 3)
        transfers[5].cancel()
        #expect(Kind(await recorders[5].end().result) == .cancelled)
        transfers[0].cancel()
        #expect(Kind(await recorders[0].end().result) == .cancelled)
        // Its place is free.
        let fifth = await inner.waitForRequest(at: 4)
        #expect(fifth.request.url.hasSuffix("/4"))
        transfers[4].setPriority(.preload)
        await fifth.waitForPriority(.preload)
        #expect(inner.requests.count == 5)
    }

    /// Services have statuses of their own that mean it, with a time or without.
    @Test(
        arguments: [
            (421, nil, 1005), (503, nil, 1005), (503, "9", 1009), (429, nil, 1005),
        ] as [(Int, String?, Int64)])
    func aStatusThatMeansTooOftenClosesTheHost(status: Int, pause: String?, end: Int64) async {
        let door = door(tooOften: [421, 429, 503])
        let recorder = Recorder()
        _ = door.start(request("a"), sink: recorder)
        let headers = pause.map { [(name: "retry-after", value: $0)] } ?? []
        await inner.waitForRequest(at: 0).respond(status: status, headers: headers, body: [])
        #expect(door.closedUntil == ["i.example": end] && recorder.record.head == nil)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(end - 1000))
        await inner.waitForRequest(at: 1).respond(status: 200)
        #expect(await recorder.end().head?.status == 200)
    }

    @Test func otherAnswersAndFailuresPassThrough() async {
        let door = door()
        for (index, status) in [404, 500, 503, 421, 200].enumerated() {
            let recorder = Recorder()
            _ = door.start(request("\(index)"), sink: recorder)
            await inner.waitForRequest(at: index).respond(status: status)
            #expect(await recorder.end().head?.status == status)
        }
        let recorder = Recorder()
        _ = door.start(request("x"), sink: recorder)
        await inner.waitForRequest(at: 5).fail(.unreachable("gone"))
        #expect(Kind(await recorder.end().result) == .unreachable)
        #expect(closings.all.withLock { $0.isEmpty })
    }

    @Test(arguments: [
        ("https://I.pximg.net/a/b.jpg", "i.pximg.net"), ("https://i.pximg.net", "i.pximg.net"),
        ("http://127.0.0.1:81/a?b=c://d", "127.0.0.1:81"), ("https://a@b.example#c", "b.example"), ("", ""),
    ])
    func hostsAreToldApart(_ url: String, _ host: String) {
        #expect(CoolDownTransport.host(of: url) == host)
    }
}

extension CoolDownTransport {
    fileprivate var closedUntil: [String: Int64] { pauses.mapValues(\.end) }
}
