import Foundation
import Rankings
import Testing

@testable import Origin

@Suite(.timeLimit(.minutes(1))) struct SignInTests {
    private let cookie = "Cookie: device_token=x; PHPSESSID=1000_visitorsecret; yuid_b=y"

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

    @Test(arguments: ["", "1000", "1000_short12", "x_visitorsecret", "-1000_visitorsecret", "1000_öööööööö"])
    func aSessionThatCountsForNothing(session: String) async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        let answer = await fetch(server, "/ajax/user/1001", headers: ["Cookie: PHPSESSID=\(session)"])
        #expect(answer.status == 400)
        #expect(answer.body == Array(#"{"error":true,"message":"An unknown error occurred","body":[]}"#.utf8))
    }

    @Test func aFaultThatAsksAgainKeepsTheSession() async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        let rule = #"{"action": "rangeignored", "path": "bookmarks"}"#
        #expect(await fetch(server, "/_control", method: "POST", body: rule).status == 200)
        let bookmarks = "/ajax/user/1000/illusts/bookmarks?tag=&offset=0&limit=48&rest=show"
        #expect(await fetch(server, bookmarks, headers: [cookie]).status == 200)
    }
}
