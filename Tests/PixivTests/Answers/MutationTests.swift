import Foundation
import Rankings
import Testing

@testable import Pixiv

/// What a field may turn into; values that JSON writers produce, and some that only a slip does.
private let replacements: [(name: String, json: String)] = [
    ("null", "null"), ("false", "false"), ("true", "true"), ("[]", "[]"), ("{}", "{}"), ("\"\"", "\"\""), ("0", "0"),
    ("-1", "-1"),
    ("text", "\"x\""), ("number as text", "\"12345678901234567890\""), ("largest", "9223372036854775807"),
    ("overflow", "1e400"), ("fraction", "0.5"), ("NaN", "NaN"), ("surrogate", "\"\\ud800\""),
    ("nested", "[[[[{\"a\":[]}]]]]"),
    ("placeholder", "\"https://s.pximg.net/common/images/limit_unviewable_s.png\""),
    ("huge text", "\"" + String(repeating: "あ", count: 2_000) + "\""), ("control", "\"\\u0000\\u202e/../\""),
    ("long list", "[" + String(repeating: "1,", count: 200) + "1]"),
]

/// JSON of an object with one member replaced, or left out for nil.
private func mutated(_ object: [String: Any], _ field: String, _ json: String?) throws -> String {
    let members = try object.sorted { $0.key < $1.key }.compactMap { name, value -> String? in
        let text = name == field ? json : String(decoding: try bytes(value), as: UTF8.self)
        return text.map { "\"\(name)\":\($0)" }
    }
    return "{\(members.joined(separator: ","))}"
}

