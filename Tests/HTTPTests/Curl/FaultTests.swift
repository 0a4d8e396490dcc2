import HTTP
import Testing

/// One kind of bad answer (or of good one that looks odd), and what must come of it.
struct Fault: CustomTestStringConvertible, Sendable {
    var name: String
    var steps: [ScriptedServer.Step]
    var expected: Kind
    /// The status that the sink sees, nil if it must see no head.
    var status: Int?
    var body = ""
    var range: (first: Int64, last: Int64?)?

    var testDescription: String { name }

    init(
        _ name: String, _ text: String, then steps: [ScriptedServer.Step] = [], _ expected: Kind, status: Int? = nil,
        body: String = "", range: (first: Int64, last: Int64?)? = nil
    ) {
        self.name = name
        self.steps = [.send(Array(text.utf8))] + steps
        self.expected = expected
        self.status = status
        self.body = body
        self.range = range
    }
}

private let ok = "HTTP/1.1 200 OK\r\n"
private let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
private let part = "HTTP/1.1 206 Partial Content\r\n"

private let faults: [Fault] = [
    Fault("trunc", ok + "Content-Length: 10\r\n\r\nhello", then: [.close], .broken, status: 200, body: "hello"),
    Fault("chunktrunc", chunked + "5\r\nhello\r\n", then: [.close], .broken, status: 200, body: "hello"),
    Fault("cllong", ok + "Content-Length: 6\r\n\r\nhello", then: [.close], .broken, status: 200, body: "hello"),
    Fault("cltwo", ok + "Content-Length: 10\r\nContent-Length: 5\r\n\r\nhellohello", then: [.close], .invalidAnswer),
    Fault("cltwo in one line", ok + "Content-Length: 10, 5\r\n\r\nhellohello", then: [.close], .invalidAnswer),
    Fault(
        "length twice the same", ok + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", .success, status: 200,
        body: "hello"),
    Fault("clneg", ok + "Content-Length: -5\r\n\r\nhello", then: [.close], .invalidAnswer),
    Fault("length not a number", ok + "Content-Length: five\r\n\r\nhello", then: [.close], .invalidAnswer),
    Fault(
        "length and chunks", ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        .invalidAnswer),
    Fault("chunked", chunked + "5\r\nhello\r\n0\r\n\r\n", .success, status: 200, body: "hello"),
    Fault("trailers", chunked + "5\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n", .success, status: 200, body: "hello"),
    Fault("closedelim", ok + "\r\nhello", then: [.close], .success, status: 200, body: "hello"),
    Fault("rst", ok + "Content-Length: 10\r\n\r\nhello", then: [.reset], .broken, status: 200),
    Fault("rst0", "", then: [.reset], .unreachable),
    Fault("fin0", "", then: [.close], .unreachable),
    Fault("head cut off", ok + "Content-Le", then: [.close], .broken),
    Fault("garbage", "\u{1}\u{2} this is not HTTP at all\r\n\r\n", then: [.close], .invalidAnswer),
    Fault("status not a number", "HTTP/1.1 2xx OK\r\n\r\n", then: [.close], .invalidAnswer),
    Fault("header without a name", ok + "nonsense\r\nContent-Length: 0\r\n\r\n", .invalidAnswer),
    Fault("gzip unasked", ok + "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", .invalidAnswer),
    Fault(
        "identity", ok + "Content-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello", .success, status: 200,
        body: "hello"),
    Fault("hdr1m", ok + "X-Large: \(String(repeating: "x", count: 1 << 20))\r\n\r\n", then: [.close], .invalidAnswer),
    Fault(
        "hdr10k", ok + String(repeating: "X-Many: y\r\n", count: 10_000) + "Content-Length: 0\r\n\r\n", then: [.close],
        .invalidAnswer),
    Fault(
        "interim answers without end", String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 500), then: [.close],
        .invalidAnswer),
    Fault(
        "interim answer", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello",
        .success, status: 200, body: "hello"),
    Fault(
        "endless", chunked,
        then: [.repeatForEver(Array("4000\r\n".utf8) + [UInt8](repeating: 0, count: 0x4000) + Array("\r\n".utf8))],
        .tooLarge, status: 200),
    Fault("promised too large", ok + "Content-Length: 99999999\r\n\r\n", then: [.hang], .tooLarge),
    Fault("rangeignored", answer("hello"), .success, status: 200, body: "hello", range: (2, 3)),
    Fault("416", answer("", status: "416 Range Not Satisfiable"), .success, status: 416, range: (9, nil)),
    Fault(
        "range", part + "Content-Range: bytes 2-3/5\r\nContent-Length: 2\r\n\r\nll", .success, status: 206, body: "ll",
        range: (2, 3)),
    Fault(
        "range cut by the end", part + "Content-Range: bytes 2-4/5\r\nContent-Length: 3\r\n\r\nllo", .success,
        status: 206, body: "llo", range: (2, 99)),
    Fault(
        "open range", part + "Content-Range: bytes 2-4/5\r\nContent-Length: 3\r\n\r\nllo", .success, status: 206,
        body: "llo", range: (2, nil)),
    Fault(
        "rangewrong", part + "Content-Range: bytes 0-1/5\r\nContent-Length: 2\r\n\r\nhe", .invalidAnswer, range: (2, 3)),
    Fault(
        "range too short", part + "Content-Range: bytes 2-2/5\r\nContent-Length: 1\r\n\r\nl", .invalidAnswer,
        range: (2, 3)),
    Fault(
        "range too long", part + "Content-Range: bytes 2-4/5\r\nContent-Length: 3\r\n\r\nllo", .invalidAnswer,
        range: (2, 3)),
    Fault("range untold", part + "Content-Length: 2\r\n\r\nll", .invalidAnswer, range: (2, 3)),
    Fault("range unasked", part + "Content-Range: bytes 2-3/5\r\nContent-Length: 2\r\n\r\nll", .invalidAnswer),
    Fault(
        "range and length differ", part + "Content-Range: bytes 2-3/5\r\nContent-Length: 3\r\n\r\nllo", .invalidAnswer,
        range: (2, 3)),
    Fault(
        "range shorter than told", part + "Content-Range: bytes 2-3/5\r\n\r\nl", then: [.close], .broken, status: 206,
        body: "l", range: (2, 3)),
    Fault(
        "range without end", part + "Content-Range: bytes 2-3/5\r\nTransfer-Encoding: chunked\r\n\r\n",
        then: [.repeatForEver(Array("4\r\nllll\r\n".utf8))], .invalidAnswer, status: 206, range: (2, 3)),
    Fault("s404", answer("gone", status: "404 Not Found"), .success, status: 404, body: "gone"),
    Fault("304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", .success, status: 304),
]

