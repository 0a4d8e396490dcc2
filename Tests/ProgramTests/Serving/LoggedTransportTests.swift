import HTTP
import Synchronization
import TestSupport
import Testing

@testable import rankfs

/// The debug lines of requests.
@Suite struct RequestLogTests {
    private final class Sink: ResponseSink {
        let bytes = Mutex(0)

        func head(_ head: HTTPHead) -> Bool { true }

        func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
            let count = bytes.count
            self.bytes.withLock { $0 += count }
            return true
        }

        func finish(_ result: Result<Void, HTTPError>) {}
    }

    private static func request(_ url: String) -> HTTPRequest {
        HTTPRequest(
            method: .get, url: url, headers: ["Cookie: PHPSESSID=1_secret"], transferClass: .bulk,
            deadline: .now + .seconds(60), bodyLimit: 1 << 20, purpose: .picture)
    }

    @Test func eachEndIsALineWhileTheyAreWanted() {
        let held = HeldTransport()
        let log = LineLog()
        let transport = LoggedTransport(held, isOn: { log.isOn.withLock { $0 } }, write: { log.add($0) })
        let sink = Sink()
        _ = transport.start(Self.request("https://i.example/a/1_p0.jpg?token=secret&p=2"), sink: sink)
        #expect(log.all.isEmpty, "nothing has ended")
        held.requests[0].respond(body: [1, 2, 3])
        #expect(log.all.count == 1 && sink.bytes.withLock { $0 } == 3)
        #expect(log.all[0].hasPrefix("picture GET i.example/a/1_p0.jpg?p=2: 200, 3 B in "), "\(log.all)")
        _ = transport.start(Self.request("https://i.example/b"), sink: sink)
        held.requests[1].fail(.timedOut)
        #expect(log.all.last?.hasPrefix("picture GET i.example/b: timed out, 0 B in ") == true)
        #expect(!log.all.joined().contains("secret"))
        log.isOn.withLock { $0 = false }
        _ = transport.start(Self.request("https://i.example/c"), sink: sink)
        held.requests[2].respond(body: [1])
        #expect(log.all.count == 2 && sink.bytes.withLock { $0 } == 4, "the answer comes through all the same")
    }

    private final class LineLog: Sendable {
        let isOn = Mutex(true)
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    @Test(arguments: [
        (
            "https://www.pixiv.net/ranking.php?format=json&mode=daily&date=20240501&p=1",
            "www.pixiv.net/ranking.php?mode=daily&date=20240501&p=1"
        ),
        ("http://u:secret@127.0.0.1:8080/x?PHPSESSID=secret#p=secret", "127.0.0.1:8080/x"),
        ("https://h", "h"), ("https://h?mode=daily", "h?mode=daily"), ("https://h/a@b", "h/a@b"), ("", ""),
    ])
    func addressesTellNoSecrets(_ url: String, shown: String) {
        #expect(LoggedTransport.shown(url) == shown)
    }
}
