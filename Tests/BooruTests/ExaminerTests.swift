import Boards
import Foundation
@testable import HTTP
import Rankings
import Sourcing
import TestSupport
import Testing

/// `rankfs doctor --service` of boards: what is taken for granted, held against right and wrong answers.
@Suite struct ExaminerTests {
    /// What the host has of the one post with a file: three bytes and their digest (RFC 1321, A.5).
    private static let bytes = Array("abc".utf8)
    private static let md5 = "900150983cd24fb0d6963f7d28e17f72"
    /// In the newest day of the fake board's clock on both boards.
    private static let created = "2024-05-14T10:00:00.000-04:00"
    private static let seconds = 1_715_680_800

    /// What a board answers, in the order in which it is asked.
    private struct Script {
        var first: [[String: Any]]
        var second: [[String: Any]] = []
        var end: [[String: Any]] = []
        var record: [String: Any]
        var part = ExaminerTests.answer(206, ExaminerTests.bytes, ("content-range", "bytes 0-2/3"), ("etag", "\"a\""))
        var whole = ExaminerTests.answer(200, ExaminerTests.bytes)
        var sample = ExaminerTests.answer(200, [], ("content-length", "500"))
        var small = ExaminerTests.answer(200, [], ("content-length", "20"))
        let engine: any BooruEngine

        init(_ engine: any BooruEngine) {
            self.engine = engine
            record = ExaminerTests.post(engine, 7, 9)
            first = [record, ExaminerTests.post(engine, 8, 5)]
        }

        func report() async throws -> (assumptions: [Assumption], requests: [HTTPRequest]) {
            let isDanbooru = engine is DanbooruEngine
            let lists = try [first, second, end].map { posts in
                isDanbooru ? try text(posts) : try text(["posts": posts, "tags": [:]])
            }
            let answered = isDanbooru ? try text(record) : try text(["posts": [record], "tags": [:]])
            let answers = (lists + [answered]).map { ExaminerTests.answer(200, Array($0.utf8)) }
            let pool: [String: Any] = ["id": 4, "name": "a"]
            let further =
                isDanbooru
                ? try [
                    text([record]), text([pool]), text(pool.merging(["post_ids": [7]]) { old, _ in old }),
                    text([record]),
                ]
                : try [text(["posts": [], "pools": [pool]]), text(["posts": [record], "tags": [:]])]
            let board = FakeBoard(
                answers + [part, whole, sample, small] + further.map { ExaminerTests.answer(200, Array($0.utf8)) })
            let plugIn: any SourcePlugIn = isDanbooru ? DanbooruEngine() : MoebooruEngine(.yandere)
            let examiner = ServiceExaminer(plugIn, board.means(), patience: .seconds(600))
            return (await examiner?.examine() ?? [], board.requests)
        }

        func verdict(_ name: String) async throws -> Assumption.Verdict? {
            let report = try await report().assumptions
            #expect(Set(report.map(\.name)).count == report.count)
            return report.first { $0.name == name }?.verdict
        }
    }

    private static func answer(
        _ status: Int, _ body: [UInt8], _ headers: (name: String, value: String)...
    ) -> Result<HTTPResponse, Failure> {
        .success(HTTPResponse(head: HTTPAnswer(status: status, headers: headers), body: body))
    }

    private static func post(
        _ engine: any BooruEngine, _ id: Int, _ score: Int, _ fields: [String: Any] = [:]
    ) -> [String: Any] {
        let mine: [String: Any] = ["score": score, "md5": md5, "file_size": bytes.count]
        let all = mine.merging(fields) { $1 }
        return engine is DanbooruEngine
            ? danbooruPost(id, all.merging(["created_at": created]) { old, _ in old })
            : moebooruPost(id, all.merging(["created_at": seconds]) { old, _ in old })
    }

    private static let engines: [any BooruEngine] = [DanbooruEngine(), yandere]

    @Test(arguments: engines.indices) func aBoardAsItWasIsAskedTwelveTimesAtMost(_ index: Int) async throws {
        let (report, requests) = try await Script(Self.engines[index]).report()
        // The posts of these tests have few of the fields.
        for assumption in report where !assumption.name.hasPrefix("fields of") {
            #expect(assumption.verdict == .kept, "\(assumption.name): \(assumption.text)")
        }
        #expect(report.count >= 18 && requests.count == (index == 0 ? 12 : 10))
        #expect(requests.dropFirst(8).allSatisfy { $0.purpose == .api })
        #expect(requests.prefix(4).allSatisfy { $0.purpose == .api })
        #expect(requests.dropFirst(4).prefix(4).map(\.method) == [.get, .get, .head, .head])
        #expect(requests[0].url.contains("date:2024-05-14+order:score+rating:"))
        #expect(requests[5].bodyLimit == Int64(Self.bytes.count), "no more is taken than was listed")
        // Previews are on a host of their own.
        #expect(requests[7].url.hasPrefix(index == 0 ? "https://cdn.donmai.us/" : "https://assets.yande.re/"))
    }

    @Test func fieldsAreComparedWithWhatIsKnown() async throws {
        let recorded = DanbooruEngine().fields(of: try json(try Recorded("danbooru/posts-2026-09").posts))
        #expect(recorded.allSatisfy { $0.verdict == .kept }, "\(recorded)")
        #expect(try await Script(DanbooruEngine()).verdict("fields of a post") == .changed, "few are there")
    }

