import Foundation
import Testing

@testable import Origin

@Suite(.timeLimit(.minutes(1))) struct FaultTests {
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

    @Test func bodiesThatLie() async throws {
        let server = try OriginServer.start { $0.chunks = false }
        defer { server.stop() }
        let path = try picture()
        let good = await fetch(server, path)
        let length = good.body.count

        #expect(await post(server, rule("\"trunc\"")) == 200)
        let cut = await fetch(server, path)
        #expect(cut["Content-Length"] == "\(length)")
        #expect(cut.body.elementsEqual(good.body[..<(length / 2)]))

        #expect(await post(server, rule("\"trunc\", \"after\": 0")) == 200)
        #expect(await fetch(server, path).body.isEmpty)

        #expect(await post(server, rule("\"flip\", \"at\": 1234")) == 200)
        let flipped = await fetch(server, path).body
        #expect(zip(flipped, good.body).enumerated().filter { $0.element.0 != $0.element.1 }.map(\.offset) == [1234])

        #expect(await post(server, rule("\"notrailer\"")) == 200)
        let blunt = await fetch(server, path).body
        #expect(blunt.count == length)
        #expect(blunt.suffix(2) == [0, 0])

        #expect(await post(server, rule("\"empty\"")) == 200)
        #expect(await fetch(server, path)["Content-Length"] == "0")

        #expect(await post(server, rule("\"endless\"")) == 200)
        let endless = await fetch(server, path, upTo: length + 1_000_000)
        #expect(!endless.isWhole)
        #expect(endless.body.count > length)

        #expect(await post(server, "") == 200)
        #expect(await fetch(server, path).body == good.body, "right again once the script is gone")
    }

    @Test func headersThatLie() async throws {
        let server = try OriginServer.start { $0.chunks = false }
        defer { server.stop() }
        let path = try picture()
        let good = await fetch(server, path)
        let length = good.body.count
        func lengths(_ answer: Received) -> [String] {
            answer.headers.filter { $0.name == "Content-Length" }.map(\.value)
        }
        for (action, told) in [
            "\"cllong\"": ["\(length + 1000)"], "\"clshort\"": ["\(length - 1000)"],
            "\"cltwo\"": ["\(length)", "\(length / 2)"], "\"clneg\"": ["-1"], "\"closedelim\"": [], "\"chunked\"": [],
        ] {
            #expect(await post(server, rule(action)) == 200)
            let answer = await fetch(server, path)
            #expect(lengths(answer) == told, "\(action)")
            #expect(answer.body == good.body, "\(action)")
        }
        #expect(await post(server, rule("\"gzip\"")) == 200)
        let packed = await fetch(server, path)
        #expect(packed["Content-Encoding"] == "gzip")
        #expect(packed.body.starts(with: [0x1f, 0x8b]))
        #expect(await post(server, rule("\"modified\"")) == 200)
        let modified = await fetch(server, path)
        #expect(modified["Last-Modified"] != good["Last-Modified"])
        #expect(await post(server, rule("\"headlies\"")) == 200)
        #expect(await fetch(server, path, method: "HEAD")["Content-Length"] == "\(length + 1000)")
        #expect(await fetch(server, path)["Content-Length"] == "\(length)")
        #expect(await post(server, rule("\"hdr10k\"")) == 200)
        #expect(await fetch(server, path).headers.count > 10_000)
    }

    @Test func otherAnswers() async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        let path = try picture()
        #expect(await post(server, rule("\"status\", \"status\": 429, \"retry_after\": \"120\"")) == 200)
        let limited = await fetch(server, path)
        #expect(limited.status == 429)
        #expect(limited["Retry-After"] == "120")
        #expect(await post(server, rule("\"redirect\", \"location\": \"file:///etc/passwd\"")) == 200)
        #expect(await fetch(server, path)["Location"] == "file:///etc/passwd")
        for (action, type) in [
            "html200": "text/html", "json200": "application/json; charset=utf-8", "placeholder": "image/png",
        ] {
            #expect(await post(server, rule("\"\(action)\"")) == 200)
            let answer = await fetch(server, path)
            #expect(answer.status == 200)
            #expect(answer["Content-Type"] == type)
        }
        #expect(await post(server, "{\"action\":\"text\",\"path\":\"/ajax/\",\"text\":\"null\",\"status\":404}") == 200)
        let text = await fetch(server, "/ajax/illust/1")
        #expect(text.status == 404 && text.body == Array("null".utf8) && text["Content-Length"] == "4")
        #expect(await post(server, rule("\"nohead\"")) == 200)
        #expect(await fetch(server, path, method: "HEAD").status == 405)
        #expect(await fetch(server, path).status == 200)
        for action in ["fin0", "rst0", "garbage"] {
            #expect(await post(server, rule("\"\(action)\"")) == 200)
            #expect(await fetch(server, path, upTo: 1).status == 0)
        }
    }

    @Test func rangesThatLie() async throws {
        let server = try OriginServer.start { $0.chunks = false }
        defer { server.stop() }
        let path = try picture()
        let good = await fetch(server, path)
        let range = ["Range: bytes=100-199"]
        #expect(await post(server, rule("\"rangeignored\"")) == 200)
        #expect(await fetch(server, path, headers: range).body == good.body)
        #expect(await post(server, rule("\"rangewrong\"")) == 200)
        #expect(await fetch(server, path, headers: range)["Content-Range"] == "bytes 101-200/\(good.body.count)")
        #expect(await post(server, rule("\"rangebytes\"")) == 200)
        let other = await fetch(server, path, headers: range)
        #expect(other["Content-Range"] == "bytes 100-199/\(good.body.count)")
        #expect(zip(other.body, good.body[100...199]).allSatisfy { $0 != $1 })
        #expect(await post(server, rule("\"rangezero\"")) == 200)
        let beginning = await fetch(server, path, headers: range)
        #expect(beginning["Content-Range"] == other["Content-Range"] && beginning.body == Array(good.body[..<100]))
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

    @Test func aFileIsReadAgainWhenItChanges() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/faults"
        let server = try OriginServer.start { $0.faults = file }
        defer { server.stop() }
        let path = try picture()
        #expect(await fetch(server, path, headers: ["Range: bytes=0-0"]).status == 206)
        try "# a comment\n\(rule("\"status\", \"status\": 503"))\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        #expect(await fetch(server, path).status == 503)
        try rule("\"status\", \"status\": 500").write(toFile: file, atomically: true, encoding: .utf8)
        #expect(await fetch(server, path).status == 500)
        try FileManager.default.removeItem(atPath: file)
        #expect(await fetch(server, path, headers: ["Range: bytes=0-0"]).status == 206)
    }
}
