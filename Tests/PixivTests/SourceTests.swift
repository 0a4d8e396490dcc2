import Foundation
import HTTP
import Rankings
import Testing

@testable import Pixiv

private let deadline = ContinuousClock.now.advanced(by: .seconds(600))
private let day = Day(ordinal: 19_113)  // 2022-05-01
private let referer = "Referer: https://www.pixiv.net/"

/// A ranking with one good entry.
private func ranking(
    mode: String = "daily", date: String = "20220501", page: Int = 1, next: String = "2", contents: String? = nil
) -> String {
    let entry = """
        {"title":"t","illust_id":"97973029","rank":1,"user_id":2,"user_name":"u","tags":[],"width":3,"height":4,
        "url":"https://i.pximg.net/c/240x480/img-master/img/2022/04/30/00/00/15/97973029_p0_master1200.jpg"}
        """
    return """
        {"contents":[\(contents ?? entry)],"mode":"\(mode)","page":\(page),"next":\(next),"date":"\(date)","rank_total":500}
        """
}

private func failure<Value>(
    _ body: () async throws(SourceError) -> Value
) async -> SourceError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}

private func isUnreadable(_ error: SourceError?) -> Bool {
    if case .unreadable(let reason)? = error { !reason.isEmpty } else { false }
}

@Suite("Asking for rankings")
struct RankingRequestTests {
    @Test("the gate is passed first, then one request of the right shape goes")
    func shape() async throws {
        let service = FakeService(ranking())
        let page = try await service.source().rankingPage(.daily, day: day, page: 1, deadline: deadline)
        #expect(page.entries.map(\.work.id.rawValue) == [97_973_029])
        #expect(page.day == day && page.hasNext && page.total == 500)
        let url = "https://www.pixiv.net/ranking.php?format=json&mode=daily&date=20220501&p=1"
        #expect(service.events == [.passed(.reader, deadline), .asked(url)])
        let request = try #require(service.requests.first)
        #expect(request.method == .get && request.headers == [referer] && request.range == nil)
        #expect(request.priority == .reader && request.transferClass == .metadata && request.deadline == deadline)
        #expect(request.bodyLimit == 16 << 20 && request.acceptsCompression)
    }

    @Test("every mode is asked by its name; without a day no date is sent", arguments: RankingMode.everyone)
    func modes(mode: RankingMode) async throws {
        let service = FakeService(ranking(mode: mode.rawValue, page: 3, next: "false"))
        let source = service.source(apiURL: "http://127.0.0.1:8080")
        let page = try await source.rankingPage(mode, day: nil, page: 3, deadline: deadline)
        #expect(service.urls == ["http://127.0.0.1:8080/ranking.php?format=json&mode=\(mode.rawValue)&p=3"])
        #expect(page.mode == mode && page.day == day && !page.hasNext)
        #expect(source.modes.contains(mode))
    }

