import Foundation
import Rankings
import Testing

@testable import Origin

@Suite(.timeLimit(.minutes(1))) struct ReplayTests {
    private static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "PixivTests/Payloads").path

    private func start() throws -> OriginServer {
        try OriginServer.start { $0.replay = Self.directory }
    }

    @Test func recordedAnswersComeByteForByte() async throws {
        let server = try start()
        defer { server.stop() }
        let files = [
            "/ranking.php?format=json&mode=daily&content=all&date=20220501&p=1":
                "web-ranking/CWHer-PixivCrawler-daily-all-20220501-p1.json",
            "/ranking.php?format=json&mode=daily": "web-ranking/CWHer-PixivCrawler-daily-all-20220501-p1.json",
            "/ajax/user/9153585": "ajax-user/daydreamer-json-pixiv-ajax-api-docs-9153585.json",
            "/ajax/user/9153585?full=1": "ajax-user/daydreamer-json-pixiv-ajax-api-docs-9153585-full1.json",
            "/ajax/user/14095911/profile/all": "ajax-user-profile-all/Nandaka-PixivUtil2-all-14095911.json",
            "/ajax/user/9153585/profile/all": "ajax-user-profile-all/daydreamer-json-pixiv-ajax-api-docs-9153585.json",
            "/ajax/user/32548944/profile/all": "ajax-user-profile-all/CWHer-PixivCrawler-user.json",
            "/ajax/illust/32039274": "ajax-illust/Nandaka-PixivUtil2-test-image-info-32039274.json",
            "/ajax/illust/93172108/pages": "ajax-illust-pages/CWHer-PixivCrawler-93172108.json",
        ]
        for (target, file) in files {
            let answer = await fetch(server, target)
            #expect(answer.status == 200)
            #expect(try answer.body == payload(file), "\(target)")
        }
    }

    @Test func whatNobodyRecordedIsNotThere() async throws {
        let server = try start()
        defer { server.stop() }
        for target in [
            "/ranking.php?mode=daily&date=20220501&p=2", "/ranking.php?mode=daily&date=20220502",
            "/ranking.php?mode=male", "/ajax/user/5", "/ajax/illust/5/pages", "/ajax/nothing/5",
        ] { #expect(await fetch(server, target).status == 404, "\(target)") }
    }

    @Test func shortRecordsAreTheRecordedOnes() async throws {
        let server = try start()
        defer { server.stop() }
        let answer = await fetch(
            server, "/ajax/user/341433/profile/illusts?ids%5B%5D=32571298&ids%5B%5D=5&work_category=illust")
        let works = try #require(JSON(answer.body)?["body"]?["works"])
        #expect(works["32571298"]?["title"]?.string == "Happy New Year 2013")
        #expect(works["5"] == nil)
    }
}
