import Foundation
import Rankings
import Testing

@testable import Origin

@Suite(.timeLimit(.minutes(1))) struct SignInTests {
    private let cookie = "Cookie: device_token=x; PHPSESSID=1000_visitorsecret; yuid_b=y"
    private let accountOnly = [
        "/ajax/user/1000/illusts/bookmarks?tag=&offset=0&limit=48&rest=show",
        "/ajax/user/1000/following?offset=0&limit=24&rest=show",
    ]

    private func text(_ received: Received) -> String? {
        JSON(received.body)?["message"]?.string
    }

    @Test func accountOnlyRoutesNeedASession() async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        for route in accountOnly {
            let without = await fetch(server, route)
            #expect(without.status == 400)
            #expect(text(without) == "不正なリクエストです。")
            let with = await fetch(server, route, headers: [cookie])
            #expect(with.status == 200)
            #expect(JSON(with.body)?["error"]?.flag == false)
        }
    }

    @Test func anAccountInEnglishIsAnsweredInALanguageOnly() async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        let english = "Cookie: PHPSESSID=1001_visitorsecret"
        for route in ["/ajax/user/1001/illusts/bookmarks?tag=&offset=0&limit=48&rest=show", "/ajax/user/1001?full=1"] {
            #expect(await fetch(server, route, headers: [english]).status == 400)
            let answer = await fetch(server, route + "&lang=en", headers: [english])
            #expect(answer.status == 200 && answer["x-userid"] == "1001")
            #expect(await fetch(server, route, headers: [cookie])["x-userid"] == "1000")
        }
        #expect(await fetch(server, "/ajax/user/1001", headers: [])["x-userid"] == nil)
    }

    @Test(arguments: [
        "", "1000", "1000_", "1000_short12", "1000_with-dash-in-it", "5_visitorsecret", "x_visitorsecret",
        "-1000_visitorsecret", "1000_öööööööö",
    ])
    func aSessionThatCountsForNothing(session: String) async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        let headers = ["Cookie: PHPSESSID=\(session)"]
        for route in accountOnly + ["/ajax/user/1001", "/ajax/illust/900000005"] {
            let answer = await fetch(server, route, headers: headers)
            #expect(answer.status == 400, "\(route)")
            #expect(answer.body == Array(#"{"error":true,"message":"An unknown error occurred","body":[]}"#.utf8))
        }
        // rankings are shown as to anybody
        #expect(await fetch(server, "/ranking.php?mode=daily&format=json", headers: headers).status == 200)
        let adult = await fetch(server, "/ranking.php?mode=daily_r18&format=json", headers: headers)
        #expect(adult.status == 403)
    }

    @Test func sessionsExpireAndComeBack() async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        #expect(await fetch(server, accountOnly[0], headers: [cookie]).status == 200)
        #expect(await fetch(server, "/_control/expire-sessions").status == 405)
        #expect(await fetch(server, "/_control/nonsense", method: "POST", body: " ").status == 404)
        #expect(await fetch(server, "/_control/expire-sessions", method: "POST", body: " ").status == 200)
        let expired = await fetch(server, accountOnly[0], headers: [cookie])
        #expect(expired.status == 400)
        #expect(text(expired) == "An unknown error occurred")
        #expect(await fetch(server, "/ranking.php?mode=daily_r18", headers: [cookie]).status == 403)
        #expect(await fetch(server, "/ranking.php?mode=daily", headers: [cookie]).status == 200)
        #expect(await fetch(server, "/ajax/user/1001").status == 200, "without a cookie nothing has changed")
        #expect(await fetch(server, "/_control/renew-sessions", method: "POST", body: " ").status == 200)
        #expect(await fetch(server, accountOnly[0], headers: [cookie]).status == 200)
    }

    @Test func theLogTellsOfTheSessionAndNotItsSecret() async throws {
        let directory = try TemporaryDirectory()
        let server = try OriginServer.start { $0.log = directory.path + "/log" }
        _ = await fetch(server, "/ranking.php?mode=daily", headers: [cookie])
        _ = await fetch(server, "/ranking.php?mode=daily")
        server.stop()
        let text = try String(contentsOfFile: directory.path + "/log", encoding: .utf8)
        #expect(!text.contains("visitorsecret"))
        let entries = try text.split(separator: "\n").map { try #require(JSON(Array($0.utf8))) }
        #expect(entries.map { $0["signed_in"]?.flag } == [true, false])
    }

    @Test func aFaultThatAsksAgainKeepsTheSession() async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        let rule = #"{"action": "rangeignored", "path": "bookmarks"}"#
        #expect(await fetch(server, "/_control", method: "POST", body: rule).status == 200)
        #expect(await fetch(server, accountOnly[0], headers: [cookie]).status == 200)
    }
}

