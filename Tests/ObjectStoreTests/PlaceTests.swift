import Testing

@testable import Tier

/// Names and addresses: what users write, and what goes over the wire.
@Suite struct PlaceTests {
    @Test(
        arguments: [
            ("s3://pool", "pool", nil), ("s3://pool/", "pool", nil), ("s3://pool/a/b", "pool", "a/b"),
            ("s3://my.pool-1/rankfs/", "my.pool-1", "rankfs"),
        ] as [(String, String, String?)])
    func aBucketIsRead(_ text: String, _ bucket: String, _ prefix: String?) throws {
        let address = try #require(BucketAddress(text))
        #expect(address.bucket == bucket)
        #expect(address.prefix?.text == prefix)
    }

    @Test(arguments: [
        "", "pool", "s3:/pool", "s3://", "s3://ab", "s3://Pool", "s3://po_ol", "s3://-pool", "s3://pool-",
        "s3://pool//a",
        "s3://pool/a b", "s3://pool/ä", "s3://pool/../b", "s3://pool/a?b", "https://pool",
    ])
    func whatIsNoBucketIsRefused(_ text: String) { #expect(BucketAddress(text) == nil) }

    @Test(arguments: ["a", "a/b-c_d.e", "9", "...a"])
    func aKeyNeedsNoEscaping(_ text: String) { #expect(ObjectKey(text)?.text == text) }

    @Test(arguments: [
        "", "/a", "a/", "a//b", ".", "a/..", "a b", "a+b", "a%20", "ü", String(repeating: "a", count: 1025),
    ])
    func whatNeedsEscapingIsNoKey(_ text: String) { #expect(ObjectKey(text) == nil) }

    @Test func objectsAreAskedForByPath() throws {
        let place = StorePlace(try #require(BucketAddress("s3://pool/home")), origin: "http://nas:8333", region: nil)
        #expect(place.url(of: try #require(ObjectKey("a/b"))) == "http://nas:8333/pool/home/a/b")
        #expect(place.region == "us-east-1")
        #expect(
            place.listURL(beginning: nil, after: nil)
                == "http://nas:8333/pool?encoding-type=url&list-type=2&prefix=home%2F"
        )
        #expect(
            place.listURL(beginning: ObjectKey("a"), after: "x/y=+")
                == "http://nas:8333/pool?continuation-token=x%2Fy%3D%2B&encoding-type=url&list-type=2&prefix=home%2Fa"
        )
        #expect(place.key(listed: "home/a/b")?.text == "a/b")
        #expect(place.key(listed: "other/a") == nil)
        #expect(place.key(listed: "home/a b") == nil)
    }

    @Test(
        arguments: [
            (nil, "pool", nil, "https://pool.s3.eu-west-1.amazonaws.com/a"),
            (nil, "my.pool", nil, "https://s3.eu-west-1.amazonaws.com/my.pool/a"),
            (nil, "pool", .path, "https://s3.eu-west-1.amazonaws.com/pool/a"),
            ("http://nas:1", "pool", nil, "http://nas:1/pool/a"),
            ("http://nas:1", "pool", .host, "http://pool.nas:1/a"),
            ("https://s3.eu-west-1.amazonaws.com", "pool", nil, "https://s3.eu-west-1.amazonaws.com/pool/a"),
        ] as [(String?, String, StorePlace.AddressForm?, String)])
    func aBucketStandsInTheHostOrInThePath(
        _ origin: String?, _ bucket: String, _ form: StorePlace.AddressForm?, _ url: String
    ) throws {
        let place = StorePlace(
            try #require(BucketAddress("s3://\(bucket)")), origin: origin, region: "eu-west-1", form: form)
        #expect(place.url(of: try #require(ObjectKey("a"))) == url)
        #expect(url.hasPrefix(place.origin + "/"))
        let list = place.listURL(beginning: nil, after: nil)
        #expect(list == url.dropLast(url.hasSuffix("/\(bucket)/a") ? 2 : 1) + "?encoding-type=url&list-type=2")
    }

    @Test func regionsInChinaHaveADomainOfTheirOwn() throws {
        let place = StorePlace(try #require(BucketAddress("s3://pool")), origin: nil, region: "cn-north-1")
        #expect(place.origin == "https://pool.s3.cn-north-1.amazonaws.com.cn")
    }
}