@Suite("CurlTransport on bad answers", .timeLimit(.minutes(1)))
struct FaultTests {
    @Test(arguments: faults)
    func judges(_ fault: Fault) async throws {
        let bench = try Bench()
        bench.server.script("/f", fault.steps)
        let record = await bench.fetch(bench.request("/f", range: fault.range, bodyLimit: 1 << 20))
        #expect(Kind(record.result) == fault.expected)
        #expect(record.head?.status == fault.status)
        if fault.expected == .success || !fault.body.isEmpty { #expect(record.body == Array(fault.body.utf8)) }
        #expect(record.body.count <= 1 << 20)
        #expect(record.finishes == 1)
        // The next request on the same transport is not harmed.
        bench.server.script("/ok", answer("fine"))
        let next = await bench.fetch(bench.request("/ok"))
        #expect(Kind(next.result) == .success)
        #expect(next.body == Array("fine".utf8))
    }

    /// What an error says is read once, and not beyond what any service has to say.
    @Test(arguments: ["429 Too Many Requests", "503 Service Unavailable", "404 Not Found"], [true, false])
    func anErrorWithoutEndIsReadNoFurtherThanItsBeginning(status: String, tells: Bool) async throws {
        let bench = try Bench()
        let head = "HTTP/1.1 \(status)\r\n"
        let chunk = [UInt8](repeating: 0, count: 0x4000)
        bench.server.script(
            "/f",
            tells
                ? [.send(Array((head + "Content-Length: 268435456\r\n\r\n").utf8)), .repeatForEver(chunk)]
                : [
                    .send(Array((head + "Transfer-Encoding: chunked\r\n\r\n").utf8)),
                    .repeatForEver(Array("4000\r\n".utf8) + chunk + Array("\r\n".utf8)),
                ])
        let record = await bench.fetch(bench.request("/f", bodyLimit: 256 << 20))
        #expect(Kind(record.result) == .success)
        #expect(record.head.map { status.hasPrefix("\($0.status)") } == true)
        #expect(record.body.count <= 64 << 10)
        await bench.server.waitForClientGone("/f")
    }

    @Test(arguments: ["hdr", "body"])
    func endsStalls(_ kind: String) async throws {
        // Long enough that a busy machine gets as far as the head.
        let bench = try Bench(stall: .seconds(1))
        let head = Array((ok + "Content-Length: 10\r\n\r\n").utf8)
        bench.server.script("/s", kind == "hdr" ? [.hang] : [.send(head), .send([1]), .hang])
        let record = await bench.fetch(bench.request("/s"))
        #expect(Kind(record.result) == .timedOut)
        #expect(record.head?.status == (kind == "hdr" ? nil : 200))
        await bench.server.waitForClientGone("/s")
    }

    @Test func keepsItsDeadline() async throws {
        // Longer than a busy machine takes.
        let bench = try Bench(connections: 1, stall: .seconds(60))
        bench.server.script("/s", [.hang])
        let blocker = Recorder()
        let transfer = bench.queue.start(bench.request("/s", deadline: .seconds(50)), sink: blocker)
        await bench.server.waitForRequests(1)
        // One that is under way in its own class, and one that still waits for the slot.
        async let active = bench.fetch(bench.request("/s", transferClass: .metadata, deadline: .milliseconds(150)))
        async let queued = bench.fetch(bench.request("/s", deadline: .milliseconds(150)))
        let (first, second) = await (Kind(active.result), Kind(queued.result))
        #expect(first == .timedOut)
        #expect(second == .timedOut)
        // The one that waited for the slot was never sent.
        #expect(bench.server.requests.count <= 2)
        transfer.cancel()
        #expect(Kind(await blocker.end().result) == .cancelled)
    }

    @Test func inflatesOnlyWhatItAskedForAndWithinBounds() async throws {
        let bench = try Bench()
        func script(_ body: [UInt8]) {
            let head = ok + "Content-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n"
            bench.server.script("/z", [.send(Array(head.utf8) + body)])
        }
        script(Gzipped.hello)
        let small = await bench.fetch(bench.request("/z", acceptsCompression: true))
        #expect(Kind(small.result) == .success)
        #expect(small.body == Array("hello".utf8))
        #expect(bench.server.requests.last?.contains("Accept-Encoding: gzip\r\n") == true)
        script(Gzipped.bomb)
        let bomb = await bench.fetch(bench.request("/z", bodyLimit: 65_536, acceptsCompression: true))
        #expect(Kind(bomb.result) == .tooLarge)
        #expect(bomb.body.count <= 65_536)
        script([1, 2, 3, 4])
        let broken = await bench.fetch(bench.request("/z", acceptsCompression: true))
        #expect(Kind(broken.result) == .invalidAnswer)
    }

    @Test func aSinkThatRefusesEndsTheTransfer() async throws {
        let bench = try Bench()
        bench.server.script("/a", [.send(Array((ok + "Content-Length: 10\r\n\r\nhello").utf8)), .hang])
        let recorder = Recorder(accepts: false)
        _ = bench.transport.start(bench.request("/a"), sink: recorder)
        #expect(Kind(await recorder.end().result) == .cancelled)
        #expect(recorder.record.body.isEmpty)
        await bench.server.waitForClientGone("/a")
    }

    @Test func refusesMalformedRequests() async throws {
        let bench = try Bench()
        let good = bench.request("/a")
        var requests = [good, good, good, good, good]
        requests[0].headers = ["X: a\r\nInjected: yes"]
        requests[1].url = "http://user:secret@127.0.0.1:\(bench.server.port)/"
        requests[2].url = "https://elsewhere.example/"
        requests[3].url = "ftp://127.0.0.1/"
        requests[4].range = (5, 2)
        for request in requests {
            let record = await bench.fetch(request)
            #expect(Kind(record.result) == .unsendable)
            if case .failure(.unsendable(let reason)) = record.result { #expect(!reason.contains("secret")) }
        }
        #expect(bench.server.connections == 0)
    }
}
