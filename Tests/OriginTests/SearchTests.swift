import Rankings
import Testing

@testable import Origin

@Suite struct SearchTests {
    /// One for all tests, because it keeps what it has collected.
    private static let pixiv = Pixiv(Universe(seed: 1))

    private func search(
        _ word: String, _ query: String = "", _ viewer: Viewer = .anonymous
    ) throws -> JSON {
        let word = word.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let answer = try #require(Self.pixiv.get("/ajax/search/artworks/\(word)?\(query)", viewer))
        #expect(answer.status == 200)
        return try #require(answer.json()["body"]?["illustManga"])
    }

    private func ids(_ list: JSON) -> [Int64] {
        (list["data"]?.children ?? []).compactMap { $0["id"]?.number }
    }

    @Test func pagesLeaveNothingOutAndEndWithTheLast() throws {
        let visitor = Viewer.signedIn(Landmarks.visitor)
        #expect((try search("風景")["total"]?.number ?? 0) > 300)
        let first = try search("landscape", "", visitor)
        let total = try #require(first["total"]?.number)
        let last = try #require(first["lastPage"]?.number)
        #expect(total > 300)
        var all: [Int64] = []
        var advertisements = 0
        for page in 1...last {
            let list = try search("landscape", "p=\(page)&order=date_d&mode=all&s_mode=s_tag", visitor)
            let slots = try #require(list["data"]).children
            #expect(page == last || slots.count == 60)
            advertisements += slots.filter { $0["isAdContainer"]?.flag == true && $0["id"] == nil }.count
            all += ids(list)
        }
        #expect(all.count == Int(total))
        #expect(all == all.sorted(by: >), "newest first")
        #expect(Set(all).count == all.count)
        #expect(advertisements > 0)
    }

    @Test func anonymousVisitorsSeeTenPagesAndThenTheTenthAgain() throws {
        let last = try search("風景", "p=10")
        #expect(last["lastPage"]?.number == 10)
        #expect(ids(try search("風景", "p=11")) == ids(last))
        #expect(ids(try search("風景", "p=4000")) == ids(last))
        #expect(ids(try search("風景", "p=9")) != ids(last))
        #expect((try search("風景", "", .signedIn(Landmarks.visitor))["lastPage"]?.number ?? 0) > 10)
    }

    @Test func fewAndNone() throws {
        let rare = try search(Landmarks.rareTag)
        #expect(rare["total"]?.number == 3)
        #expect(
            ids(rare)
                == ["brokenOriginal", "twelvePages", "longAnimation"].map { Landmarks.id($0, .pixiv) })
        for word in ["そんな札はない", " ", "a/b/none", "%%2f"] {
            let none = try search(word)
            #expect(none["data"]?.children.isEmpty == true)
            #expect(none["total"]?.number == 0)
            #expect(none["lastPage"]?.number == 1)
        }
    }

    @Test func everyWordIsRequired() throws {
        let both = try search("風景　猫", "word=x&s_mode=s_tag_full&type=all")
        let entries = try #require(both["data"]).children.filter { $0["id"] != nil }
        #expect(!entries.isEmpty)
        for entry in entries {
            let tags = (entry["tags"]?.children ?? []).compactMap(\.string)
            #expect(tags.contains("風景") && tags.contains("猫"))
        }
        let total = try #require(both["total"]?.number)
        #expect(total < (try search("風景")["total"]?.number ?? 0))
    }

    @Test func worksForSignedInUsersAreFoundByThemOnly() throws {
        func restrictions(_ list: JSON) -> Set<Int64> {
            Set((list["data"]?.children ?? []).compactMap { $0["xRestrict"]?.number })
        }
        #expect(restrictions(try search("R-18")) == [])
        #expect(restrictions(try search("R-18", "", .signedIn(Landmarks.visitor))).contains(1))
    }

    @Test func popularityIsForThoseWhoPay() {
        for query in ["order=popular_d", "p=0", "p=x"] {
            #expect(Self.pixiv.get("/ajax/search/artworks/a?\(query)")?.status == 400)
        }
    }
}
