import Foundation
import HTTP
import Rankings
import TestSupport
import Testing

@testable import Pixiv

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
            envelope("{\"illusts\":false,\"manga\":false}"), envelope("[]"))
        let source = service.source()
        #expect(
            try await source.page(of: .author(author), 1, deadline: deadline).further?.map(\.rawValue) == [100, 20, 9])
        #expect(try await source.page(of: .author(author), 1, deadline: deadline).further?.map(\.rawValue) == [3])
        for _ in 1...2 { #expect(try await source.page(of: .author(author), 1, deadline: deadline).further == []) }
        #expect(isUnreadable(await source.failure(of: .author(author))))
        #expect(service.urls == Array(repeating: "https://www.pixiv.net/ajax/user/7/profile/all", count: 5))
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
        let works = try await service.source().page(of: .author(author), .works(ids), deadline: deadline).works
        #expect(works.map(\.id) == ids.filter { $0.rawValue != 33 })
        #expect(works.first?.picture == "2022/05/01/00/00/00/250_p0")
        #expect(service.requests.count == 3)
        for url in service.urls {
            #expect(url.hasPrefix("https://www.pixiv.net/ajax/user/7/profile/illusts?ids%5B%5D="))
            #expect(url.hasSuffix("&work_category=illustManga&is_first_page=0"))
            #expect(url.components(separatedBy: "ids%5B%5D=").count - 1 <= 100)
        }
        #expect(service.urls[2].components(separatedBy: "ids%5B%5D=").count - 1 == 50)
        #expect(PixivSource.facts.entries(of: .author) == 100)
    }

    @Test("an author's works one of which makes no sense; none; no answer about any; and a request for none")
    func fewWorks() async throws {
        let service = FakeService(
            envelope("{\"works\":{\(brief(5)),\"6\":{\"id\":\"6\"},\"7\":null}}"),
            envelope("{\"works\":{\"5\":null,\"6\":null}}"), envelope("{\"works\":{\"6\":{}}}"),
            envelope("{\"works\":[]}"),
            envelope("{\"works\":{}}"))
        let source = service.source()
        let ids = [WorkID(rawValue: 6), WorkID(rawValue: 5)]
        let some = try await source.page(of: .author(author), .works(ids), deadline: deadline)
        #expect(some.works.map(\.id.rawValue) == [5] && some.unreadable == 1)
        #expect(try await source.page(of: .author(author), .works(ids), deadline: deadline).works.isEmpty)
        for _ in 1...3 {
            #expect(
                isUnreadable(
                    await failure {
                        try await source.page(of: .author(author), .works(ids), deadline: deadline).works
                    }))
        }
        #expect(try await source.page(of: .author(author), .works([]), deadline: deadline).works.isEmpty)
        #expect(service.requests.count == 5)
    }

    /// They would count as works of which there is no record.
    @Test(
        "works none of which was asked for are no answer",
        arguments: [ListingKey.author(UserID(rawValue: 7)), ListingKey(.related, 7)])
    func otherWorks(key: ListingKey) async throws {
        let records = [8, 9].map { brief($0) }
        let body =
            key.kind == .author
            ? "{\"works\":{\(records.joined(separator: ","))}}"
            : "{\"illusts\":[\(records.map { $0.drop { $0 != "{" } }.joined(separator: ","))]}"
        let source = FakeService(envelope(body), envelope(body)).source()
        #expect(
            isUnreadable(
                await failure {
                    try await source.page(of: key, .works([WorkID(rawValue: 5)]), deadline: deadline).works
                }))
        let some = try await source.page(
            of: key, .works([WorkID(rawValue: 5), WorkID(rawValue: 9)]), deadline: deadline)
        #expect(some.works.map(\.id.rawValue) == [9])
    }

    @Test("who has left is not found; numbers that nobody has are not asked for")
    func notFound() async {
        let left = "{\"error\":true,\"message\":\"User has left pixiv or the user ID does not exist.\",\"body\":[]}"
        for service in [
            FakeService(status: 404, "{\"error\":true,\"message\":\"\",\"body\":[]}"), FakeService(status: 404, left),
            FakeService(status: 400, left), FakeService(left),
        ] {
            let source = service.source()
            #expect(await source.failure(of: .author(author)) == .notFound)
        }
        let service = FakeService()
        let source = service.source()
        let nobody = UserID(rawValue: 0)
        #expect(await source.failure(of: .author(nobody)) == .notFound)
        #expect(await failure { try await source.originals(of: WorkID(rawValue: -1), deadline: deadline) } == .notFound)
        #expect(service.events.isEmpty)
    }

    @Test("other refusals are told with the service's words", arguments: [200, 400, 403])
    func refused(status: Int) async {
        let source = FakeService(status: status, "{\"error\":true,\"message\":\"不正なリクエストです。\",\"body\":[]}").source()
        let error = await source.failure(of: .author(author))
        #expect(status == 403 ? error == .withheld("“不正なリクエストです。”") : isUnreadable(error))
        #expect(error?.cause.contains("“不正なリクエストです。”") == true)
    }

    @Test("originals that nobody may see, of another work, out of order or from elsewhere")
    func badOriginals() async throws {
        func page(_ url: String) -> String { "{\"urls\":{\"original\":\(url)},\"width\":1,\"height\":1}" }
        func good(_ name: String) -> String {
            page("\"https://i.pximg.net/img-original/img/2022/05/01/00/00/00/\(name)\"")
        }
        let cases: [(String, Bool)] = [
            (page("null") + "," + page("null"), true), ("", false), (good("8_p0.png"), false),
            (good("9_p1.png"), false),
            (good("9_p0.webp"), false),
            (page("\"https://i.pximg.net/img-master/img/2022/05/01/00/00/00/9_p0_master1200.jpg\""), false),
            (page("\"https://evil.example/9_p0.png\""), false), (page("9"), false),
        ]
        for (pages, needsSignIn) in cases {
            let source = FakeService(envelope("[\(pages)]")).source()
            let error = await failure { try await source.originals(of: WorkID(rawValue: 9), deadline: deadline) }
            #expect(needsSignIn ? error == .needsSignIn : isUnreadable(error), "\(pages)")
        }
        // One page without an address of its own takes no other away.
        for other in [page("null"), good("9_p0.png"), page("9")] {
            let source = FakeService(envelope("[\(good("9_p0.png")),\(other),\(good("9_p2.png"))]")).source()
            let references = try await source.originals(of: WorkID(rawValue: 9), deadline: deadline)
            #expect(references.count == 3 && references[1].isEmpty && !references[0].isEmpty && !references[2].isEmpty)
        }
    }

    @Test("a picture that is not the work's is nowhere; an origin of one's own mirrors answers, not pages for people")
    func locations() {
        let work = WorkID(rawValue: 97_973_029)
        let source = FakeService().source(apiURL: "http://127.0.0.1:1", imageURL: "http://127.0.0.1:2")
        let picture = "2022/04/30/00/00/15/97973029_p0"
        let path = "/c/480x960/img-master/img/2022/04/30/00/00/15/97973029_p0_master1200.jpg"
        let small = source.location(of: work, picture: picture, page: 0, rendition: .small)
        #expect(small?.url == "http://127.0.0.1:2" + path)
        #expect(small?.headers == [referer] && small?.fileExtension == "jpg")
        #expect(source.location(of: work, picture: picture, page: 0, rendition: .original) == nil)
        for bad in [
            "", "x", picture + "/..", "/" + picture, picture + "_master1200", "2022/04/30/00/00/15/97973028_p0",
        ] {
            #expect(source.location(of: work, picture: bad, page: 0, rendition: .regular) == nil, "\(bad)")
        }
        #expect(source.webPage(of: work) == "https://www.pixiv.net/artworks/97973029")
    }
}
