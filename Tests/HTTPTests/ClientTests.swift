import Rankings
import HTTP
import Testing
import TestSupport

@Suite("HTTPClient", .timeLimit(.minutes(1)))
struct ClientTests {
    private let transport = HeldTransport()
    private let clock = ManualClock()

    private func client(random: Double = 1) -> HTTPClient {
        HTTPClient(
            transport: transport, policy: RetryPolicy(), time: TimeSource(clock), wallClock: { 0 }, random: { random })
    }

    private func request(seconds: Int64 = 15) -> HTTPRequest {
        HTTPRequest(
            url: "https://a/", transferClass: .metadata, deadline: clock.now.advanced(by: .seconds(seconds)),
            bodyLimit: 100)
    }

    private func send(_ client: HTTPClient, _ request: HTTPRequest) -> Task<Result<HTTPResponse, Failure>, Never> {
        Task {
            do throws(Failure) {
                return .success(try await client.send(request))
            } catch {
                return .failure(error)
            }
        }
    }

    @Test func statusesThatArePermanentAreReturnedAtOnce() async throws {
        for (index, status) in [301, 400, 403, 404, 416, 429, 501].enumerated() {
            let task = send(client(), request())
            await transport.waitForRequest(at: index).respond(status: status)
            #expect(try await task.value.get().head.status == status)
        }
        #expect(clock.sleeperCount == 0)
    }

    /// A service that refuses with the status of a server in trouble is not asked again.
    @Test func statusesThatTheRequestCallsFinalAreReturnedAtOnce() async throws {
        var request = request()
        request.finalStatuses = [500]
        let task = send(client(), request)
        await transport.waitForRequest(at: 0).respond(status: 500)
        #expect(try await task.value.get().head.status == 500)
        #expect(clock.sleeperCount == 0)
    }

    @Test(arguments: [Failure.timedOut, .tooLarge, .untrusted("x"), .redirectRefused("x")])
    func errorsThatArePermanentAreThrownAtOnce(_ error: Failure) async throws {
        let task = send(client(), request())
        await transport.waitForRequest(at: 0).fail(error)
        let result = await task.value
        #expect(throws: error) { try result.get() }
    }

    /// It may be what an earlier answer left on the connection; twice is no accident.
    @Test func anAnswerThatMakesNoSenseIsAskedForOnceMore() async throws {
        let task = send(client(), request())
        await transport.waitForRequest(at: 0).fail(.invalidAnswer("x"))
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(400))
        await transport.waitForRequest(at: 1).fail(.invalidAnswer("y"))
        let result = await task.value
        #expect(throws: Failure.invalidAnswer("y")) { try result.get() }
        #expect(transport.requests.count == 2)
    }

    @Test func triesAgainAndGivesTheLastOutcome() async throws {
        let task = send(client(), request())
        await transport.waitForRequest(at: 0).fail(.unreachable("x"))
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(399))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .milliseconds(1))
        await transport.waitForRequest(at: 1).respond(status: 502)
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(800))
        let third = await transport.waitForRequest(at: 2)
        third.head(200)
        third.body([9])
        third.fail(.broken("x"))
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(1600))
        await transport.waitForRequest(at: 3).respond(status: 503)
        let response = try await task.value.get()
        #expect(response.head.status == 503)
        #expect(response.body.isEmpty)
        #expect(transport.requests.count == 4)
    }

    @Test func whoComesToWaitMakesARequestUrgentAndItsNextTries() async throws {
        let (client, request, urgency) = (client(), request(), Urgency())
        let task = Task { try await client.send(request, urgency: urgency) }
        let first = await transport.waitForRequest(at: 0)
        #expect(first.request.priority == .preload)
        urgency.raise()
        await first.waitForPriority(.reader)
        first.fail(.unreachable("x"))
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(400))
        let second = await transport.waitForRequest(at: 1)
        #expect(second.request.priority == .reader)
        second.respond(status: 200)
        #expect(try await task.value.head.status == 200)
    }

    @Test func cancellingEndsTheTransfer() async throws {
        let task = send(client(), request())
        let held = await transport.waitForRequest(at: 0)
        task.cancel()
        await held.waitForEnd()
        #expect(held.isCancelled)
        let result = await task.value
        #expect(throws: Failure.cancelled) { try result.get() }
    }

    @Test func cancellingEndsTheWaitBetweenTries() async throws {
        let task = send(client(), request())
        await transport.waitForRequest(at: 0).fail(.broken("x"))
        await clock.waitForSleepers(1)
        task.cancel()
        let result = await task.value
        #expect(throws: Failure.cancelled) { try result.get() }
        #expect(transport.requests.count == 1)
    }

    @Test func anAPIThatSays502IsWaitedForUntilTheDeadline() async throws {
        var asking = request()
        asking.purpose = .api
        let task = send(client(), asking)
        let waits = [400, 800, 1600, 5000, 5000]
        for (number, wait) in waits.enumerated() {
            await transport.waitForRequest(at: number).respond(status: 502)
            await clock.waitForSleepers(1)
            clock.advance(by: .milliseconds(wait))
        }
        await transport.waitForRequest(at: waits.count).respond(status: 200)
        #expect(try await task.value.get().head.status == 200)
    }

    @Test func policyKeepsInsideItsBounds() {
        let policy = RetryPolicy()
        func delay(
            _ result: Result<HTTPAnswer, Failure>, tries: Int = 1, left: Double = 100, random: Double = 1
        ) -> Duration? {
            policy.delay(after: result, triesMade: tries, remaining: .seconds(left), random: random, now: 0)
        }
        func answered(_ status: Int, retryAfter: String? = nil) -> Result<HTTPAnswer, Failure> {
            .success(HTTPAnswer(status: status, headers: retryAfter.map { [(name: "retry-after", value: $0)] } ?? []))
        }
        #expect(delay(.failure(.broken("")), random: 0) == .zero)
        #expect(delay(.failure(.broken("")), tries: 3, random: 0.5) == .milliseconds(800))
        #expect(delay(.failure(.broken("")), tries: 4) == nil)
        #expect(delay(.failure(.broken("")), left: 0.4) == nil)
        #expect(delay(.failure(.cancelled)) == nil)
        #expect(delay(answered(503, retryAfter: "7")) == .seconds(7))
        #expect(delay(answered(503, retryAfter: "7"), left: 7) == nil)
        #expect(delay(answered(503, retryAfter: "0")) == .zero)
        #expect(delay(answered(503)) == .milliseconds(400))
        #expect(delay(answered(503, retryAfter: "soon")) == .milliseconds(400))
        #expect(delay(answered(500, retryAfter: "7")) == .milliseconds(400))
        #expect(delay(answered(200)) == nil && delay(answered(501)) == nil)
        func patient(_ status: Int, _ tries: Int, _ left: Double = 15) -> Duration? {
            policy.delay(
                after: answered(status), triesMade: tries, remaining: .seconds(left), random: 0, now: 0,
                isPatient: true)
        }
        #expect(patient(502, 1) == .zero && patient(502, 4) == .milliseconds(2500) && patient(502, 40) != nil)
        #expect(patient(502, 4, 2.5) == nil && patient(503, 4) == nil && delay(answered(502), tries: 4) == nil)
        var once = policy
        once.tries = 1
        #expect(
            once.delay(
                after: answered(502), triesMade: 1, remaining: .seconds(15), random: 0, now: 0, isPatient: true) == nil)
    }
}
