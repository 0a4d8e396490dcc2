import Rankings
import HTTP
import TestSupport
import Testing

@testable import ImageCache

/// A file that is open keeps its version, and goes on with it when its download broke off.
@Suite(.timeLimit(.minutes(1))) struct VersionTests {
    private let bench: Bench
    static let size = 20_000
    static let bytes = Sample.jpeg(size)
    static let other = Sample.jpeg(size, seed: 9)

    static let newer = [
        (name: "content-type", value: "image/jpeg"), (name: "last-modified", value: "Mon, 24 Apr 2023 00:00:00 GMT"),
    ]
    static let unnamed = [(name: "content-type", value: "image/jpeg")]

    init() throws { bench = try Bench() }

    /// How a download may break off without anything being known of the picture.
    enum Break: CaseIterable, Sendable {
        case reset, portal, trouble, certificate, redirect, silence, limit

        func play(on request: HeldRequest) {
            switch self {
            case .reset: request.fail(.broken("reset"))
            case .portal: request.respond(headers: [(name: "content-type", value: "text/html")], body: [0x3C])
            case .trouble: request.head(503)
            case .certificate: request.fail(.untrusted("certificate"))
            case .redirect: request.fail(.redirectRefused("a portal"))
            case .silence: request.fail(.timedOut)
            case .limit: request.fail(.limited(retryAfter: 3))
            }
        }
    }

    /// Reads the other version whole, as somebody who opens the picture now.
    private func readOther(
        _ bench: Bench, at request: Int, headers: [(name: String, value: String)]
    ) async throws {
        let reader = try bench.open(Sample.picture(1, size: Int64(Self.size)))
        #expect(
            try await bench.read(reader, Self.size, at: request, Self.other, headers: headers).content == Self.other)
    }

    /// Gives the first 7,000 bytes of a picture, of which 100 are read, then lets its download break off for good.
    private func breakOff(
        _ how: Break, _ bench: Bench, _ open: OpenPicture, headers: [(name: String, value: String)]
    ) async throws {
        async let first = open.bytes(offset: 0, count: 100)
        let request = await bench.transport.waitForRequest(at: 0)
        request.begin(Self.bytes, to: 7000, headers: headers)
        #expect(try await first.content == Array(Self.bytes[..<100]))
        let reading = Task { await failure { try await open.bytes(offset: 0, count: Self.size) } }
        request.fail(.broken("reset"))
        let breaking = Task {
            for index in 1..<20 {
                let next = await bench.transport.waitForRequest(at: index)
                if Task.isCancelled { return }
                how.play(on: next)
                bench.advance(.seconds(1))
            }
        }
        #expect(await reading.value != nil)
        breaking.cancel()
    }

    @Test(arguments: Break.allCases) func aReaderWhoAsksAgainGoesOn(_ how: Break) async throws {
        let open = try bench.open(Sample.picture(1, size: Int64(Self.size)))
        try await breakOff(how, bench, open, headers: Bench.imageHeaders)
        bench.advance(.seconds(5))
        let count = bench.transport.requests.count
        async let rest = open.bytes(offset: 100, count: Self.size - 100)
        let request = await bench.transport.waitForRequest(at: count)
        #expect(request.asked == "6936-19999" && request.request.ifRange == Bench.version)
        request.answer(Self.bytes)
        #expect(try await rest.content == Array(Self.bytes[100...]))
    }

    @Test func anotherVersionEndsItForGood() async throws {
        let open = try bench.open(Sample.picture(1, size: Int64(Self.size)))
        try await breakOff(.portal, bench, open, headers: Bench.imageHeaders)
        let count = bench.transport.requests.count
        async let error = failure { try await open.bytes(offset: 0, count: Self.size) }
        await bench.transport.waitForRequest(at: count).respond(headers: Self.newer, body: Self.other)
        if case .damaged = await error {} else { Issue.record("versions were mixed") }
        // Also if the source goes back to the first one.
        #expect(await failure(of: { try await open.bytes(offset: 0, count: 1) }).isDamaged, "it went on")
        #expect(bench.transport.requests.count == count + 1)
        // Who opens it now gets the new one, whole.
        try await readOther(bench, at: count + 1, headers: Self.newer)
    }

    /// Stored meanwhile for somebody else: what is stored is not what this reader has begun with.
    @Test func whatIsStoredMeanwhileIsNotMixedIn() async throws {
        let open = try bench.open(Sample.picture(1, size: Int64(Self.size)))
        try await breakOff(.portal, bench, open, headers: Self.unnamed)
        let count = bench.transport.requests.count
        try await readOther(bench, at: count, headers: Self.unnamed)
        await bench.settle()
        #expect(bench.cache.storedSize(of: Sample.picture(1, size: nil).id) == Int64(Self.size))
        #expect(await failure { try await open.bytes(offset: 0, count: 200) } != nil)
    }

    @Test func withoutANameForItsVersionABrokenDownloadIsNotGoneOnWith() async throws {
        let open = try bench.open(Sample.picture(1, size: Int64(Self.size)))
        try await breakOff(.portal, bench, open, headers: Self.unnamed)
        let count = bench.transport.requests.count
        #expect(await failure { try await open.bytes(offset: 100, count: 100) } != nil)
        #expect(bench.transport.requests.count == count)
        #expect(bench.cache.state(of: Sample.picture(1, size: nil).id) == .absent)
    }

    /// All of it comes once more, and has to begin with what was given out.
    @Test(arguments: [true, false]) func withoutANameForItsVersionAllOfItComesOnceMoreAfterABreak(
        isSame: Bool
    ) async throws {
        let open = try bench.open(Sample.picture(1, size: Int64(Self.size)))
        async let first = open.bytes(offset: 0, count: 100)
        let request = await bench.transport.waitForRequest(at: 0)
        request.begin(Self.bytes, to: 7000, headers: Self.unnamed)
        #expect(try await first.content == Array(Self.bytes[..<100]))
        let reading = Task { try await open.bytes(offset: 0, count: Self.size).content }
        request.fail(.broken("reset"))
        let again = await bench.transport.waitForRequest(at: 1)
        #expect(again.asked == "whole")
        again.answer(isSame ? Self.bytes : Self.other, headers: Self.unnamed)
        switch await reading.result {
        case .success(let bytes): #expect(isSame && bytes == Self.bytes)
        case .failure(Failure.damaged(let reason)): #expect(!isSame && reason.contains("changed"))
        case .failure(let error): Issue.record(error)
        }
    }

    /// What comes again is no progress: a source that breaks off at the same place is not asked for ever.
    @Test func whoeverBreaksOffAtTheSamePlaceIsAskedThreeTimesMore() async throws {
        let open = try bench.open(Sample.picture(1, size: Int64(Self.size)))
        let reading = Task { await failure { try await open.bytes(offset: 0, count: Self.size) } }
        for index in 0...Download.triesWithoutProgress {
            let request = await bench.transport.waitForRequest(at: index)
            request.cut(Self.bytes, at: 7000, headers: Self.unnamed)
            bench.advance(.seconds(1))
        }
        #expect(await reading.value.isBroken)
        #expect(bench.transport.requests.count == Download.triesWithoutProgress + 1)
    }

    /// Two answers of a source that names no versions may be of two: all of it comes in one.
    @Test func partsWithoutANameAreNotPutTogether() async throws {
        let size = 4 << 20
        let bytes = Sample.jpeg(size)
        let open = try bench.open(Sample.picture(1, size: Int64(size)))
        async let end = open.bytes(offset: Int64(size - 100_000), count: 100_000)
        let part = await bench.transport.waitForRequest(at: 0)
        #expect(part.request.range != nil)
        part.answer(bytes, headers: Self.unnamed)
        let whole = await bench.transport.waitForRequest(at: 1)
        #expect(whole.asked == "whole")
        whole.answer(bytes, headers: Self.unnamed)
        #expect(try await end.content == Array(bytes.suffix(100_000)))
        #expect(try open.availableBytes(offset: 0, count: size)?.content == bytes)
        #expect(bench.transport.requests.count == 2)
    }

    /// Dropped while somebody has it open: whoever opens it then has the same version, and asks nobody.
    @Test func whoOpensItLaterSharesTheFileThatIsOpen() async throws {
        let picture = Sample.picture(1, size: Int64(Self.size))
        try await bench.store(picture, Self.bytes)
        let first = try bench.open(picture)
        #expect(try first.availableBytes(offset: 0, count: 10)?.content == Array(Self.bytes[..<10]))
        #expect(bench.cache.evict(picture.id, openers: 1))
        await bench.settle()
        let second = try bench.open(picture)
        // What was promised at the open is kept when the one that had it is gone.
        #expect(second.versionAtOpen != nil)
        first.close()
        #expect(try second.availableBytes(offset: 0, count: Self.size)?.content == Self.bytes)
        #expect(bench.transport.requests.count == 1)
    }

    @Test func versionsAreTheSameOnlyIfThatIsProved() {
        let tag = PictureVersion.tag("a", length: 5)
        #expect(PictureVersion(token: 1).isSame(as: PictureVersion(token: 1)))
        #expect(!PictureVersion(token: 1).isSame(as: PictureVersion(token: 2)))
        #expect(PictureVersion(token: 1, tag: tag).isSame(as: PictureVersion(token: 2, tag: tag)))
        #expect(!PictureVersion(token: 1, tag: tag).isSame(as: PictureVersion(token: 2)))
        #expect(tag != PictureVersion.tag("a", length: 6) && tag != PictureVersion.tag("b", length: 5))
    }
}
