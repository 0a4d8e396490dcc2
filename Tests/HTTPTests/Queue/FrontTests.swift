import Rankings
import Synchronization
import TestSupport
import Testing

@testable import HTTP

/// Answers as fronts send them; those of `rankfs-origin` have the same marks.
private let challenge: [(name: String, value: String)] = [
    ("server", "cloudflare"), ("content-type", "text/html; charset=UTF-8"), ("cf-mitigated", "challenge"),
]
private let page: [(name: String, value: String)] = [("server", "cloudflare"), ("content-type", "text/html")]

@Suite("FrontPage")
struct FrontPageTests {
    private func refusal(
        _ status: Int, _ headers: [(name: String, value: String)], _ text: String = ""
    ) -> FrontRefusal? {
        HTTPResponse(head: HTTPAnswer(status: status, headers: headers), body: Array(text.utf8)).frontRefusal
    }

    @Test(arguments: [200, 403, 429, 503]) func theHeaderCountsWhateverTheStatus(status: Int) {
        #expect(refusal(status, challenge) == .challenge)
        #expect(refusal(status, [("cf-mitigated", "Challenge")]) == .challenge)
    }

    @Test(arguments: [403, 429, 503]) func olderPagesAreToldByTheirMarks(status: Int) {
        for mark in ["window._cf_chl_opt={", "<form id=\"jschl-answer\">", "name=\"captcha-bypass\""] {
            #expect(refusal(status, page, "<html>\(mark)</html>") == .challenge)
            #expect(refusal(status, [("content-type", "text/html")], "<html>\(mark)</html>") == nil, "no front")
        }
        let guarded: [(name: String, value: String)] = [("server", "ddos-guard"), ("content-type", "text/html")]
        #expect(refusal(status, guarded, "<script src=\"/.well-known/ddos-guard/js-challenge/\">") == .challenge)
        #expect(refusal(status, guarded, "<html>") == (status == 403 ? .challenge : nil))
    }

    @Test func aBlockIsNoChallenge() {
        for text in ["<div id=\"cf-error-details\">", "error code: 1020", "<h1>Access denied</h1>", "Access blocked"] {
            #expect(refusal(403, page, text) == .block)
            #expect(refusal(429, page, text) == nil, "a limit")
        }
    }

    @Test func whatTheServiceItselfSaysIsItsOwn() {
        let json: [(name: String, value: String)] = [("server", "cloudflare"), ("content-type", "application/json")]
        #expect(refusal(403, json, "{\"error\":true,\"message\":\"access denied\"}") == nil)
        #expect(refusal(404, page, "_cf_chl_opt") == nil)
        #expect(refusal(200, page, "_cf_chl_opt access denied") == nil)
        #expect(refusal(403, page, "<html>pixiv <script src=\"/cdn-cgi/challenge-platform/x\"></html>") == nil)
    }
}

@Suite("A front before hosts", .timeLimit(.minutes(1)))
struct FrontStopTests {
    private let clock = ManualClock()
    private let inner = HeldTransport()
    private let told = Told()

    private final class Told: Sendable {
        let news = Mutex<[RequestQueue.News]>([])
        let pauses = Mutex<[String: HostPause]>([:])
        let means = Mutex(AskingMeans(mark: "a"))
    }

    private func queue(_ pauses: [String: HostPause] = [:]) -> RequestQueue {
        let (clock, start, told) = (clock, clock.now, told)
        var rules = RequestQueue.Rules(wallClock: { 1000 + (clock.now - start).components.seconds })
        rules.pauses = pauses
        rules.time = TimeSource(clock)
        rules.means = { told.means.withLock { $0 } }
        rules.explain = { host, pause in "\(host) \(pause.front?.refusal.rawValue ?? "") until \(pause.end)" }
        rules.report = { news, pauses in
            told.news.withLock { $0.append(news) }
            told.pauses.withLock { $0 = pauses }
        }
        return RequestQueue(inner, rules: rules)
    }

