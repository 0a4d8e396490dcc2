import Boards
import Foundation
@testable import HTTP
import Rankings
import TestSupport
import Testing

/// What is asked, and how pages end.
@Suite struct RequestTests {
    private func page(_ count: Int, from first: Int = 1, _ fields: [String: Any] = [:]) throws -> String {
        try text((first..<first + count).map { danbooruPost($0, fields) })
    }

    @Test(arguments: [
        ("day", "2024-05-01", "date:2024-05-01", "date:2024-05-01"),
        ("week", "2024-04-29", "date:2024-04-29...2024-05-06", "date:2024-04-29..2024-05-05"),
        ("month", "2024-02-01", "date:2024-02-01...2024-03-01", "date:2024-02-01..2024-02-29"),
    ])
    func rankingsAreSearchesOfTheirDays(mode: String, first: String, date: String, other days: String) async throws {
        let mode = try #require(RankingMode(rawValue: mode))
        let board = FakeBoard(try page(3))
        let answer = try await board.source().page(of: .ranking(mode, day(first)), 1, deadline: deadline)
        #expect(
            board.urls == [
                "https://safebooru.donmai.us/posts.json?tags=\(date)+order:score+rating:g&limit=200&page=1"
            ])
        #expect(answer.day == day(first) && answer.total == nil && answer.unreadable == 0)
        #expect(answer.entries.map(\.rank) == [1, 2, 3] && !answer.hasNext)
        let other = FakeBoard(try text([moebooruPost()]))
        _ = try await other.source(yandere).page(of: .ranking(mode, day(first)), 2, deadline: deadline)
        #expect(
            other.urls == [
                "https://yande.re/post.json?api_version=2&include_tags=1&tags=\(days)+order:score+rating:s&limit=100&page=2"
            ])
    }

    /// Of Danbooru's pool the record names the posts, of the other engine's the list itself.
    @Test func aPoolIsNumberedByItsOwnOrder() async throws {
        let ids: [Any] = [9, 4, "7", NSNull(), 5] + Array(100..<300)
        let pool: [String: Any] = ["id": 3, "name": "Some_Book", "post_ids": ids]
        // Posts of another rating and those that the service has no longer leave gaps.
        let posts = [
            danbooruPost(4), danbooruPost(9), danbooruPost(7, ["rating": "q"]), danbooruPost(5), danbooruPost(6),
        ]
        let board = FakeBoard(
            try text(pool), try text(posts), try text(pool), try text([danbooruPost(299)]), try text(pool))
        let key = try #require(ListingKey(text: "pools/3"))
        let first = try await board.source().page(of: key, 1, deadline: deadline)
        #expect(
            first.entries.map(\.rank) == [1, 2, 5] && first.works.map(\.id.rawValue) == [9, 4, 5] && first.hasNext)
        let second = try await board.source().page(of: key, 2, deadline: deadline)
        #expect(second.entries.map(\.rank) == [205] && !second.hasNext)
        #expect(board.urls[0] == "https://safebooru.donmai.us/pools/3.json")
        #expect(board.urls[1].hasPrefix("https://safebooru.donmai.us/posts.json?tags=id:9,4,7,0,5,100,"))
        #expect(board.urls[1].hasSuffix(",294&limit=200&page=1"))
        #expect(board.urls[3].contains("tags=id:295,") && board.urls[3].contains(",299&limit=200&page=1"))
        #expect(first.total == 205 && second.total == 205)
        #expect(await board.source().failure(of: key, 3) == .pastTheEnd)
        // Two hundred posts of which none is shown are a gap before the next.
        for list in [try text([danbooruPost(9, ["rating": "e"])]), "[]"] {
            let gap = try await FakeBoard(try text(pool), list).source().page(of: key, 1, deadline: deadline)
            #expect(gap.entries.isEmpty && gap.hasNext && gap.unreadable == 0)
        }

        let other = FakeBoard(
            try text([moebooruPost(8), moebooruPost(2, ["rating": "e"]), moebooruPost(5)]), "[]", "[]")
        let listed = try await other.source(yandere).page(of: key, 2, deadline: deadline)
        #expect(listed.entries.map(\.rank) == [101, 103] && listed.works.map(\.id.rawValue) == [8, 5])
        #expect(other.urls[0].hasSuffix("&tags=pool:3&limit=100&page=2"))
        for (page, error) in [(1, Failure.notFound), (2, .pastTheEnd)] {
            #expect(await other.source(yandere).failure(of: key, page) == error)
        }
    }

    @Test func aPoolIsFoundByItsName() async throws {
        let key = try #require(ListingKey(text: "pools/some book"))
        let pools: [[String: Any]] = [
            ["id": 2, "name": "Some_Book_2", "post_ids": [1]], ["id": 3, "name": "Some_Book", "post_ids": [4]], [:],
        ]
        let board = FakeBoard(try text(pools), try text([danbooruPost(4)]))
        #expect(try await board.source().page(of: key, 1, deadline: deadline).works.map(\.id.rawValue) == [4])
        #expect(
            board.urls[0] == "https://safebooru.donmai.us/pools.json?search%5Bname_contains%5D=some%20book"
                + "&search%5Bis_deleted%5D=false&search%5Border%5D=post_count&limit=1000")
        #expect(board.urls[1].contains("tags=id:4&"))
        let other = FakeBoard(try text([["id": 2, "name": "Some_Book_2"]]), try text([moebooruPost(8)]))
        _ = try await other.source(yandere).page(of: key, 1, deadline: deadline)
        #expect(other.urls[0] == "https://yande.re/pool.json?query=some%20book%20limit:100")
        #expect(other.urls[1].contains("tags=pool:2&"), "the only one that was found")
        for found in [[], [pools[0], pools[0]]] {
            let none = FakeBoard(try text(found))
            #expect(await none.source().failure(of: key) == .notFound)
        }
        // Of a pool that counts posts, no post is no pool that is not there.
        let counted = [
            (FakeBoard(try text(["id": 3, "post_ids": [], "post_count": 24])).source(), "pools/3"),
            (
                FakeBoard(try text([["id": 3, "name": "some_book", "post_count": 5]]), "[]").source(yandere),
                "pools/some book"
            ),
        ]
        for (source, name) in counted {
            let key = try #require(ListingKey(text: name))
            #expect(isUnreadable(await source.failure(of: key)), "\(name)")
        }
        // What is hidden is not what there is not; what makes no sense is neither.
        let hidden = FakeBoard(try text(pools[1]), try text([danbooruPost(4, ["rating": "e"])]), "{\"pool\":1}")
        let number = try #require(ListingKey(text: "pools/3"))
        #expect(await hidden.source().failure(of: number) == .withheld("rating"))
        #expect(isUnreadable(await hidden.source().failure(of: number)))
    }

    /// Recorded pools, without the posts that their recorder took out.
    @Test func recordedPoolsAreRead() throws {
        let pool = try #require(try Recorded.all("pools").first { $0.name.hasSuffix("7659") })
        let danbooru = try #require(BooruPool(pool.json))
        #expect(danbooru.id == 7659 && danbooru.name == "Original_-_ある○人の島_(Ken_(Koala))" && danbooru.posts == nil)
        #expect(BooruPool.named("original - ある○人の島 (Ken_(koala))", among: [danbooru, danbooru]) == danbooru)
        let shown = try #require(try Recorded.all("pools").first { $0.name.hasSuffix("318") })
        #expect(BooruPool(shown.json)?.id == 318)
    }

    @Test func requestsAreHonestAndPlain() async throws {
        let board = FakeBoard(try page(1), try page(1))
        let source = board.source()
        _ = try await source.page(of: .ranking(.day, day("2024-05-01")), 1, deadline: deadline)
        _ = try await source.page(of: .ranking(.day, day("2024-05-01")), 2, deadline: deadline)
        let request = try #require(board.requests.first)
        #expect(request.headers == ["Accept: application/json"] && request.method == .get && request.range == nil)
        #expect(request.transferClass == .metadata && request.purpose == .api && request.deadline == deadline)
        #expect(
            board.turns == [.reader, .shown] && board.patiences == [.zero, .zero] && board.verdicts == [.fine, .fine])
        _ = try? await RequestUrgency.$isBackground.withValue(true) {
            try await source.page(of: .search("a"), 1, deadline: deadline)
        }
        #expect(board.patiences.last == .seconds(120) && board.verdicts.last == .unknown)
    }

    /// The service's own today begins before its day is over, and it answers nothing for none.
    @Test func theNewestDayIsAskedForByItsDate() async throws {
        let board = FakeBoard(try page(1), try text([moebooruPost()]))
        let answer = try await board.source().page(of: .ranking(.day, nil), 1, deadline: deadline)
        #expect(answer.day == day("2024-05-14") && board.urls[0].contains("date:2024-05-14+"))
        let month = try await board.source(konachan).page(of: .ranking(.month, nil), 1, deadline: deadline)
        #expect(month.day == day("2024-04-01"))
        #expect(board.urls[1].hasPrefix("https://konachan.net/") && board.urls[1].contains("2024-04-01..2024-04-30"))
    }

    /// This machine's clock is ahead: what the service still adds to is no day, and the newest is the one before.
    @Test(
        arguments: [
            // 2024-05-15 at 03:59:59 and at 04:00:00, which is midnight in New York.
            ("Wed, 15 May 2024 03:59:59 GMT", nil, false), ("Wed, 15 May 2024 04:00:00 GMT", nil, true),
            // A cache has kept the answer for a second.
            ("Wed, 15 May 2024 03:59:59 GMT", "1", true), ("yesterday", nil, true), (nil, "x", true),
        ] as [(String?, String?, Bool)])
    func aDayIsOverByTheServicesClock(date: String?, age: String?, isOver: Bool) async throws {
        let headers = [("date", date), ("age", age)].compactMap { name, value in value.map { (name: name, value: $0) } }
        let board = FakeBoard(headers: headers, try page(1), try page(1), try page(1))
        let last = day("2024-05-14")
        let error = await board.source().failure(of: .ranking(.day, last))
        #expect(error == (isOver ? nil : .notPublished))
        let newest = try await board.source().page(of: .ranking(.day, nil), 1, deadline: deadline)
        let shown = try #require(newest.day)
        #expect(shown == (isOver ? last : day("2024-05-13")))
        #expect(board.urls.last?.contains("date:\(shown)+") == true)
    }

    /// A week is over with its last day; whatever a server tells, it is asked twice at most.
    @Test func aServersClockIsAskedOnce() async throws {
        let board = FakeBoard(headers: [("date", "Wed, 15 May 2024 04:00:00 GMT")], try page(1), try page(1))
        let source = board.source(now: 1_716_300_000)
        #expect(await source.failure(of: .ranking(.week, day("2024-05-13"))) == .notPublished)
        _ = try await source.page(of: .ranking(.week, day("2024-05-06")), 1, deadline: deadline)
        let early = FakeBoard(headers: [("date", "Thu, 01 Jan 1970 00:00:00 GMT")], try page(1), try page(1))
        #expect(await early.source().failure(of: .ranking(.day, nil)) == .notPublished)
        #expect(early.urls.count == 1)
    }

    @Test func daysThatNoRankingHasAreNotAskedFor() async throws {
        let source = FakeBoard().source()
        for (mode, date) in [(RankingMode.week, "2024-05-05"), (.month, "2024-05-02"), (.day, "1999-01-01")] {
            let error = await source.failure(of: .ranking(mode, day(date)))
            #expect(error == .notPublished)
        }
        for page in [0, -1, 1001, Int.max, Int.min] {
            #expect(await source.failure(of: .ranking(.day, day("2024-05-01")), page) == .pastTheEnd)
            #expect(await source.failure(of: .search("a"), page) == .pastTheEnd)
        }
    }

    // MARK: - Pages

    @Test func anEmptyPageIsTheEnd() async throws {
        let board = FakeBoard("[]", "[]", "[]", "{\"posts\":[],\"tags\":{}}")
        let source = board.source()
        for (page, expected) in [(1, Failure.notPublished), (2, .pastTheEnd)] {
            #expect(await source.failure(of: .ranking(.day, day("2024-05-01")), page) == expected)
        }
        let search = try await source.page(of: .search("nothing"), 1, deadline: deadline)
        #expect(search.works.isEmpty && !search.hasNext)
        #expect(await board.source(yandere).failure(of: .search("nothing"), 2) == .pastTheEnd)
    }

    @Test(arguments: [(200, true), (180, true), (100, true), (99, false), (1, false)])
    func aPageFarFromFullIsTheLast(count: Int, hasNext: Bool) async throws {
        let board = FakeBoard(try page(count), try page(count))
        let ranking = try await board.source().page(of: .ranking(.day, day("2024-05-01")), 1, deadline: deadline)
        #expect(ranking.hasNext == hasNext && ranking.entries.count == count)
        #expect(try await board.source().page(of: .search("a"), 1, deadline: deadline).hasNext == hasNext)
    }

    @Test func thereAreNoPagesBehindTheLastOfTheService() async throws {
        let answer = try await FakeBoard(try page(200)).source().page(of: .search("a"), 1000, deadline: deadline)
        #expect(!answer.hasNext)
    }

    @Test func ranksCountWhatIsNotShown() async throws {
        let posts: [Any] = [
            danbooruPost(1), danbooruPost(2, ["file_ext": "swf"]), danbooruPost(3, ["rating": "q"]),
            danbooruPost(4, ["rating": "x"]), danbooruPost(5, ["file_url": Missing(), "is_banned": true]),
            ["id": "odd"], danbooruPost(7),
        ]
        let answer = try await FakeBoard(try text(posts)).source().page(
            of: .ranking(.day, day("2024-05-01")), 3, deadline: deadline)
        #expect(answer.entries.map(\.rank) == [401, 405, 407])
        #expect(answer.entries.map(\.work.withheld) == [nil, "banned", nil])
        #expect(answer.entries.allSatisfy { $0.previousRank == nil } && answer.unreadable == 1)
    }

    // MARK: - Searches

    @Test func wordsAreTagsAndStayInTheirPlace() async throws {
        let board = FakeBoard(try page(1), try page(1))
        let source = board.source(rating: "explicit")
        _ = try await source.page(of: .search("hakurei_reimu  初音ミク&page=9#x"), 2, deadline: deadline)
        #expect(
            board.urls == [
                "https://danbooru.donmai.us/posts.json?tags=hakurei_reimu+%E5%88%9D%E9%9F%B3%E3%83%9F%E3%82%AF%26page%3D9%23x"
                    + "&limit=200&page=2"
            ])
        #expect(
            source.description.entries(of: .search) == 200
                && FakeBoard().source(yandere).description.entries(of: .artist) == 100)
        for words in ["", "  ", String(repeating: "a", count: 2000)] {
            #expect(await source.failure(of: .search(words)) == .notFound)
        }
    }

    @Test func optionsInTheNameAreTermsThatAreFree() async throws {
        let name = "hat,since=2024-02,until=2024-02,size=3000,shape=landscape"
        let (board, other) = (FakeBoard(try page(1), try page(1), try page(1)), FakeBoard(try text([moebooruPost()])))
        _ = try await board.source().page(of: .search(name), 1, deadline: deadline)
        let sides = "+width:%3E%3D3000+height:%3E%3D3000+ratio:%3E1"
        #expect(board.urls[0].contains("?tags=hat+date:2024-02-01...2024-03-01\(sides)+rating:g&"), "\(board.urls)")
        _ = try await other.source(yandere).page(of: .search(name), 1, deadline: deadline)
        #expect(other.urls[0].contains("&tags=hat+date:2024-02-01..2024-02-29\(sides)+rating:s&"), "\(other.urls)")
        // Without an end the days go on to the one after today; what the boards lack is words; each alternative is limited.
        _ = try await board.source().page(of: .search("hat,match=tag,since=2024-05-14"), 1, deadline: deadline)
        #expect(
            board.urls[1].contains("?tags=hat%2Cmatch%3Dtag+date:2024-05-14...2024-05-17+rating:g&"), "\(board.urls)")
        _ = try await board.source(rating: "explicit").page(of: .search("a or b,shape=square"), 1, deadline: deadline)
        #expect(board.urls[2].contains("%28+a+or+b+%29+ratio:1&"), "\(board.urls)")
        // Days that end before they begin have no posts.
        for name in ["hat,since=2024-03,until=2024-02", "hat,since=9999-12"] {
            #expect(try await board.source().page(of: .search(name), 1, deadline: deadline).entries.isEmpty)
        }
        #expect(board.urls.count == 3)
    }

    /// What follows an `or` belongs to its last word alone; of the other engine the word is a tag.
    @Test(arguments: [
        ("a or b", "%28+a+or+b+%29+rating:g,s"), ("a OR b_(c)", "%28+a+OR+b_%28c%29+%29+rating:g,s"),
        ("a_or_b for", "a_or_b+for+rating:g,s"), ("(a b)", "%28a+b%29+rating:g,s"),
    ]) func theRatingIsThatOfEveryAlternative(words: String, tags: String) async throws {
        let board = FakeBoard(try page(1), try page(1), try text([moebooruPost()]))
        _ = try await board.source(rating: "sensitive").page(of: .search(words), 1, deadline: deadline)
        #expect(board.urls[0].contains("tags=\(tags)&"), "\(board.urls[0])")
        _ = try await board.source(rating: "explicit").page(of: .search(words), 1, deadline: deadline)
        #expect(!board.urls[1].contains("%28+") && !board.urls[1].contains("rating"), "nothing is limited")
        _ = try await board.source(yandere).page(of: .search(words), 1, deadline: deadline)
        #expect(!board.urls[2].contains("%28+") && board.urls[2].contains("+rating:s&"))
    }

    @Test func aTagMayHaveAColon() async throws {
        let board = FakeBoard(try page(1), try page(1), try text([moebooruPost()]), try text([moebooruPost()]))
        for (source, name) in [
            (board.source(), "a:b"), (board.source(), ":d"), (board.source(yandere), "re:zero"),
            (board.source(yandere), "is:a"),
        ] { _ = try await source.page(of: .artist(name), 1, deadline: deadline) }
        #expect(board.urls[0].contains("tags=a%3Ab+") || board.urls[0].contains("tags=a:b+"))
        #expect(board.urls.count == 4)
        let names = [
            (board.source(), ["rating:e", "Rating:e", "order:score", "is:a", "gentags:1", "deleted_children:1", "or"]),
            (board.source(yandere), ["rating:e", "RATING:e", "ext:gif", "holds:all", "s", "E"]),
        ]
        for (source, names) in names {
            for name in names {
                #expect(await source.failure(of: .artist(name)) == .notFound, "\(name)")
            }
        }
        #expect(board.urls.count == 4, "the language of the search is nobody's name")
    }

    @Test func anArtistIsOneTag() async throws {
        let board = FakeBoard(try text([moebooruPost(), moebooruPost()]))
        let source = board.source(yandere, rating: "questionable")
        let answer = try await source.page(of: .artist("chanta_(ayatakaoisii)"), 1, deadline: deadline)
        #expect(answer.works.count == 1, "the same post twice is one work")
        #expect(
            board.urls == [
                "https://yande.re/post.json?api_version=2&include_tags=1&tags=chanta_%28ayatakaoisii%29+-rating:e&limit=100&page=1"
            ])
        for name in ["", "a b", "a*", "rating:e", "-a", "~a", ".", "..", "a\u{0}", "a\n", "a\u{3000}b"] {
            #expect(await source.failure(of: .artist(name)) == .notFound, "\(name)")
        }
    }

    // MARK: - Ratings

    @Test(
        arguments: [
            (nil, "safebooru", "+rating:g&"), ("general", "safebooru", "+rating:g&"),
            ("nonsense", "safebooru", "+rating:g&"),
            ("sensitive", "danbooru", "+rating:g,s&"), ("questionable", "danbooru", "+rating:g,s,q&"),
            ("explicit", "danbooru", "order:score&"),
        ] as [(String?, String, String)])
    func theRatingIsAPartOfTheSearch(word: String?, host: String, tag: String) async throws {
        let posts = ["g", "s", "q", "e", "z"].enumerated().map { danbooruPost($0 + 1, ["rating": $1]) }
        let board = FakeBoard(try text(posts), try text(posts))
        let answer = try await board.source(rating: word).page(
            of: .ranking(.day, day("2024-05-01")), 1, deadline: deadline)
        #expect(board.urls[0].hasPrefix("https://\(host).donmai.us/") && board.urls[0].contains(tag))
        let shown = ["sensitive": 2, "questionable": 3, "explicit": 4][word ?? ""] ?? 1
        #expect(answer.entries.map(\.rank) == Array(1...shown))
        // An origin of one's own is told as well.
        _ = try await board.source(rating: word, apiURL: "http://127.0.0.1:8080").page(
            of: .ranking(.day, day("2024-05-01")), 1, deadline: deadline)
        #expect(board.urls[1].hasPrefix("http://127.0.0.1:8080/posts.json?") && board.urls[1].contains(tag))
    }

    @Test(
        arguments: [
            (nil, "+rating:s&", 1), ("questionable", "+-rating:e&", 2), ("explicit", "order:score&", 3),
        ] as [(String?, String, Int)])
    func theOtherEngineHasThree(word: String?, tag: String, shown: Int) async throws {
        let posts = ["s", "q", "e", "g"].enumerated().map { moebooruPost($0 + 1, ["rating": $1]) }
        let board = FakeBoard(try text(["posts": posts, "tags": [:]]))
        let answer = try await board.source(konachan, rating: word).page(
            of: .ranking(.day, day("2024-05-01")), 1, deadline: deadline)
        #expect(board.urls[0].contains(tag) && answer.entries.map(\.rank) == Array(1...shown))
    }

    /// A day of which nothing may be shown is not a day that there is not: the service took no notice of the rating.
    @Test func aPageOfOtherRatingsIsNoEnd() async throws {
        let board = FakeBoard(try page(5, ["rating": "e"]))
        #expect(isUnreadable(await board.source().failure(of: .ranking(.day, day("2024-05-01")))))
    }
}
