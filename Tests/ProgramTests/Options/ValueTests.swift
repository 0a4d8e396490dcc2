import Rankings
import Testing

@testable import rankfs

@Suite struct ValueTests {
    @Test(
        arguments: [
            ("50M", 50 << 20), ("2G", 2 << 30), ("1024", 1024), ("4k", 4096), ("3MiB", 3 << 20), ("3mb", 3 << 20),
            ("1T", 1 << 40),
            ("7b", 7),
        ] as [(String, Int64)])
    func sizes(_ text: String, bytes: Int64) throws {
        #expect(try ValueParsers.size(in: 0...(1 << 50))(text) == bytes)
    }

    @Test(arguments: ["", "M", "-1", "1.5G", "50 M", "0x10", "99999999999999999999", "9000000T", "5P", "٣M", "1MM"])
    func notSizes(_ text: String) {
        #expect(throws: Failure.self) { try ValueParsers.size(in: 0...(1 << 50))(text) }
    }

    @Test func sizesKeepTheirBounds() {
        #expect(throws: Failure.notTaken("a size such as 50M or 2G, from 16M to 1T")) {
            try ValueParsers.size(in: (16 << 20)...(1 << 40))("15M")
        }
        #expect(throws: Failure.self) { try ValueParsers.size(in: (16 << 20)...(1 << 40))("2T") }
    }

    @Test(arguments: [(0, "0"), (1023, "1023"), (1024, "1K"), (1536, "1.5K"), (2 << 30, "2G"), ((2 << 30) - 1, "1.9G")])
    func sizeTexts(_ bytes: Int64, text: String) {
        #expect(SizeText.text(bytes) == text)
    }

    @Test func durations() throws {
        #expect(try ValueParsers.seconds(in: 2...110)("30") == .seconds(30))
        #expect(try ValueParsers.seconds(in: 2...110)("2.5s") == .milliseconds(2500))
        for text in ["", "s", "-3", "1", "111", "nan", "1e1", "0x1p3", "3 s", "inf", "1.2.3"] {
            #expect(throws: Failure.self, "\(text)") { try ValueParsers.seconds(in: 2...110)(text) }
        }
    }

    @Test func ratesAndNumbers() throws {
        #expect(try ValueParsers.rate(in: 0.01...1000)("0.5") == 0.5)
        #expect(throws: Failure.self) { try ValueParsers.rate(in: 0.01...1000)("0") }
        #expect(try ValueParsers.integer(in: 0...8)("8") == 8)
        for text in ["9", "-1", "+1", "1_0", "", " 1"] {
            #expect(throws: Failure.self, "\(text)") { try ValueParsers.integer(in: 0...8)(text) }
        }
    }

    @Test func paths() throws {
        #expect(try ValueParsers.path("/a", relativeTo: nil, home: nil) == "/a")
        #expect(try ValueParsers.path("~/a", relativeTo: nil, home: "/home/u") == "/home/u/a")
        #expect(try ValueParsers.path("a", relativeTo: "/w", home: nil) == "/w/a")
        #expect(try ValueParsers.path("a", relativeTo: "/", home: nil) == "/a")
        #expect(throws: Failure.notTaken("an absolute path")) {
            try ValueParsers.path("a", relativeTo: nil, home: "/h")
        }
        #expect(throws: Failure.self) { try ValueParsers.path("/a\nb", relativeTo: nil, home: nil) }
    }

    @Test func tagsMayBeginWithWhatJoinsTheBlank() throws {
        let tags = try ValueParsers.tags("a \u{301}b -\u{301}c")
        #expect(tags.wanted == ["a", "\u{301}b"] && tags.refused == ["\u{301}c"])
    }

    @Test func originsOfOnesOwn() throws {
        let url = try OriginURL("HTTP://Example.org:8080/base//")
        #expect(url.text == "http://Example.org:8080/base")
        #expect(url.origin == "http://example.org:8080")
        #expect(url.authority == "example.org:8080")
        #expect(try OriginURL("http://[::1]:80").origin == "http://[::1]:80")
        #expect(try OriginURL("http://u:p@h").hasUserInfo)
    }

    @Test(arguments: [
        "", "example.org", "ftp://h", "http://", "http:///x", "http://h:0", "http://h:65536", "http://h:x",
        "http://h:+80",
        "http://h?q", "http://h#f", "http://h/a b", "http://h\r\nX: y", "http://h\\x", "file:///etc/passwd", "http://é",
        "http://[::1", "http://[g]",
    ])
    func notOrigins(_ text: String) {
        #expect(throws: Failure.self) { try OriginURL(text) }
    }

    @Test(arguments: [
        ("http://nas.local:8333", true), ("http://192.168.1.2", true), ("https://nas.local", false),
        ("http://127.0.0.1:8333", false), ("http://localhost:1", false), ("http://[::1]:1", false),
        ("http://127.example.org", true), ("http://127.1", false),
    ])
    func aStoreThatOthersCanChangeOnTheWayIsARisk(_ url: String, _ isRisk: Bool) throws {
        #expect((TierMeans.risk(of: try OriginURL(url)) != nil) == isRisk)
    }
}
