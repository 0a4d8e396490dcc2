import Rankings
import Testing

@testable import HTTP

@Suite("Redirects", .timeLimit(.minutes(1)))
struct RedirectTests {
    private func moved(_ location: String) -> String {
        answer("moved", status: "302 Found", headers: ["Location: \(location)"])
    }

    @Test func followsWithinTheTrustedOrigin() async throws {
        let bench = try Bench()
        bench.server.script("/a", moved("/b?x=1"))
        bench.server.script("/b?x=1", moved(bench.server.origin + "/c"))
        bench.server.script("/c", answer("there"))
        let record = await bench.fetch(bench.request("/a", headers: ["Cookie: a=b"]))
        #expect(Kind(record.result) == .success)
        #expect(record.body == Array("there".utf8))
        #expect(bench.server.paths == ["/a", "/b?x=1", "/c"])
        #expect(bench.server.requests.last?.contains("Cookie: a=b") == true)
        #expect(bench.server.connections == 1)
    }

    @Test func givesUpAfterThreeHops() async throws {
        let bench = try Bench()
        bench.server.script("/loop", moved("/loop"))
        #expect(Kind(await bench.fetch(bench.request("/loop")).result) == .redirectRefused)
        #expect(bench.server.requests.count == 4)
    }

    @Test(arguments: [
        "file:///etc/passwd", "gopher://127.0.0.1:70/", "http://127.0.0.1:1/", "http://169.254.169.254/latest",
        "http://[::1]/", "http://0x7f.1/", "https://elsewhere.example/", "//elsewhere.example/",
        "http://user@listed.example/",
        "https://listed.example:8443/", "http://listed.example/", "https://listed.example./",
        "https://localhost/",
    ])
    func refuses(_ location: String) async throws {
        // localhost is on the list by name, and must be refused by its address.
        let bench = try Bench(hosts: ["listed.example", "localhost"])
        bench.server.script("/r", moved(location))
        let record = await bench.fetch(bench.request("/r"))
        #expect(Kind(record.result) == .redirectRefused)
        #expect(record.head == nil)
        #expect(bench.server.requests.count == 1)
    }

    @Test func aCookieIsNotTakenToAnotherOrigin() async throws {
        let bench = try Bench()
        let other = try ScriptedServer()
        defer { other.stop() }
        bench.server.script("/r", moved(other.origin + "/x"))
        let record = await bench.fetch(bench.request("/r", headers: ["Cookie: PHPSESSID=1_secret"]))
        #expect(Kind(record.result) == .redirectRefused)
        #expect(other.requests.isEmpty && other.connections == 0)
        #expect(!String(describing: record.result).contains("secret"))
    }

    @Test func aRedirectWithoutALocationIsAnAnswer() async throws {
        let bench = try Bench()
        bench.server.script("/r", answer("x", status: "302 Found"))
        #expect(await bench.fetch(bench.request("/r")).head?.status == 302)
    }

    @Test func nothingOfTheUserGoesToAnotherHost() {
        let lines = [
            "Cookie: a", "AUTHORIZATION: b", "Referer: c", "X-Api-Token: d", "Accept: e", "accept-language: f",
        ]
        #expect(HTTPRequest.headersForAnotherHost(lines) == ["Accept: e", "accept-language: f"])
    }

    @Test func trustedOriginsAreReachedByRedirectOnlyFromThemselves() throws {
        let book = try AddressBook(
            hosts: ["a.example", "b.example"], trustedOrigins: ["http://127.0.0.1:80", "http://127.0.0.1:81/"])
        let listed = try book.target("https://A.example/x")
        #expect(listed.origin == "https://a.example:443")
        #expect(!listed.isTrusted)
        let other = try book.redirect("//b.example/y", from: listed)
        #expect(other.url == "https://b.example/y")
        #expect(throws: Failure.self) { try book.redirect("http://127.0.0.1/", from: listed) }
        let trusted = try book.target("http://127.0.0.1/")
        #expect(trusted.isTrusted)
        #expect(throws: Failure.self) { try book.redirect("http://127.0.0.1:81/", from: trusted) }
        #expect(try book.redirect("z", from: trusted).url == "http://127.0.0.1/z")
        #expect(throws: Failure.self) { try AddressBook(hosts: [], trustedOrigins: ["nonsense:"]) }
    }

    @Test(
        arguments: [
            [0, 0, 0, 0], [10, 1, 2, 3], [127, 0, 0, 1], [100, 64, 0, 1], [169, 254, 169, 254], [172, 16, 0, 1],
            [172, 31, 255, 255], [192, 168, 1, 1], [192, 0, 0, 1], [224, 0, 0, 1],
            [255, 255, 255, 255],
        ] as [[UInt8]])
    func privateAddresses(_ address: [UInt8]) {
        #expect(!AddressBook.isPublicIPv4(address))
        #expect(!AddressBook.isPublicIPv6([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF] + address))
        #expect(!AddressBook.isPublicIPv6([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0] + address))
        #expect(!AddressBook.isPublicIPv6([0, 0x64, 0xFF, 0x9B, 0, 1, 0, 9, 0, 0, 0, 0] + address))
        #expect(!AddressBook.isPublicIPv6([0x20, 0x02] + address + [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]))
        #expect(!AddressBook.isPublicIPv6([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + address))
    }

    @Test(
        arguments: [
            [1, 1, 1, 1], [100, 128, 0, 1], [172, 32, 0, 1], [192, 0, 66, 1], [198, 18, 0, 1], [210, 140, 139, 1],
        ] as [[UInt8]])
    func publicAddresses(_ address: [UInt8]) {
        #expect(AddressBook.isPublicIPv4(address))
        #expect(AddressBook.isPublicIPv6([0, 0x64, 0xFF, 0x9B, 0, 1, 0, 9, 0, 0, 0, 0] + address))
        #expect(AddressBook.isPublicIPv6([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF] + address))
    }

    @Test(arguments: [0xFC, 0xFD, 0xFE, 0xFF, 0x01] as [UInt8])
    func privateIPv6(_ first: UInt8) {
        #expect(!AddressBook.isPublicIPv6([first, 0x80] + [UInt8](repeating: 1, count: 14)))
        #expect(AddressBook.isPublicIPv6([0x26, 0x06] + [UInt8](repeating: 1, count: 14)))
    }
}
