import Boards
import Foundation
import Rankings
import TestSupport
import Testing

/// The full record of a post.
@Suite struct RecordTests {
    private func document(_ details: WorkDetails) throws -> [String: Any] {
        let text = details.json(pages: ["original.png"], webPage: "https://example.org/1")
        return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    @Test func aRecordOfDanbooruShowsAll() async throws {
        var post = try #require(try Recorded("danbooru/posts-2026-09").posts.last)
        post["is_pending"] = true
        post["parent_id"] = 99
        let board = FakeBoard(try text(post))
        let details = try await board.source().details(of: WorkID(rawValue: 12_271_215), deadline: deadline)
        #expect(board.urls == ["https://safebooru.donmai.us/posts/12271215.json"])
        #expect(details.restriction == "general" && details.bookmarks == post.int("fav_count"))
        #expect(try details.created == moment(post.text("created_at")))
        #expect(try details.work.uploaded == moment(post.object("media_asset")?.text("created_at")))
        #expect(details.tags.count == (post.text("tag_string") ?? "").split(separator: " ").count)
        let shown = try document(details)
        #expect(shown.int("score") == 1 && shown.int("parent") == 99 && shown.text("md5") == post.text("md5"))
        #expect(shown.int("file_size") == post.int("file_size") && shown.text("source") == post.text("source"))
        #expect(shown.int("pixiv_id") == 148_985_121 && shown.int("uploader") == post.int("uploader_id"))
        #expect(shown["status"] as? [String] == ["pending"] && shown["has_children"] as? Bool == false)
        #expect(shown.object("tag_groups")?["artist"] as? [String] == ["sanroku_3"])
        #expect(shown.object("renditions")?.keys.contains("720x720") == true && shown["duration"] == nil)
        // Nothing is told twice under one name.
        let names = details.more.map(\.name)
        #expect(
            Set(names).count == names.count && Set(names).isDisjoint(with: ["id", "title", "tags", "type", "likes"]))
    }

    @Test func aRecordOfMoebooruShowsAll() async throws {
        let post = try #require(try Recorded("moebooru/yandere-post-1223391-2025-03").posts.first)
        let board = FakeBoard(
            try text([
                "posts": [post], "pools": [], "tags": ["akiyama_mio": "character", "horiguchi_yukiko": "artist"],
            ]))
        let details = try await board.source(yandere).details(of: WorkID(rawValue: 1_223_391), deadline: deadline)
        #expect(board.urls == ["https://yande.re/post.json?api_version=2&include_tags=1&tags=id:1223391"])
        #expect(details.work.title == "akiyama mio - horiguchi yukiko" && details.restriction == "safe")
        #expect(details.created == 1_742_150_809 && details.bookmarks == nil && details.work.origin == nil)
        let shown = try document(details)
        #expect(shown.text("source") == "Animedia 2010-12" && shown.text("uploader_name") == "Reverseshin")
        #expect(shown.text("updated") == "2025-03-16T20:24:40Z" && shown["last_noted"] == nil)
        #expect(shown["status"] as? [String] == ["active", "hidden"] && shown.int("parent") == 162_305)
        #expect(shown.object("renditions")?.text("jpeg") == "3500x2172, 2088523 bytes")
        #expect(shown.object("tag_groups")?["artist"] as? [String] == ["horiguchi_yukiko"])
    }

    @Test func whatIsNotThereIsNotFound() async {
        let missing = FakeBoard(
            status: 404, "{\"success\":false,\"error\":\"ActiveRecord::RecordNotFound\",\"message\":\"x\"}")
        for (board, engine) in [(missing, DanbooruEngine() as any BooruEngine), (FakeBoard("{\"posts\":[]}"), yandere)]
        {
            #expect(
                await failure {
                    try await board.source(engine).details(of: WorkID(rawValue: 1), deadline: deadline)
                } == .notFound)
        }
        let board = FakeBoard()
        #expect(
            await failure {
                try await board.source().details(of: WorkID(rawValue: 0), deadline: deadline)
            } == .notFound)
        #expect(board.urls.isEmpty)
    }

    @Test func anotherPostIsNotTakenForTheOneAskedFor() async throws {
        for post in [danbooruPost(6), danbooruPost(5, ["file_ext": "swf"]), ["id": "odd"]] as [[String: Any]] {
            let board = FakeBoard(try text(post))
            #expect(
                isUnreadable(
                    await failure { try await board.source().details(of: WorkID(rawValue: 5), deadline: deadline) }))
        }
    }

    @Test func aRecordAboveTheRatingIsWithheld() async throws {
        for rating in ["e", "z"] {
            let board = FakeBoard(try text(danbooruPost(5, ["rating": rating])))
            let details = try await board.source(rating: "questionable").details(
                of: WorkID(rawValue: 5), deadline: deadline)
            #expect(details.work.withheld == "rating" && details.work.picture.isEmpty)
            #expect(details.restriction == (rating == "e" ? "explicit" : "unknown"))
        }
    }

    @Test func theReferencesOfAWorkAreThoseOfItsRecord() async throws {
        let board = FakeBoard(try text(danbooruPost(5)))
        let source = board.source()
        let references = try await source.originals(of: WorkID(rawValue: 5), deadline: deadline)
        #expect(references.count == 1)
        let location = source.location(of: WorkID(rawValue: 5), picture: references[0], page: 0, rendition: .original)
        #expect(location?.size == 1000)
    }
}
