import Boards
import Foundation
import HTTP
import Rankings
import TestSupport
import Testing

/// What answers other than a list mean, and what the gate is told of them.
@Suite struct RefusalTests {
    private func ask(
        _ board: FakeBoard, _ engine: any BooruEngine = DanbooruEngine()
    ) async -> Failure? {
        await board.source(engine).failure(of: .search("a b c"))
    }

    private func error(_ kind: String, _ message: String = "why") -> String {
        "{\"success\":false,\"error\":\"\(kind)\",\"message\":\"\(message)\",\"backtrace\":[]}"
    }

    @Test func tooManyTagsAreRefused() async {
        let board = FakeBoard(status: 422, error("PostQuery::TagLimitError", "You cannot search for more than 2 tags."))
        guard case .notTaken(let reason)? = await ask(board) else {
            Issue.record("no refusal")
            return
        }
        #expect(reason.contains("two tags") && reason.contains("You cannot search for more than 2 tags."))
        #expect(board.verdicts == [.fine])
        let words = "{\"success\":false,\"reason\":\"You can only search up to six tags at once\"}"
        for status in [200, 403, 422, 500] {
            guard case .notTaken? = await ask(FakeBoard(status: status, words), yandere) else {
                Issue.record("no refusal at \(status)")
                continue
            }
        }
    }

    @Test func aSearchThatTakesTooLongIsRefused() async {
        let board = FakeBoard(status: 500, error("ActiveRecord::QueryCanceled"))
        guard case .notTaken(let reason)? = await ask(board) else {
            Issue.record("no refusal")
            return
        }
        #expect(reason.contains("three seconds") && board.verdicts == [.unknown])
    }

    @Test func pagesBehindTheLastAreTheEnd() async throws {
        let url = try #require(
            Bundle.module.url(forResource: "Payloads/danbooru/error-410-page-1001", withExtension: "json"))
        let board = FakeBoard(status: 410, try String(contentsOf: url, encoding: .utf8))
        #expect(await ask(board) == .pastTheEnd && board.verdicts == [.fine])
    }

    @Test func limitsCloseTheGate() async {
        let limited = FakeBoard(status: 429, error("RateLimiter::RateLimitError"))
        #expect(await ask(limited) == .limited(retryAfter: nil))
        #expect(limited.verdicts == [.limited(seconds: 120, told: false)])
        let told = FakeBoard(status: 429, headers: [("retry-after", "30")], "")
        #expect(await ask(told) == .limited(retryAfter: 30))
        #expect(told.verdicts == [.limited(seconds: 30, told: true)])
        for status in [421, 503] {
            let throttled = FakeBoard(status: status, "You are accessing too quickly")
            #expect(await ask(throttled, yandere) == .limited(retryAfter: nil))
            #expect(throttled.verdicts == [.limited(seconds: 120, told: false)])
        }
        let maintained = FakeBoard(status: 503, headers: [("retry-after", "60")], "<html>")
        #expect(await ask(maintained) == .limited(retryAfter: 60))
    }

    @Test func aServerInTroubleTellsNothing() async {
        for (engine, statuses) in [
            (DanbooruEngine() as any BooruEngine, [500, 501, 502, 503]), (yandere, [500, 502]),
        ] {
            for status in statuses {
                let board = FakeBoard(status: status, "<html>")
                guard case .troubled? = await ask(board, engine) else {
                    Issue.record("\(status)")
                    continue
                }
                #expect(board.verdicts == [.unknown])
            }
        }
    }

    /// A refusal without the service's own words is one of the program's name: the remedy is an honest one.
    @Test func aRefusalWithoutWordsNamesTheOption() async {
        for board in [FakeBoard(status: 403, "<html>"), FakeBoard(status: 403, "")] {
            guard case .unreadable(let reason)? = await ask(board) else {
                Issue.record("no error")
                continue
            }
            #expect(reason.contains("user_agent") && board.verdicts == [.unknown])
        }
        #expect(await ask(FakeBoard(status: 403, error("User::PrivilegeError"))) == .withheld("restricted"))
        guard case .unreadable(let reason)? = await ask(FakeBoard(status: 403, error("Other"))) else {
            Issue.record("no error")
            return
        }
        #expect(!reason.contains("user_agent") && reason.contains("why"))
    }

    /// A day with posts is published, though it may have none that can be shown.
    @Test func aDayOfFlashFilesIsThere() async throws {
        func page(_ count: Int) async throws -> Result<ListingPage, Failure> {
            let flash = (1...count).map { danbooruPost($0, ["file_ext": "swf"]) }
            let source = FakeBoard(try text(flash)).source()
            do throws(Failure) {
                return .success(try await source.page(of: .ranking(.day, day("2024-05-01")), 1, deadline: deadline))
            } catch { return .failure(error) }
        }
        #expect(try await page(2) == .failure(.withheld("none can be shown")))
        let full = try await page(200).get()
        #expect(full.entries.isEmpty && full.hasNext)
    }

    @Test func whatFailsOnTheWayKeepsItsMeaning() async {
        let cases: [(Failure, Failure)] = [
            (.timedOut, .timedOut), (.offline, .offline), (.cancelled, .cancelled),
            (.unreachable("x"), .unreachable("x")),
            (.limited(retryAfter: 5), .limited(retryAfter: 5)), (.redirectRefused("x"), .unreadable("x")),
        ]
        for (failed, expected) in cases {
            let board = FakeBoard([.failure(failed)])
            #expect(await ask(board) == expected && board.verdicts == [.unknown])
        }
        #expect(isUnreadable(await ask(FakeBoard([.failure(.tooLarge)]))))
    }

    /// Words of a stranger in an error are short and show no controls.
    @Test func aMessageIsQuoted() async {
        let message = "\\u0007" + String(repeating: "x", count: 500)
        guard case .unreadable(let reason)? = await ask(FakeBoard(status: 400, error("Odd", message))) else {
            Issue.record("no error")
            return
        }
        #expect(reason.count < 250 && !reason.contains("\u{7}") && reason.contains("“xxx"))
    }
}
