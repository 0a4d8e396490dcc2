import Testing

@testable import Origin

@Suite(.timeLimit(.minutes(5))) struct FaultTests {
    private func post(_ server: OriginServer, _ script: String) async -> Int {
        await fetch(server, "/_control", method: "POST", body: script).status
    }

    private func rule(_ action: String) -> String {
        "{\"action\": \(action), \"path\": \"master1200\"}"
    }

    private func picture() throws -> String {
        try #require(Universe(seed: 1).newest()).path
    }

    @Test func countsAndConditions() throws {
        let line =
            "{\"action\":\"empty\",\"prefix\":\"/a\",\"suffix\":\".jpg\",\"path\":\"b\",\"method\":\"GET\",\"skip\":1,\"count\":2}"
        var rule = try #require(Fault(Array(line.utf8)))
        func applies(_ method: String, _ target: String) -> Bool {
            rule.applies(to: Request(method: method, target: target))
        }
        #expect(!applies("GET", "/a/b.png"))
        #expect(!applies("GET", "/x/ab.jpg"))
        #expect(!applies("GET", "/a/c.jpg"))
        #expect(!applies("HEAD", "/a/b.jpg"))
        #expect(!applies("GET", "/a/b.jpg"), "the first match is spared")
        #expect(applies("GET", "/a/b.jpg"))
        #expect(applies("GET", "/a/b.jpg"))
        #expect(!applies("GET", "/a/b.jpg"), "two went wrong")
    }

    @Test(arguments: [
        "{}", "[]", "{\"action\":\"no such\"}", "{\"action\":\"status\"}", "{\"action\":\"text\"}",
        "{\"action\":\"slow\",\"rate\":0}",
    ])
    func refusesWhatIsNoRule(line: String) async throws {
        #expect(Fault(Array(line.utf8)) == nil)
        let server = try OriginServer.start()
        defer { server.stop() }
        #expect(await post(server, line) == 400)
    }

    /// Faults that a reader must not notice.
    ///
    /// The others are noticed by MountTests once they spoil nothing.
    @Test func whatIsOddButWhole() async throws {
        let server = try OriginServer.start { $0.chunks = false }
        defer { server.stop() }
        let path = try picture()
        let good = await fetch(server, path)
        let length = good.body.count
        func spoilt(_ action: String, _ method: String = "GET", _ headers: [String] = []) async -> Received {
            #expect(await post(server, rule("\"\(action)\"")) == 200)
            return await fetch(server, path, method: method, headers: headers)
        }
        for action in ["closedelim", "chunked"] {
            let answer = await spoilt(action)
            #expect(answer["Content-Length"] == nil && answer.body == good.body, "\(action)")
        }
        #expect(await spoilt("modified")["Last-Modified"] != good["Last-Modified"])
        #expect(await spoilt("headlies", "HEAD")["Content-Length"] == "\(length + 1000)")
        #expect(await spoilt("headlies")["Content-Length"] == "\(length)")
        #expect(await spoilt("nohead", "HEAD").status == 405)
        #expect(await spoilt("nohead").status == 200)

        let range = ["Range: bytes=100-199"]
        #expect(await spoilt("rangeignored", "GET", range).body == good.body)
        #expect(await spoilt("rangewrong", "GET", range)["Content-Range"] == "bytes 101-200/\(length)")
        let (others, beginning) = (await spoilt("rangebytes", "GET", range), await spoilt("rangezero", "GET", range))
        for answer in [others, beginning] { #expect(answer["Content-Range"] == "bytes 100-199/\(length)") }
        #expect(zip(others.body, good.body[100...199]).allSatisfy { $0 != $1 })
        #expect(beginning.body == Array(good.body[..<100]))

        #expect(await post(server, rule("\"flip\", \"at\": 1234")) == 200)
        let flipped = await fetch(server, path).body
        #expect(zip(flipped, good.body).enumerated().filter { $0.element.0 != $0.element.1 }.map(\.offset) == [1234])
        #expect(await post(server, "") == 200)
        #expect(await fetch(server, path).body == good.body, "right again once the script is gone")
    }

    @Test func stoppingEndsAnswersThatStall() async throws {
        let server = try OriginServer.start()
        let path = try picture()
        #expect(await post(server, rule("\"stallbody\", \"after\": 10")) == 200)
        // the header and ten bytes come, then nothing: read no further than that
        let answer = await fetch(server, path, upTo: 10)
        #expect(answer.status == 200)
        #expect(await post(server, rule("\"stallhdr\"")) == 200)
        async let silent = fetch(server, path)
        server.stop()
        #expect(await silent.status == 0)
    }
}