/// What signed-in users see of rankings, and rankings of one content.
@Suite struct SignedInRankingTests {
    private static let universe = Universe(seed: 1)
    private static let pixiv = Pixiv(universe)

    private func ask(_ query: String, _ viewer: Viewer) throws -> (status: Int, body: JSON?) {
        let answer = try #require(Self.pixiv.get(query, viewer))
        return (answer.status, JSON(answer.bytes))
    }

    private let visitor = Viewer.signedIn(Landmarks.visitor)

    @Test(arguments: RankingMode.signedIn) func modesForSignedInUsers(mode: RankingMode) throws {
        let query = "/ranking.php?format=json&mode=\(mode.rawValue)&date=20240501"
        #expect(try ask(query, .anonymous).status == 403)
        #expect(try ask(query, .anonymous).body == nil, "a page for people")
        #expect(try ask(query, .rejected).status == 403)
        let first = try #require(try ask(query, visitor).body)
        let total: Int64 = mode.rawValue == "r18g" ? 50 : 100
        #expect(first["rank_total"]?.number == total)
        #expect(first["next"]?.number == (total > 50 ? 2 : nil))
        let entries = try #require(first["contents"]).children
        #expect((45...50).contains(entries.count))
        #expect(entries.allSatisfy { $0["tags"]?.children.first?.string?.hasPrefix("R-18") == true })
        #expect(try ask(query + "&p=\(total / 50 + 1)", visitor).status == 404)
        let id = try #require(entries.first?["illust_id"]?.number)
        let details = try #require(try ask("/ajax/illust/\(id)", visitor).body?["body"])
        #expect((details["xRestrict"]?.number ?? 0) > 0)
        #expect(details["urls"]?["regular"]?.string != nil)
        let withheld = try #require(try ask("/ajax/illust/\(id)", .anonymous).body?["body"])
        #expect(withheld["xRestrict"]?.number == details["xRestrict"]?.number)
        #expect(try #require(withheld["urls"]).children.allSatisfy { $0.string == nil })
    }

    @Test func maskedSlotsBecomeWorks() throws {
        let masked = try #require(Self.universe.day("2022-05-01").first { $0.work.flags.contains(.masked) })
        let query = "/ranking.php?date=20220501&p=\((masked.rank - 1) / 50 + 1)"
        func entry(_ viewer: Viewer) throws -> JSON {
            let entries = try #require(try ask(query, viewer).body?["contents"]).children
            return try #require(entries.first { $0["rank"]?.number == Int64(masked.rank) })
        }
        #expect(try entry(.anonymous)["mask_reason"]?.string == "login_only")
        #expect(try entry(visitor)["mask_reason"] == nil)
        #expect(try entry(visitor)["user_id"]?.number == masked.work.account)
        let pages = "/ajax/illust/\(masked.work.id)/pages"
        let original = try ask(pages, visitor).body?["body"]?.children.first?["urls"]?["original"]?.string
        #expect(original?.hasPrefix("https://i.pximg.net/img-original/") == true)
    }

    @Test func worksForSignedInUsersAreOnNoAnonymousList() throws {
        let (universe, mode) = (Self.universe, try #require(Mode.named("daily_r18")))
        let work = try #require(universe.entries(mode, universe.newest(at: noon), 1...1).first?.work)
        #expect(universe.works(of: work.account, now: noon)?.contains(work.slot) == false)
        #expect(universe.works(of: work.account, now: noon, for: visitor)?.contains(work.slot) == true)
    }

    @Test(arguments: RankingMode.everyone + RankingMode.signedIn) func contents(mode: RankingMode) throws {
        for content in ["illust", "manga", "ugoira"] {
            let query = "/ranking.php?mode=\(mode.rawValue)&content=\(content)&date=20240501"
            let answer = try ask(query, visitor)
            guard Mode.named(mode.rawValue)?.contents.contains(content) == true else {
                #expect(answer.status == 404, "\(query)")
                #expect(answer.body?["error"]?.string == "ランキング集計の範囲外です")
                continue
            }
            let body = try #require(answer.body)
            #expect(body["content"]?.string == content)
            let entries = try #require(body["contents"]).children
            let kind = ["illust": "0", "manga": "1", "ugoira": "2"][content]
            #expect(entries.allSatisfy { $0["illust_type"]?.string == kind })
            #expect(entries.compactMap { $0["rank"]?.number } == (0..<entries.count).map { Int64($0 + 1) })
            #expect((body["next"]?.number == 2) == ((body["rank_total"]?.number ?? 0) > 50))
        }
        #expect(try ask("/ranking.php?mode=daily-manga", visitor).status == 404)
        #expect(try ask("/ranking.php?content=novel", visitor).status == 404)
    }
}
