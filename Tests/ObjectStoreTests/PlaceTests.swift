import Testing

@testable import Tier

/// Names, addresses and keys: what users write, and what goes over the wire.
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
            place.listURL(below: nil, after: nil) == "http://nas:8333/pool?encoding-type=url&list-type=2&prefix=home%2F"
        )
        #expect(
            place.listURL(below: ObjectKey("a"), after: "x/y=+")
                == "http://nas:8333/pool?continuation-token=x%2Fy%3D%2B&encoding-type=url&list-type=2&prefix=home%2Fa%2F"
        )
        #expect(place.key(listed: "home/a/b")?.text == "a/b")
        #expect(place.key(listed: "other/a") == nil)
        #expect(place.key(listed: "home/a b") == nil)
    }

    @Test func withoutAnAddressTheStoreIsAmazons() throws {
        let place = StorePlace(try #require(BucketAddress("s3://pool")), origin: nil, region: "eu-west-1")
        #expect(place.url(of: try #require(ObjectKey("a"))) == "https://s3.eu-west-1.amazonaws.com/pool/a")
        #expect(
            place.listURL(below: nil, after: nil)
                == "https://s3.eu-west-1.amazonaws.com/pool?encoding-type=url&list-type=2")
    }
}

/// Keys of users, and that nothing prints them.
@Suite struct KeyTests {
    @Test(arguments: [
        "[default]\naws_access_key_id = AK\naws_secret_access_key = s3/cr+et==\n",
        "# mine\r\naws_access_key_id=AK\r\naws_secret_access_key=s3/cr+et==\r\n",
        "[a]\nAWS_ACCESS_KEY_ID = AK\naws_secret_access_key=\ts3/cr+et== \n[b]\naws_access_key_id=other\n",
    ])
    func aFileIsRead(_ text: String) throws {
        let keys = try #require(StoreKeys(file: Array(text.utf8)))
        #expect(keys.keyID == "AK")
        #expect(keys.secret == "s3/cr+et==")
        #expect(keys.sessionToken == nil)
    }

    @Test(arguments: [
        "", "aws_access_key_id = AK", "aws_access_key_id =\naws_secret_access_key = x",
        "aws_access_key_id = A K\naws_secret_access_key = x", "aws_access_key_id = A\naws_secret_access_key = \u{e4}",
    ])
    func aFileWithoutOneIsRefused(_ text: String) { #expect(StoreKeys(file: Array(text.utf8)) == nil) }

    @Test func variablesAreRead() throws {
        let keys = try #require(
            StoreKeys(variables: [
                "AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "hidden", "AWS_SESSION_TOKEN": "passing",
            ]))
        #expect(keys.sessionToken == "passing")
        #expect(StoreKeys(variables: ["AWS_ACCESS_KEY_ID": "AK"]) == nil)
    }

    @Test func nothingPrintsASecret() throws {
        let keys = try #require(StoreKeys(keyID: "AK", secret: "hidden", sessionToken: "passing"))
        var dumped = ""
        dump(keys, to: &dumped)
        dump(keys.signature(for: "r"), to: &dumped)
        for text in ["\(keys)", String(reflecting: keys), "\(keys.signature(for: "r"))", dumped] {
            #expect(!text.contains("hidden") && !text.contains("passing"), "\(text)")
        }
    }
}
