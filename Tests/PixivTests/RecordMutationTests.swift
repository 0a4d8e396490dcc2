import Foundation
import Rankings
import Testing

@testable import Pixiv

@Suite("Lists and records with a field gone wrong")
struct RecordMutationTests {
    private func read(_ text: String) throws -> JSON { try JSONReader.read(Array(text.utf8)) }

    private func text(_ object: Any) throws -> String { String(decoding: try bytes(object), as: UTF8.self) }

    /// Reads three entries of which the middle one is mutated; the others must come through.
    private func expectNeighbours(
        of told: [[String: Any]], needed: Set<String>, in decode: (String) throws -> WorkPage
    ) throws {
        let (first, last) = (try text(told[0]), try text(told[2]))
        let whole = try decode("\(first),\(text(told[1])),\(last)")
        try eachMutation(of: told[1]) { entry, field, place in
            let page = try decode("\(first),\(entry),\(last)")
            #expect(page.works.first == whole.works[0] && page.works.last == whole.works[2], place)
            #expect(page.works.count + page.unreadable == 3, place)
            if !needed.contains(field) { #expect(page.unreadable == 0, place) }
            expectBounded(page.works, place)
        }
        let long = try decode("\(first),\(mutated(told[1], "title", hugeText)),\(last)")
        #expect(long.works.count == 3 && long.works[0] == whole.works[0] && long.works[2] == whole.works[2])
        #expect(long.works[1].title.utf8.count == 4096)
    }

    @Test("a search")
    func search() throws {
        let payload = try Payload("ajax-search-artworks/Nandaka-PixivUtil2-test-tags-search-exact-last")
        let told = try #require((payload.root.at("body", "illustManga") as? [String: Any])?["data"] as? [[String: Any]])
        try expectNeighbours(of: told, needed: ["id", "url"]) { entries in
            try ListAnswers.search(read("{\"illustManga\":{\"data\":[\(entries)],\"total\":3}}"), page: 1)
        }
        let group: [String: Any] = ["data": Array(told.prefix(3)), "total": 3084, "lastPage": 52, "bookmarkRanges": []]
        try eachMutation(of: group) { json, field, place in
            guard field != "data" else { return }
            let page = try ListAnswers.search(read("{\"illustManga\":\(json)}"), page: 1)
            #expect(page.works.count == 3 && page.unreadable == 0 && page.total ?? 0 >= 0, place)
        }
    }

    @Test("bookmarks")
    func bookmarks() throws {
        let payload = try Payload("ajax-user-bookmarks/CWHer-PixivCrawler-bookmark")
        let told = try #require(payload.root.at("body", "works") as? [[String: Any]])
        try expectNeighbours(of: told, needed: ["id", "url"]) { entries in
            try ListAnswers.bookmarks(read("{\"works\":[\(entries)],\"total\":3}"), page: 1)
        }
        let body: [String: Any] = ["works": Array(told.prefix(3)), "total": 3643, "bookmarkTags": []]
        try eachMutation(of: body) { json, field, place in
            guard field != "works" else { return }
            let page = try ListAnswers.bookmarks(read(json), page: 1)
            #expect(page.works.count == 3 && page.unreadable == 0 && page.total ?? 0 >= 0, place)
        }
    }

    @Test("followed authors")
    func following() throws {
        let payload = try Payload("ajax-user-following/daydreamer-json-pixiv-ajax-api-docs-9153585")
        let told = try #require(payload.root.at("body", "users") as? [[String: Any]])
        let whole = try ListAnswers.following(Envelope.body(of: payload.json), page: 1).authors
        let (first, last) = (try text(told[0]), try text(told[2]))
        func page(_ user: String) throws -> AuthorPage {
            try ListAnswers.following(read("{\"users\":[\(first),\(user),\(last)],\"total\":353}"), page: 1)
        }
        try eachMutation(of: told[1]) { user, field, place in
            let authors = try page(user).authors
            #expect(authors.first == whole[0] && authors.last == whole[2], place)
            #expect(field == "userId" ? authors.count >= 2 : authors.count == 3, place)
            #expect(authors.allSatisfy { $0.id.rawValue > 0 && $0.name.utf8.count <= 4096 }, place)
        }
        #expect(try page(mutated(told[1], "userName", hugeText)).authors[1].name.utf8.count == 4096)
    }

    @Test("a full record: only the number and the pictures cannot be missing")
    func details() throws {
        let payload = try Payload("ajax-illust/daydreamer-json-pixiv-ajax-api-docs-100412238")
        var told = try #require(payload.root["body"] as? [String: Any])
        // Long, and not read.
        for name in ["userIllusts", "noLoginData", "zoneConfig", "extraData"] { told[name] = NSNull() }
        let id = WorkID(rawValue: 100_412_238)
        let whole = try WorkAnswers.details(read(text(told)), of: id)
        try eachMutation(of: told) { json, field, place in
            guard field != "id", field != "urls" else {
                let details = try? WorkAnswers.details(read(json), of: id)
                #expect(details.map { $0.work.withheld != nil || field == "id" } ?? true, place)
                return
            }
            let details = try WorkAnswers.details(read(json), of: id)
            expectBounded([details.work], place)
            #expect(details.work.picture == whole.work.picture && (0...2).contains(details.restriction), place)
            #expect(field == "tags" || details.tags == whole.tags, place)
            #expect(field == "description" || details.caption == whole.caption, place)
            #expect(details.caption.utf8.count <= 65_536 && details.series?.utf8.count ?? 0 <= 4096, place)
            #expect(details.bookmarks ?? 0 >= 0 && details.comments ?? 0 >= 0, place)
            #expect(field == "createDate" || details.created == whole.created, place)
        }
        let long = try WorkAnswers.details(read(mutated(told, "description", hugeText)), of: id)
        #expect(long.caption.hasPrefix("<a&<a&") && long.caption.utf8.count == 65_536 && long.tags == whole.tags)
    }

    @Test("a tag of a full record, and a picture")
    func parts() throws {
        let payload = try Payload("ajax-illust/Nandaka-PixivUtil2-test-image-parse-tags-11164869")
        let told = try #require(payload.root["body"] as? [String: Any])
        let tags = try #require(told.at("tags", "tags") as? [[String: Any]])
        let urls = try text(try #require(told["urls"]))
        func tagged(_ tag: String) throws -> [WorkDetails.Tag] {
            let all = "\(try text(tags[1])),\(tag),\(try text(tags[2]))"
            let json = "{\"id\":\"11164869\",\"urls\":\(urls),\"tags\":{\"tags\":[\(all)]}}"
            return try WorkAnswers.details(read(json), of: WorkID(rawValue: 11_164_869)).tags
        }
        try eachMutation(of: tags[0]) { tag, field, place in
            let found = try tagged(tag)
            #expect(found.first?.name == "VOCALOID" && found.last?.name == "歌う", place)
            #expect(field == "tag" ? found.count >= 2 : found.count == 3, place)
            #expect(found.allSatisfy { $0.name.utf8.count + ($0.translation ?? "").utf8.count <= 8192 }, place)
        }
        #expect(try tagged(mutated(tags[0], "romaji", hugeText))[1].romaji?.utf8.count == 4096)
        try eachMutation(of: try #require(told["urls"] as? [String: Any])) { urls, field, place in
            let work = WorkDecoding.full(try read("{\"id\":\"11164869\",\"urls\":\(urls)}"))
            if field != "regular" { #expect(work?.picture == "2010/06/09/02/33/10/11164869_p0", place) }
        }
    }

    @Test("an animation: one address is enough, a bad frame costs itself")
    func animation() throws {
        let payload = try Payload("ajax-ugoira-meta/item4-ugoira-74442143")
        let told = try #require(payload.root["body"] as? [String: Any])
        let frames = try #require(told["frames"] as? [[String: Any]])
        let id = WorkID(rawValue: 74_442_143)
        try eachMutation(of: told) { json, field, place in
            guard field != "frames" else {
                #expect(
                    isUnreadable(#expect(throws: SourceError.self) { try WorkAnswers.animation(read(json), of: id) }))
                return
            }
            let animation = try WorkAnswers.animation(read(json), of: id)
            #expect(animation.frames.count == 77, place)
            let size = field == "originalSrc" ? "600x600" : "1920x1080"
            #expect(animation.archive == "2019/04/29/16/09/38/74442143_ugoira\(size).zip", place)
        }
        let good = try text(frames[0])
        let archive = "\"src\":\(try text(told["src"] ?? ""))"
        try eachMutation(of: frames[1]) { frame, _, place in
            let animation = try WorkAnswers.animation(
                read("{\(archive),\"frames\":[\(good),\(frame),\(good)]}"), of: id)
            #expect(animation.frames.count >= 2 && animation.frames.first == animation.frames.last, place)
            #expect(animation.frames.allSatisfy { $0.file.utf8.count == 10 && (0...600_000).contains($0.delay) }, place)
        }
        #expect(try WorkAnswers.animation(read(mutated(told, "originalSrc", hugeText)), of: id).frames.count == 77)
    }

    @Test("an author: only the number cannot be missing")
    func profile() throws {
        let payload = try Payload("ajax-user/daydreamer-json-pixiv-ajax-api-docs-9153585-full1")
        let told = try #require(payload.root["body"] as? [String: Any])
        let id = UserID(rawValue: 9_153_585)
        let whole = try AuthorAnswers.profile(Envelope.body(of: payload.json), of: id)
        try eachMutation(of: told) { json, field, place in
            guard field != "userId" else {
                #expect(throws: SourceError.self, place) { try AuthorAnswers.profile(read(json), of: id) }
                return
            }
            let profile = try AuthorAnswers.profile(read(json), of: id)
            #expect(field == "name" || profile.name == whole.name, place)
            #expect(field == "comment" || profile.comment == whole.comment, place)
            #expect(field == "imageBig" || profile.avatar == whole.avatar, place)
            #expect(profile.comment.utf8.count <= 65_536 && profile.name.utf8.count <= 4096, place)
            #expect(profile.webPage?.utf8.count ?? 0 <= 4096 && profile.region?.utf8.count ?? 0 <= 4096, place)
        }
        #expect(
            try AuthorAnswers.profile(read(mutated(told, "comment", hugeText)), of: id).comment.utf8.count == 65_536)
    }
}