    /// Each lie of a list's first page, and the assumption that it breaks.
    @Test(arguments: engines.indices) func whatAListSaysIsHeldAgainstWhatWasAsked(_ index: Int) async throws {
        let engine = Self.engines[index]
        let early: Any = index == 0 ? "2024-05-12T10:00:00.000-04:00" : 1_715_000_000
        let lies: [(String, [[String: Any]])] = [
            ("newest ranking", []),
            ("order by score", [Self.post(engine, 7, 5), Self.post(engine, 8, 9)]),
            ("rating of what was asked for", [Self.post(engine, 7, 5, ["rating": "e"]), Self.post(engine, 8, 4)]),
            ("rating of what was asked for", [Self.post(engine, 7, 5, ["rating": "?"]), Self.post(engine, 8, 4)]),
            ("size and MD5 of originals", [Self.post(engine, 7, 5), Self.post(engine, 8, 4, ["md5": Missing()])]),
            ("size and MD5 of originals", [Self.post(engine, 7, 5), Self.post(engine, 8, 4, ["file_size": 0])]),
            ("entries that are understood", [Self.post(engine, 7, 5), Self.post(engine, 8, 4, ["id": "none"])]),
            (
                "hosts of originals",
                [Self.post(engine, 7, 5), Self.post(engine, 8, 4, ["file_url": "https://elsewhere.example/a.jpg"])]
            ),
            ("day of the posts", [Self.post(engine, 7, 5), Self.post(engine, 8, 4, ["created_at": early])]),
        ]
        for (name, posts) in lies {
            var script = Script(engine)
            script.first = posts
            #expect(try await script.verdict(name) == .changed, "\(name)")
        }
    }

    @Test(arguments: engines.indices) func pagesEndAsTheyShould(_ index: Int) async throws {
        let engine = Self.engines[index]
        var more = Script(engine)
        more.second = [Self.post(engine, 9, 1)]
        #expect(try await more.verdict("second page") == .changed, "nothing is behind a page that is far from full")
        var full = more
        full.first = (0..<engine.postsPerPage).map { Self.post(engine, 1000 + $0, 5) }
        full.record = full.first[0]
        #expect(try await full.verdict("second page") == .kept)
        full.second = [full.first[3]]
        #expect(try await full.verdict("second page") == .changed, "a post was there before")
        full.first.append(Self.post(engine, 2000, 5))
        #expect(try await full.verdict("length of a page") == .changed, "more than was asked for")
        var endless = Script(engine)
        endless.end = [Self.post(engine, 9, 1)]
        #expect(try await endless.verdict("page behind the last") == .changed)
    }

    @Test(arguments: engines.indices) func recordAndFilesAreHeldAgainstTheList(_ index: Int) async throws {
        let engine = Self.engines[index]
        func verdict(_ name: String, _ change: (inout Script) -> Void) async throws -> Assumption.Verdict? {
            var script = Script(engine)
            change(&script)
            return try await script.verdict(name)
        }
        #expect(try await verdict("record of a work") { $0.record = Self.post(engine, 99, 9) } == .changed)
        #expect(
            try await verdict("pictures in the record") {
                $0.record = Self.post(engine, 7, 9, ["file_size": 4])
            } == .changed)
        let part = "parts of a picture by Range"
        #expect(try await verdict(part) { $0.part = Self.answer(200, Self.bytes) } == .changed)
        #expect(
            try await verdict(part) {
                $0.part = Self.answer(206, Self.bytes, ("content-range", "bytes 0-2/4"))
            } == .changed)
        #expect(try await verdict(part) { $0.part = .failure(.timedOut) } == .unknown)
        #expect(
            try await verdict("validator of a picture") {
                $0.part = Self.answer(206, Self.bytes, ("content-range", "bytes 0-2/3"))
            } == .changed)
        let (length, digest) = ("listed length of a picture", "listed MD5 of a picture")
        #expect(try await verdict(length) { $0.whole = Self.answer(200, [1, 2]) } == .changed)
        #expect(try await verdict(length) { $0.whole = .failure(.tooLarge) } == .changed)
        #expect(try await verdict(digest) { $0.whole = Self.answer(200, [1, 2, 3]) } == .changed)
        #expect(try await verdict(length) { $0.whole = Self.answer(200, [1, 2, 3]) } == .kept)
        #expect(try await verdict("preview by HEAD") { $0.small = Self.answer(200, []) } == .changed)
        #expect(try await verdict("preview by HEAD") { $0.small = Self.answer(404, []) } == .changed)
        // Only the one engine's lists tell the lengths of samples.
        let other = Self.answer(200, [], ("content-length", "501"))
        #expect(try await verdict("picture by HEAD") { $0.sample = other } == (index == 0 ? .kept : .changed))
    }

    @Test func aBoardThatDoesNotAnswerIsAskedOnce() async throws {
        for (failure, verdict) in [(Failure.timedOut, Assumption.Verdict.unknown), (.redirectRefused("x"), .changed)] {
            let board = FakeBoard([.failure(failure)])
            let examiner = ServiceExaminer(DanbooruEngine(), board.means(), patience: .seconds(600))
            let report = await examiner?.examine() ?? []
            #expect(report.map(\.verdict) == [verdict] && board.requests.count == 1)
        }
    }
}
