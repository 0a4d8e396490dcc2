import HTTP
import Rankings
import Sourcing
import TestSupport
import Testing

@testable import Pixiv

private let secret = "AbCdEfGhIjKl"
private let header = "Cookie: PHPSESSID=123_AbCdEfGhIjKl"
private let unknown = #"{"error":true,"message":"An unknown error occurred","body":[]}"#
private let wrongRequest = #"{"error":true,"message":"不正なリクエストです。","body":[]}"#
private let fineBody = #"{"error":false,"message":"","body":{"works":[],"total":0}}"#
private let checkURL = "https://www.pixiv.net/ajax/user/123/illusts/bookmarks?tag=&offset=0&limit=1&rest=show&lang=en"

@Suite("When the session goes along, and what answers tell of it")
struct SessionRuleTests {
    private let keeper = SessionKeeper(SessionCookie("123_" + secret))
    private let user = UserID(rawValue: 123)
    private let restricted = RankingMode.signedIn[0]
    private let bookmarks = "/ajax/user/5/illusts/bookmarks?tag=&offset=0&limit=48&rest=show"

    private func script(_ answers: (Int, String)...) -> FakeService {
        FakeService(answers.map { answer($0.0, $0.1) })
    }

    /// The same from a service that knows the session.
    private func knowing(_ answers: (Int, String)...) -> FakeService {
        FakeService(answers.map { answer($0.0, $0.1, user: "123") })
    }

    /// For each request so far, whether the session went along.
    private func carried(_ service: FakeService) -> [Bool] {
        service.requests.map { $0.headers.contains(header) }
    }

    private func rank(_ service: FakeService, _ mode: RankingMode = .daily) async -> Failure? {
        let source = service.source(session: keeper)
        return await source.failure(of: .ranking(mode, day))
    }

    private func webAPI(of service: FakeService, base: String, _ keeper: SessionKeeper) -> WebAPI {
        let paced = PacedAPI(
            send: { request throws(Failure) in try service.answered(request) }, service: "pixiv", wallClock: { 0 })
        return WebAPI(api: paced, base: base, session: keeper)
    }

    private func askAccount(_ service: FakeService) async -> Failure? {
        let api = webAPI(of: service, base: "https://www.pixiv.net", keeper)
        return await failure { try await api.body(bookmarks) }
    }

    @Test("the session goes to the API, and only there")
    func onlyToTheAPI() async {
        let service = script((200, ranking()))
        #expect(await rank(service) == nil)
        #expect(service.requests[0].headers == [referer, header])
        let source = service.source(session: keeper)
        let location = source.location(
            of: WorkID(rawValue: 97_973_029), picture: "2022/04/30/00/00/15/97973029", page: 0, rendition: .regular)
        #expect(location?.headers.contains { $0.contains("Cookie") } != true)
        let without = FakeService(ranking())
        _ = try? await without.source().page(of: .ranking(.daily, day), 1, deadline: deadline)
        #expect(carried(without) == [false])
    }

