import HTTP
import Synchronization
import Testing

@Suite("TransferObserver", .timeLimit(.minutes(1)))
struct ObserverTests {
    private final class Observer: TransferObserver {
        let heard = Mutex<[String]>([])

        func answered(_ request: HTTPRequest) { add("answered", request) }

        func ended(_ request: HTTPRequest, _ outcome: TransferOutcome) {
            let error = outcome.failure.map { " \(Kind(.failure($0)))" } ?? ""
            add("ended \(outcome.status ?? 0) \(outcome.bytes)\(error)", request)
            #expect(outcome.duration >= .zero)
        }

        private func add(_ text: String, _ request: HTTPRequest) {
            heard.withLock { $0.append("\(request.url.split(separator: "/").last ?? ""): \(text)") }
        }
    }

    @Test func itHearsOfEveryRequestBeforeItsSinkDoes() async throws {
        let observer = Observer()
        let bench = try Bench(observer: observer)
        bench.server.script("/a", answer("four"))
        #expect(Kind(await bench.fetch(bench.request("/a")).result) == .success)
        #expect(observer.heard.withLock { $0 } == ["a: answered", "a: ended 200 4"])
        bench.server.script("/b", [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab".utf8)), .close])
        #expect(Kind(await bench.fetch(bench.request("/b")).result) == .broken)
        #expect(observer.heard.withLock { $0.suffix(2) } == ["b: answered", "b: ended 200 2 broken"])
        var refused = bench.request("/c")
        refused.url = "https://elsewhere.example/c"
        _ = await bench.fetch(refused)
        #expect(observer.heard.withLock { $0.last } == "c: ended 0 0 unsendable")
    }
}