@Suite("Entries with a field gone wrong")
struct MutationTests {
    /// Reads three entries, of which the second has a field gone wrong in each way; bounds of what is read are FuzzTests'.
    private func spoil(
        _ entries: [[String: Any]], needed: Set<String>, read: (String) throws -> (works: [Work], unreadable: Int)
    ) throws {
        let texts = try entries.prefix(3).map { String(decoding: try bytes($0), as: UTF8.self) }
        let whole = try read(texts.joined(separator: ",")).works
        for field in entries[1].keys.sorted() {
            for (name, json) in replacements + [("missing", "")] {
                let entry = try mutated(entries[1], field, name == "missing" ? nil : json)
                let (works, unreadable) = try read([texts[0], entry, texts[2]].joined(separator: ","))
                let place: Comment = "\(field) \(name)"
                #expect(works.first == whole[0] && works.contains(whole[2]), place)
                #expect(works.count + unreadable == 3, place)
                if !needed.contains(field) { #expect(unreadable == 0, place) }
                if needed.contains(field), name == "missing" { #expect(unreadable == 1, place) }
            }
        }
    }

    @Test("without a number, a rank or a picture there is nothing to show; everything else has a substitute")
    func ranking() throws {
        let contents = try #require(try Payload(Payload.daily).root["contents"] as? [[String: Any]])
        try spoil(contents, needed: ["illust_id", "rank", "url"]) { entries in
            let text = "{\"contents\":[\(entries)],\"date\":\"20220501\"}"
            let page = try ListAnswers.ranking(of: JSONReader.read(Array(text.utf8)), mode: .daily, day: nil, page: 1)
            return (page.entries.map(\.work), page.unreadable)
        }
    }

    @Test("in a list of works too")
    func brief() throws {
        let payload = try Payload("ajax-user-bookmarks/Nandaka-PixivUtil2-bookmarks")
        let told = try #require(payload.root.at("body", "works") as? [[String: Any]])
        try spoil(told, needed: ["id", "url"]) { entries in
            let list = ListingPage(list: try JSONReader.read(Array("{\"works\":[\(entries)]}".utf8)))
            return (list.works, list.unreadable)
        }
    }

    @Test("numbers as strings and strings as numbers are the same work")
    func alike() throws {
        let payload = try Payload(Payload.loggedIn)
        let entry = try #require((payload.root["contents"] as? [[String: Any]])?.first)
        let plain = try #require(WorkAnswers.ranked(payload.json["contents"].elements[0]))
        for (name, value) in entry {
            let other: Any? = (value as? String).flatMap { Int($0) } ?? (value as? Int).map { String($0) }
            guard let other, !(value is Bool) else { continue }
            var changed = entry
            changed[name] = other
            #expect(WorkAnswers.ranked(try JSONReader.read(bytes(changed))) == plain, "\(name)")
        }
    }
}

@Suite("Special slots of a ranking")
struct SlotTests {
    private func page(_ entries: String...) throws -> ListingPage {
        let text = "{\"contents\":[\(entries.joined(separator: ","))],\"date\":\"20220501\",\"next\":false}"
        return try ListAnswers.ranking(of: JSONReader.read(Array(text.utf8)), mode: .daily, day: nil, page: 1)
    }

    private func entry(_ rank: Int, _ id: Int, _ more: String = "") -> String {
        """
        {"rank":\(rank),"illust_id":\(id),"title":"t\(id)"\(more),
        "url":"https://i.pximg.net/c/240x480/img-master/img/2022/04/30/00/00/15/\(id)_p0_master1200.jpg"}
        """
    }

    @Test("a slot for signed-in users keeps its rank and number and is withheld")
    func masked() throws {
        let slot = """
            {"title":"","tags":[],"url":"https://s.pximg.net/common/images/limit_unviewable_s.png","illust_page_count":1,
            "user_name":"","illust_content_type":[],"width":100,"height":100,"user_id":1,"mask_reason":"login_only",
            "is_masked":false,"illust_id":140000001,"rank":2,"yes_rank":0}
            """
        let page = try page(entry(1, 5), slot, entry(3, 6))
        #expect(page.entries.map(\.rank) == [1, 2, 3] && page.unreadable == 0)
        let work = page.entries[1].work
        #expect(work.withheld == "login_only" && work.picture.isEmpty && work.uploaded == 0 && work.pageCount == 1)
        #expect(work.id.rawValue == 140_000_001 && work.title.isEmpty && page.entries[1].previousRank == nil)
    }

    @Test("a placeholder without a reason names itself as the reason")
    func placeholder() throws {
        for (url, reason) in [
            ("limit_unviewable_s.png", "limit_unviewable"), ("limit_sanity_level_360.png", "limit_sanity"),
            ("limit_r18_360.png", "limit_r18"), ("limit_\\u3042.png", "withheld"),
        ] {
            let slot = "{\"rank\":1,\"illust_id\":5,\"url\":\"https://s.pximg.net/common/images/\(url)\"}"
            #expect(try page(slot).entries.first?.work.withheld == reason)
        }
    }

    @Test("a reason that is no plain word, and a time beyond all bounds, are not passed on")
    func strangeReason() throws {
        let slot =
            "{\"rank\":1,\"illust_id\":5,\"mask_reason\":\"a\\nb\",\"illust_upload_timestamp\":9223372036854775807}"
        let work = try #require(try page(slot).entries.first?.work)
        #expect(work.withheld == "withheld" && work.uploaded == 0)
    }

    @Test("ranks in disorder are put in order; a repeat goes; two works of one rank are no ranking")
    func ranks() throws {
        let page = try page(entry(4, 8), entry(1, 5), entry(1, 5), entry(2, 6), entry(2, 7))
        #expect(page.entries.map(\.rank) == [1, 2, 4])
        #expect(page.entries.map(\.work.id.rawValue) == [5, 6, 8] && page.unreadable == 1)
    }

    @Test("a picture of another work is not believed")
    func otherWork() throws {
        let wrong = entry(2, 6).replacingOccurrences(of: "\"illust_id\":6", with: "\"illust_id\":7")
        let page = try page(entry(1, 5), wrong)
        #expect(page.entries.count == 1 && page.unreadable == 1)
    }

    @Test("a blurred thumbnail hides nothing, and the upload time is the path's")
    func uploaded() throws {
        for more in [",\"is_masked\":true", ",\"illust_upload_timestamp\":1"] {
            let work = try page(entry(1, 5, more)).entries.first?.work
            #expect(work?.withheld == nil && work?.uploaded == 1_651_244_415, "\(more)")
        }
    }

    @Test("an answer of 2015 with its own names and types")
    func old() throws {
        let page = try page(
            entry(1, 5, ",\"total_score\":77,\"view_count\":\"88\",\"yes_rank\":\"9\",\"illust_page_count\":3"))
        let entry = try #require(page.entries.first)
        #expect(
            entry.work.ratings == 77 && entry.work.views == 88 && entry.previousRank == 9 && entry.work.pageCount == 3)
    }

    @Test("whether a page follows")
    func next() throws {
        for (fields, expected) in [
            ("\"next\":2", true), ("\"next\":\"2\"", true), ("\"next\":false", false), ("\"next\":null", false),
            ("\"next\":1", false), ("\"rank_total\":500", true), ("\"rank_total\":50", false),
            ("\"rank_total\":\"51\"", true),
            ("\"next\":false,\"rank_total\":500", false),
        ] {
            let text = "{\"contents\":[\(entry(1, 5))],\"date\":\"20220501\",\(fields)}"
            let page = try ListAnswers.ranking(of: JSONReader.read(Array(text.utf8)), mode: .daily, day: nil, page: 1)
            #expect(page.hasNext == expected, "\(fields)")
        }
    }
}
