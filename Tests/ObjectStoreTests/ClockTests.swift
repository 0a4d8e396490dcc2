import Rankings
import HTTP
import Synchronization
import TestSupport
import Testing

@testable import Tier

/// Signatures with another time than this machine's clock tells.
@Suite struct ClockTests {
    private static let absent = Array("<Code>NoSuchKey</Code>".utf8)
    /// 2013-05-24, midnight: the moment of the examples in Amazon's manual.
    private static let midnight: Int64 = 1_369_353_600

    /// What a test sets, seen by the store.
    private final class WallClock: Sendable {
        private let seconds = Mutex(ClockTests.midnight)

        var now: Int64 {
            get { seconds.withLock { $0 } }
            set { seconds.withLock { $0 = newValue } }
        }
    }

    private let transport = HeldTransport()
    private let wallClock = WallClock()
    private let clock = ManualClock()
    private let store: ObjectStore
    private let key: ObjectKey

    init() throws {
        key = try #require(ObjectKey("a"))
        store = ObjectStore(
            StorePlace(try #require(BucketAddress("s3://pool")), origin: "http://nas:1", region: nil),
            keys: KeyRing(try #require(StoreKeys(keyID: "AK", secret: "hidden"))), transport: transport,
            time: TimeSource(clock)
        ) { [wallClock] in wallClock.now }
    }

    /// Amazon S3 API Reference, "Examples: Signature calculations in AWS Signature Version 4".
    @Test(arguments: [
        ("?lifecycle=", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("?max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ])
    func aSignatureIsAsTheManualHasIt(_ query: String, _ signature: String) throws {
        let keys = try #require(
            StoreKeys(keyID: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))
        let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        for (origin, headers) in [
            ("https://examplebucket.s3.amazonaws.com", ["x-amz-content-sha256: \(nothing)"]),
            // A port that goes without saying, and what nobody has to sign.
            ("https://examplebucket.s3.amazonaws.com:443", ["X-Amz-Content-SHA256:  \(nothing)", "If-Match: \"e\""]),
        ] {
            let request = HTTPRequest(
                url: "\(origin)/\(query)", headers: headers, transferClass: .metadata, deadline: .now, bodyLimit: 1)
            let lines = keys.headers(signing: request, for: "us-east-1", at: Self.midnight)
            #expect(
                lines == [
                    "x-amz-date: 20130524T000000Z",
                    "Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                        + "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=\(signature)",
                ])
        }
    }

    @Test(
        arguments: [
            (0, "19700101T000000Z"), (951_868_799, "20000229T235959Z"), (4_107_542_400, "21000301T000000Z"),
            (253_402_300_799, "99991231T235959Z"), (-1, nil), (.max, nil),
        ] as [(Int64, String?)])
    func aMomentIsADate(_ seconds: Int64, _ text: String?) throws {
        let keys = try #require(StoreKeys(keyID: "AK", secret: "hidden"))
        let request = HTTPRequest(url: "http://nas/a", transferClass: .metadata, deadline: .now, bodyLimit: 1)
        let lines = keys.headers(signing: request, for: "r", at: seconds)
        #expect(lines?.first == text.map { "x-amz-date: \($0)" })
    }

    private func get() async -> Failure? {
        do throws(Failure) {
            _ = try await store.get(key, limit: 100, deadline: clock.now + .seconds(60))
            return nil
        } catch { return error }
    }

    /// The time that a request was signed with.
    private func signed(_ request: HTTPRequest) -> String? {
        let named = request.headers.first { $0.hasPrefix("x-amz-date: ") }
        #expect((named != nil) == request.headers.contains { $0.hasPrefix("Authorization: ") })
        #expect(!request.followsRedirects)
        return named.map { String($0.dropFirst("x-amz-date: ".count)) }
    }

    @Test(arguments: [
        ("Fri, 24 May 2013 01:00:00 GMT", "20130524T010000Z", "20130524T010100Z"),
        ("Thu, 23 May 2013 23:00:00 GMT", "20130523T230000Z", "20130523T230100Z"),
    ])
    func whatIsRefusedForItsTimeIsSentWithTheStores(_ date: String, _ stamp: String, _ later: String) async throws {
        async let failure = get()
        let first = await transport.waitForRequest(at: 0)
        #expect(signed(first.request) == "20130524T000000Z")
        first.respond(status: 403, headers: [(name: "date", value: date)], body: [])
        let second = await transport.waitForRequest(at: 1)
        #expect(signed(second.request) == stamp)
        second.respond(status: 404, headers: [(name: "date", value: date)], body: Self.absent)
        #expect(await failure == nil)
        // Known from then on, and counted by a clock that nobody sets.
        clock.advance(by: .seconds(60))
        async let next = get()
        let third = await transport.waitForRequest(at: 2)
        #expect(signed(third.request) == later)
        third.respond(status: 404, body: Self.absent)
        #expect(await next == nil)
        // Put right, this machine's clock is the one to sign with.
        wallClock.now = try #require(store.now) + 1
        async let last = get()
        let fourth = await transport.waitForRequest(at: 3)
        #expect(signed(fourth.request) == later.replacing("00Z", with: "01Z"))
        fourth.respond(status: 404, body: Self.absent)
        #expect(await last == nil)
    }

    @Test(arguments: [
        // Right, a little wrong, and so wrong that nobody would sign it.
        "Fri, 24 May 2013 00:00:00 GMT", "Fri, 24 May 2013 00:05:00 GMT", "Sat, 25 May 2013 00:00:01 GMT",
        "Fri, 24 May 2030 00:00:00 GMT", "soon",
    ])
    func anyOtherRefusalIsOne(_ date: String) async {
        async let failure = get()
        let first = await transport.waitForRequest(at: 0)
        first.respond(status: 403, headers: [(name: "date", value: date)], body: [])
        #expect(await failure == .refused("it refused (403)"))
        #expect(transport.requests.count == 1)
    }

    @Test func aRefusalOfTheStoresOwnTimeIsOne() async {
        async let failure = get()
        for index in 0...1 {
            let held = await transport.waitForRequest(at: index)
            held.respond(status: 403, headers: [(name: "date", value: "Fri, 24 May 2013 01:00:00 GMT")], body: [])
        }
        #expect(await failure == .refused("it refused (403)"))
        #expect(transport.requests.count == 2)
    }

    @Test func whatACacheHasKeptIsOlderThanItsDate() async {
        async let failure = get()
        let held = await transport.waitForRequest(at: 0)
        held.respond(
            status: 404,
            headers: [(name: "date", value: "Thu, 23 May 2013 23:00:00 GMT"), (name: "age", value: "3600")],
            body: Self.absent)
        #expect(await failure == nil)
        #expect(store.now == Self.midnight)
    }
}
