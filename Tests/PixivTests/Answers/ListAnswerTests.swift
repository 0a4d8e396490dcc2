import Rankings
import TestSupport
import Testing

@testable import Pixiv

@Suite("Pages of searches, bookmarks and followed authors")
struct ListAnswerTests {
    private func entry(_ id: Int) -> String {
        """
        {"id":"\(id)","title":"t","userId":"7","userName":"u","illustType":0,"aiType":2,
        "url":"https://i.pximg.net/c/250x250_80_a2/img-master/img/2022/04/30/00/00/15/\(id)_p0_square1200.jpg"}
        """
    }

    private static func json(_ text: String) throws(Failure) -> JSON {
        do { return try JSONReader.read(Array(text.utf8)) } catch { throw .unreadable("\(error)") }
    }

    private func search(_ entries: String, _ fields: String, page: Int) throws -> ListingPage {
        let text = "{\"illustManga\":{\"data\":[\(entries)],\(fields)}}"
        return try ListAnswers.search(JSONReader.read(Array(text.utf8)), page: page)
    }

    @Test("the last page of a search decides; without one the total does")
    func next() throws {
        for (fields, page, hasNext) in [
            ("\"total\":9000,\"lastPage\":10", 9, true), ("\"total\":9000,\"lastPage\":10", 10, false),
            ("\"total\":9000,\"lastPage\":\"10\"", 1, true), ("\"total\":121", 2, true), ("\"total\":120", 2, false),
            ("\"total\":null", 1, true), ("\"total\":1,\"lastPage\":0", 1, false),
            ("\"total\":0,\"lastPage\":0", 1, false),
        ] {
            let found = try search(entry(5), fields, page: page)
            #expect(found.hasNext == hasNext && found.works.count == 1 && found.works[0].isAI == true, "\(fields)")
        }
    }

