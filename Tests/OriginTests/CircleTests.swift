import Rankings
import Testing

@testable import Origin

/// Bookmarks and followed authors.
@Suite struct CircleTests {
    private static let universe = Universe(seed: 1)
    private static let pixiv = Pixiv(universe)
    private let universe = CircleTests.universe

    private func ask(
        _ target: String, user: Int64 = Landmarks.visitor
    ) throws -> (status: Int, body: JSON?) {
        let answer = try #require(Self.pixiv.get(target, .signedIn(user)))
        return (answer.status, JSON(answer.bytes)?["body"])
    }

    @Test func bookmarksPageByPage() throws {
        var rows: [JSON] = []
        var total: Int64 = 0
        for offset in stride(from: 0, to: 240, by: 48) {
            let body = try #require(
                try ask("/ajax/user/1000/illusts/bookmarks?tag=&offset=\(offset)&limit=48&rest=show").body)
            total = try #require(body["total"]?.number)
            rows += try #require(body["works"]).children
        }
        #expect(total >= 100)
        #expect(rows.count == Int(total))
        #expect(Set(rows.compactMap { $0["id"]?.number }).count == rows.count)
        #expect(rows.allSatisfy { $0["userId"]?.number != 1000 })
        #expect(rows[2]["isMasked"]?.flag == true)
        let gone = try #require(rows.first { $0["isMasked"]?.flag == true })
        let recorded = try #require(JSON(try payload("ajax-user-bookmarks/CWHer-PixivCrawler-bookmark.json")))
        let known = try #require(recorded["body"]?["works"]).children.filter { $0["isMasked"]?.flag == true }
        #expect(Shape.differences(gone, known) == [])
        #expect(gone["title"]?.string == "-----")
        #expect(gone["maskReason"]?.string == "unknown")
        guard case .integer = gone["id"] as JSON, case .integer = gone["userId"] as JSON else {
            Issue.record("the numbers of a deleted work are numbers")
            return
        }
        let bookmark = try #require(rows.first { $0["isMasked"]?.flag == false })
        let id = try #require(bookmark["id"]?.number)
        #expect(try ask("/ajax/illust/\(id)").body?["bookmarkData"]?["id"] != nil)
        #expect(try ask("/ajax/illust/\(id)", user: Landmarks.author).body?["bookmarkData"]?["id"] == nil)
    }

    @Test func bookmarksOfOthersAndPartsThatMakeNoSense() throws {
        let path = "/ajax/user/1000/illusts/bookmarks?tag="
        let seen = try ask("\(path)&offset=0&limit=100&rest=show", user: Landmarks.author).body?["works"]
        #expect(try #require(seen).children.allSatisfy { $0["bookmarkData"]?["id"] == nil })
        for part in ["offset=0&limit=101&rest=show", "offset=-1&limit=9&rest=show"] {
            #expect(try ask("\(path)&\(part)").status == 400, "\(part)")
        }
        let hidden = "\(path)&offset=0&limit=100&rest=hide"
        #expect(try ask(hidden, user: Landmarks.author).status == 400)
        let own = try #require(try ask(hidden).body?["works"]?.children.compactMap { $0["id"]?.string })
        let shown = seen?.children.compactMap { $0["id"]?.string } ?? []
        #expect(!own.isEmpty && Set(own).isDisjoint(with: shown))
        #expect(try ask("/ajax/user/5/illusts/bookmarks?offset=0&limit=9&rest=show").status == 404)
    }

    @Test(arguments: [2, 3, 99]) func everySeedHasEnoughOfThem(seed: UInt64) {
        let universe = Universe(seed: seed)
        let bookmarks = universe.bookmarks(of: Landmarks.visitor, now: noon)
        #expect(bookmarks.count >= 100)
        #expect(bookmarks.contains { $0.isGone })
        #expect(universe.following(of: Landmarks.visitor).count >= 30)
    }

    @Test func followedAuthorsExist() throws {
        var users: [JSON] = []
        for offset in [0, 24, 48] {
            let body = try #require(try ask("/ajax/user/1000/following?offset=\(offset)&limit=24&rest=show").body)
            users += try #require(body["users"]).children
            #expect((body["total"]?.number ?? 0) >= 30)
        }
        #expect(users.count >= 30)
        let ids = users.compactMap { $0["userId"]?.number }
        #expect(Set(ids).count == users.count)
        for id in ids {
            let profile = try #require(try ask("/ajax/user/\(id)?full=1").body)
            #expect(profile["isFollowed"]?.flag == true)
            #expect(profile["name"]?.string == users.first { $0["userId"]?.number == id }?["userName"]?.string)
        }
        #expect(try ask("/ajax/user/1000?full=1").body?["following"]?.number == Int64(users.count))
    }

    @Test func theFanFollowsThousands() throws {
        let authors = universe.following(of: Landmarks.fan)
        #expect(authors.count == 2100 && Set(authors).count == 2100)
        let body = try #require(
            try ask("/ajax/user/1008/following?offset=2088&limit=24&rest=show", user: Landmarks.fan).body)
        #expect(body["total"]?.number == 2100)
        #expect(body["users"]?.children.compactMap { $0["userId"]?.number } == Array(authors.suffix(12)))
    }
}
