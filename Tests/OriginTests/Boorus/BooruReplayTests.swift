import Foundation
import Rankings
import Testing

@testable import Origin

/// Recorded posts of boards, which nothing mounts, with files that are made for them.
@Suite(.timeLimit(.minutes(2))) struct BooruReplayTests {
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
}
