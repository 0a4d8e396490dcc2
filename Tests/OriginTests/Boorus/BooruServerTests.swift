import Foundation
import Rankings
import Testing

@testable import Origin

/// The boorus over sockets: faults, logs and recorded answers are as for pixiv.
@Suite(.timeLimit(.minutes(2))) struct BooruServerTests {
    private let named = ["User-Agent: rankfs-tests/1.0"]

    @Test func faultsBreakOnePicture() async throws {
        let server = try OriginServer.start { $0.service = .danbooru }
        defer { server.stop() }
        let id = Landmarks.id("breakable", .danbooru)
        let answer = await fetch(server, "/posts/\(id).json", headers: named, referer: false)
        let record = try #require(JSON(answer.body))
        let path = try record.path("file_url")
        let good = await fetch(server, path, headers: named, referer: false)
        #expect(good.status == 200 && digest(of: good.body) == record["md5"]?.string)
        let rule = "{\"action\":\"flip\",\"path\":\"\(record["md5"]?.string ?? "")\"}"
        #expect(await fetch(server, "/_control", method: "POST", body: rule).status == 200)
        let bad = await fetch(server, path, headers: named, referer: false)
        #expect(bad.body.count == good.body.count && digest(of: bad.body) != record["md5"]?.string)
        #expect(await fetch(server, path, referer: false).status == 403, "who gives no name")
    }

    @Test func throttling() async throws {
        let server = try OriginServer.start { $0.service = .yandere }
        defer { server.stop() }
        let rules =
            "{\"action\":\"status\",\"status\":421,\"count\":1}\n{\"action\":\"status\",\"status\":503,\"count\":1}"
        #expect(await fetch(server, "/_control", method: "POST", body: rules).status == 200)
        var statuses: [Int] = []
        for _ in 0..<3 { statuses.append(await fetch(server, "/post.json?limit=1", referer: false).status) }
        #expect(statuses == [421, 503, 200])
        #expect(await fetch(server, "/_control/expire-sessions", method: "POST").status == 404)
    }

    private static let payloads = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Payloads").path

    @Test(arguments: [(Service.danbooru, 4), (.yandere, 37), (.konachan, 10)])
    func recordedPosts(site: Service, posts: Int) throws {
        let booru = try Booru(site) { $0.replay = Self.payloads }
        let target = (site == .danbooru) ? "/posts.json?limit=200" : "/post.json?limit=1000"
        let records = try booru.json("\(target)&tags=date:2020-01-01+order:score").children
        #expect(records.count == posts)
        for record in records.prefix(4) {
            let path = try record.path("file_url")
            let bytes = booru.get(path).bytes
            #expect(digest(of: bytes) == record["md5"]?.string && Int64(bytes.count) == record["file_size"]?.number)
            #expect(path.contains(record["md5"]?.string ?? "?"))
            if let asset = record["media_asset"] {
                #expect(asset["md5"]?.string == record["md5"]?.string)
                #expect(asset["file_size"]?.number == record["file_size"]?.number)
            }
            let size = record["sample_file_size"]?.number ?? 0
            if size > 0 { #expect(try Int64(booru.get(record.path("sample_url")).bytes.count) == size) }
            let id = try #require(record["id"]?.number)
            #expect(try booru.ids("\(target)&tags=id:\(id)") == [id])
        }
        #expect(booru.get("/nothing.json").status == 404)
    }

    @Test func aDirectoryOfRecordingsMustBeThere() {
        #expect(throws: Failure.self) {
            try OriginServer.start {
                $0.service = .konachan
                $0.replay = "/nonexistent"
            }
        }
    }
}