    @Test(
        "a 404 is the end behind page 1 and an unpublished day on page 1", arguments: ["", "{\"error\":\"範囲外\"}", "{}"])
    func outside(body: String) async {
        for (page, expected) in [(1, SourceError.notPublished), (2, .pastTheEnd), (11, .pastTheEnd)] {
            let source = FakeService(status: 404, body).source()
            #expect(
                await failure { () async throws(SourceError) in
                    try await source.rankingPage(.daily, day: day, page: page, deadline: deadline)
                } == expected)
        }
    }

    @Test(
        "answers with status 200 that have no ranking in them",
        arguments: [
            (ranking(contents: ""), 1, SourceError.notPublished), (ranking(page: 2, contents: ""), 2, .pastTheEnd),
            (ranking(date: "20220430"), 1, .notPublished),
            ("{\"error\":\"ランキング集計の範囲外です\"}", 1, .notPublished),
            ("{\"error\":\"ランキング集計の範囲外です\"}", 2, .pastTheEnd),
        ])
    func empty(body: String, page: Int, expected: SourceError) async {
        let source = FakeService(body).source()
        #expect(
            await failure { () async throws(SourceError) in
                try await source.rankingPage(.daily, day: day, page: page, deadline: deadline)
            } == expected)
    }

    @Test(
        "answers that make no sense",
        arguments: [
            "{}", "{\"contents\":null}", "{\"contents\":{}}", "{\"error\":true,\"message\":\"x\",\"body\":[]}",
            "{\"error\":\"other\"}", ranking(mode: "weekly"), ranking(page: 2), ranking(contents: "{},{},{\"rank\":1}"),
            ranking(contents: "null"),
        ])
    func senseless(body: String) async {
        let service = FakeService(body)
        let source = service.source()
        #expect(
            isUnreadable(
                await failure { () async throws(SourceError) in
                    try await source.rankingPage(.daily, day: day, page: 1, deadline: deadline)
                }))
        #expect(service.requests.count == 1)
    }

    @Test("an answer without a date is of the day asked for, and of none if none was")
    func dateless() async throws {
        let body = ranking().replacingOccurrences(of: "\"date\":\"20220501\"", with: "\"date\":false")
        let page = try await FakeService(body).source().rankingPage(.daily, day: day, page: 1, deadline: deadline)
        #expect(page.day == day)
        let source = FakeService(body).source()
        #expect(
            isUnreadable(
                await failure { () async throws(SourceError) in
                    try await source.rankingPage(.daily, day: nil, page: 1, deadline: deadline)
                }))
    }

    @Test("modes for signed-in users are refused to others, in each of the ways seen")
    func signIn() async throws {
        let mode = try #require(RankingMode(rawValue: "daily_r18"))
        for service in [
            FakeService(status: 403, "{}"), FakeService(status: 403, "<html>"), FakeService("<html>", "<html>"),
            FakeService(status: 401, "{}"), FakeService(ranking(mode: "daily")),
            FakeService([.failure(.redirectRefused("accounts.pixiv.net"))]),
        ] {
            let source = service.source()
            #expect(
                await failure { () async throws(SourceError) in
                    try await source.rankingPage(mode, day: day, page: 1, deadline: deadline)
                } == .needsSignIn)
            #expect(service.closings.isEmpty)
        }
    }

    @Test("a page in place of JSON is asked for once more")
    func askedAgain() async throws {
        for nonsense in ["<!DOCTYPE html><html>", "", "[]", "{\"contents\":[", "null", "{} {}"] {
            let service = FakeService(nonsense, ranking())
            let page = try await service.source().rankingPage(.daily, day: day, page: 1, deadline: deadline)
            #expect(page.entries.count == 1)
            let asked = FakeService.Event.asked(service.urls[0])
            #expect(service.events == [.passed(.reader, deadline), asked, .passed(.reader, deadline), asked])

            let hopeless = FakeService(nonsense, nonsense, ranking())
            let source = hopeless.source()
            #expect(
                isUnreadable(
                    await failure { () async throws(SourceError) in
                        try await source.rankingPage(.daily, day: day, page: 1, deadline: deadline)
                    }))
            #expect(hopeless.requests.count == 2)
        }
    }

    @Test("a 404 of something that is not the service makes nothing not exist")
    func strangersNotFound() async {
        let source = FakeService(status: 404, "<html>", "<html>").source()
        #expect(
            isUnreadable(
                await failure { () async throws(SourceError) in
                    try await source.rankingPage(.daily, day: day, page: 2, deadline: deadline)
                }))
    }
}

@Suite("Refusals and failures")
struct RefusalTests {
    private func ask(_ service: FakeService) async -> SourceError? {
        let source = service.source()
        return await failure { () async throws(SourceError) in
            try await source.rankingPage(.daily, day: day, page: 1, deadline: deadline)
        }
    }

    private typealias Headers = [(name: String, value: String)]

