@testable import HTTP
import Testing

@testable import rankfs

/// The debug lines of requests.
@Suite struct TransferLogTests {
    private static func request(_ url: String) -> HTTPRequest {
        HTTPRequest(
            method: .get, url: url, headers: ["Cookie: PHPSESSID=1_secret"], transferClass: .bulk,
            deadline: .now + .seconds(60), bodyLimit: 1 << 20, purpose: .picture)
    }

    @Test func eachEndIsALine() {
        let answered = Log.line(
            of: Self.request("https://i.example/a/1_p0.jpg?token=secret&p=2"),
            TransferOutcome(status: 200, bytes: 3, duration: .milliseconds(12)))
        #expect(answered == "picture GET i.example/a/1_p0.jpg?p=2: 200, 3 B in 12 ms")
        let failed = Log.line(of: Self.request("https://i.example/b"), TransferOutcome(failure: .timedOut))
        #expect(failed == "picture GET i.example/b: it did not answer in time, 0 B in 0 ms")
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
        #expect(Log.shown(url) == shown)
    }
}
