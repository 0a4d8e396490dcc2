import HTTP
import Synchronization
import TestSupport
import Testing

@testable import rankfs

/// What is told of hosts that cannot be asked.
@Suite struct HostHealthTests {
    private final class Sink: ResponseSink {
        func head(_ head: HTTPHead) -> Bool { true }
        func body(_ bytes: UnsafeRawBufferPointer) -> Bool { true }
        func finish(_ result: Result<Void, HTTPError>) {}
    }

    private final class News: Sendable {
        private let said = Mutex<[HostHealth.News]>([])
        var all: [HostHealth.News] { said.withLock { $0 } }
        func add(_ news: HostHealth.News) { said.withLock { $0.append(news) } }
    }

    private let transport = HeldTransport()
    private let news = News()

    private func health(proxy: String? = nil) -> HostHealth {
        HostHealth(transport, proxy: proxy, now: { 100 }, tell: { [news] in news.add($0) })
    }

    private func ask(_ health: HostHealth, _ url: String) -> HeldRequest? {
        _ = health.start(
            HTTPRequest(url: url, transferClass: .metadata, deadline: .now + .seconds(60), bodyLimit: 1), sink: Sink())
        return transport.requests.last
    }

    @Test func oneHostIsToldOfOnceUntilItAnswers() {
        let health = health()
        for _ in 0..<3 { ask(health, "https://u@a.example:8/x")?.fail(.untrusted("a.example: expired; renew it.")) }
        #expect(health.troubles == [.init(since: 100, sentence: "a.example: expired; renew it.")])
        ask(health, "https://b.example/x")?.fail(.unreachable("b.example: no route?"))
        #expect(health.troubles.count == 2)
        ask(health, "https://a.example:8/y")?.respond(status: 404)
        #expect(health.troubles.map(\.sentence) == ["b.example: no route?"])
        ask(health, "https://a.example:8/y")?.respond(body: [1])
        ask(health, "https://a.example:8/y")?.fail(.unreachable("a.example: gone."))
        #expect(
            news.all == [
                .trouble("a.example: expired; renew it."), .trouble("b.example: no route?"),
                .recovered(host: "a.example:8"), .trouble("a.example: gone."),
            ])
    }

    @Test(arguments: [
        HTTPError.timedOut, .broken("x"), .invalidAnswer("x"), .tooLarge, .redirectRefused("x"), .refused("x"),
        .offline,
        .cancelled, .limited(retryAfter: 1),
    ])
    func whatOneRequestMeetsIsNoTrouble(_ error: HTTPError) {
        let health = health()
        ask(health, "https://a.example/x")?.fail(error)
        #expect(health.troubles.isEmpty && news.all.isEmpty)
    }

    @Test func aProxyIsNamedWhereTheSentenceDoesNot() {
        let health = health(proxy: "p.example:3128")
        ask(health, "https://a.example/x")?.fail(.unreachable("a.example: no connection can be made."))
        ask(health, "https://b.example/x")?.fail(.unreachable("The proxy refuses connections to b.example (403)."))
        ask(health, "https://c.example/x")?.fail(.untrusted("c.example: the certificate has expired."))
        #expect(
            Set(health.troubles.map(\.sentence)) == [
                "a.example: no connection can be made. Requests go through the proxy p.example:3128.",
                "The proxy refuses connections to b.example (403).", "c.example: the certificate has expired.",
            ])
    }

    @Test func strangersHostsAreBounded() {
        let health = health()
        for number in 0..<100 { ask(health, "https://\(number).example/")?.fail(.unreachable("\(number)")) }
        #expect(health.troubles.count < 20 && health.troubles.count == news.all.count)
    }
}