    @Test("too many requests close the gate for as long as asked, at most an hour")
    func limited() async {
        let date = (name: "date", value: "Sun, 06 Nov 1994 08:49:37 GMT")
        let cases: [(Headers, Int64?, Int64)] = [
            ([], nil, 120), ([("retry-after", "30")], 30, 30), ([("retry-after", "0")], 1, 1),
            ([("retry-after", "99999999999999999999")], 3600, 3600), ([("retry-after", "soon")], nil, 120),
            ([date, ("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")], 60, 60),
            ([date, ("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], 1, 1),
            ([date, ("retry-after", "Sun, 06 Nov 2094 08:49:00 GMT")], 3600, 3600),
            ([("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")], 1, 1),
        ]
        for (headers, told, closed) in cases {
            let service = FakeService(status: 429, headers: headers, "<html>")
            #expect(await ask(service) == .limited(retryAfter: told))
            #expect(service.closings == [closed])
            #expect(service.requests.count == 1)
        }
    }

    @Test("trouble of the server is passing")
    func trouble() async {
        let plain = FakeService(status: 503, "<html>")
        if case .unreachable = await ask(plain) {} else { Issue.record("503 is no answer") }
        #expect(plain.closings.isEmpty)
        let asking = FakeService(status: 503, headers: [("retry-after", "7")], "<html>")
        #expect(await ask(asking) == .limited(retryAfter: 7))
        #expect(asking.closings == [7])
    }

    @Test("a refusal by the front server is a limit, one with a reason is told")
    func forbidden() async {
        #expect(await ask(FakeService(status: 403, "<html>")) == .limited(retryAfter: nil))
        guard
            case .unreadable(let reason) = await ask(
                FakeService(status: 403, "{\"error\":true,\"message\":\"no\\u0000\\u202e way\",\"body\":[]}"))
        else {
            Issue.record("403 with a reason")
            return
        }
        #expect(reason.contains("403") && reason.contains("“no way”"))
    }

    @Test("what failed on the way is told by its kind, and asked no second time")
    func onTheWay() async {
        let cases: [(HTTPError, SourceError)] = [
            (.unreachable("a"), .unreachable("a")), (.broken("b"), .unreachable("b")), (.timedOut, .timedOut),
            (.untrusted("c"), .unreachable("c")), (.invalidAnswer("d"), .unreadable("d")), (.cancelled, .cancelled),
            (.redirectRefused("e"), .unreadable("e")), (.refused("f"), .unreadable("f")),
        ]
        for (error, expected) in cases {
            let service = FakeService([.failure(error)])
            #expect(await ask(service) == expected)
            #expect(service.requests.count == 1)
        }
        #expect(isUnreadable(await ask(FakeService([.failure(.tooLarge)]))))
    }

    @Test("nothing is sent that the gate does not let pass", arguments: [HTTPError.timedOut, .cancelled])
    func gate(error: HTTPError) async {
        let service = FakeService(ranking())
        service.refuseAtGate(error)
        #expect(await ask(service) == (error == .timedOut ? .timedOut : .cancelled))
        #expect(service.requests.isEmpty)
    }
}

@Suite("Asking for authors and works")
struct AuthorRequestTests {
    private let author = UserID(rawValue: 7)

    private func brief(_ id: Int64) -> String {
        """
        "\(id)":{"id":"\(id)","title":"t\(id)","illustType":0,"userId":"7","userName":"u","width":1,"height":2,"pageCount":1,
        "tags":[],"url":"https://i.pximg.net/c/250x250_80_a2/custom-thumb/img/2022/05/01/00/00/00/\(id)_p0_custom1200.jpg"}
        """
    }

    private func envelope(_ body: String) -> String { "{\"error\":false,\"message\":\"\",\"body\":\(body)}" }

    @Test("an author's works, illustrations and manga, newest first; empty lists are lists")
    func allWorks() async throws {
        let service = FakeService(
            envelope(
                "{\"illusts\":{\"9\":null,\"100\":null,\"x\":null,\"-5\":null},\"manga\":{\"20\":null,\"9\":null}}"),
            envelope("{\"illusts\":[],\"manga\":{\"3\":null}}"), envelope("{\"illusts\":[],\"manga\":[]}"),
            envelope("[]"))
        let source = service.source()
        #expect(try await source.authorWorks(author, deadline: deadline).map(\.rawValue) == [100, 20, 9])
        #expect(try await source.authorWorks(author, deadline: deadline).map(\.rawValue) == [3])
        #expect(try await source.authorWorks(author, deadline: deadline).isEmpty)
        #expect(
            isUnreadable(
                await failure { () async throws(SourceError) in
                    try await source.authorWorks(author, deadline: deadline)
                }))
        #expect(service.urls == Array(repeating: "https://www.pixiv.net/ajax/user/7/profile/all", count: 4))
    }

    @Test("works are asked for by a hundred and come in the order asked for")
    func works() async throws {
        let ids = (1...250).map { WorkID(rawValue: Int64(251 - $0)) }
        let bodies = stride(from: 0, to: 250, by: 100).map { start in
            let some = ids[start..<min(start + 100, 250)].filter { $0.rawValue != 33 }
            return FakeService.response(
                200, [],
                Array(
                    envelope("{\"works\":{\(some.shuffled().map { brief($0.rawValue) }.joined(separator: ","))}}").utf8)
            )
        }
        let service = FakeService(bodies.map { .success($0) })
        let works = try await service.source().works(ids, of: author, deadline: deadline)
        #expect(works.map(\.id) == ids.filter { $0.rawValue != 33 })
        #expect(works.first?.picture == "2022/05/01/00/00/00/250_p0")
        #expect(service.requests.count == 3)
        for url in service.urls {
            #expect(url.hasPrefix("https://www.pixiv.net/ajax/user/7/profile/illusts?ids%5B%5D="))
            #expect(url.hasSuffix("&work_category=illustManga&is_first_page=0"))
            #expect(url.components(separatedBy: "ids%5B%5D=").count - 1 <= 100)
        }
        #expect(service.urls[2].components(separatedBy: "ids%5B%5D=").count - 1 == 50)
        #expect(service.source().worksPerRequest == 100)
    }

    @Test("an author's works one of which makes no sense; none; and a request for none")
    func fewWorks() async throws {
        let service = FakeService(
            envelope("{\"works\":{\(brief(5)),\"6\":{\"id\":\"6\"},\"7\":null}}"), envelope("{\"works\":[]}"),
            envelope("{\"works\":{\"6\":{}}}"))
        let source = service.source()
        let ids = [WorkID(rawValue: 6), WorkID(rawValue: 5)]
        #expect(try await source.works(ids, of: author, deadline: deadline).map(\.id.rawValue) == [5])
        #expect(try await source.works(ids, of: author, deadline: deadline).isEmpty)
        #expect(
            isUnreadable(
                await failure { () async throws(SourceError) in
                    try await source.works(ids, of: author, deadline: deadline)
                }))
        #expect(try await source.works([], of: author, deadline: deadline).isEmpty)
        #expect(service.requests.count == 3)
    }

    @Test("who has left is not found; numbers that nobody has are not asked for")
    func notFound() async {
        let left = "{\"error\":true,\"message\":\"User has left pixiv or the user ID does not exist.\",\"body\":[]}"
        for service in [
            FakeService(status: 404, "{\"error\":true,\"message\":\"\",\"body\":[]}"), FakeService(status: 404, left),
            FakeService(status: 400, left), FakeService(left),
        ] {
            let source = service.source()
            #expect(
                await failure { () async throws(SourceError) in
                    try await source.authorWorks(author, deadline: deadline)
                } == .notFound)
        }
        let service = FakeService()
        let source = service.source()
        let nobody = UserID(rawValue: 0)
        #expect(
            await failure { () async throws(SourceError) in
                try await source.authorWorks(nobody, deadline: deadline)
            } == .notFound)
        #expect(
            await failure { () async throws(SourceError) in
                try await source.originals(of: WorkID(rawValue: -1), deadline: deadline)
            } == .notFound)
        #expect(service.events.isEmpty)
    }

    @Test("other refusals are told with the service's words", arguments: [200, 400, 403])
    func refused(status: Int) async {
        let source = FakeService(status: status, "{\"error\":true,\"message\":\"不正なリクエストです。\",\"body\":[]}").source()
        let error = await failure { () async throws(SourceError) in
            try await source.authorWorks(author, deadline: deadline)
        }
        guard case .unreadable(let reason)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("不正なリクエストです。"))
    }

    @Test("originals come from the image host of one's choice with their own format")
    func originals() async throws {
        let payload = try Payload("ajax-illust-pages/CWHer-PixivCrawler-93172108")
        let work = WorkID(rawValue: 93_172_108)
        let service = FakeService([.success(FakeService.response(200, [], payload.bytes))])
        let locations = try await service.source(imageURL: "http://127.0.0.1:1").originals(of: work, deadline: deadline)
        #expect(service.urls == ["https://www.pixiv.net/ajax/illust/93172108/pages"])
        #expect(
            locations.map(\.url)
                == (0..<5).map { "http://127.0.0.1:1/img-original/img/2021/10/02/18/47/29/93172108_p\($0).jpg" })
        #expect(locations.allSatisfy { $0.headers == [referer] && $0.fileExtension == "jpg" })
    }

    @Test("originals that nobody may see, of another work, out of order or from elsewhere")
    func badOriginals() async {
        func page(_ url: String) -> String { "{\"urls\":{\"original\":\(url)},\"width\":1,\"height\":1}" }
        func good(_ name: String) -> String {
            page("\"https://i.pximg.net/img-original/img/2022/05/01/00/00/00/\(name)\"")
        }
        let cases: [(String, Bool)] = [
            (page("null") + "," + page("null"), true), ("", false), (good("8_p0.png"), false),
            (good("9_p1.png"), false),
            (good("9_p0.png") + "," + page("null"), false), (good("9_p0.png") + "," + good("9_p0.png"), false),
            (good("9_p0.webp"), false),
            (page("\"https://i.pximg.net/img-master/img/2022/05/01/00/00/00/9_p0_master1200.jpg\""), false),
            (page("\"https://evil.example/9_p0.png\""), false), (page("9"), false),
        ]
        for (pages, needsSignIn) in cases {
            let source = FakeService(envelope("[\(pages)]")).source()
            let error = await failure { () async throws(SourceError) in
                try await source.originals(of: WorkID(rawValue: 9), deadline: deadline)
            }
            #expect(needsSignIn ? error == .needsSignIn : isUnreadable(error), "\(pages)")
        }
    }

    @Test("where pictures are, and the page for people")
    func locations() throws {
        let source = FakeService().source()
        let work = WorkID(rawValue: 97_973_029)
        let picture = "2022/04/30/00/00/15/97973029_p0"
        let regular = try #require(source.location(of: work, picture: picture, page: 2, rendition: .regular))
        #expect(regular.url == "https://i.pximg.net/img-master/img/2022/04/30/00/00/15/97973029_p2_master1200.jpg")
        #expect(regular.headers == [referer] && regular.fileExtension == "jpg")
        #expect(
            source.location(of: work, picture: picture, page: 0, rendition: .small)?.url
                == "https://i.pximg.net/c/480x960/img-master/img/2022/04/30/00/00/15/97973029_p0_master1200.jpg")
        #expect(source.location(of: work, picture: picture, page: 0, rendition: .original) == nil)
        for bad in [
            "", "x", picture + "/..", "/" + picture, picture + "_master1200", "2022/04/30/00/00/15/97973028_p0",
        ] {
            #expect(source.location(of: work, picture: bad, page: 0, rendition: .regular) == nil)
        }
        #expect(source.location(of: work, picture: picture, page: -1, rendition: .regular) == nil)
        #expect(source.webPage(of: work) == "https://www.pixiv.net/artworks/97973029")
        let other = FakeService().source(apiURL: "http://127.0.0.1:1", imageURL: "http://127.0.0.1:2")
        #expect(other.webPage(of: work) == "http://127.0.0.1:1/artworks/97973029")
        #expect(
            other.location(of: work, picture: picture, page: 0, rendition: .regular)?.url
                == "http://127.0.0.1:2/img-master/img/2022/04/30/00/00/15/97973029_p0_master1200.jpg")
        #expect(source.name == "pixiv" && PixivSource.hosts.contains("i.pximg.net"))
    }
}
