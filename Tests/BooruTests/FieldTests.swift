@testable import Boards
import Foundation
import Rankings
import Sourcing
import Testing

/// Every field of the recorded answers is decoded, shown, or left out on purpose.
@Suite struct FieldTests {
    @Test func everyFieldOfDanbooruIsAccountedFor() throws {
        let posts = try Recorded.all("danbooru").flatMap(\.posts)
        expectKnown(posts, .danbooruPost)
        let assets = posts.compactMap { $0.object("media_asset") }
        expectKnown(assets, .danbooruAsset)
        expectKnown(assets.flatMap { $0["variants"] as? [[String: Any]] ?? [] }, .danbooruVariant)
    }

    @Test func everyFieldOfMoebooruIsAccountedFor() throws {
        expectKnown(try Recorded.all("moebooru").flatMap(\.posts), .moebooruPost)
        expectKnown([try object("moebooru/azige-moebooru-viewer-postV2_limit100")], .moebooruAnswer)
    }

    /// What the lists call decoded changes what is known of a post, and nothing else does.
    @Test func theListsOfDanbooruAreTrue() throws {
        var whole = try #require(try Recorded("danbooru/posts-2026-09").posts.last)
        whole["approver_id"] = 7
        whole["parent_id"] = 8
        whole["last_noted_at"] = "2026-09-27T14:53:48.533-04:00"
        whole["last_commented_at"] = "2026-09-27T14:53:48.533-04:00"
        for flag in ["pending", "flagged", "deleted", "banned"] { whole["is_\(flag)"] = true }
        var bare = whole
        // The old addresses count where there are no variants; the tags of all kinds where none has one.
        bare["media_asset"] = NSNull()
        bare["has_large"] = false
        for kind in ["general", "artist"] { bare["tag_string_\(kind)"] = nil }
        var oldSample = bare
        oldSample["has_large"] = true
        var hidden = bare
        hidden["file_url"] = nil
        try check(.danbooruPost, [whole, bare, oldSample, hidden], decode: Self.danbooru)
        var asset = try #require(whole.object("media_asset"))
        asset["duration"] = 2.5
        func wrapped(_ asset: [String: Any]) -> [String: Any] {
            var post = whole
            post["media_asset"] = asset
            return post
        }
        try check(.danbooruAsset, [asset]) { try Self.danbooru(wrapped($0)) }
    }

    @Test func theListsOfMoebooruAreTrue() throws {
        var whole = try #require(try Recorded("moebooru/yandere-post-1223391-2025-03").posts.first)
        for field in ["approver_id", "last_noted_at", "last_commented_at"] { whole[field] = 7 }
        for field in ["is_pending", "is_held", "has_children"] { whole[field] = true }
        var unsampled = whole
        unsampled["sample_file_size"] = 0
        try check(.moebooruPost, [whole, unsampled]) { object in
            let record = try json(object)
            let reader = MoebooruPost(tagKinds: [:], hosts: hosts(yandere))
            return "\(reader.entry(record)) \(reader.fields(record))"
        }
    }

    // MARK: -

    private static func danbooru(_ object: [String: Any]) throws -> String {
        let record = try json(object)
        return "\(DanbooruEngine.entry(record, hosts: hosts(DanbooruEngine()))) \(DanbooruEngine.fields(record))"
    }

    private func object(_ path: String) throws -> [String: Any] {
        let url = try #require(Bundle.module.url(forResource: "Payloads/\(path)", withExtension: "json"))
        return try #require(try JSONSerialization.jsonObject(with: try Data(contentsOf: url)) as? [String: Any])
    }

    private func expectKnown(_ objects: [[String: Any]], _ list: FieldList) {
        #expect(!objects.isEmpty)
        for object in objects {
            #expect(Set(object.keys).subtracting(list.known) == [], "\(object["id"] ?? "")")
        }
    }

    private func check(
        _ list: FieldList, _ objects: [[String: Any]], decode: ([String: Any]) throws -> String
    ) throws {
        #expect(list.passedOver.isDisjoint(with: list.decoded.map(\.name)))
        // Sets are printed in any order.
        func read(_ object: [String: Any]) throws -> [Character] { try decode(object).sorted() }
        let before = try objects.map(read)
        for (field, kind) in list.decoded {
            let after = try objects.map { object in try read(object.filter { $0.key != field }) }
            #expect(after != before, "\(field) is not decoded")
            #expect(try kind.holds(json(objects[0])[field]), "\(field) is of another kind")
        }
        for field in list.passedOver {
            let after = try objects.map { object in try read(object.filter { $0.key != field }) }
            #expect(after == before, "\(field) is decoded")
        }
    }
}
