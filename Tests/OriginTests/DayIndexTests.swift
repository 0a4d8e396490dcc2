import Foundation
import Rankings
import Testing

@testable import Origin

/// The list of a day that file systems over HTTP read.
@Suite struct DayIndexTests {
    @Test func listsWhatTheRankingShowsAndServesTheHostsPictures() async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        let page = await fetch(server, "/index/daily/2022-05-01/", referer: false)
        #expect(page.status == 200)
        let names = String(decoding: page.body, as: UTF8.self).split(separator: "\"")
            .filter { $0.hasSuffix(".jpg") }.map(String.init)
        #expect(names == names.sorted())
        #expect((400...500).contains(names.count), "all pages of the ranking, without what is withheld")
        let ranking = await fetch(server, "/ranking.php?format=json&mode=daily&date=20220501&p=1", referer: false)
        let works = try #require(JSON(ranking.body)?["contents"]).children.compactMap { $0["illust_id"]?.number }
        let work = try #require(works.first)
        #expect(names.first == "001-\(work).jpg")

        let picture = await fetch(server, "/index/daily/2022-05-01/\(names[0])", referer: false)
        #expect(picture.status == 200)
        #expect(picture.body.starts(with: [0xff, 0xd8]))
        let part = await fetch(
            server, "/index/daily/2022-05-01/\(names[0])", headers: ["Range: bytes=10-19"], referer: false)
        #expect(part.status == 206)
        #expect(part.body == Array(picture.body[10..<20]))
    }

    @Test(arguments: [
        "/index/daily/2022-05-01/001-5.jpg", "/index/daily/2022-05-01/501-1.jpg", "/index/daily/2022-05-01/0",
        "/index/daily/2007-01-01/", "/index/daily/2999-01-01/", "/index/daily_r18/2022-05-01/", "/index/daily/",
        "/index/nothing/2022-05-01/",
    ])
    func whatIsNotThereIsNotFound(path: String) async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        #expect(await fetch(server, path).status == 404)
    }
}
