import Rankings
import Testing

@testable import Origin

@Suite struct RankingAnswerTests {
    private static let pixiv = Pixiv(Universe(seed: 1))

    private func ask(_ query: String, now: Int64 = noon) throws -> (status: Int, body: JSON?) {
        let answer = try #require(Self.pixiv.get("/ranking.php?format=json&\(query)", now: now))
        return (answer.status, JSON(answer.bytes))
    }

    @Test func aRankingAppearsAtNoonInJapan() throws {
        #expect(try ask("date=20240501", now: noon).status == 200)
        #expect(try ask("date=20240501", now: noon - 1).status == 404)
        #expect(try ask("", now: noon).body?["date"]?.string == "20240501")
        #expect(try ask("", now: noon - 1).body?["date"]?.string == "20240430")
    }

    @Test(arguments: ["daily", "weekly", "monthly", "male", "female", "rookie", "original", "daily_ai"])
    func everyModeHasEveryDay(mode: String) throws {
        let first = mode == "daily_ai" ? "20221031" : "20070913"
        let before = mode == "daily_ai" ? "20221030" : "20070912"
        let oldest = try ask("mode=\(mode)&date=\(first)")
        #expect(oldest.status == 200)
        #expect(oldest.body?["prev_date"]?.string == nil)
        #expect(try ask("mode=\(mode)&date=\(before)").status == 404)
        #expect(try ask("mode=\(mode)&date=20240501").body?["next_date"]?.string == nil)
        #expect(try ask("mode=\(mode)&date=20240430").body?["next_date"]?.string == "20240501")
    }

    @Test func tenPagesThenTheEnd() throws {
        var ranks: [Int64] = []
        for page in 1...10 {
            let body = try #require(try ask("date=20220501&p=\(page)").body)
            let contents = try #require(body["contents"]).children
            #expect((45...50).contains(contents.count))
            ranks += contents.compactMap { $0["rank"]?.number }
            #expect(body["next"]?.number == (page < 10 ? Int64(page + 1) : nil))
            #expect(body["prev"]?.number == (page > 1 ? Int64(page - 1) : nil))
            #expect(body["rank_total"]?.number == 500)
        }
        #expect(ranks == ranks.sorted())
        #expect(ranks.first == 1)
        let beyond = try ask("date=20220501&p=11")
        #expect(beyond.status == 404)
        #expect(beyond.body?["error"]?.string == "ランキング集計の範囲外です")
        #expect(try ask("p=10000").status == 404)
        #expect(try ask("p=0").status == 404)
        #expect(try ask("p=9223372036854775807").status == 404)
    }

    @Test func signedInModesAreForbidden() throws {
        for mode in RankingMode.signedIn {
            #expect(try ask("mode=\(mode.rawValue)").status == 403)
        }
        #expect(try ask("mode=nonsense").status == 404)
        #expect(try ask("date=2022-05-01").status == 404)
    }

    @Test func oneKindOnly() throws {
        for (content, kind) in ["illust": "0", "manga": "1", "ugoira": "2"] {
            let entries = try #require(try ask("date=20220501&content=\(content)").body?["contents"]).children
            #expect(!entries.isEmpty)
            #expect(entries.allSatisfy { $0["illust_type"]?.string == kind })
        }
    }

    @Test func maskedSlotsKeepOnlyNumberAndRank() throws {
        var masked: [JSON] = []
        for page in 1...10 {
            let entries = try #require(try ask("date=20220501&p=\(page)").body?["contents"]).children
            masked += entries.filter { $0["mask_reason"]?.string == "login_only" }
        }
        let entry = try #require(masked.first)
        #expect(entry["title"]?.string == "")
        #expect(entry["user_id"]?.number == 1)
        #expect(entry["url"]?.string == "https://s.pximg.net/common/images/limit_unviewable_s.png")
        #expect(entry["illust_upload_timestamp"] == nil)
        guard case .integer = entry["illust_page_count"] as JSON else {
            Issue.record("the page count of a masked entry is a number")
            return
        }
        let id = try #require(entry["illust_id"]?.number)
        let answer = try #require(Self.pixiv.get("/ajax/illust/\(id)/pages"))
        let urls = try #require(answer.json()["body"]?.children.first?["urls"]).children
        #expect(urls.count == 4)
        #expect(urls.allSatisfy { $0.isNull })
    }
}
