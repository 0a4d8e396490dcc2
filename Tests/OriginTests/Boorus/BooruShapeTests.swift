import Rankings
import Testing

@testable import Origin

/// The records have the shape of the recorded ones: the same keys in the same order, the same JSON types.
@Suite(.timeLimit(.minutes(2))) struct BooruShapeTests {
    private func danbooruRecords() throws -> [JSON] {
        try ["posts-2026-09", "posts-gif-2023"].flatMap { try recordedAnswer("danbooru/\($0).json").children }
    }

    @Test func danbooruPosts() throws {
        let theirs = try danbooruRecords()
        let ours = try Booru.danbooru.json("/posts.json?tags=date:2024-04-30+order:score&limit=200").children
        let visible = ours.filter { $0["md5"] != nil }
        #expect(ours.count == 200 && visible.count > 190 && visible.count < 200)
        for record in visible {
            #expect(Shape.differences(record, theirs) == [], "\(record["id"]?.number ?? 0)")
            #expect(record.keys == theirs[0].keys && record.keys.count == 46)
            #expect(record["media_asset"]?.keys == theirs[0]["media_asset"]?.keys)
        }
    }

    @Test(arguments: ["banned", "restricted"]) func danbooruPostsWithoutAFile(mark: String) throws {
        let record = try Booru.danbooru.json("/posts/\(Landmarks.id(mark, .danbooru)).json")
        let theirs = try danbooruRecords()
        let hidden: Set = ["md5", "file_url", "large_file_url", "preview_file_url"]
        #expect(record.keys == theirs[0].keys.filter { !hidden.contains($0) } && record.keys.count == 42)
        let inner = try #require(record["media_asset"])
        #expect(inner["md5"] == nil && inner["variants"] == nil && inner["id"] != nil)
        #expect(record["is_banned"]?.flag == (mark == "banned"))
        let text = String(decoding: record.bytes, as: UTF8.self)
        #expect(!text.contains("cdn.donmai.us"))
    }

    @Test func danbooruVariants() throws {
        func types(_ mark: String) throws -> [String?] {
            let record = try Booru.danbooru.json("/posts/\(Landmarks.id(mark, .danbooru)).json")
            return try #require(record["media_asset"]?["variants"]).children.map { $0["type"]?.string }
        }
        let recorded = try danbooruRecords().map { record in
            record["media_asset"]?["variants"]?.children.map { $0["type"]?.string } ?? []
        }
        #expect(try types("plain") == recorded[0])
        #expect(try types("gif") == recorded[2])
        #expect(try types("small") == recorded[2], "no sample of what is no wider than one")
        #expect(try types("mp4") == recorded[2])
        #expect(try types("webp") == ["180x180", "360x360", "720x720", "sample", "full", "original"])
        #expect(try types("expunged") == [])
    }

    @Test func danbooruErrors() throws {
        let error = Booru.danbooru.get("/posts.json?page=1001")
        #expect(error.status == 410)
        let recorded = try recordedAnswer("danbooru/error-410-page-1001.json")
        #expect(Shape.differences(try error.json(), [recorded]) == [])
        #expect(try error.json()["error"]?.string == recorded["error"]?.string)
        #expect(try error.json()["message"]?.string == recorded["message"]?.string)
    }

    @Test(arguments: [Service.yandere, .konachan]) func moebooruPosts(site: Service) throws {
        let theirs =
            try recordedAnswer("moebooru/yandere-post-1223391-2025-03.json").children
            + recordedAnswer("moebooru/konachan-net-popular-recent-2026-09.json").children
        let ours = try Booru.of(site).json("/post.json?tags=date:2024-04-30+order:score&limit=100").children
        #expect(ours.count > 30)
        for record in ours where record["status"]?.string == "active" {
            #expect(Shape.differences(record, theirs) == [])
            #expect(record.keys == theirs[0].keys && record.keys.count == 44)
        }
        let flagged = try #require(ours.first { $0["status"]?.string == "flagged" })
        #expect(flagged["flag_detail"]?["post_id"]?.number == Landmarks.id("flagged", site))
    }

    @Test func moebooruObjects() throws {
        let theirs = try recordedAnswer("moebooru/azige-moebooru-viewer-postV2_limit100.json")
        let ours = try Booru.yandere.json(
            "/post.json?api_version=2&include_tags=1&tags=id:\(Landmarks.id("plain", .yandere))")
        #expect(Set(ours.keys) == Set(theirs.keys).union(["tags"]))
        let record = try #require(ours["posts"]?.children.first)
        #expect(Shape.differences(record, theirs["posts"]?.children ?? []) == [])
        let names = Set((record["tags"]?.string ?? "").split(separator: " ").map(String.init))
        let typed = try #require(ours["tags"])
        #expect(!names.isEmpty && Set(typed.keys) == names)
        let types = Set(typed.children.compactMap(\.string))
        #expect(types.isSuperset(of: ["artist", "copyright", "character", "general"]))
    }

    @Test func moebooruDeletedPosts() throws {
        let id = Landmarks.id("deleted", .yandere)
        let record = try #require(try Booru.yandere.json("/post.json?tags=id:\(id)").children.first)
        for key in ["file_url", "sample_url", "jpeg_url"] { #expect(record[key] == nil) }
        #expect(record["status"]?.string == "deleted" && record["md5"] != nil)
        #expect(Booru.yandere.get(try record.path("preview_url")).status == 200)
        #expect(!(try Booru.yandere.ids("/post.json?tags=date:2024-04-30&limit=200")).contains(id))
    }
}

extension JSON {
    /// Every text in it, for searching.
    fileprivate var bytes: [UInt8] {
        switch self {
        case .string(let text): Array(text.utf8) + [0]
        default: children.flatMap(\.bytes)
        }
    }
}
