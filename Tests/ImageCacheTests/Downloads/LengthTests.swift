import Rankings
import HTTP
import TestSupport
import Testing

@testable import ImageCache

/// What proves that a length shown before was wrong, and what does not.
@Suite(.timeLimit(.minutes(1))) struct LengthTests {
    static let size = 20_000
    static let bytes = Sample.jpeg(size)

    /// The error of the first read of a picture that is shown with `shown` bytes.
    private func reading(
        shown: Int, _ answer: @escaping @Sendable (HeldRequest) -> Void
    ) async throws -> Failure? {
        let (bench, open) = try Bench.opened(Sample.picture(1, size: Int64(shown)))
        let answering = Task {
            for index in 0..<20 {
                let request = await bench.transport.waitForRequest(at: index)
                if Task.isCancelled { return }
                answer(request)
                bench.advance(.seconds(1))
            }
        }
        let error = await failure { try await open.bytes(offset: 0, count: shown) }
        answering.cancel()
        open.close()
        // A last request, which lets go of who waits for it.
        let count = bench.transport.requests.count
        let other = try bench.open(Sample.picture(2, size: 1))
        let waking = Task { try? await other.bytes(offset: 0, count: 1) }
        _ = await bench.transport.waitForRequest(at: count)
        waking.cancel()
        other.close()
        return error
    }

    /// Noise behind a picture, and a cut one, say nothing of its length.
    @Test(
        arguments: [
            (size - 1000, bytes, Failure.lengthContradicts(told: nil, shown: Int64(size - 1000))),
            (size + 1000, bytes, .lengthContradicts(told: Int64(size), shown: Int64(size + 1000))),
            (size, bytes + [1, 2, 3], nil), (size, Array(bytes[..<9000]), nil),
        ] as [(Int, [UInt8], Failure?)])
    func onlyAWholePictureContradicts(shown: Int, sent: [UInt8], expected: Failure?) async throws {
        let error = try await reading(shown: shown) { request in
            if request.head(200, Bench.imageHeaders), request.body(sent) { request.finish() }
        }
        if case .lengthContradicts = error {
            #expect(error == expected)
        } else {
            #expect(error != nil && expected == nil)
        }
    }

    @Test func aStandInOfAnotherKindSaysNothingOfTheLength() async throws {
        let error = try await reading(shown: Self.size) { request in
            request.head(200, [(name: "content-type", value: "image/png"), (name: "content-length", value: "500")])
        }
        if case .untrusted = error {} else { Issue.record("\(String(describing: error))") }
    }

    @Test func aPartOfAnotherTotalContradicts() async throws {
        let error = try await reading(shown: Self.size) { request in
            guard let range = request.request.range else {
                request.begin(Self.bytes, to: 7000)
                return request.fail(.broken("reset"))
            }
            request.head(
                206,
                Bench.imageHeaders + [
                    (name: "content-range", value: "bytes \(range.first)-\(Self.size - 1)/\(Self.size + 5)")
                ])
        }
        if case .lengthContradicts = error {} else { Issue.record("\(String(describing: error))") }
    }

    /// Two lengths were told: what is there is all there is, or of another picture.
    @Test(arguments: [
        ("bytes */20000", Failure.lengthContradicts(told: 20_000, shown: 21_000)),
        ("bytes */21000", .damaged("the picture is shorter than the part asked for")),
        ("bytes */", .damaged("the picture is shorter than the part asked for")),
        ("bytes */9223372036854775807", .damaged("the picture is shorter than the part asked for")),
        ("", .damaged("the picture is shorter than the part asked for")),
    ])
    func aPartBehindTheEndIsNotAskedForAgain(_ range: String, _ expected: Failure) async throws {
        let picture = Sample.picture(1, size: Int64(Self.size + 1000))
        let (bench, open) = try Bench.opened(picture)
        async let first = failure { try await open.bytes(offset: 0, count: Self.size + 1000) }
        let request = await bench.transport.waitForRequest(at: 0)
        request.headOnly(length: Self.size + 1000)
        request.body(Self.bytes)
        request.fail(.broken("cut"))
        let rest = await bench.transport.waitForRequest(at: 1)
        #expect(rest.request.range?.first == Int64(Self.size) - Download.seam)
        rest.head(416, [(name: "content-range", value: range)])
        rest.finish()
        // Nothing was given out yet: it begins again, once.
        let again = await bench.transport.waitForRequest(at: 2)
        #expect(again.request.range == nil)
        again.headOnly(length: Self.size + 1000)
        again.body(Self.bytes)
        again.fail(.broken("cut"))
        let last = await bench.transport.waitForRequest(at: 3)
        last.head(416, [(name: "content-range", value: range)])
        last.finish()
        #expect(await first == expected)
        open.close()
        // The next reader is not led back to what is behind the end.
        let reader = try bench.open(Sample.picture(1, size: Int64(Self.size)))
        async let bytes = reader.bytes(offset: 0, count: Self.size)
        let fresh = await bench.transport.waitForRequest(at: 4)
        #expect(fresh.request.range == nil)
        fresh.answer(Self.bytes)
        #expect(try await bytes.content == Self.bytes)
    }

    /// A copy that was cut and says so begins again with another length: whoever opened it meanwhile reads to the right end.
    @Test(arguments: [0, 15_000, 19_900]) func whoOpensWhatIsOnlyAnnouncedReadsAllOfIt(from offset: Int) async throws {
        let bench = try Bench(preload: 1)
        let neighbours = Neighbours(directory: 1, index: 0) { $0 == 1 ? Sample.picture(2, size: nil) : nil }
        let open = try bench.open(Sample.picture(1, size: 200_000), neighbours: neighbours)
        _ = try await bench.read(open, 200_000, at: 0, Sample.jpeg(200_000))
        let cut = await bench.transport.waitForRequest(at: 1)
        #expect(cut.headOnly(length: 16_000))
        let reader = try bench.open(Sample.picture(2, size: nil))
        async let read = reader.bytes(offset: Int64(offset), count: Self.size).content
        async let behind = reader.bytes(offset: Int64(Self.size), count: 100)
        cut.body(Array(Self.bytes[..<16_000]))
        cut.finish()
        await bench.transport.waitForRequest(at: 2).answer(Self.bytes)
        #expect(try await read == Array(Self.bytes[offset...]))
        guard case .end = try await behind else { Issue.record("not the end"); return }
    }

    /// A length that a preload was told, by whatever answered it, does not bind who knows another one.
    @Test func aReaderWhoKnowsTheLengthIsNotBoundByThatOfAPreload() async throws {
        let bench = try Bench(preload: 1)
        let first = Sample.picture(1, size: 200_000)
        let neighbours = Neighbours(directory: 1, index: 0) { $0 == 1 ? Sample.picture(2, size: nil) : nil }
        let open = try bench.open(first, neighbours: neighbours)
        _ = try await bench.read(open, 200_000, at: 0, Sample.jpeg(200_000))
        let preload = await bench.transport.waitForRequest(at: 1)
        #expect(preload.headOnly(length: Self.size - 1000))
        let reader = try bench.open(Sample.picture(2, size: Int64(Self.size)))
        #expect(try await bench.read(reader, Self.size, at: 2, Self.bytes).content == Self.bytes)
        #expect(preload.isCancelled)
    }
}
