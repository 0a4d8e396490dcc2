import Rankings
import System
import HTTP
import TestSupport
import Testing

@testable import Tier

/// Requests as the S3 API has them, and what their answers mean.
@Suite struct StoreTests {
    private let transport = HeldTransport()
    private let store: ObjectStore
    private let key: ObjectKey

    init() throws {
        key = try #require(ObjectKey("pictures/1"))
        store = ObjectStore(
            StorePlace(try #require(BucketAddress("s3://pool/p")), origin: "http://nas:1", region: nil),
            keys: KeyRing(try #require(StoreKeys(keyID: "AK", secret: "hidden", sessionToken: "passing"))),
            transport: transport)
    }

    private var deadline: ContinuousClock.Instant { .now + .seconds(60) }

    private func answer(
        _ status: Int, _ headers: [(String, String)] = [], _ body: String = ""
    ) async -> HTTPRequest {
        let held = await transport.waitForRequest(at: 0)
        held.respond(status: status, headers: headers.map { (name: $0.0, value: $0.1) }, body: Array(body.utf8))
        return held.request
    }

    @Test func anObjectIsFetchedWithWhatIsKnownOfIt() async throws {
        async let found = store.get(key, unless: "\"e\"", limit: 100, deadline: deadline)
        let request = await answer(
            200,
            [
                ("etag", "\"f\""), ("x-amz-meta-rankfs-length", "3"),
                // The beginning of the digest of "abc" in FIPS 180-4's examples.
                ("x-amz-meta-rankfs-blocks", "ba7816bf8f01cfea414140de"),
                ("x-amz-meta-rankfs-key", "pictures/1"), ("date", "Sun, 06 Nov 1994 08:49:47 GMT"),
                ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ], "abc")
        #expect(request.url == "http://nas:1/pool/p/pictures/1")
        #expect(request.headers.contains { $0.hasPrefix("Authorization: AWS4-HMAC-SHA256 ") })
        #expect(request.headers.contains { $0.hasPrefix("x-amz-content-sha256: e3b0c442") })
        #expect(request.headers.contains("If-None-Match: \"e\""))
        #expect(request.headers.contains("x-amz-security-token: passing"))
        guard case .object(let object) = try await found else {
            Issue.record("no object")
            return
        }
        #expect(object.body == Array("abc".utf8))
        #expect(object.head.etag == "\"f\"")
        guard case .ours(let description) = Provenance(object.head, nil, of: key) else {
            Issue.record("not ours")
            return
        }
        #expect(description.length == 3)
        #expect(description.blocks == Array(SHA256.digest(Array("abc".utf8)).prefix(12)))
        #expect(object.head.age == 10)
    }

    @Test func whatIsNotThereIsNoError() async throws {
        async let found = store.get(key, limit: 100, deadline: deadline)
        _ = await answer(404, [], "<Error><Code>NoSuchKey</Code></Error>")
        guard case .absent = try await found else {
            Issue.record("not absent")
            return
        }
    }

    private static let rights =
        "it refused (AccessDenied); the key needs s3:GetObject and s3:ListBucket, and s3:PutObject and s3:DeleteObject to write"

    @Test(arguments: [
        (403, "<Error><Code>AccessDenied</Code></Error>", Failure.refused(Self.rights)),
        (403, "", .refused("it refused (403)")), (404, "<Code>NoSuchBucket</Code>", .noBucket),
        // A front without a store behind it.
        (404, "default backend - 404", .unreadable("it answered 404")), (404, "", .unreadable("it answered 404")),
        (500, "", .answered(status: 500)),
        (503, "<Code>SlowDown</Code>", .answered(status: 503)), (429, "", .answered(status: 429)), (507, "", .full),
        (400, "<Code>QuotaExceeded</Code>", .full),
        (301, "", .unreadable("it answered 301, a redirect; tier_url must name the store's own address")),
        // No condition was sent.
        (
            304, "",
            .unreadable(
                "it answered 304 to a request for the object itself; tier_url must name the store, not a cache before it"
            )
        ),
        (
            301, "<Code>PermanentRedirect</Code>",
            .refused("the bucket is in another region, which tier_region must name")
        ),
        (
            400, "<Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region>",
            .refused("the bucket is in the region eu-west-1, which tier_region must name")
        ),
        (403, "<Code>InvalidObjectState</Code>", .gone), (400, "<Code>RequestTimeout</Code>", .timedOut),
        (
            400, "<Code>RequestTimeTooSkewed</Code>",
            .refused("its clock and this machine's are more than a day apart; set the clock")
        ), (416, "<Code>InvalidRange</Code>", .unreadable("it answered 416 (InvalidRange)")),
        (400, "<Code>a b\nc</Code>", .notTaken("it answered 400")),
        (400, "<Code>ExpiredToken</Code>", .refused("the session token of the key has ended, or is wrong")),
        (413, "<Code>EntityTooLarge</Code>", .notTaken("it answered 413 (EntityTooLarge)")),
    ])
    func anErrorIsTold(_ status: Int, _ body: String, _ error: Failure) async throws {
        async let failure = store.failure(key, deadline)
        _ = await answer(status, [], body)
        #expect(await failure == error)
        // Asked once: what follows is for others to decide.
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [("ExpiredToken", 400, 2), ("InvalidAccessKeyId", 403, 2), ("AccessDenied", 403, 1)])
    func refusedKeysAreReplacedAndTheRequestIsSentAgain(_ code: String, _ status: Int, _ sent: Int) async throws {
        let (old, new) = (StoreKeys(keyID: "A", secret: "s", sessionToken: "old"), StoreKeys(keyID: "A", secret: "s"))
        let (first, second) = (try #require(old), try #require(new))
        let source: KeyRing.Source = ({ false }, { KeyRing.Loan(second) }, {})
        let ring = KeyRing(KeyRing.Loan(first), source: source) { 0 }
        let store = ObjectStore(
            StorePlace(try #require(BucketAddress("s3://pool")), origin: "http://nas:1", region: nil, owner: "123"),
            keys: ring, transport: transport)
        async let failure = store.failure(key, deadline)
        let request = await answer(status, [], "<Error><Code>\(code)</Code></Error>")
        #expect(request.headers.contains("x-amz-security-token: old"))
        #expect(request.headers.contains("x-amz-expected-bucket-owner: 123"))
        if sent == 2 {
            let held = await transport.waitForRequest(at: 1)
            #expect(!held.request.headers.contains { $0.hasPrefix("x-amz-security-token") })
            held.respond(status: 404, body: Array("<Code>NoSuchKey</Code>".utf8))
        }
        #expect((await failure == nil) == (sent == 2))
        #expect(transport.requests.count == sent)
    }

    @Test(
        arguments: [
            (ObjectStore.Condition.always, nil), (.isNew, "If-None-Match: *"), (.isStill("\"e\""), "If-Match: \"e\""),
        ] as [(ObjectStore.Condition, String?)])
    func aConditionIsAHeader(_ condition: ObjectStore.Condition, _ line: String?) async throws {
        let description = ObjectDescription(of: [1, 2], key: key)
        async let written = store.put(key, RequestContent([1, 2]), description, if: condition, deadline: deadline)
        let request = await answer(200, [("etag", "\"n\"")])
        #expect(request.method == .put)
        #expect(request.content?.length == 2)
        #expect(request.headers.contains("x-amz-content-sha256: UNSIGNED-PAYLOAD"))
        #expect(request.headers.filter { $0.hasPrefix("If-") } == [line].compactMap { $0 })
        #expect(request.headers.contains("x-amz-meta-rankfs-key: pictures/1"))
        #expect(try await written?.etag == "\"n\"")
    }

    @Test(arguments: [(412, true), (409, true), (412, false), (409, false), (404, false)])
    func aConditionThatDoesNotHoldIsNoError(_ status: Int, _ isNew: Bool) async throws {
        let description = ObjectDescription(of: [1, 2], key: key)
        let condition = isNew ? ObjectStore.Condition.isNew : .isStill("\"e\"")
        async let written = store.put(key, RequestContent([1, 2]), description, if: condition, deadline: deadline)
        _ = await answer(status)
        #expect(try await written == nil)
    }

    @Test func aStoreThatDoesNotFindWhatIsNewIsNone() async throws {
        let description = ObjectDescription(of: [1, 2], key: key)
        let writing = Task { [store, key, deadline] in
            try await store.put(key, RequestContent([1, 2]), description, if: .isNew, deadline: deadline)
        }
        _ = await answer(404)
        await #expect(throws: Failure.unreadable("it answered 404")) { _ = try await writing.value }
    }

    /// nil: nothing is said of other objects.
    @Test(
        arguments: [
            (200, "<CopyObjectResult/>", true), (200, "<Error><Code>InternalError</Code></Error>", nil),
            (404, "", true),
            (412, "", true), (400, "<Code>InvalidRequest</Code>", false), (400, "<Code>ExpiredToken</Code>", nil),
            (405, "", false), (501, "", false), (500, "", nil), (403, "", nil), (503, "", nil),
        ] as [(Int, String, Bool?)])
    func onlyAStoreThatCannotCopyIsOne(_ status: Int, _ body: String, _ isPossible: Bool?) async throws {
        let description = ObjectDescription(of: [1, 2], key: key)
        async let renewed = try? store.renew(key, description, if: "\"e\"", deadline: deadline)
        await transport.waitForRequest(at: 0).respond(
            HTTPAnswer(status: status, headers: []), body: Array(body.utf8))
        #expect(await renewed == isPossible)
    }

    @Test func aListIsRead() async throws {
        async let list = store.list(deadline: deadline)
        let request = await answer(
            200, [],
            """
            <?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>pool</Name>
            <Contents><Key>p/a/b</Key><ETag>&#34;x&#34;</ETag><Size>12</Size></Contents>
            <Contents><Key>other</Key><Size>1</Size></Contents><Contents><Key>p/c</Key><Size>many</Size></Contents>
            <CommonPrefixes><Prefix>p/z/</Prefix></CommonPrefixes>
            <NextContinuationToken>p/a/b&amp;1</NextContinuationToken></ListBucketResult>
            """)
        #expect(request.url == "http://nas:1/pool?encoding-type=url&list-type=2&prefix=p%2F")
        let found = try await list
        #expect(found.entries == [ObjectList.Entry(key: try #require(ObjectKey("a/b")), size: 12)])
        #expect(found.next == "p/a/b&1")
    }

    /// Whoever trusts a part for the whole removes, counts and verifies less than there is.
    @Test(arguments: [("true", "t", "t"), ("false", "t", nil), ("false", "", nil), ("", "t", "t"), ("", "", nil)])
    func aListEndsWhereItSaysSo(_ goesOn: String, _ token: String, _ next: String?) async throws {
        async let list = store.list(deadline: deadline)
        _ = await answer(
            200, [],
            "<ListBucketResult><IsTruncated>\(goesOn)</IsTruncated>"
                + "<NextContinuationToken>\(token)</NextContinuationToken></ListBucketResult>")
        let found = try await list
        #expect(found.next == next)
    }

    @Test func aListThatGoesOnNowhereIsAnError() async throws {
        let list = Task { [store, deadline] in try await store.list(deadline: deadline) }
        _ = await answer(200, [], "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")
        await #expect(throws: Failure.unreadable("its list of objects goes on, and it does not say from where")) {
            try await list.value
        }
    }

    @Test func aKeyThatXMLCannotHoldHidesNoOther() {
        let text =
            "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>p%2Fa+b%01%zz</Key><Size>1</Size></Contents>"
            + "<Contents><Key>p/c</Key><Size>2</Size></Contents></ListBucketResult>"
        #expect(ObjectListReader.read(Array(text.utf8))?.entries.map(\.key) == ["p/a b\u{1}%zz", "p/c"])
        let plain = "<ListBucketResult><Contents><Key>a%2Fb</Key><Size>1</Size></Contents></ListBucketResult>"
        #expect(ObjectListReader.read(Array(plain.utf8))?.entries.map(\.key) == ["a%2Fb"])
    }

    @Test(arguments: [
        "", "no list", "<html></html>", "<ListBucketResult>", "<ListBucketResult><Contents></ListBucketResult>",
        "<!DOCTYPE a [<!ENTITY b \"c\"><!ENTITY d \"&b;&b;&b;\">]><Error>&d;</Error>",
    ])
    func whatIsNoListIsTold(_ text: String) { #expect(ObjectListReader.read(Array(text.utf8)) == nil) }
}

extension ObjectStore {
    /// Why an object cannot be fetched; nil if it can.
    fileprivate func failure(_ key: ObjectKey, _ deadline: ContinuousClock.Instant) async -> Failure? {
        do throws(Failure) {
            _ = try await get(key, limit: 100, deadline: deadline)
            return nil
        } catch { return error }
    }
}

extension KeyRing {
    /// Makes a ring of credentials that never change.
    convenience init(_ keys: StoreKeys) {
        self.init(Loan(keys), source: ({ false }, { Loan(keys) }, {})) { 0 }
    }
}
