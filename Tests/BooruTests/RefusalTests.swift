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

    private static func error(_ kind: String, _ message: String = "why") -> String {
        "{\"success\":false,\"error\":\"\(kind)\",\"message\":\"\(message)\",\"backtrace\":[]}"
    }

    private typealias Row = (Bool, Int, String?, String, Failure, [String], AnswerVerdict)

    private static let sixTags = "{\"success\":false,\"reason\":\"You can only search up to six tags at once\"}"
    private static let throttled = "You are accessing too quickly"

    /// Whether Danbooru answers or the other engine, what it answers, when it may be asked again, the failure without its reason,
    /// words of the reason, and what the gate is told.
    private static let rows: [Row] = [
        (
            true, 422, nil, error("PostQuery::TagLimitError", "You cannot search for more than 2 tags."), .notTaken(""),
            ["two tags", "You cannot search for more than 2 tags."], .fine
        ),
        (true, 500, nil, error("ActiveRecord::QueryCanceled"), .notTaken(""), ["three seconds"], .unknown),
        (true, 410, nil, error("PaginationExtension::PaginationError"), .pastTheEnd, [], .fine),
        (true, 429, nil, error("RateLimiter::RateLimitError"), limited, [], .limited(seconds: 120, told: false)),
        (true, 429, "30", "", .limited(retryAfter: 30), [], .limited(seconds: 30, told: true)),
        (true, 503, "60", "<html>", .limited(retryAfter: 60), [], .limited(seconds: 60, told: true)),
        (false, 421, nil, throttled, limited, [], .limited(seconds: 120, told: false)),
        (false, 503, nil, throttled, limited, [], .limited(seconds: 120, told: false)),
        // A refusal without the service's own words is one of the program's name: the remedy is an honest one.
        (true, 403, nil, "<html>", .unreadable(""), ["user_agent"], .unknown),
        (true, 403, nil, "", .unreadable(""), ["user_agent"], .unknown),
        (true, 403, nil, error("Other"), .unreadable(""), ["why"], .unknown),
        (true, 403, nil, error("User::PrivilegeError"), .withheld("restricted"), [], .unknown),
        (false, 200, nil, sixTags, .notTaken(""), [], .fine),
        (false, 422, nil, sixTags, .notTaken(""), [], .fine),
        (false, 403, nil, sixTags, .notTaken(""), [], .unknown),
        (false, 500, nil, sixTags, .notTaken(""), [], .unknown),
        (true, 500, nil, "<html>", .troubled(""), [], .unknown),
        (true, 501, nil, "<html>", .troubled(""), [], .unknown),
        (true, 502, nil, "<html>", .troubled(""), [], .unknown),
        (true, 503, nil, "<html>", .troubled(""), [], .unknown),
        (false, 500, nil, "<html>", .troubled(""), [], .unknown),
        (false, 502, nil, "<html>", .troubled(""), [], .unknown),
    ]

    private static let limited = Failure.limited(retryAfter: nil)

    @Test(arguments: rows.indices) func answersAreWhatTheyMean(_ index: Int) async {
        let (isDanbooru, status, retryAfter, body, expected, words, verdict) = Self.rows[index]
        let headers = retryAfter.map { [(name: "retry-after", value: $0)] } ?? []
        let board = FakeBoard(status: status, headers: headers, body)
        let failure = await ask(board, engine(isDanbooru: isDanbooru))
        let (bare, reason): (Failure?, String) =
            switch failure {
            case .notTaken(let reason)?: (.notTaken(""), reason)
            case .troubled(let reason)?: (.troubled(""), reason)
            case .unreadable(let reason)?: (.unreadable(""), reason)
            default: (failure, "")
            }
        #expect(bare == expected && board.verdicts == [verdict], "\(status) \(body)")
        #expect(words.allSatisfy(reason.contains), "\(status) \(body): \(reason)")
        #expect(reason.contains("user_agent") == (words == ["user_agent"]), "\(status) \(body): \(reason)")
    }

    /// Words of a stranger in an error are short and show no controls.
    @Test func aMessageIsQuoted() async {
        let message = "\\u0007" + String(repeating: "x", count: 500)
        guard case .unreadable(let reason)? = await ask(FakeBoard(status: 400, Self.error("Odd", message))) else {
            Issue.record("no error")
            return
        }
        #expect(reason.count < 250 && !reason.contains("\u{7}") && reason.contains("“xxx"))
    }
}
