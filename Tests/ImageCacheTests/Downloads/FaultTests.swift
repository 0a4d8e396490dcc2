import Rankings
import HTTP
import TestSupport
import Testing

@testable import ImageCache

/// What an origin may do wrong; each is an error, keeps nothing, and is right again once the origin is.
@Suite(.timeLimit(.minutes(1))) struct FaultTests {
    static let size = 20_000
    static let bytes = Sample.jpeg(size)

    static func headers(_ more: (name: String, value: String)...) -> [(name: String, value: String)] {
        Bench.imageHeaders + more
    }

    private typealias Row = (fault: String, error: String, play: @Sendable (HeldRequest) -> Void)

    /// What the host does, the beginning of the error that comes of it (wrong bytes, a wrong length, no answer, or that of somebody
    /// else), and how it is done.
    private static let rows: [Row] = [
        ("HTML", "untrusted", { $0.respond(headers: [("content-type", "text/html")], body: [0x3C]) }),
        ("JSON", "untrusted", { $0.respond(headers: [("content-type", "application/json")], body: [0x7B]) }),
        ("a PNG", "damaged", { $0.respond(headers: headers(), body: [0x89, 0x50, 0x4E] + bytes.dropFirst(3)) }),
        ("no end", "damaged", { $0.respond(headers: headers(), body: bytes.dropLast() + [0]) }),
        ("too short", "lengthContradicts", { $0.respond(headers: headers(), body: bytes.dropLast()) }),
        ("too long", "lengthContradicts", { $0.head(200, headers((name: "content-length", value: "\(size + 1)"))) }),
        ("a byte too many", "broken", { if $0.head(200, headers()), $0.body(bytes + [0]) { $0.finish() } }),
        ("a part", "broken", { $0.head(206, headers((name: "content-range", value: "bytes 0-19999/20000"))) }),
        ("gone", "gone", { $0.head(404) }),
        ("refused", "refused(\"the image host answered 403\")", { $0.head(403) }),
        ("trouble", "answered(status: 503)", { $0.head(503) }),
        ("no HTTP", "broken", { $0.fail(.invalidAnswer("no status line")) }),
        (
            "cut without a version", "broken",
            {
                let length = (name: "content-length", value: "\(size)")
                $0.head(200, [(name: "content-type", value: "image/jpeg"), length])
                $0.body(Array(bytes[..<5000]))
                $0.fail(.broken("closed"))
            }
        ),
        ("empty", "broken", { $0.respond(headers: headers(), body: []) }),
        ("a limit", "limited(retryAfter: Optional(60))", { $0.fail(.limited(retryAfter: 60)) }),
        ("a redirect", "untrusted", { $0.fail(.redirectRefused("a redirect to a loopback address")) }),
        ("a certificate", "untrusted", { $0.fail(.untrusted("certificate")) }),
        ("without an end", "broken", { $0.fail(.tooLarge) }),
    ]

    @Test(arguments: rows.indices) func isAnErrorAndKeepsNothing(_ index: Int) async throws {
        let row = Self.rows[index]
        let picture = Sample.picture(1, size: Int64(Self.size))
        let (bench, open) = try Bench.opened(picture)
        let answering = Task {
            // As often as it is asked for again, it answers the same; the number of tries is bounded.
            for index in 0..<20 {
                let request = await bench.transport.waitForRequest(at: index)
                if Task.isCancelled { return }
                row.play(request)
                bench.advance(.seconds(1))
            }
        }
        let error = await failure { try await open.bytes(offset: 0, count: Self.size) }
        #expect(error.map { "\($0)".hasPrefix(row.error) } == true, "\(row.fault): \(String(describing: error))")
        open.close()
        let asked = bench.transport.requests.count
        #expect(asked <= 5)
        await bench.settle()
        #expect(bench.cache.storedSize(of: picture.id) == nil)
        answering.cancel()
        bench.advance(.seconds(700))
        #expect(try await bench.store(picture, Self.bytes) == Self.bytes)
    }

    @Test func anotherRangeThanAskedForIsRefused() async throws {
        let (bench, open) = try Bench.opened(Sample.picture(1, size: Int64(Self.size)))
        async let error = failure { try await open.bytes(offset: 0, count: Self.size) }
        let request = await bench.transport.waitForRequest(at: 0)
        request.cut(Self.bytes, at: 7000)
        let rest = await bench.transport.waitForRequest(at: 1)
        let wrong = Self.headers((name: "content-range", value: "bytes 6000-19999/20000"))
        #expect(!rest.head(206, wrong))
        if case .broken = await error {} else { Issue.record("wrong bytes were taken") }
    }

    /// Machines of one host that name the same file differently, by its inode for instance.
    @Test func oneVersionUnderSeveralNamesComesInOneAnswer() async throws {
        func headers(_ machine: Int) -> [(name: String, value: String)] {
            [(name: "content-type", value: "image/jpeg"), (name: "etag", value: "\"\(machine)\"")]
        }
        let bytes = Sample.jpeg(4 << 20)
        let (bench, open) = try Bench.opened(Sample.picture(1, size: Int64(bytes.count)))
        #expect(try await bench.read(open, 100, at: 0, bytes, headers: headers(0)).content == Array(bytes[..<100]))
        async let far = open.bytes(offset: 2 << 20, count: 100)
        await bench.transport.waitForRequest(at: 1).answer(bytes, headers: headers(1))
        let whole = await bench.transport.waitForRequest(at: 2)
        #expect(whole.asked == "whole")
        whole.cut(bytes, at: 1_000_000, headers: headers(2))
        await bench.transport.waitForRequest(at: 3).answer(bytes, headers: headers(3))
        #expect(try await far.content == Array(bytes[(2 << 20)..<((2 << 20) + 100)]))
        #expect(try await open.bytes(offset: 0, count: bytes.count).content == bytes)
        #expect(bench.transport.requests.count == 4)
    }

    @Test func aPlaceholderIsNotAskedFor() async throws {
        let bench = try Bench()
        var picture = Sample.picture(1, size: 100)
        picture.location.url = "https://s.example/common/images/limit_unknown_360.png"
        let open = try bench.open(picture)
        if case .refused = await failure(of: { try await open.bytes(offset: 0, count: 1) }) {
        } else {
            Issue.record("a placeholder was taken for a picture")
        }
        #expect(bench.transport.requests.isEmpty)
    }

    @Test func goneIsRememberedForTenMinutes() async throws {
        let picture = Sample.picture(1, size: 100)
        let (bench, open) = try Bench.opened(picture)
        async let error = failure { try await open.bytes(offset: 0, count: 1) }
        await bench.transport.waitForRequest(at: 0).head(410)
        #expect(await error == .gone)
        open.close()
        #expect(throws: Failure.gone) { try bench.open(picture) }
        bench.advance(.seconds(601))
        try bench.open(picture).close()
    }
}
