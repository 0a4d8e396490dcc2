@testable import Boards
import Rankings
import TestSupport
import Testing

/// Recorded answers, read here and by Foundation.
@Suite struct PayloadTests {
    private let source = FakeBoard().source(rating: "explicit")

    @Test func everyPostOfDanbooruIsReadWhole() throws {
        let all = try Recorded.all("danbooru")
        #expect(all.flatMap(\.posts).count == 5)
        for recorded in all {
            for (told, record) in zip(recorded.posts, recorded.records) {
                let entry = DanbooruEngine.entry(record, hosts: hosts(DanbooruEngine()))
                let work = try #require(entry.post?.work)
                #expect(work.id.rawValue == Int64(told.int("id") ?? 0))
                #expect(work.width == told.int("image_width") && work.height == told.int("image_height"))
                #expect(
                    Set(work.tags)
                        == Set((told.text("tag_string") ?? "").split(separator: " ").map(String.init))
                        .union((told.text("tag_string_artist") ?? "").split(separator: " ").map(String.init)))
                #expect(work.ratings == max(0, told.int("score") ?? 0) && work.withheld == nil && work.isAI == false)
                let asset = told.object("media_asset")
                #expect(try work.uploaded == moment(asset?.text("created_at") ?? told.text("created_at")))
                let original = try #require(source.location(of: work, .original))
                #expect(original.url == told.text("file_url") && original.fileExtension == told.text("file_ext"))
                #expect(original.size == Int64(told.int("file_size") ?? 0) && original.digest == told.text("md5"))
                #expect(original.headers.isEmpty)
                let small = try #require(source.location(of: work, .small))
                let preview = told.text("preview_file_url")
                #expect(small.url == (asset == nil ? preview : preview?.replacing("180x180", with: "360x360")))
                #expect(small.size == nil && small.digest == nil && small.fileExtension == "jpg")
                let regular = try #require(source.location(of: work, .regular))
                #expect(regular.url == told.text("large_file_url"))
                #expect((regular.size == nil) == (told["has_large"] as? Bool))
            }
        }
    }

    @Test func everyPostOfMoebooruIsReadWhole() throws {
        let all = try Recorded.all("moebooru")
        #expect(all.flatMap(\.posts).count == 47)
        for recorded in all {
            let engine = recorded.name.contains("konachan") ? konachan : yandere
            let source = FakeBoard().source(engine)
            let entries = try engine.entries(in: recorded.json, hosts: hosts(engine))
            #expect(entries.count == recorded.posts.count)
            for (told, entry) in zip(recorded.posts, entries) {
                let work = try #require(entry.post?.work)
                #expect(work.id.rawValue == Int64(told.int("id") ?? 0) && work.withheld == nil && work.isAI == nil)
                #expect(work.width == told.int("width") && work.height == told.int("height"))
                #expect(work.tags == (told.text("tags") ?? "").split(separator: " ").map(String.init))
                #expect(work.uploaded == Int64(told.int("created_at") ?? 0) && work.ratings == told.int("score"))
                #expect(work.title == "\(work.id.rawValue)", "the answer has no types of tags")
                let original = try #require(source.location(of: work, .original))
                #expect(original.url == told.text("file_url") && original.digest == told.text("md5"))
                #expect(original.size == Int64(told.int("file_size") ?? 0))
                #expect(
                    original.fileExtension == (told.text("file_url") ?? "").split(separator: ".").last.map(String.init))
                let regular = try #require(source.location(of: work, .regular))
                #expect(regular.url == told.text("sample_url"))
                let bytes = told.int("sample_file_size") ?? 0
                #expect(regular.size == Int64(bytes > 0 ? bytes : told.int("file_size") ?? 0))
                #expect((regular.digest == nil) == (bytes > 0))
                let small = source.location(of: work, .small)
                #expect(small?.url == told.text("preview_url") && small?.size == nil)
            }
        }
    }

    @Test func namesAreMadeOfTypedTags() throws {
        let works = try Recorded("danbooru/posts-2026-09").records.compactMap {
            DanbooruEngine.entry($0, hosts: hosts(DanbooruEngine())).post?.work
        }
        #expect(
            works.map(\.title) == [
                "ikari shinji - neon genesis evangelion, rebuild of evangelion - moyangahdid",
                "bartz klauser, boko (ff5) - final fantasy, final fantasy v - sanroku 3",
            ])
        #expect(works.map(\.authorName) == ["moyangahdid", "sanroku 3"])
        #expect(
            works.map(\.origin) == [
                "https://x.com/moyangahdid/status/2103089377253687617", "https://www.pixiv.net/artworks/148985121",
            ])
        #expect(works.allSatisfy { $0.kind == .illustration && $0.author.rawValue == 0 && $0.views == nil })
    }

    /// What listings keep of a post is short, although it names up to three addresses with every tag in them.
    @Test func referencesAreCompact() throws {
        for recorded in try Recorded.all("danbooru") + Recorded.all("moebooru") {
            for (told, record) in zip(recorded.posts, recorded.records) {
                let reader = MoebooruPost(
                    tagKinds: [:], hosts: hosts(recorded.name.contains("konachan") ? konachan : yandere))
                let entry =
                    recorded.name.hasPrefix("danbooru")
                    ? DanbooruEngine.entry(record, hosts: hosts(DanbooruEngine())) : reader.entry(record)
                let reference = try #require(entry.post?.work.picture)
                #expect(reference.utf8.count < (told.text("file_url") ?? "").utf8.count + 200, "\(reference)")
            }
        }
    }
}