    @Test("new works are those of the session's own user, and R-18 ones are absent where the account has none")
    func feed() async {
        let works =
            #"{"error":false,"message":"","body":{"page":{"ids":[],"isLastPage":true},"thumbnails":{"illust":[]}}}"#
        let service = knowing((200, works), (400, wrongRequest))
        let source = service.source(session: keeper)
        func ask(_ kind: ListingKind, of user: Int64) async -> Failure? {
            await source.failure(of: ListingKey(kind, user))
        }
        #expect(await ask(.feed, of: 124) == .needsSignIn && service.requests.isEmpty)
        #expect(await ask(.feed, of: 123) == nil)
        #expect(await ask(.feedR18, of: 123) == .notFound)
        #expect(source.signIn == .signedIn(user))
        #expect(
            service.urls
                == ["all", "r18"].map {
                    "https://www.pixiv.net/ajax/follow_latest/illust?p=1&mode=\($0)&lang=en"
                })
        // A page in place of JSON tells nothing about it, whoever it is for.
        let page = knowing((200, "<html>"), (200, "null"), (200, fineBody)).source(session: keeper)
        let unread = await page.failure(of: ListingKey(.feedR18, 123))
        #expect(isUnreadable(unread))
        let front = knowing((403, "<html>")).source(session: keeper)
        let limited = await front.failure(of: ListingKey(.feedR18, 123))
        #expect(limited == .limited(retryAfter: nil))
        // A service that does not know the session tells nothing about R-18.
        let other = script((400, wrongRequest)).source(session: keeper)
        #expect(await other.failure(of: ListingKey(.feedR18, 123)) == .needsSignIn)
    }

    @Test("modes with and without a session")
    func modes() async {
        let service = script()
        #expect(service.source().modes == RankingMode.everyone && service.source().signIn == .signedOut)
        let source = service.source(session: keeper)
        #expect(source.modes == RankingMode.everyone + RankingMode.signedIn && source.signIn == .signedIn(user))
        SessionCookie("123_" + secret).map(keeper.expire)
        #expect(source.modes == RankingMode.everyone + RankingMode.signedIn && source.signIn == .expired(user))
    }

    /// Whether the service knows the session, its answers, with which requests the session went along, whether a ranking came,
    /// and whether the session is still taken for good.
    private static let askings: [(Bool, [(Int, String)], [Bool], Bool, Bool)] = [
        (false, [(400, unknown), (200, ranking())], [true, false], true, false),
        (false, [(401, unknown), (200, ranking())], [true, false], true, false),
        (false, [(403, unknown), (200, ranking())], [true, false], true, false),
        (false, [(400, unknown), (400, unknown)], [true, false], false, true),
        (false, [(403, unknown), (403, unknown)], [true, false], false, true),
        (true, [(400, unknown)], [true], false, true),
        (true, [(401, unknown)], [true], false, true),
        (true, [(403, unknown)], [true], false, true),
        (false, [(400, wrongRequest)], [true], false, true), (false, [(401, wrongRequest)], [true], false, true),
        (false, [(403, wrongRequest)], [true], false, true), (false, [(404, "")], [true], false, true),
        (false, [(500, unknown)], [true], false, true), (false, [(429, unknown)], [true], false, true),
    ]

    @Test(
        "a plain request that the session spoils is repeated without it; any other error says nothing of the session",
        arguments: askings.indices)
    func plain(index: Int) async {
        let (isKnown, answers, isCarried, isFine, isSignedIn) = Self.askings[index]
        let service = FakeService(answers.map { answer($0.0, $0.1, user: isKnown ? "123" : nil) })
        #expect(await (rank(service) == nil) == isFine, "\(answers)")
        #expect(carried(service) == isCarried, "\(answers)")
        #expect(keeper.signIn == (isSignedIn ? .signedIn(user) : .expired(user)), "\(answers)")
    }

    @Test("rankings for members come with a session, and a limit is a limit there too")
    func members() async {
        let service = script((200, ranking(mode: "daily_r18")), (429, "<html>"))
        #expect(await rank(service, restricted) == nil)
        #expect(await rank(service, restricted) == .limited(retryAfter: nil))
        #expect(carried(service) == [true, true] && service.closings == [120] && keeper.signIn == .signedIn(user))
    }

    @Test("the language goes along with the session, on every route but that of rankings")
    func language() async {
        let service = FakeService([answer(200, fineBody), answer(200, fineBody), answer(200, ranking())])
        #expect(await askAccount(service) == nil)
        let source = service.source(session: keeper)
        _ = try? await source.details(of: WorkID(rawValue: 7), deadline: deadline)
        #expect(await rank(service) == nil)
        #expect(service.urls.map { $0.hasSuffix("lang=en") } == [true, true, false])
        #expect(service.urls[1].hasSuffix("/ajax/illust/7?lang=en") && service.urls[0].hasSuffix("rest=show&lang=en"))
        let stranger = script((200, fineBody))
        _ = try? await stranger.source().details(of: WorkID(rawValue: 7), deadline: deadline)
        #expect(stranger.urls == ["https://www.pixiv.net/ajax/illust/7"])
    }

    @Test("a refusal by a service that does not know the session ends it, without a further request")
    func plainRefusal() async {
        let answers = [
            (400, unknown), (401, wrongRequest), (403, unknown), (200, unknown), (400, wrongRequest),
            (403, wrongRequest),
        ]
        for (status, body) in answers {
            let keeper = SessionKeeper(SessionCookie("123_" + secret))
            let service = script((status, body))
            let api = webAPI(of: service, base: "b", keeper)
            #expect(await failure { try await api.body(bookmarks) } == .needsSignIn)
            #expect(keeper.signIn == .expired(user) && service.requests.count == 1)
            // From now on nothing is asked.
            let later = script()
            #expect(await later.source(session: keeper).failure(of: .ranking(restricted, day)) == .needsSignIn)
            #expect(later.requests.isEmpty)
        }
    }

    @Test("a refusal by a service that knows the session leaves it alone", arguments: [400, 403])
    func notTheSession(status: Int) async {
        let service = knowing((status, wrongRequest))
        let error = await askAccount(service)
        #expect(status == 403 ? error == .withheld("“不正なリクエストです。”") : isUnreadable(error))
        #expect(keeper.signIn == .signedIn(user) && service.requests.count == 1)
    }

    @Test("a refused ranking for members says by its header whose fault it is, in each of the ways seen")
    func refusedMembers() async {
        let answers: [[(Int, String)]] = [
            [(403, "{}")], [(403, "<html>")], [(200, "<html>"), (200, "<html>")], [(200, ranking(mode: "daily"))],
            [(400, wrongRequest)],
        ]
        func ask(_ service: FakeService, _ keeper: SessionKeeper) async -> Failure? {
            let source = service.source(session: keeper)
            return await source.failure(of: .ranking(restricted, day))
        }
        for answers in answers {
            // R-18 is switched off in the account.
            let keeper = SessionKeeper(SessionCookie("123_" + secret))
            let good = FakeService(answers.map { answer($0.0, $0.1, user: "123") })
            #expect(await ask(good, keeper) == .needsSignIn)
            #expect(good.requests.count == answers.count && keeper.signIn == .signedIn(user))
            #expect(good.closings.isEmpty)
            // A page may be of anything on the way: it says nothing of the session, and another request does.
            let isPage = answers[0].1 == "<html>"
            if isPage {
                let garbled = FakeService(
                    answers.map { answer($0.0, $0.1) } + [answer(200, "<html>"), answer(200, "")])
                #expect(isUnreadable(await ask(garbled, keeper)) && keeper.signIn == .signedIn(user))
                let valid = FakeService(answers.map { answer($0.0, $0.1) } + [answer(200, fineBody, user: "123")])
                #expect(await ask(valid, keeper) == .needsSignIn && keeper.signIn == .signedIn(user))
            }
            // The session has run out.
            let script = answers + (isPage ? [(400, unknown)] : [])
            let bad = FakeService(script.map { answer($0.0, $0.1) })
            #expect(await ask(bad, keeper) == .needsSignIn)
            #expect(bad.requests.count == script.count && keeper.signIn == .expired(user))
        }
        // So it may have where something else comes than an answer: the page to sign in, or nonsense.
        for error in [Failure.redirectRefused("accounts.pixiv.net"), .invalidAnswer("two lengths")] {
            let keeper = SessionKeeper(SessionCookie("123_" + secret))
            #expect(isUnreadable(await ask(FakeService([.failure(error), answer(200, fineBody)]), keeper)))
            #expect(keeper.signIn == .signedIn(user))
            #expect(await ask(FakeService([.failure(error), answer(403, unknown)]), keeper) == .needsSignIn)
            #expect(keeper.signIn == .expired(user))
        }
    }

    @Test("the check tells valid from refused from neither")
    func check() async throws {
        let cookie = try #require(SessionCookie("123_" + secret))
        func check(_ service: FakeService) async throws(Failure) -> Bool {
            try await service.source().api.check(cookie)
        }
        let service = script((200, fineBody))
        #expect(try await check(service))
        #expect(service.urls == [checkURL] && carried(service) == [true])
        for (status, body) in [(400, wrongRequest), (401, unknown), (403, unknown), (400, unknown), (200, unknown)] {
            #expect(try await !check(script((status, body))))
        }
        // Whatever else is wrong.
        #expect(try await check(knowing((400, wrongRequest))))
        for (status, body) in [(404, wrongRequest), (200, wrongRequest), (200, "<html>")] {
            let odd = script((status, body), (status, body))
            #expect(isUnreadable(await failure { try await check(odd) }))
        }
        let gone = FakeService([.failure(.unreachable("no route"))])
        #expect(await failure { try await check(gone) } == .unreachable("no route"))
    }

    @Test("routes of accounts are known by their paths")
    func audiences() {
        for path in [bookmarks, "/ajax/user/1/following?offset=0&limit=24&rest=show", "/ajax/follow_latest/illust?p=1"]
        {
            #expect(WebAPI.needsAccount(path))
        }
        for path in [
            "/ajax/user/1/profile/all", "/ranking.php?format=json&mode=daily", "/ajax/search/artworks/following?p=1",
            "/ajax/illust/1?x=/illusts/bookmarks",
        ] {
            #expect(!WebAPI.needsAccount(path))
        }
    }

    private func answer(_ status: Int, _ body: String, user: String? = nil) -> Result<HTTPResponse, Failure> {
        let headers = user.map { [(name: "x-userid", value: $0)] } ?? []
        return .success(FakeService.response(status, headers, Array(body.utf8)))
    }
}