    private func ask(
        _ queue: RequestQueue, _ host: String = "api.example", purpose: RequestPurpose = .api, seconds: Int64 = 15,
        headers: [String] = []
    ) -> Recorder {
        let recorder = Recorder()
        _ = queue.start(
            HTTPRequest(
                url: "https://\(host)/x", headers: headers, transferClass: .metadata,
                deadline: clock.now.advanced(by: .seconds(seconds)), bodyLimit: 1 << 20, purpose: purpose),
            sink: recorder)
        return recorder
    }

    private func isTurnedAway(_ recorder: Recorder) async -> String? {
        if case .failure(.turnedAway(let reason)) = await recorder.end().result { reason } else { nil }
    }

    @Test func thePausesDoubleWithOneProbeEach() async {
        let queue = queue()
        var end: Int64 = 1000
        for (index, pause) in [1800, 3600, 7200, 14400, 21600, 21600].enumerated() as EnumeratedSequence<[Int64]> {
            let probe = ask(queue, seconds: 100_000)
            let second = ask(queue, seconds: 100_000)
            let held = await inner.waitForRequest(at: index == 0 ? 0 : index + 1)
            #expect(inner.requests.count == (index == 0 ? 2 : index + 2), "the others wait for the probe")
            held.respond(status: 403, headers: challenge)
            if index == 0 { await inner.waitForRequest(at: 1).fail(.cancelled) }
            end += pause
            #expect(queue.pauses["api.example"]?.end == end)
            _ = (probe, second)
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(pause))
        }
        await inner.waitForRequest(at: 7).respond(status: 404)
        #expect(told.news.withLock { $0.last } == .letIn(host: "api.example"))
        #expect(told.pauses.withLock { $0 }.isEmpty && queue.pauses.isEmpty)
    }

    @Test func aPauseOutlivesARestartAndEndsWithOtherMeans() async {
        let stop = FrontStop(refusal: .challenge, step: 1, mark: "a")
        let queue = queue(["api.example": HostPause(end: 2000, front: stop)])
        #expect(await isTurnedAway(ask(queue)) == "api.example challenged until 2000")
        #expect(await isTurnedAway(ask(queue, purpose: .picture)) != nil)
        told.means.withLock { $0 = AskingMeans(userAgent: "Mine/1.0", mark: "b") }
        let probe = ask(queue)
        let waiting = ask(queue)
        let held = await inner.waitForRequest(at: 0)
        #expect(held.request.headers == ["User-Agent: Mine/1.0"] && inner.requests.count == 1)
        held.respond(status: 403, headers: challenge)
        #expect(await isTurnedAway(probe) == "api.example challenged until 8200")
        #expect(await isTurnedAway(waiting) != nil)
        #expect(inner.requests.count == 1)
        #expect(told.pauses.withLock { $0["api.example"]?.front } == FrontStop(refusal: .challenge, step: 2, mark: "b"))
    }

    /// What proves a check goes to its host only, in one header with the session, and until the check comes again.
    @Test func aClearanceGoesToItsHostUntilTheNextCheck() async {
        told.means.withLock { $0 = AskingMeans(mark: "b", clearance: "c=1", site: "api.example") }
        let queue = queue()
        let first = ask(queue, headers: ["Cookie: s=2", "A: b"])
        let held = await inner.waitForRequest(at: 0)
        #expect(held.request.headers == ["Cookie: s=2; c=1", "A: b"])
        _ = ask(queue, "pictures.example", purpose: .picture)
        #expect(await inner.waitForRequest(at: 1).request.headers.isEmpty)
        held.respond(status: 403, headers: challenge)
        #expect(await isTurnedAway(first) != nil)
        clock.advance(by: .seconds(1800))
        _ = ask(queue)
        #expect(await inner.waitForRequest(at: 2).request.headers.isEmpty, "forgotten")
        inner.requests[2].respond()
        told.means.withLock { ($0.mark, $0.clearance) = ("c", "c=3") }
        _ = ask(queue)
        #expect(await inner.waitForRequest(at: 3).request.headers == ["Cookie: c=3"])
    }

    /// What an answer turns out to be only by its text is shown to nobody before that.
    @Test func aPageWithoutTheHeaderIsReadFirst() async {
        let queue = queue()
        let own = ask(queue)
        await inner.waitForRequest(at: 0).respond(status: 403, headers: page, body: Array("<html>R-18".utf8))
        let answer = await own.end()
        #expect(answer.head?.status == 403 && answer.body == Array("<html>R-18".utf8))
        let old = ask(queue)
        await inner.waitForRequest(at: 1).respond(status: 503, headers: page, body: Array("_cf_chl_opt".utf8))
        #expect(await isTurnedAway(old) != nil)
        #expect(old.record.head == nil)
    }

    /// What was sent before a login says nothing of the cookies that came with it: they are tried at once, by a request of their own.
    @Test func aChallengeToWhatWasSentBeforeALoginIsNotOneToTheNewCookie() async {
        let queue = queue()
        let old = [ask(queue), ask(queue)]
        let held = await inner.waitForRequests(2)
        told.means.withLock { $0 = AskingMeans(mark: "b") }
        held[0].respond(status: 403, headers: challenge)
        held[1].fail(.cancelled)
        for recorder in old { #expect(await isTurnedAway(recorder) != nil) }
        #expect(inner.requests.count == 2 && told.news.withLock { $0.isEmpty })
        let new = ask(queue)
        await inner.waitForRequest(at: 2).respond(status: 403, headers: challenge)
        #expect(await isTurnedAway(new) == "api.example challenged until 2800")
        #expect(told.pauses.withLock { $0["api.example"]?.front } == FrontStop(refusal: .challenge, step: 0, mark: "b"))
        #expect(await isTurnedAway(ask(queue)) != nil && inner.requests.count == 3)
    }

    @Test(arguments: [Failure?.none, .unreachable("no such address"), .timedOut])
    func aBlockIsTriedOverTheOtherFamilyOnce(failure: Failure?) async {
        let queue = queue()
        let (first, second) = (ask(queue), ask(queue))
        let held = await inner.waitForRequests(2)
        var head = HTTPAnswer(status: 403, headers: page)
        head.family = .ipv6
        held[0].respond(head, body: Array("error code: 1020".utf8))
        held[1].fail(.cancelled)
        let trial = await inner.waitForRequest(at: 2)
        #expect(trial.request.family == .ipv4 && inner.requests.count == 3)
        guard let failure else {
            trial.respond(status: 200)
            let last = await inner.waitForRequest(at: 3)
            #expect(last.request.family == .ipv4)
            last.respond(status: 200)
            for recorder in [first, second] { #expect(await recorder.end().head?.status == 200) }
            // On another network that family may lead nowhere.
            let lost = ask(queue)
            await inner.waitForRequest(at: 4).fail(.unreachable("no route"))
            #expect(Kind(await lost.end().result) == .unreachable)
            _ = ask(queue)
            #expect(await inner.waitForRequest(at: 5).request.family == nil)
            return #expect(told.news.withLock { $0 }.isEmpty)
        }
        trial.fail(failure)
        for recorder in [first, second] {
            #expect(await isTurnedAway(recorder) == "api.example blocked until 2800")
        }
        #expect(inner.requests.count == 3)
    }

    /// A download under way is ended too, with the reason.
    @Test func whatHasBegunToArriveIsEndedWithTheReason() async {
        let queue = queue()
        let picture = ask(queue, purpose: .picture)
        let held = await inner.waitForRequest(at: 0)
        #expect(held.head(200))
        #expect(held.body([1, 2, 3]))
        _ = ask(queue)
        await inner.waitForRequest(at: 1).respond(status: 403, headers: challenge)
        #expect(held.isCancelled)
        held.fail(.cancelled)
        #expect(await isTurnedAway(picture) != nil)
        #expect(queue.service.tokens == Double(HostState.most), "no question has reached the service")
        #expect(inner.requests.count == 2)
    }
}
