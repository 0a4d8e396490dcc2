import Rankings
import Testing

@testable import Origin

/// Bookmarks, followed authors and the feed.
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

    @Test func bookmarksOfATagAndHiddenOnes() throws {
        let path = "/ajax/user/1000/illusts/bookmarks?offset=0&limit=100"
        let tagged = try #require(try ask("\(path)&tag=%E9%A2%A8%E6%99%AF&rest=show").body)
        let works = try #require(tagged["works"]).children
        #expect(!works.isEmpty && works.count == tagged["total"]?.number.map { Int($0) })
        #expect(works.allSatisfy { $0["tags"]?.children.contains { $0.string == "風景" } == true })
        let hidden = try #require(try ask("\(path)&tag=&rest=hide").body?["works"]).children
        #expect(!hidden.isEmpty)
        #expect(
            hidden.allSatisfy { $0["isMasked"]?.flag == true || $0["bookmarkData"]?["private"]?.flag == true })
        #expect(try ask("\(path)&tag=&rest=hide", user: Landmarks.author).status == 400)
        let seen = try #require(try ask("\(path)&tag=&rest=show", user: Landmarks.author).body?["works"]).children
        #expect(seen.allSatisfy { $0["bookmarkData"]?["id"] == nil })
        #expect(try ask("/ajax/user/1000/illusts/bookmarks?offset=0&limit=101&rest=show").status == 400)
        #expect(try ask("/ajax/user/1000/illusts/bookmarks?offset=-1&limit=9&rest=show").status == 400)
        #expect(try ask("/ajax/user/5/illusts/bookmarks?offset=0&limit=9&rest=show").status == 404)
    }

    @Test(arguments: [2, 3, 99]) func everySeedHasEnoughOfThem(seed: UInt64) {
        let universe = Universe(seed: seed)
        let bookmarks = universe.bookmarks(of: Landmarks.visitor, hidden: false, now: noon)
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

    @Test func theFeedHasTheNewestWorksOfFollowedAuthors() throws {
        let followed = Set([false, true].flatMap { universe.following(of: Landmarks.visitor, hidden: $0) })
        var dates: [String] = []
        var ids: [Int64] = []
        for page in 1...3 {
            let body = try #require(try ask("/ajax/follow_latest/illust?p=\(page)&mode=all").body)
            let works = try #require(body["thumbnails"]?["illust"]).children
            let listed = try #require(body["page"]?["ids"]).children.compactMap(\.number)
            #expect(listed.count == 60)
            #expect(listed == works.compactMap { $0["id"]?.number })
            #expect(body["page"]?["isLastPage"]?.flag == false)
            #expect(works.allSatisfy { followed.contains($0["userId"]?.number ?? 0) })
            dates += works.compactMap { $0["createDate"]?.string }
            ids += listed
        }
        #expect(dates == dates.sorted(by: >))
        #expect(Set(ids).count == ids.count)
        #expect(try ask("/ajax/follow_latest/illust?p=0").status == 400)
        #expect(try ask("/ajax/follow_latest/illust?p=34").body?["page"]?["isLastPage"]?.flag == true)
    }
}
