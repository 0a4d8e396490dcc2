import Foundation
import Rankings
import Testing

@testable import Origin
import TestSupport

@Suite(.timeLimit(.minutes(1))) struct SignInTests {
    private let cookie = "Cookie: device_token=x; PHPSESSID=1000_visitorsecret; yuid_b=y"
    private let accountOnly = [
        "/ajax/user/1000/illusts/bookmarks?tag=&offset=0&limit=48&rest=show",
        "/ajax/user/1000/following?offset=0&limit=24&rest=show",
    ]

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

    @Test func aFaultThatAsksAgainKeepsTheSession() async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        let rule = #"{"action": "rangeignored", "path": "bookmarks"}"#
        #expect(await fetch(server, "/_control", method: "POST", body: rule).status == 200)
        #expect(await fetch(server, accountOnly[0], headers: [cookie]).status == 200)
    }
}

/// Rankings as signed-in users see them.
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
}
