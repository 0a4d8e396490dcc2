import Foundation
import Rankings
import TestSupport
import Testing

@testable import Pixiv

@Suite("Full records, recorded")
struct DetailsTests {
    private func body(_ path: String) throws -> (body: JSON, told: [String: Any]) {
        let payload = try Payload(path)
        return (try Envelope.body(of: payload.json), try #require(payload.root["body"] as? [String: Any]))
    }

    @Test(
        "of works, in every field",
        arguments: [
            ("Nandaka-PixivUtil2-test-image-info-32039274", 8), ("Nandaka-PixivUtil2-test-image-info2-67729319", 10),
            ("Nandaka-PixivUtil2-test-image-parse-tags-11164869", 8),
            ("daydreamer-json-pixiv-ajax-api-docs-100412238", 7),
        ])
    func works(name: String, tagCount: Int) throws {
        let (body, told) = try body("ajax-illust/\(name)")
        let id = WorkID(rawValue: Int64(try #require(told.int("id"))))
        let details = try WorkAnswers.details(body, of: id)
        let work = try #require(WorkAnswers.full(body))
        #expect(details.work == work && work.id == id && Int(work.author.rawValue) == told.int("userId"))
        #expect(work.title == told.text("title") && work.authorName == told.text("userName"))
        #expect(work.views == told.int("viewCount") && work.ratings == told.int("likeCount"))
        #expect(work.width == told.int("width") && work.height == told.int("height") && work.pageCount == 1)
        let url = try #require((told["urls"] as? [String: Any])?.text("regular"))
        #expect(work.picture == reference(url) && work.withheld == nil && work.tags.count == tagCount)
        #expect(try work.uploaded == pathTime(url))
        let date = try #require(told.text("createDate"))
        #expect(details.created == Int64(try #require(ISO8601DateFormatter().date(from: date)).timeIntervalSince1970))
        #expect(details.bookmarks == told.int("bookmarkCount") && details.comments == told.int("commentCount"))
        #expect(details.restriction == ["all", "r18", "r18g"][try #require(told.int("xRestrict"))])
        #expect(details.series == nil && details.work.isAI == nil)
        let tags = try #require(told.at("tags", "tags") as? [[String: Any]])
        #expect(details.tags.map(\.name) == tags.compactMap { $0.text("tag") })
        #expect(details.tags.map(\.romaji) == tags.map { $0.text("romaji") })
        #expect(details.tags.map(\.translation) == tags.map { ($0["translation"] as? [String: Any])?.text("en") })
        #expect(throws: Failure.self) { try WorkAnswers.details(body, of: WorkID(rawValue: id.rawValue + 1)) }
    }

    @Test("of an animation: its archive and 77 frames")
    func animation() throws {
        let (body, told) = try body("ajax-ugoira-meta/item4-ugoira-74442143")
        let animation = try WorkAnswers.animation(body, of: WorkID(rawValue: 74_442_143))
        let frames = try #require(told["frames"] as? [[String: Any]])
        #expect(animation.archive == "2019/04/29/16/09/38/74442143_ugoira1920x1080.zip")
        #expect(animation.frames.count == 77)
        #expect(animation.frames.map(\.file) == frames.compactMap { $0.text("file") })
        #expect(animation.frames.map(\.delay) == frames.compactMap { $0.int("delay") })
        #expect(isUnreadable(failure { try WorkAnswers.animation(body, of: WorkID(rawValue: 74_442_144)) }))
    }

    @Test("of an animation: times are rounded and bounded, and no frame is left out")
    func frames() throws {
        func frames(_ frames: String) throws -> [Int] {
            let archive = "https://i.pximg.net/img-zip-ugoira/img/2019/04/29/16/09/38/9_ugoira1920x1080.zip"
            let text = "{\"originalSrc\":\"\(archive)\",\"frames\":[\(frames)]}"
            return try WorkAnswers.animation(JSONReader.read(Array(text.utf8)), of: WorkID(rawValue: 9)).frames.map(
                \.delay)
        }
        func frame(_ delay: String, _ name: String = "000000.jpg") -> String {
            "{\"file\":\"\(name)\",\"delay\":\(delay)}"
        }
        for (told, delay) in [
            ("40", 40), ("\"40\"", 40), ("33.4", 33), ("\"33.5\"", 34), ("0", 0), ("-5", 0), ("700000", 600_000),
            ("1e300", 600_000),
        ] {
            #expect(try frames(frame("60") + "," + frame(told)) == [60, delay], "\(told)")
        }
        for odd in [
            frame("null"), frame("\"x\""), frame("[]"), frame("40", "frame5.jpg"), frame("40", "../000.jpg"), "null",
            "5",
        ] {
            #expect(isUnreadable(failure { try frames(frame("60") + "," + odd) }), "\(odd)")
        }
    }

    @Test("of an author, short and full")
    func author() throws {
        let id = UserID(rawValue: 9_153_585)
        let avatar = "2018/06/26/14/26/03/14408330_3de67ff59732d611d71369bddd8ea287_170.jpg"
        let short = try AuthorAnswers.profile(
            try body("ajax-user/daydreamer-json-pixiv-ajax-api-docs-9153585").body, of: id)
        #expect(short == AuthorProfile(id: id, name: "haku89", avatar: avatar))
        let (body, told) = try body("ajax-user/daydreamer-json-pixiv-ajax-api-docs-9153585-full1")
        let full = try AuthorAnswers.profile(body, of: id)
        #expect(full.name == "haku89" && full.avatar == avatar && full.following == 349 && full.region == "日本")
        #expect(full.webPage == nil)
        #expect(full.comment == told.text("comment")?.replacingOccurrences(of: "\r\n", with: "\n"))
        #expect(throws: Failure.self) { try AuthorAnswers.profile(body, of: UserID(rawValue: 1)) }
    }

    @Test("what recorded ones do not have: AI, series, other languages, minutes only, R-18G, withheld pictures")
    func invented() throws {
        func details(_ fields: String, urls: String? = nil) throws -> WorkDetails {
            let picture = "{\"regular\":\"https://i.pximg.net/img-master/img/2022/04/30/00/00/15/9_p0_master1200.jpg\"}"
            let text = "{\"id\":\"9\",\"urls\":\(urls ?? picture),\(fields)}"
            return try WorkAnswers.details(JSONReader.read(Array(text.utf8)), of: WorkID(rawValue: 9))
        }
        for (type, isAI) in [("2", true), ("\"2\"", true), ("1", false), ("0", nil), ("null", nil), ("3", nil)] {
            #expect(try details("\"aiType\":\(type)").work.isAI == isAI)
        }
        #expect(try details("\"seriesNavData\":{\"title\":\"第一\",\"order\":2}").series == "第一")
        #expect(try details("\"seriesNavData\":{\"title\":\"\"}").series == nil)
        #expect(try details("\"createDate\":\"2018-03-14T09:00+00:00\"").created == 1_521_018_000)
        #expect(try details("\"xRestrict\":2").restriction == "r18g")
        let tags = try details(
            """
            "tags":{"tags":[{"tag":"a","translation":{"ko":"b","en":"c"}},{"tag":"d","translation":{"en":"","ko":"e"}},{"tag":""},7]}
            """
        ).tags
        #expect(tags == [WorkDetails.Tag(name: "a", translation: "c"), WorkDetails.Tag(name: "d", translation: "e")])
        let withheld = try details(
            "\"uploadDate\":\"2018-03-14T09:00:00+00:00\"", urls: "{\"regular\":null,\"original\":null}")
        #expect(withheld.work.withheld == "withheld" && withheld.work.picture.isEmpty)
        #expect(withheld.work.uploaded == 1_521_018_000)
        for none in ["[]", "null"] {
            let work = try details("\"isLoginOnly\":true", urls: none).work
            #expect(work.withheld == "login_only" && work.picture.isEmpty, "\(none)")
        }
        // One address of another form is no reason to do without the others.
        let other =
            "{\"regular\":\"https://i.pximg.net/new/9.webp\","
            + "\"original\":\"https://i.pximg.net/img-original/img/2022/04/30/00/00/15/9_p0.png\"}"
        #expect(try details("\"aiType\":1", urls: other).work.picture == "2022/04/30/00/00/15/9_p0")
        #expect(throws: Failure.self) {
            try details("\"x\":1", urls: "{\"regular\":\"https://i.pximg.net/new/9.webp\"}")
        }
        let hidden = "{\"regular\":null,\"original\":null}"
        #expect(try details("\"isLoginOnly\":true", urls: hidden).work.withheld == "login_only")
        #expect(try details("\"isLoginOnly\":true").work.withheld == nil)
        for urls in [nil, hidden] {
            let masked = try details("\"locationMask\":true,\"isLoginOnly\":true", urls: urls).work
            #expect(masked.withheld == "location" && masked.picture.isEmpty)
        }
    }

    @Test("the picture that the service gives to authors without one is none")
    func noAvatar() throws {
        for url in ["https://s.pximg.net/common/images/no_profile.png", "https://i.pximg.net/x.png"] {
            let body = try JSONReader.read(Array("{\"userId\":\"7\",\"name\":\"n\",\"imageBig\":\"\(url)\"}".utf8))
            #expect(try AuthorAnswers.profile(body, of: UserID(rawValue: 7)).avatar == nil)
        }
    }
}
