import Rankings
import Testing

@testable import Origin

/// The origin is no more generous than pixiv: it refuses the same requests, which no mount can show.
@Suite struct RefusalTests {
    /// One for all rows, because it keeps what it has collected.
    private static let pixiv = Pixiv(Universe(seed: 1))
    private static let visitor = Viewer.signedIn(Landmarks.visitor)

    /// A request, its viewer, and the status of the answer.
    struct Row: Sendable, CustomTestStringConvertible {
        let target: String
        let viewer: Viewer
        let status: Int
        var testDescription: String { "\(target) \(viewer)" }

        init(_ target: String, _ status: Int, as viewer: Viewer = .anonymous) {
            self.target = target
            self.viewer = viewer
            self.status = status
        }
    }

    /// The newest ranking is that of 2024-05-01; the oldest ones, the last page, and the rankings that there are not.
    private static let rankings: [(query: String, status: Int)] = [
        ("date=20240501", 200), ("date=20240502", 404), ("date=20070913", 200), ("date=20070912", 404),
        ("mode=daily_ai&date=20221031", 200), ("mode=daily_ai&date=20221030", 404), ("date=2022-05-01", 404),
        ("date=20220501&p=10", 200), ("date=20220501&p=11", 404), ("p=0", 404), ("p=10000", 404),
        ("p=9223372036854775807", 404), ("mode=nonsense", 404), ("mode=daily-manga", 404), ("content=novel", 404),
        ("content=manga", 200), ("mode=original&content=manga", 404), ("mode=daily_r18", 403),
    ]

    private static let bookmarks = "/ajax/user/1000/illusts/bookmarks?tag=&"
    private static let following = "/ajax/user/1000/following?offset=0&limit=24&rest=show"

    /// Up to a hundred numbers of works at once.
    private static func records(_ count: Int) -> String {
        let ids = (0..<count).map { "ids[]=\(900_000_000 + $0)" }.joined(separator: "&")
        return "/ajax/user/1001/profile/illusts?\(ids)&work_category=illustManga&is_first_page=0"
    }

    private static let rows =
        rankings.map { Row("/ranking.php?format=json&\($0.query)", $0.status) } + [
            Row("/ranking.php?mode=daily_r18", 403, as: .rejected), Row("/ranking.php?mode=daily", 200, as: .rejected),
            Row(following, 400, as: .rejected), Row("/ajax/illust/900000005", 400, as: .rejected),
            Row("/ranking.php?mode=daily_r18&p=2", 200, as: visitor),
            Row("/ranking.php?mode=daily_r18&p=3", 404, as: visitor),
            Row("/ranking.php?mode=r18g&p=2", 404, as: visitor),
            Row("/ajax/search/artworks/a?p=1", 200), Row("/ajax/search/artworks/a?order=popular_d", 400),
            Row("/ajax/search/artworks/a?p=0", 400), Row("/ajax/search/artworks/a?p=x", 400),
            Row(records(100), 200), Row(records(101), 400), Row(records(0), 400),
            Row(bookmarks + "offset=0&limit=100&rest=show", 200, as: visitor),
            Row(bookmarks + "offset=0&limit=100&rest=hide", 200, as: visitor),
            Row(bookmarks + "offset=0&limit=101&rest=show", 400, as: visitor),
            Row(bookmarks + "offset=-1&limit=9&rest=show", 400, as: visitor),
            Row(bookmarks + "offset=0&limit=48&rest=show", 400),
            Row(bookmarks + "offset=0&limit=9&rest=hide", 400, as: .signedIn(Landmarks.author)),
            Row("/ajax/user/5/illusts/bookmarks?offset=0&limit=9&rest=show", 404, as: visitor),
            Row(following, 200, as: visitor), Row(following, 400),
        ]

    @Test(arguments: rows) func asTheServiceAnswers(row: Row) throws {
        #expect(try #require(Self.pixiv.get(row.target, row.viewer)).status == row.status)
    }

    @Test func aRankingAppearsAtNoonInJapan() throws {
        func date(_ now: Int64) throws -> String? {
            try #require(Self.pixiv.get("/ranking.php?format=json", now: now)).json()["date"]?.string
        }
        #expect(try date(noon) == "20240501")
        #expect(try date(noon - 1) == "20240430")
        #expect(Self.pixiv.get("/ranking.php?format=json&date=20240501", now: noon - 1)?.status == 404)
    }

    @Test func strangersSeeTenPagesOfASearchAndThenTheTenthAgain() throws {
        func works(_ page: Int, _ viewer: Viewer = .anonymous) throws -> [Int64] {
            let target = "/ajax/search/artworks/%E9%A2%A8%E6%99%AF?p=\(page)"
            let list = try #require(Self.pixiv.get(target, viewer)).json()["body"]?["illustManga"]?["data"]
            return try #require(list).children.compactMap { $0["id"]?.number }
        }
        let last = try works(10)
        for page in [11, 4000] { #expect(try works(page) == last) }
        #expect(try works(9) != last && works(11, Self.visitor) != works(10, Self.visitor))
    }
}
