import Foundation
import HTTP
import Rankings
import Sourcing
import TestSupport
import Testing

@testable import Pixiv

@Suite("Asking for rankings")
struct RankingRequestTests {
    @Test("one request of the right shape goes")
    func shape() async throws {
        let service = FakeService(ranking())
        let page = try await service.source().page(of: .ranking(.daily, day), 1, deadline: deadline)
        #expect(page.entries.map(\.work.id.rawValue) == [97_973_029])
        #expect(page.day == day && page.hasNext && page.total == 500)
        let url = "https://www.pixiv.net/ranking.php?format=json&mode=daily&date=20220501&p=1"
        #expect(service.events == [.asked(url, .reader, deadline)])
        let request = try #require(service.requests.first)
        #expect(request.method == .get && request.headers == [referer] && request.range == nil)
        #expect(request.priority == .reader && request.transferClass == .metadata && request.deadline == deadline)
        #expect(request.bodyLimit == 16 << 20 && request.acceptsCompression)
    }

    @Test("what nobody waits for goes last, and may wait for its turn")
    func turns() async throws {
        let service = FakeService(ranking(page: 2, next: "3"), ranking())
        _ = try await service.source().page(of: .ranking(.daily, day), 2, deadline: deadline)
        _ = try await RequestUrgency.$isBackground.withValue(true) {
            try await service.source().page(of: .ranking(.daily, day), 1, deadline: deadline)
        }
        #expect(
            service.events == [
                .asked(service.urls[0], .shown, deadline),
                .asked(service.urls[1], .reader, deadline.advanced(by: .seconds(120))),
            ])
        #expect(service.requests.map(\.patience) == [.zero, .seconds(120)])
    }

    @Test("a ranking of one content is asked by mode and content, and no other content is taken for it")
    func contents() async throws {
        let mode = try #require(RankingMode(rawValue: "daily-manga"))
        let answer = ranking(mode: "daily", page: 1, next: "false")
        let manga = answer.replacingOccurrences(of: "{\"contents\"", with: "{\"content\":\"manga\",\"contents\"")
        #expect(manga != answer)
        let service = FakeService(manga)
        let page = try await service.source().page(of: .ranking(mode, day), 1, deadline: deadline)
        #expect(!page.entries.isEmpty)
        #expect(
            service.urls == [
                "https://www.pixiv.net/ranking.php?format=json&mode=daily&content=manga&date=\(day.compact)&p=1"
            ])
        let other = FakeService(manga.replacingOccurrences(of: "manga", with: "all")).source()
        await #expect(throws: Failure.self) {
            try await other.page(of: .ranking(mode, day), 1, deadline: deadline)
        }
        await #expect(throws: Failure.self) {
            try await FakeService(manga).source().page(of: .ranking(.daily, day), 1, deadline: deadline)
        }
    }

    @Test("every mode is asked by its name; without a day no date is sent", arguments: RankingMode.everyone)
    func modes(mode: RankingMode) async throws {
        let service = FakeService(ranking(mode: mode.rawValue, date: "20230501", page: 3, next: "false"))
        let source = service.source(apiURL: "http://127.0.0.1:8080")
        let page = try await source.page(of: .ranking(mode, nil), 3, deadline: deadline)
        #expect(service.urls == ["http://127.0.0.1:8080/ranking.php?format=json&mode=\(mode.rawValue)&p=3"])
        #expect(page.day == Day(year: 2023, month: 5, day: 1) && !page.hasNext)
        #expect(source.modes.contains(mode))
    }

    @Test(
        "a 404 is the end behind page 1 and an unpublished day on page 1", arguments: ["", "{\"error\":\"範囲外\"}"])
    func outside(body: String) async {
        for (page, expected) in [(1, Failure.notPublished), (2, .pastTheEnd), (11, .pastTheEnd)] {
            let source = FakeService(status: 404, body).source()
            #expect(await source.failure(of: .ranking(.daily, day), page) == expected)
        }
    }

    @Test(
        "answers with status 200 that have no ranking in them",
        arguments: [
            (ranking(next: "false", contents: "", total: 0), 1, Failure.notPublished),
            (ranking(page: 2, contents: "", total: 50), 2, .pastTheEnd),
            (ranking(date: "20220430"), 1, .notPublished),
            ("{\"error\":\"ランキング集計の範囲外です\"}", 1, .notPublished),
            ("{\"error\":\"ランキング集計の範囲外です\"}", 2, .pastTheEnd),
        ])
    func empty(body: String, page: Int, expected: Failure) async {
        let source = FakeService(body).source()
        #expect(await source.failure(of: .ranking(.daily, day), page) == expected)
    }

    @Test(
        "answers that make no sense",
        arguments: [
            "{}", "{\"contents\":null}", "{\"contents\":{}}", "{\"error\":true,\"message\":\"x\",\"body\":[]}",
            "{\"error\":\"other\"}", ranking(mode: "weekly"), ranking(page: 2), ranking(contents: "{},{},{\"rank\":1}"),
            ranking(contents: "null"), ranking(contents: ""), ranking(next: "2", contents: "", total: 0),
        ])
    func senseless(body: String) async {
        let service = FakeService(body)
        let source = service.source()
        #expect(isUnreadable(await source.failure(of: .ranking(.daily, day))))
        #expect(service.requests.count == 1)
    }

    @Test("a ranking may have holes in its list")
    func holes() async throws {
        let body = ranking().replacing("[{", with: "{\"1\":{").replacing("}],\"mode\"", with: "}},\"mode\"")
        let page = try await FakeService(body).source().page(of: .ranking(.daily, day), 1, deadline: deadline)
        #expect(page.entries.map(\.work.id.rawValue) == [97_973_029])
    }

    @Test(
        "a newest day before the first one or in the future is none; the service's clock counts where this one is behind"
    )
    func impossibleDays() async throws {
        let now = Int64(Date().timeIntervalSince1970)
        let newest = PixivSource.facts.days(of: .daily).newest(at: now)
        for (day, date, isDay) in [
            (newest, nil, true), (newest.advanced(by: 1), nil, true), (newest.advanced(by: 3), nil, false),
            (Day(year: 2007, month: 9, day: 13), nil, true), (Day(year: 2007, month: 9, day: 12), nil, false),
            (Day(year: 2099, month: 12, day: 31), nil, false),
            (Day(year: 2090, month: 1, day: 1), "Mon, 02 Jan 2090 12:00:00 GMT", true),
            (Day(year: 2090, month: 2, day: 1), "Mon, 02 Jan 2090 12:00:00 GMT", false),
        ] as [(Day?, String?, Bool)] {
            let day = try #require(day)
            let service = FakeService(
                headers: date.map { [("date", $0)] } ?? [], ranking(date: day.compact, next: "false"))
            let source = service.source()
            let error = await source.failure(of: .ranking(.daily, nil))
            #expect(isDay ? error == nil : isUnreadable(error), "\(day)")
        }
    }

    @Test("an answer without a date is of the day asked for, and of none if none was")
    func dateless() async throws {
        let body = ranking().replacingOccurrences(of: "\"date\":\"20220501\"", with: "\"date\":false")
        let page = try await FakeService(body).source().page(of: .ranking(.daily, day), 1, deadline: deadline)
        #expect(page.day == day)
        let source = FakeService(body).source()
        #expect(isUnreadable(await source.failure(of: .ranking(.daily, nil))))
    }

    @Test("a page in place of JSON is asked for once more")
    func askedAgain() async throws {
        for nonsense in ["<!DOCTYPE html><html>", "", "[]", "{\"contents\":[", "null", "{} {}"] {
            let service = FakeService(nonsense, ranking())
            let page = try await service.source().page(of: .ranking(.daily, day), 1, deadline: deadline)
            #expect(page.entries.count == 1)
            let asked = FakeService.Event.asked(service.urls[0], .reader, deadline)
            #expect(service.events == [asked, asked])

            let hopeless = FakeService(nonsense, nonsense, ranking())
            let source = hopeless.source()
            #expect(isUnreadable(await source.failure(of: .ranking(.daily, day))))
            #expect(hopeless.requests.count == 2)
        }
    }

    @Test("a 404 of something that is not the service makes nothing not exist")
    func strangersNotFound() async {
        for words in ["<html>", "{}", "{\"detail\":\"Not Found\"}"] {
            let source = FakeService(status: 404, words, words, words, words).source()
            for page in [1, 2] {
                #expect(isUnreadable(await source.failure(of: .ranking(.daily, day), page)), "\(words)")
            }
        }
    }
}
