import Foundation
import Testing

@testable import Rankings

@Suite("JSON documents")
struct JSONTests {
    @Test("members keep their order, what is not there is left out, blocks are indented")
    func layout() {
        let value = JSON.members([
            ("b", .integer(-5)), ("gone", nil), ("a", .array([.string("x"), .bool(true), .members([])])),
            ("empty", .array([])),
            ("inner", .members([("c", .bool(false))])), ("none", .members([("gone", nil)])),
        ])
        #expect(
            value.document == """
                {
                  "b": -5,
                  "a": [
                    "x",
                    true,
                    {}
                  ],
                  "empty": [],
                  "inner": {
                    "c": false
                  },
                  "none": {}
                }

                """)
    }

    @Test("every scalar comes back as Foundation reads it")
    func escapes() throws {
        var text = "\"\\/\u{10FFFF}あ\u{2028}\u{2029}e\u{301}"
        for code in 0..<0xA0 { text.unicodeScalars.append(try #require(Unicode.Scalar(UInt32(code)))) }
        let document = JSON.array([.string(text)]).document
        let read = try JSONSerialization.jsonObject(with: Data(document.utf8)) as? [String]
        #expect(read?.first.map { Array($0.unicodeScalars) } == Array(text.unicodeScalars))
        let body = document.unicodeScalars.filter { $0 != "\n" }
        #expect(body.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && $0 != "\u{2028}" && $0 != "\u{2029}" })
        #expect(document.contains("\\u0000\\u0001") && document.contains("\\t\\n") && document.contains("\\u2028"))
    }

    private func details() -> WorkDetails {
        let work = Work(
            id: WorkID(rawValue: 9), title: "「a\"」", author: UserID(rawValue: 7), authorName: "名", tags: ["猫"],
            kind: .animation, width: 600, height: 0, pageCount: 2, uploaded: 1_651_244_415, views: 5, ratings: nil,
            picture: "secret", withheld: nil, isAI: false)
        var details = WorkDetails(work: work)
        details.caption = "1\n2"
        details.tags = [.init(name: "猫", translation: "cat", romaji: "neko"), .init(name: "x", translation: "")]
        (details.created, details.bookmarks, details.comments) = (1_521_018_000, 3, 0)
        details.restriction = "r18"
        return details
    }

    @Test("a work's record")
    func work() throws {
        let document = details().json(pages: ["9_p0.png", "9_p1.png"], webPage: "https://example.net/9")
        #expect(
            document == """
                {
                  "id": 9,
                  "title": "「a\\"」",
                  "caption": "1\\n2",
                  "author": {
                    "id": 7,
                    "name": "名"
                  },
                  "tags": [
                    {
                      "name": "猫",
                      "translation": "cat",
                      "romaji": "neko"
                    },
                    {
                      "name": "x"
                    }
                  ],
                  "type": "ugoira",
                  "width": 600,
                  "page_count": 2,
                  "pages": [
                    "9_p0.png",
                    "9_p1.png"
                  ],
                  "created": "2018-03-14T09:00:00Z",
                  "uploaded": "2022-04-29T15:00:15Z",
                  "views": 5,
                  "bookmarks": 3,
                  "comments": 0,
                  "restriction": "r18",
                  "ai": false,
                  "url": "https://example.net/9"
                }

                """)
        #expect(document == details().json(pages: ["9_p0.png", "9_p1.png"], webPage: "https://example.net/9"))
        let read = try JSONSerialization.jsonObject(with: Data(document.utf8)) as? [String: Any]
        #expect(read?["title"] as? String == "「a\"」")
    }

    @Test("what listings do not tell is left out")
    func little() {
        var details = details()
        details.work.uploaded = 0
        details.created = nil
        details.work.isAI = nil
        for name in ["all", "r18", "safe"] {
            details.restriction = name
            #expect(details.json(pages: []).contains("\"restriction\": \"\(name)\""))
        }
        for key in ["uploaded", "created", "ai", "url", "height", "likes", "series"] {
            #expect(!details.json(pages: []).contains("\"\(key)\""), "\(key)")
        }
        details.series = "s"
        #expect(details.json(pages: []).contains("\"series\": \"s\""))
    }

    @Test("an author's record")
    func author() {
        let profile = AuthorProfile(
            id: UserID(rawValue: 7), name: "名", avatar: "secret", comment: "c", following: 3,
            webPage: "https://own.example",
            region: nil)
        #expect(
            profile.json(webPage: "https://example.net/7") == """
                {
                  "id": 7,
                  "name": "名",
                  "comment": "c",
                  "following": 3,
                  "web_page": "https://own.example",
                  "url": "https://example.net/7"
                }

                """)
    }
}

@Suite("Moments in ISO 8601")
struct TimestampTests {
    @Test("agree with Foundation both ways")
    func foundation() throws {
        let format = ISO8601DateFormatter()
        for seconds in stride(from: -2_000_000_000 as Int64, through: 4_000_000_000, by: 40_000_003) {
            let text = format.string(from: Date(timeIntervalSince1970: Double(seconds)))
            #expect(Timestamp.text(seconds) == text && Timestamp.seconds(text) == seconds)
        }
    }

    @Test(
        "every form seen",
        arguments: [
            "2018-03-14T09:00:00+00:00", "2018-03-14T09:00+00:00", "2018-03-14T18:00:00+09:00", "2018-03-14T09:00:00Z",
            "2018-03-14T09:00:00.000Z", "2018-03-14T04:00:00-05:00", "2018-03-14T18:00:00+0900",
            "2018-03-15T00:00+15:00",
        ])
    func forms(text: String) {
        #expect(Timestamp.seconds(text) == 1_521_018_000)
    }

    @Test(
        "what is no moment is refused",
        arguments: [
            "", "2018-03-14", "2018-03-14T09:00:00", "2018-02-30T09:00:00Z", "2018-03-14T24:00:00Z",
            "2018-03-14T09:60Z",
            "2018-03-14T09:00:61Z", "2018-03-14T9:00Z", "2018-03-14T09Z", "2018-03-14T09:00:00:00Z",
            "2018-03-14T09:00:00ZZ",
            "2018-03-14T09:00:00+9", "2018-03-14T09:00:00+24:00", "T09:00Z", "2018-03-14T+9:00Z",
            "2018-03-14T09:00:00.xZ",
            "2018-03-14T09:00:00.0.0Z", "2018-03-14T09::00Z", "2018-03-14TZ", "２０１８-03-14T09:00Z",
        ])
    func refused(text: String) {
        #expect(Timestamp.seconds(text) == nil)
    }

    @Test("years beyond four digits have no text")
    func bounds() {
        #expect(Timestamp.text(253_402_300_799) == "9999-12-31T23:59:59Z" && Timestamp.text(253_402_300_800) == nil)
        #expect(Timestamp.text(-62_135_596_800) == "0001-01-01T00:00:00Z" && Timestamp.text(-62_135_596_801) == nil)
        #expect(Timestamp.text(.max) == nil && Timestamp.text(.min) == nil)
    }
}
