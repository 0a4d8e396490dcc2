import HTTP
import Testing

@Suite("CurlTransport on good answers", .timeLimit(.minutes(1)))
struct TransportTests {
    @Test func getsAWholeBody() async throws {
        let bench = try Bench()
        bench.server.script("/a", answer("hello", headers: ["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"]))
        let record = await bench.fetch(bench.request("/a", headers: ["Referer: https://example.org/"]))
        #expect(Kind(record.result) == .success)
        #expect(record.head?.status == 200)
        #expect(record.head?.lastModified == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(record.body == Array("hello".utf8))
        #expect(record.finishes == 1)
        let request = try #require(bench.server.requests.first)
        #expect(request.contains("Referer: https://example.org/\r\n"))
        #expect(request.contains("User-Agent: rankfs-test\r\n"))
        #expect(!request.contains("Accept-Encoding"))
    }

    @Test func streamsBytesAsTheyCome() async throws {
        let bench = try Bench()
        bench.server.script(
            "/slow",
            [
                .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc".utf8)), .gate("rest"),
                .send(Array("def".utf8)),
            ])
        let recorder = Recorder()
        _ = bench.transport.start(bench.request("/slow"), sink: recorder)
        await recorder.waitForBody(3)
        #expect(recorder.record.result == nil)
        bench.server.open("rest")
        #expect(await recorder.end().body == Array("abcdef".utf8))
    }

    @Test func requestsAreCountedByPurpose() async throws {
        let bench = try Bench()
        bench.server.script("/a", answer("hello"))
        bench.server.script("/moved", "HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n")
        bench.server.script("/busy", "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n")
        bench.server.script("/short", [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na".utf8)), .close])
        bench.server.script("/head", "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n")
        for path in ["/a", "/moved", "/busy", "/short"] { _ = await bench.fetch(bench.request(path)) }
        var head = bench.request("/head", .head, transferClass: .metadata)
        head.purpose = .size
        _ = await bench.fetch(head)
        var nowhere = bench.request("/a")
        nowhere.url = "http://127.0.0.1:1/a"
        _ = await bench.fetch(nowhere)
        let counts = Dictionary(uniqueKeysWithValues: bench.transport.requestCounts.map { ($0.purpose, $0.counts) })
        var picture = RequestCounts()
        picture.get = bench.server.requests.count - 1
        (picture.receivedBytes, picture.succeeded, picture.redirected, picture.limited) = (11, 3, 1, 1)
        picture.broken = 1
        #expect(counts[.picture] == picture, "what is refused before it is sent is no request")
        var size = RequestCounts()
        (size.head, size.succeeded) = (1, 1)
        #expect(counts[.size] == size)
        #expect(counts[.api] == RequestCounts() && counts[.preview] == RequestCounts())
    }

    /// The store may have carried out the first of two writes, and then declines the second.
    @Test func whatIsSentIsNotSentAgainOnASilentConnection() async throws {
        let bench = try Bench()
        bench.server.script("/a", answer("x"))
        bench.server.script("/slow", [.hang])
        #expect(Kind(await bench.fetch(bench.request("/a")).result) == .success)
        var request = bench.request("/slow", deadline: .milliseconds(600))
        request.method = .put
        request.content = RequestContent(Array("lease".utf8))
        #expect(Kind(await bench.fetch(request).result) == .timedOut)
        #expect(bench.server.requests.count == 2)
    }

    @Test func cancellingClosesTheConnection() async throws {
        let bench = try Bench()
        bench.server.script("/hang", [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na".utf8)), .hang])
        let recorder = Recorder()
        let transfer = bench.transport.start(bench.request("/hang"), sink: recorder)
        await recorder.waitForBody(1)
        transfer.cancel()
        #expect(Kind(await recorder.end().result) == .cancelled)
        transfer.cancel()
        await bench.server.waitForClientGone("/hang")
        #expect(recorder.record.finishes == 1)
    }
}
