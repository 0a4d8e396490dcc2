@testable import HTTP
import Rankings
import Synchronization
import Testing

@testable import rankfs

/// What is told of hosts that cannot be asked.
@Suite struct HostHealthTests {
    private final class News: Sendable {
        private let said = Mutex<[HostHealth.News]>([])
        var all: [HostHealth.News] { said.withLock { $0 } }
        func add(_ news: HostHealth.News) { said.withLock { $0.append(news) } }
    }

    private let news = News()

    private func health(proxy: String? = nil) -> HostHealth {
        HostHealth(proxy: proxy, now: { 100 }, tell: { [news] in news.add($0) })
    }

    private static func request(_ url: String) -> HTTPRequest {
        HTTPRequest(url: url, transferClass: .metadata, deadline: .now + .seconds(60), bodyLimit: 1)
    }

    private func fail(_ health: HostHealth, _ url: String, _ error: Failure) {
        health.ended(Self.request(url), TransferOutcome(failure: error))
    }

    private func answer(_ health: HostHealth, _ url: String, _ status: Int) {
        health.answered(Self.request(url))
        health.ended(Self.request(url), TransferOutcome(status: status))
    }

    @Test func oneHostIsToldOfOnceUntilItAnswers() {
        let health = health()
        for _ in 0..<3 { fail(health, "https://u@a.example:8/x", .untrusted("a.example: expired; renew it.")) }
        #expect(health.troubles.map(\.sentence) == ["a.example: expired; renew it."] && health.troubles[0].since == 100)
        fail(health, "https://b.example/x", .unreachable("b.example: no route?"))
        #expect(health.troubles.count == 2)
        answer(health, "https://a.example:8/y", 404)
        #expect(health.troubles.map(\.sentence) == ["b.example: no route?"])
        answer(health, "https://a.example:8/y", 200)
        fail(health, "https://a.example:8/y", .unreachable("a.example: gone."))
        #expect(
            news.all == [
                .trouble("a.example: expired; renew it."), .trouble("b.example: no route?"),
                .recovered(host: "a.example:8"), .trouble("a.example: gone."),
            ])
    }

    @Test(arguments: [
        Failure.timedOut, .broken("x"), .invalidAnswer("x"), .tooLarge, .redirectRefused("x"), .unsendable("x"),
        .offline, .cancelled, .limited(retryAfter: 1),
    ])
    func whatOneRequestMeetsIsNoTrouble(_ error: Failure) {
        let health = health()
        fail(health, "https://a.example/x", error)
        #expect(health.troubles.isEmpty && news.all.isEmpty)
    }

    @Test func aProxyIsNamedWhereTheSentenceDoesNot() {
        let health = health(proxy: "p.example:3128")
        fail(health, "https://a.example/x", .unreachable("a.example: no connection can be made."))
        fail(health, "https://b.example/x", .unreachable("The proxy refuses connections to b.example (403)."))
        fail(health, "https://c.example/x", .untrusted("c.example: the certificate has expired."))
        #expect(
            Set(health.troubles.map(\.sentence)) == [
                "a.example: no connection can be made. Requests go through the proxy p.example:3128.",
                "The proxy refuses connections to b.example (403).", "c.example: the certificate has expired.",
            ])
    }

    @Test func strangersHostsAreBounded() {
        let health = health()
        for number in 0..<100 { fail(health, "https://\(number).example/", .unreachable("\(number)")) }
        #expect(health.troubles.count < 20 && health.troubles.count == news.all.count)
    }
}