    @Test("behind the last page the service tells the last one again, which is the end")
    func past() throws {
        #expect(throws: Failure.pastTheEnd) {
            try search(entry(5), "\"total\":9000,\"lastPage\":10", page: 11)
        }
        #expect(throws: Failure.pastTheEnd) { try search("", "\"total\":60,\"lastPage\":1", page: 2) }
        #expect(throws: Failure.pastTheEnd) { try search("", "\"total\":9000,\"lastPage\":10", page: 11) }
        #expect(throws: Failure.pastTheEnd) { try search("", "\"total\":60", page: 2) }
        #expect(throws: Failure.pastTheEnd) { try search("", "\"lastPage\":1", page: 2) }
        let uncounted = try search("", "\"bookmarkRanges\":[]", page: 2)
        #expect(uncounted.entries.isEmpty && uncounted.total == nil && !uncounted.hasNext, "no word about the end")
        #expect(isUnreadable(failure { try search("", "\"lastPage\":5", page: 2) }))
    }

    @Test("no hits are a page; no works in spite of hits, or behind a page that had some, are not")
    func empty() throws {
        let none = ListingPage(works: [], total: 0, hasNext: false, unreadable: 0)
        #expect(try search("", "\"total\":0,\"lastPage\":1", page: 1) == none)
        #expect(try search("{\"isAdContainer\":true}", "\"total\":0", page: 1) == none)
        for (entries, fields, page) in [
            ("", "\"total\":5", 1), ("", "\"total\":0", 2), ("", "\"total\":0,\"lastPage\":1", 2),
            ("", "\"total\":500,\"lastPage\":9", 2), ("{\"isAdContainer\":true}", "\"total\":5", 1),
            ("{\"id\":\"5\"}", "\"total\":0", 1),
        ] {
            #expect(isUnreadable(failure { try search(entries, fields, page: page) }), "\(fields) \(page)")
        }
    }

    @Test("a total that the page contradicts counts for nothing")
    func contradicted() throws {
        func entries(_ count: Int) -> String { (1...count).map { entry($0) }.joined(separator: ",") }
        for (fields, page, total, hasNext) in [
            ("\"total\":0,\"lastPage\":0", 1, nil, true), ("\"total\":59", 1, nil, true),
            ("\"total\":60", 1, 60, false), ("\"total\":60", 2, nil, true), ("\"bookmarkRanges\":[]", 3, nil, true),
        ] as [(String, Int, Int?, Bool)] {
            let found = try search(entries(60), fields, page: page)
            #expect(found.hasNext == hasNext && found.total == total, "\(fields), page \(page)")
        }
        for (count, total, counted, hasNext) in [
            (48, 0, nil, true), (48, 10, nil, true), (48, 48, 48, false), (47, 0, 0, false), (5, 4, nil, true),
        ] as [(Int, Int, Int?, Bool)] {
            let page = try ListAnswers.works(Self.json("{\"works\":[\(entries(count))],\"total\":\(total)}"), page: 1)
            #expect(page.hasNext == hasNext && page.total == counted, "\(count) of \(total)")
        }
        let users = (1...24).map { "{\"userId\":\($0)}" }.joined(separator: ",")
        #expect(try ListAnswers.following(Self.json("{\"users\":[\(users)],\"total\":0}"), page: 1).hasNext)
        let places = (1...12).map { "{\"workId\":\"\($0)\",\"order\":\($0)}" }.joined(separator: ",")
        let series = "{\"page\":{\"series\":[\(places)],\"total\":13},\"thumbnails\":{\"illust\":[\(entries(12))]}}"
        let (first, second) = try (
            ListAnswers.series(Self.json(series), page: 1), ListAnswers.series(Self.json(series), page: 2)
        )
        #expect(first.hasNext && first.total == 13 && second.hasNext && second.total == nil)
    }

    @Test("illustrations and manga that stand apart have the pages of the longer list")
    func apart() throws {
        func page(_ page: Int) throws -> ListingPage {
            func group(_ first: Int) -> String {
                let shown = (1...100).dropFirst((page - 1) * 60).prefix(60).map { entry(first + $0) }
                return "{\"data\":[\(shown.joined(separator: ","))],\"total\":100}"
            }
            return try ListAnswers.search(Self.json("{\"illust\":\(group(1000)),\"manga\":\(group(2000))}"), page: page)
        }
        let (first, second) = (try page(1), try page(2))
        #expect(first.works.count == 120 && first.hasNext && first.total == 200)
        #expect(second.works.count == 80 && !second.hasNext)
        #expect(throws: Failure.pastTheEnd) { try page(3) }
    }

    @Test("a list with holes is a list, in the order of its numbers")
    func holes() throws {
        let found = try ListAnswers.search(
            Self.json("{\"illustManga\":{\"data\":{\"10\":\(entry(3)),\"2\":\(entry(5))},\"total\":2}}"), page: 1)
        #expect(found.works.map(\.id.rawValue) == [5, 3])
        let feed = "{\"page\":{\"ids\":{\"0\":7,\"2\":6}},\"thumbnails\":{\"illust\":[\(entry(6)),\(entry(7))]}}"
        #expect(try ListAnswers.feed(Self.json(feed), page: 1).works.map(\.id.rawValue) == [7, 6])
        let works = "{\"works\":{\"7\":\(entry(7)),\"6\":{\"id\":\"6\"}}}"
        let list = try AuthorAnswers.works(Self.json(works))
        #expect(list.works.map(\.id.rawValue) == [7] && list.unreadable == 1, "a map by number is none")
    }

    @Test(
        "a series is numbered by its own list, whatever records come with it",
        arguments: [("Magelon-png-PixivApi-p1", 7...18, 18), ("NateScarlet-pixiv-66844-p1", 248...250, 250)])
    func recordedSeries(name: String, numbers: ClosedRange<Int>, total: Int) throws {
        let body = try Envelope.body(of: Payload("ajax-series/\(name)").json)
        let page = try ListAnswers.series(body, page: 1)
        #expect(page.entries.compactMap(\.rank) == numbers.reversed() && page.total == total && page.hasNext)
        let named = body["page"]["series"].elements.map { $0["workId"].number }
        #expect(page.works.map { Optional($0.id.rawValue) } == named && page.unreadable == 0)
    }

    @Test("a series has gaps where works are withheld, and no other end than an empty page or its total")
    func series() throws {
        func page(_ numbers: ClosedRange<Int>, _ known: [Int], total: Int, _ page: Int) throws -> ListingPage {
            let places = numbers.reversed().map { "{\"workId\":\"\($0 + 100)\",\"order\":\($0)}" }
            let records = known.map { entry($0 + 100) }
            let text =
                "{\"page\":{\"series\":[\(places.joined(separator: ","))],\"total\":\(total)},"
                + "\"thumbnails\":{\"illust\":[\(records.joined(separator: ","))]}}"
            return try ListAnswers.series(JSONReader.read(Array(text.utf8)), page: page)
        }
        let gaps = try page(1...4, [9, 4, 1], total: 4, 1)
        #expect(gaps.entries.map(\.rank) == [4, 1] && gaps.works.map(\.id.rawValue) == [104, 101] && !gaps.hasNext)
        #expect(try page(2...13, Array(2...13), total: 13, 1).hasNext)
        #expect(try !page(1...1, [1], total: 13, 2).hasNext)
        func none(total: String, _ page: Int = 2) throws -> ListingPage {
            let text = "{\"page\":{\"series\":[],\"total\":\(total)},\"thumbnails\":{\"illust\":[]}}"
            return try ListAnswers.series(Self.json(text), page: page)
        }
        for total in ["12", "11"] { #expect(throws: Failure.pastTheEnd) { try none(total: total) } }
        #expect(isUnreadable(failure { try none(total: "0") }), "none at all")
        // The total counts works that the pages lack for this reader.
        #expect(try none(total: "40").hasNext && !none(total: "13").hasNext && !none(total: "null").hasNext)
        #expect(failure { try none(total: "13", 1) } == .withheld("none is shown"))
        #expect(isUnreadable(failure { try none(total: "null", 1) }))
        // Works that this reader may not see are no reason to call the series gone.
        let hidden = #expect(throws: Failure.self) { try page(1...4, [], total: 4, 1) }
        #expect(hidden == .withheld("none is shown"))
    }

    @Test(
        "new works are in the order of the page's numbers, and a number may have no record",
        arguments: ["daydreamer-json-pixiv-ajax-api-docs-mode_all_p_1", "daydreamer-json-pixiv-ajax-api-docs"])
    func recordedFeed(name: String) throws {
        let body = try Envelope.body(of: Payload("ajax-follow-latest/\(name)").json)
        let page = try ListAnswers.feed(body, page: 1)
        let numbers = body["page"]["ids"].elements.compactMap(\.number)
        let known = Set(body["thumbnails"]["illust"].elements.compactMap { $0["id"].number })
        #expect(page.works.map(\.id.rawValue) == numbers.filter(known.contains) && page.works.count == 52)
        #expect(page.hasNext && page.unreadable == 0)
    }

    @Test("new works: the signs of the end, and other forms")
    func feed() throws {
        func page(_ numbers: String, _ entries: String, _ more: String = "", _ page: Int = 1) throws -> ListingPage {
            let text = "{\"page\":{\"ids\":[\(numbers)]\(more)},\"thumbnails\":{\"illust\":[\(entries)]}}"
            return try ListAnswers.feed(JSONReader.read(Array(text.utf8)), page: page)
        }
        let mixed = try page("5,\"9\",7,null", "\(entry(9)),{\"isAdContainer\":true},\(entry(5)),\(entry(3))")
        #expect(mixed.works.map(\.id.rawValue) == [5, 9] && mixed.hasNext && mixed.unreadable == 0)
        #expect(try !page("5", entry(5), ",\"isLastPage\":true", 2).hasNext)
        #expect(try page("5", entry(5), ",\"isLastPage\":false", 2).hasNext)
        #expect(try !page("", "").hasNext && page("", "").works.isEmpty)
        #expect(throws: Failure.pastTheEnd) { try page("", "", "", 2) }
        // All of a page may be withheld, which says nothing about the next one.
        #expect(try page("5,6", "", "", 3).hasNext)
        #expect(throws: Failure.withheld("none is shown")) { try page("5,6", "", ",\"isLastPage\":true") }
    }

    @Test("related works: the first with their records, the others by number")
    func related() throws {
        let body = try Envelope.body(of: Payload("ajax-illust-recommend-init/Magelon-png-PixivApi").json)
        let page = try ListAnswers.related(body)
        #expect(page.works.count == 20 && page.works.first?.id.rawValue == 143_543_954 && page.unreadable == 0)
        #expect(page.further?.count == 160 && page.further?.first?.rawValue == 143_146_290)
        func read(_ text: String) throws -> ListingPage { try ListAnswers.related(JSONReader.read(Array(text.utf8))) }
        let mixed = try read("{\"illusts\":[{\"isAdContainer\":true},\(entry(5))],\"nextIds\":[7,\"8\",0,null,\"x\"]}")
        #expect(mixed.works.map(\.id.rawValue) == [5] && mixed.further?.map(\.rawValue) == [7, 8])
        #expect(try read("{\"illusts\":[],\"nextIds\":[]}").works.isEmpty)
    }

    @Test("a collection has an order, and gaps for works without a record")
    func collection() throws {
        let body = try Envelope.body(of: Payload("ajax-collection/Magelon-png-PixivApi-GetCollection").json)
        let page = try ListAnswers.collection(body)
        #expect(page.entries.compactMap(\.rank) == Array(1...15) && !page.hasNext && page.unreadable == 0)
        let named = body["data"]["detail"]["tiles"].elements.compactMap { $0["workId"].number }
        #expect(page.works.map(\.id.rawValue) == named)
        func read(_ tiles: String, _ records: String) throws -> ListingPage {
            let text = "{\"data\":{\"detail\":{\"tiles\":[\(tiles)]}},\"thumbnails\":{\"illust\":[\(records)]}}"
            return try ListAnswers.collection(JSONReader.read(Array(text.utf8)))
        }
        func work(_ id: Int, _ kind: String = "illust") -> String {
            "{\"type\":\"Work\",\"workType\":\"\(kind)\",\"workId\":\"\(id)\"}"
        }
        let gaps = try read(
            "{\"type\":\"Text\"},\(work(9)),\(work(8)),{\"type\":\"ExternalUrl\"},\(work(7, "novel")),\(work(6))",
            "\(entry(6)),\(entry(7)),\(entry(9))")
        #expect(gaps.entries.map(\.rank) == [1, 4] && gaps.works.map(\.id.rawValue) == [9, 6])
        // Nothing that can be shown is in these: they are empty.
        for tiles in ["", "{\"type\":\"Text\"}", work(7, "novel"), "\(work(7, "novel")),{\"type\":\"Text\"}"] {
            #expect(try read(tiles, "").entries.isEmpty, "\(tiles)")
        }
        // Works that this reader may not see are no reason to call the collection gone.
        let hidden = #expect(throws: Failure.self) { try read(work(9), "") }
        #expect(hidden == .withheld("none is shown"))
        #expect(throws: Failure.withheld("none is shown")) { try read("\(work(7, "novel")),\(work(9))", "") }
    }

    @Test("an author's tags, and works with one of them")
    func tags() throws {
        let body = try Envelope.body(of: Payload("ajax-user-illusts-tag/Magelon-png-PixivApi").json)
        let page = try ListAnswers.works(body, page: 1)
        #expect(page.works.count == 8 && page.total == 8 && !page.hasNext && page.unreadable == 0)
        func read(_ text: String) throws -> [String] {
            try ListAnswers.names(JSONReader.read(Array(text.utf8)), "tag", TagName.name).authors.map(\.name)
        }
        let told = """
            [{"tag":"風景","tag_translation":"","cnt":3},{"tag":"Fate/GrandOrder","cnt":"2"},{"tag":"風景","cnt":1},{"cnt":9},
            {"tag":"none","cnt":0},{"tag":"nothing","cnt":"0"},
            {"tag":""},{"tag":".."},{"tag":".hidden"},{"tag":".directory"},{"tag":null},{"tag":"a\\u0007"},{"tag":"か\\u3099"},{"tag":"\(String(repeating: "x", count: 300))"}]
            """
        #expect(try read(told) == ["風景", "Fate／GrandOrder", "が"])
        let spelt = try Self.json(#"[{"tag":"a"},{"tag":"a/b"},{"tag":"c\uff0fd"},{"tag":"か\u3099"}]"#)
        let odd = try ListAnswers.names(spelt, "tag", TagName.name)
        #expect(odd.authors.map(\.name) == ["a", "a／b", "c／d", "が"])
        #expect(odd.works.map(\.picture) == ["a", "a／b", "c%EF%BC%8Fd", "%E3%81%8B%E3%82%99"])
        #expect(try read("[]") == [] && read("[{\"tag\":\"a\",\"cnt\":0}]") == [])
    }

    @Test("tags and months of bookmarks, and private bookmarks")
    func ownBookmarks() throws {
        func body(_ route: String) throws -> JSON {
            try Envelope.body(of: Payload("ajax-user-\(route)/Magelon-png-PixivApi").json)
        }
        let tags = try ListAnswers.bookmarkTags(body("bookmark-tags"))
        #expect(tags.authors.map(\.name) == ["未分類"], "those of private bookmarks are not among them")
        let months = try ListAnswers.names(body("bookmark-periods"), "period", TagName.month)
        #expect(months.entries.count == 85, "one of 86 has none")
        #expect(months.authors.first?.name == "2026-12")
        let counted = try Self.json(#"[{"period":"2026-12","count":0},{"period":"2026-11","count":1}]"#)
        #expect(try ListAnswers.names(counted, "period", TagName.month).authors.map(\.name) == ["2026-11"])
        for (text, isRefused) in [
            (#"{"public":[],"tooManyBookmark":true}"#, true), (#"{"public":[],"tooManyBookmarkTags":true}"#, true),
            (#"{"public":[],"tooManyBookmark":false,"tooManyBookmarkTags":false}"#, false),
            (#"{"public":[{"tag":"未分類","cnt":0}],"tooManyBookmark":true}"#, false),
        ] {
            let answer = Result { () throws(Failure) in try ListAnswers.bookmarkTags(Self.json(text)) }
            #expect(
                isRefused ? answer == .failure(.withheld("too many bookmarks")) : try answer.get().entries.isEmpty,
                "\(text)")
        }
        let page = try ListAnswers.works(body("bookmarks"), page: 1)
        #expect(page.works.count == (try body("bookmarks")["works"].elements.count) && page.unreadable == 0)
        for text in ["", "2026", "2026-13", "2026-00", "26-01", "2026-1-1", "-2026-01", "a-b"] {
            #expect(TagName.month(text) == nil, "\(text)")
        }
    }

    @Test("bookmarks: a page may be empty without being the last one")
    func bookmarks() throws {
        func page(_ entries: String, _ total: String, _ page: Int) throws -> ListingPage {
            let text = "{\"works\":[\(entries)],\"total\":\(total)}"
            return try ListAnswers.works(JSONReader.read(Array(text.utf8)), page: page)
        }
        #expect(try page("", "0", 1) == ListingPage(works: [], total: 0, hasNext: false, unreadable: 0))
        #expect(try page("", "100", 2) == ListingPage(works: [], total: 100, hasNext: true, unreadable: 0))
        #expect(try !page("", "100", 3).hasNext)
        #expect(try page(entry(5), "null", 1).hasNext)
        #expect(throws: Failure.pastTheEnd) { try page("", "96", 3) }
        #expect(throws: Failure.pastTheEnd) { try page("", "1", 2) }
        #expect(isUnreadable(failure { try page("", "0", 2) }), "the page before counted some")
        #expect(try page("", "null", 2) == ListingPage(works: [], total: nil, hasNext: false, unreadable: 0))
        // Of an author's works with a tag none is missing.
        for (number, total) in [(2, 100), (3, 100), (2, 97)] {
            let body = try Self.json("{\"works\":[],\"total\":\(total)}")
            #expect(
                isUnreadable(
                    #expect(throws: Failure.self) { try ListAnswers.works(body, page: number, hasGaps: false) }))
        }
        #expect(throws: Failure.pastTheEnd) {
            try ListAnswers.works(Self.json("{\"works\":[],\"total\":96}"), page: 3, hasGaps: false)
        }
        #expect(isUnreadable(failure { try page("{\"id\":\"5\"}", "1", 1) }))
        let masked = """
            {"id":5,"title":"-----","userId":0,"isMasked":true,"maskReason":"r18","url":"https://s.pximg.net/common/images/limit_r18_360.png"}
            """
        let work = try #require(try page(masked, "1", 1).works.first)
        #expect(work.withheld == "r18" && work.picture.isEmpty && work.author.rawValue == 0)
        // Without a reason, a stand-in or any address it is withheld all the same.
        for url in ["null", "\"\"", "\"https://s.pximg.net/common/images/new.png\""] {
            let bare = try page("{\"id\":6,\"title\":\"-----\",\"isMasked\":true,\"url\":\(url)}", "1", 1)
            #expect(bare.works.map(\.withheld) == ["withheld"] && bare.unreadable == 0)
        }
    }

    @Test("followed authors: twice told counts once, without a number not at all")
    func following() throws {
        func page(_ users: String, _ total: String, _ page: Int) throws -> ListingPage {
            let text = "{\"users\":[\(users)],\"total\":\(total)}"
            return try ListAnswers.following(JSONReader.read(Array(text.utf8)), page: page)
        }
        let some = try page(
            "{\"userId\":\"3\",\"userName\":\"c\"},{\"userId\":1,\"userName\":\"a\"},{\"userName\":\"x\"},{\"userId\":\"3\"}",
            "25", 1)
        #expect(some.unreadable == 1)
        #expect(some.authors.map(\.name) == ["c", "a"] && some.authors.map(\.id.rawValue) == [3, 1] && some.hasNext)
        #expect(try !page("{\"userId\":3}", "48", 2).hasNext)
        #expect(try page("", "0", 1) == ListingPage(authors: [], total: 0, hasNext: false))
        #expect(throws: Failure.pastTheEnd) { try page("", "24", 2) }
        #expect(isUnreadable(failure { try page("", "0", 2) }), "the page before counted some")
        #expect(isUnreadable(failure { try page("{}", "1", 1) }))
    }
}
