import Rankings
import HTTP
import TestSupport
import Testing

@testable import ImageCache

/// What an origin may do wrong; each is an error, keeps nothing, and is right again once the origin is.
@Suite(.timeLimit(.minutes(1))) struct FaultTests {
    enum Fault: String, CaseIterable, Sendable {
        case html200, json200, anotherFormat, noTrailer, shortLength, longLength, tooLong, unasked206, gone, refused,
            serverErrors, garbage, truncatedWithoutVersion, empty, limited
        case redirected, untrusted, transportTooLarge
    }

    static let size = 20_000
    static let bytes = Sample.jpeg(size)

    static func headers(_ more: (name: String, value: String)...) -> [(name: String, value: String)] {
        Bench.imageHeaders + more
    }

    /// Plays a fault; returns whether the cache may ask again by itself.
    static func play(_ fault: Fault, on request: HeldRequest) {
        let length = (name: "content-length", value: "\(size)")
        switch fault {
        case .html200: request.respond(headers: [(name: "content-type", value: "text/html")], body: [0x3C])
        case .json200: request.respond(headers: [(name: "content-type", value: "application/json")], body: [0x7B])
        case .anotherFormat:
            request.respond(headers: Bench.imageHeaders, body: [0x89, 0x50, 0x4E, 0x47] + bytes.dropFirst(4))
        case .noTrailer: request.respond(headers: Bench.imageHeaders, body: bytes.dropLast() + [0])
        case .shortLength: request.respond(headers: Bench.imageHeaders, body: Array(bytes.dropLast()))
        case .longLength: request.head(200, headers((name: "content-length", value: "\(size + 1)")))
        case .tooLong:
            if request.head(200, headers()), request.body(bytes + [0]) { request.finish() }
        case .unasked206:
            request.head(206, headers((name: "content-range", value: "bytes 0-19999/20000")))
        case .gone: request.head(404)
        case .refused: request.head(403)
        case .serverErrors: request.head(503)
        case .garbage: request.fail(.invalidAnswer("no status line"))
        case .truncatedWithoutVersion:
            request.head(200, [(name: "content-type", value: "image/jpeg"), length])
            request.body(Array(bytes[..<5000]))
            request.fail(.broken("closed"))
        case .empty: request.respond(headers: Bench.imageHeaders, body: [])
        case .limited: request.fail(.limited(retryAfter: 60))
        case .redirected: request.fail(.redirectRefused("a redirect to a loopback address"))
        case .untrusted: request.fail(.untrusted("certificate"))
        case .transportTooLarge: request.fail(.tooLarge)
        }
    }

    /// What an error lets one believe: that the bytes or the length are wrong, that nothing came, or that somebody else answered.
    enum Kind { case bytes, length, answer, answerer }

    static func kind(of fault: Fault) -> Kind {
        switch fault {
        case .anotherFormat, .noTrailer: .bytes
        case .shortLength, .longLength: .length
        case .html200, .json200, .redirected, .untrusted: .answerer
        default: .answer
        }
    }

    static func kind(of error: Failure) -> Kind? {
        switch error {
        case .damaged: .bytes
        case .lengthContradicts: .length
        case .broken: .answer
        case .untrusted: .answerer
        default: nil
        }
    }

    @Test(arguments: Fault.allCases) func isAnErrorAndKeepsNothing(_ fault: Fault) async throws {
        let picture = Sample.picture(1, size: Int64(Self.size))
        let (bench, open) = try Bench.opened(picture)
        let answering = Task {
            // As often as it is asked for again, it answers the same; the number of tries is bounded.
            for index in 0..<20 {
                let request = await bench.transport.waitForRequest(at: index)
                if Task.isCancelled { return }
                Self.play(fault, on: request)
                bench.advance(.seconds(1))
            }
        }
        let error = await failure { try await open.bytes(offset: 0, count: Self.size) }
        #expect(error != nil)
        switch fault {
        case .gone: #expect(error == .gone)
        case .limited: #expect(error == .limited(retryAfter: 60))
        case .refused: #expect(error == .refused("the image host answered 403"))
        case .serverErrors: #expect(error == .answered(status: 503))
        default:
            #expect(error.map { Self.kind(of: $0) } == Self.kind(of: fault), "\(fault): \(String(describing: error))")
        }
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

    @Test func twoVersionsAreNeverMixed() async throws {
        let (bench, open) = try Bench.opened(Sample.picture(1, size: Int64(Self.size)))
        async let head = open.bytes(offset: 0, count: 100)
        let request = await bench.transport.waitForRequest(at: 0)
        request.begin(Self.bytes, to: 7000)
        _ = try await head
        async let error = failure { try await open.bytes(offset: 0, count: Self.size) }
        request.fail(.broken("reset"))
        let newer = [
            (name: "content-type", value: "image/jpeg"),
            (name: "last-modified", value: "Mon, 24 Apr 2023 00:00:00 GMT"),
        ]
        let other = Sample.jpeg(Self.size, seed: 9)
        await bench.transport.waitForRequest(at: 1).answer(other, headers: newer)
        let whole = await bench.transport.waitForRequest(at: 2)
        #expect(whole.asked == "whole")
        whole.answer(other, headers: newer)
        if case .damaged = await error {} else { Issue.record("versions were mixed") }
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
