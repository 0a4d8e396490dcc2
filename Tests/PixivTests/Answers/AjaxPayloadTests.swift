import Foundation
import Rankings
import Testing

@testable import Pixiv

@Suite("Recorded answers of /ajax")
struct AjaxPayloadTests {
    private func body(_ path: String) throws -> (body: JSON, payload: Payload) {
        let payload = try Payload(path)
        return (try Envelope.body(of: payload.json), payload)
    }

    /// Compares works with the brief records in the order told.
    private func compare(_ works: [Work], _ told: [[String: Any]]) throws {
        #expect(works.count == told.count)
        for (work, brief) in zip(works, told) {
            let url = try #require(brief.text("url"))
            #expect(Int(work.id.rawValue) == brief.int("id"))
            #expect(Int(work.author.rawValue) == brief.int("userId"))
            #expect(work.title == brief.text("title") && work.authorName == brief.text("userName"))
            #expect(work.tags == brief["tags"] as? [String])
            #expect(work.kind.rawValue == brief.int("illustType"))
            #expect(work.width == brief.int("width") && work.height == brief.int("height"))
            #expect(work.pageCount == brief.int("pageCount"))
            #expect(work.views == nil && work.ratings == nil)
            if url.contains("/limit_") {
                #expect(work.withheld == brief.text("maskReason") && work.picture.isEmpty)
            } else {
                #expect(work.withheld == nil && work.picture == reference(url))
                #expect(try work.uploaded == pathTime(url))
            }
        }
    }

    private func list(_ payload: Payload, _ path: String...) throws -> [[String: Any]] {
        try #require(
            path.reduce(payload.root["body"]) { value, name in (value as? [String: Any])?[name] } as? [[String: Any]])
    }

    @Test(
        "bookmarks, with a masked row whose numbers are not strings",
        arguments: [
            ("ajax-user-bookmarks/CWHer-PixivCrawler-bookmark", 44, 1, 3643),
            ("ajax-user-bookmarks/Nandaka-PixivUtil2-bookmarks", 10, 0, 21),
        ])
    func bookmarks(path: String, count: Int, masked: Int, total: Int) throws {
        let (body, payload) = try body(path)
        let list = ListingPage(list: body)
        #expect(list.works.count == count && list.unreadable == 0 && list.total == total)
        #expect(list.works.count == payload.count("\"illustType\""))
        let withheld = list.works.filter { $0.withheld != nil }
        #expect(withheld.count == masked && withheld.allSatisfy { $0.withheld == "unknown" && $0.author.rawValue == 0 })
        #expect(withheld.allSatisfy { $0.title == "-----" && $0.uploaded == 0 })
        try compare(list.works, try self.list(payload, "works"))
    }

    @Test("a search with one list, and its advertisements left out")
    func search() throws {
        let (body, payload) = try body("ajax-search-artworks/Nandaka-PixivUtil2-test-tags-search-exact-last")
        let list = ListingPage(search: body)
        let told = try self.list(payload, "illustManga", "data").filter { $0["isAdContainer"] == nil }
        #expect(list.works.count == told.count && list.unreadable == 0 && list.total == 3084)
        #expect(try !ListAnswers.search(body, page: 52).hasNext)
        try compare(list.works, told)
    }

    @Test("a search with illustrations and manga apart")
    func searchApart() throws {
        let (body, payload) = try body("ajax-search-artworks/daydreamer-json-pixiv-ajax-api-docs-genshin")
        let list = ListingPage(search: body)
        let told = try (self.list(payload, "illust", "data") + self.list(payload, "manga", "data"))
            .filter { $0["isAdContainer"] == nil }
        #expect(list.unreadable == 0 && list.total == 176_338 + 4707)
        var seen: Set<String> = []
        try compare(list.works, told.filter { seen.insert($0.text("id") ?? "").inserted })
    }

    @Test("followed authors, with their newest works beside")
    func following() throws {
        let (body, payload) = try body("ajax-user-following/daydreamer-json-pixiv-ajax-api-docs-9153585")
        let page = try ListAnswers.following(body, page: 1)
        let told = try list(payload, "users")
        #expect(page.authors.count == 3 && page.hasNext)
        for (author, user) in zip(page.authors, told) {
            #expect(String(author.id.rawValue) == user.text("userId") && author.name == user.text("userName"))
        }
        for (user, other) in zip(body["users"].elements, told) {
            try compare(
                ListingPage(records: user["illusts"].elements).works, try #require(other["illusts"] as? [[String: Any]])
            )
        }
    }

    @Test(
        "all works of an author, newest first",
        arguments: [
            "CWHer-PixivCrawler-user", "Nandaka-PixivUtil2-all-14095911", "daydreamer-json-pixiv-ajax-api-docs-9153585",
            "Magelon-png-PixivApi",
        ])
    func allWorks(name: String) throws {
        let (body, payload) = try body("ajax-user-profile-all/\(name)")
        let told = ["illusts", "manga"].flatMap { ((payload.root.at("body", $0) as? [String: Any]) ?? [:]).keys }
        let works = try AuthorAnswers.allWorks(body)
        #expect(!told.isEmpty && works.count == told.count)
        #expect(works.map(\.rawValue) == told.compactMap { Int64($0) }.sorted(by: >))
    }

    @Test(
        "pages with their originals",
        arguments: [
            ("CWHer-PixivCrawler-93172108", 93_172_108, 5, "jpg"),
            ("daydreamer-json-pixiv-ajax-api-docs-100412238", 100_412_238, 1, "png"),
        ])
    func pages(name: String, id: Int64, count: Int, fileExtension: String) throws {
        let (body, payload) = try body("ajax-illust-pages/\(name)")
        let paths = try AuthorAnswers.originals(body, of: WorkID(rawValue: id)).compactMap(\.self)
        let told = try list(payload)
        #expect(paths.count == count && told.count == count)
        for (path, page) in zip(paths, told) {
            let url = (page["urls"] as? [String: Any])?.text("original")
            #expect(path.originalPath(page: path.page ?? 0).map { "https://i.pximg.net" + $0 } == url)
            #expect(path.fileExtension == fileExtension)
        }
    }

    @Test(
        "recorded errors",
        arguments: [
            ("Nandaka-PixivUtil2-ajax-error", "An unknown error occurred"),
            ("NebulaeWisdom-anybooru-400-bad-request", "不正なリクエストです。"),
            ("NebulaeWisdom-anybooru-404-no-such-illust", ""),
            ("item4-ugoira-not-an-ugoira-ko", "지정한 ID는 우고이라가 아닙니다"),
        ])
    func errors(name: String, message: String) throws {
        let json = try Payload("ajax-error/\(name)").json
        #expect(Envelope.error(in: json) == message)
        let error = #expect(throws: Failure.self) { try Envelope.body(of: json) }
        guard case .unreadable(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(message.isEmpty ? reason.contains("does not explain") : reason.contains(message))
    }
}
