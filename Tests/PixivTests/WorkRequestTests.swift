import Foundation
import HTTP
import Rankings
import TestSupport
import Testing

@testable import Pixiv

@Suite("Asking for searches and full records")
struct WorkRequestTests {
    private let work = WorkID(rawValue: 9)

    private func service(_ paths: String...) throws -> FakeService {
        FakeService(try paths.map { .success(FakeService.response(200, [], try Payload($0).bytes)) })
    }

    @Test("a search asks for the words, whatever they are")
    func search() async throws {
        let payload = "ajax-search-artworks/Nandaka-PixivUtil2-test-tags-search-exact-last"
        let service = try service(payload, payload)
        let source = service.source()
        #expect(try await source.page(of: .search("初音ミク 100%/?#"), 2, deadline: deadline).works.count == 24)
        #expect(try await source.page(of: .search("..."), 52, deadline: deadline).hasNext == false)
        let words = "%E5%88%9D%E9%9F%B3%E3%83%9F%E3%82%AF%20100%25%2F%3F%23"
        let rest = "&s_mode=s_tag&type=all"
        #expect(
            service.urls == [
                "https://www.pixiv.net/ajax/search/artworks/\(words)?word=\(words)&order=date_d&mode=all&p=2\(rest)",
                "https://www.pixiv.net/ajax/search/artworks/...?word=...&order=date_d&mode=all&p=52\(rest)",
            ])
        // Names of directories have no slash; tags do.
        let slash = try self.service(payload)
        _ = try await slash.source().page(of: .search("Fate／GrandOrder"), 1, deadline: deadline)
        #expect(slash.urls[0].contains("/artworks/Fate%2FGrandOrder?word=Fate%2FGrandOrder&"))
        #expect(URL(string: service.urls[0]) != nil && PixivSource.facts.entries(of: .search) == 60)
    }

    @Test("options in the name are parameters")
    func searchOptions() async throws {
        let payload = "ajax-search-artworks/Nandaka-PixivUtil2-test-tags-search-exact-last"
        let names = [
            (
                "a b,since=2026-02,until=2026-02,kind=ugoira,size=3000,shape=landscape,match=tag", "illustrations",
                "s_mode=s_tag_full&type=ugoira&scd=2026-02-01&ecd=2026-02-28&wlt=3000&hlt=3000&ratio=0.5"
            ),
            ("a b,kind=manga,shape=portrait,match=text", "manga", "s_mode=s_tc&type=manga&ratio=-0.5"),
            (
                "a b,kind=illust,shape=square,since=2026-02-03", "illustrations",
                "s_mode=s_tag&type=illust&scd=2026-02-03&ratio=0"
            ),
        ]
        for (name, route, rest) in names {
            let service = try service(payload)
            _ = try await service.source().page(of: .search(name), 1, deadline: deadline)
            #expect(
                service.urls == [
                    "https://www.pixiv.net/ajax/search/\(route)/a%20b?word=a%20b&order=date_d&mode=all&p=1&\(rest)"
                ])
        }
        let service = FakeService()
        #expect(await service.source().failure(of: .search("..,kind=manga")) == .notFound)
        #expect(service.urls.isEmpty)
    }

    @Test("what nobody can search, and pages before the first, are not asked for")
    func noSearch() async {
        let service = FakeService()
        let source = service.source()
        for words in ["", ".", ".."] {
            #expect(await source.failure(of: .search(words)) == .notFound)
        }
        #expect(await source.failure(of: .search("a"), 0) == .pastTheEnd)
        #expect(service.events.isEmpty)
    }

    @Test("a tag that is listed under another name is requested as the service calls it")
    func namedTags() async throws {
        let body = #"{"error":false,"message":"","body":{"works":[],"total":0}}"#
        let service = FakeService(status: 200, body, body)
        let source = service.source()
        let key = try #require(ListingKey(text: "author-tag/9/c／d"))
        for part in [ListingPart.number(1), .named(1, "c%EF%BC%8Fd")] {
            _ = try await source.page(of: key, part, deadline: deadline)
        }
        let asked = service.urls.map { $0.split(separator: "?").last?.split(separator: "&").first }
        #expect(asked == ["tag=c%2Fd", "tag=c%EF%BC%8Fd"])
    }

    @Test("a list that the service denies is withheld, whatever it is of")
    func denied() async {
        let words = "{\"error\":true,\"message\":\"no permission\",\"body\":[]}"
        for kind in [ListingKind.series, .related, .authorTags] {
            let source = FakeService(status: 403, words).source()
            let denied = await source.failure(of: ListingKey(kind, 9))
            #expect(denied == .withheld("“no permission”"))
        }
        let gone = FakeService(status: 403, "{\"error\":true,\"message\":\"It does not exist\",\"body\":[]}").source()
        #expect(await gone.failure(of: ListingKey(.series, 9)) == .notFound)
    }

    @Test("works and authors that are gone are not found; a still has no frames")
    func gone() async throws {
        let gone = String(
            decoding: try Payload("ajax-error/NebulaeWisdom-anybooru-404-no-such-illust").bytes, as: UTF8.self)
        let source = FakeService(status: 404, gone, gone, gone).source()
        #expect(await failure { try await source.details(of: work, deadline: deadline) } == .notFound)
        #expect(await failure { try await source.animation(of: work, deadline: deadline) } == .notFound)
        #expect(await failure { try await source.profile(of: UserID(rawValue: 9), deadline: deadline) } == .notFound)
        let still = try service("ajax-error/item4-ugoira-not-an-ugoira-ko").source()
        #expect(isUnreadable(await failure { try await still.animation(of: work, deadline: deadline) }))
        let service = FakeService()
        let nobody = service.source()
        #expect(await failure { try await nobody.details(of: WorkID(rawValue: 0), deadline: deadline) } == .notFound)
        #expect(await failure { try await nobody.animation(of: WorkID(rawValue: -1), deadline: deadline) } == .notFound)
        #expect(await failure { try await nobody.profile(of: UserID(rawValue: 0), deadline: deadline) } == .notFound)
        #expect(service.events.isEmpty)
    }

    @Test("without a session nobody is asked for what only users see")
    func strangers() async {
        let service = FakeService()
        let source = service.source()
        let user = UserID(rawValue: 7)
        #expect(await source.failure(of: .bookmarks(user)) == .needsSignIn)
        #expect(await source.failure(of: .following(user)) == .needsSignIn)
        #expect(await source.failure(of: ListingKey(.feed, 7)) == .needsSignIn)
        for mode in RankingMode.signedIn {
            #expect(await source.failure(of: .ranking(mode, day)) == .needsSignIn)
        }
        #expect(service.events.isEmpty && PixivSource.facts.entries(of: .bookmarks) == 48)
    }

    @Test("a collection is named by digits, of which there are more than a number has")
    func collections() async throws {
        let tiles = #"{"error":false,"message":"","body":{"data":{"detail":{"tiles":[]}},"thumbnails":{"illust":[]}}}"#
        let service = FakeService(tiles)
        let source = service.source()
        for name in ["", "..", "12a", "１２", "12/3", "-1", String(repeating: "1", count: 33)] {
            guard let key = ListingKey(text: "collection/\(name)") else { continue }
            #expect(await source.failure(of: key) == .notFound, "\(name)")
        }
        #expect(service.urls.isEmpty)
        let key = try #require(ListingKey(text: "collection/35931581765300027379"))
        #expect(try await source.page(of: key, 1, deadline: deadline).entries.isEmpty)
        #expect(service.urls == ["https://www.pixiv.net/ajax/collection/35931581765300027379"])
    }

    @Test("bookmarks and other lists are asked for by range")
    func ranges() {
        let user = UserID(rawValue: 7)
        let (bookmarks, tagged) = ("/ajax/user/7/illusts/bookmarks", "/ajax/user/11/illustmanga/tag?tag=")
        func own(_ key: String) -> String? {
            ListingKey(text: key).flatMap { PixivRoutes.ownBookmarks($0, page: 1)?.path }
        }
        let rows: [(String?, String)] = [
            (PixivRoutes.bookmarks(of: user, page: 3), bookmarks + "?tag=&offset=96&limit=48&rest=show"),
            (PixivRoutes.following(of: user, page: 2), "/ajax/user/7/following?offset=24&limit=24&rest=show"),
            (PixivRoutes.feed(isRestricted: false, page: 2), "/ajax/follow_latest/illust?p=2&mode=all"),
            (PixivRoutes.works(ofAuthorAndTag: "11/Fate／a b", page: 2), tagged + "Fate%2Fa%20b&offset=48&limit=48"),
            // A mark that combines with the slash.
            (PixivRoutes.works(ofAuthorAndTag: "11/\u{301}a", page: 1), tagged + "%CC%81a&offset=0&limit=48"),
            (own("bookmarks-private/7"), bookmarks + "?tag=&offset=0&limit=48&rest=hide"),
            (own("bookmark-tag/7/a／b c"), bookmarks + "?tag=a%2Fb%20c&offset=0&limit=48&rest=show"),
            (own("bookmark-month/7/2026-10"), bookmarks + "?tag=&bm=202610&offset=0&limit=48&rest=show"),
        ]
        for (route, expected) in rows { #expect(route == expected) }
        for text in ["", "11", "11/", "/a", "0/a", "-1/a", "x/a"] {
            #expect(PixivRoutes.works(ofAuthorAndTag: text, page: 1) == nil, "\(text)")
        }
        for key in ["bookmark-month/7/2026-1", "bookmark-month/7/latest", "bookmark-tag/7", "bookmark-tag/x/a"] {
            #expect(own(key) == nil, "\(key)")
        }
    }
}
