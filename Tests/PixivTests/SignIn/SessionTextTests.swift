import Rankings
import Sourcing
import TestSupport
import Testing

@testable import Pixiv

private let secret = "AbCdEfGhIjKlMnOpQrStUvWxYz012345"
private let value = "123_" + secret

@Suite("Finding the session in text")
struct SessionTextTests {
    private func find(
        _ text: String, host: String = "www.pixiv.net", takesBare: Bool = true, now: Int64 = 1000
    ) -> Result<SessionCookie, Failure> {
        Result { () throws(Failure) in
            try SessionText.cookie(in: Array(text.utf8), host: host, takesBare: takesBare, now: now)
        }
    }

    private func problem(_ result: Result<SessionCookie, Failure>) -> String {
        if case .failure(let problem) = result { problem.cause } else { "none" }
    }

    private func line(
        _ domain: String = ".pixiv.net", expiry: String = "2000", name: String = "PHPSESSID", value: String = value
    ) -> String {
        [domain, "TRUE", "/", "TRUE", expiry, name, value].joined(separator: "\t")
    }

    @Test(
        "a value alone, as people copy it",
        arguments: [
            value, "PHPSESSID=\(value)", " \(value)\n", "\(value)\r\n", "PHPSESSID=\(value);", "\u{FEFF}\(value)\n\n",
            "\t\(value)\t\r\n", "PHPSESSID=\(value)\t",
        ])
    func bare(text: String) throws {
        let cookie = try find(text).get()
        #expect(cookie.value == value && cookie.user.rawValue == 123)
        #expect(problem(find(text, takesBare: false)).contains("whose cookie"))
    }

    /// `rankfs login` takes what a browser's check left beside the session, and nothing else.
    @Test func whatACheckLeftIsTakenBesideTheSession() throws {
        func clearance(_ text: String, takesBare: Bool = true) -> Clearance? {
            Clearance(in: Array(text.utf8), host: "www.pixiv.net", takesBare: takesBare, now: 1000)
        }
        let jar = [
            line(name: "cf_clearance", value: "AbC.1-2_3"), line("www.pixiv.net", name: "__cf_bm", value: "q=="),
            line(name: "other", value: "x"), line(), line("example.com", name: "cf_clearance", value: "no"),
        ].joined(separator: "\n")
        let whole = "PHPSESSID=\(value); cf_clearance=AbC.1-2_3; __cf_bm=q=="
        for text in [jar, whole, "Cookie: a=b; \(whole); c=d"] {
            let (cookie, found) = (try find(text).get(), try #require(clearance(text)))
            #expect(cookie.header == "Cookie: PHPSESSID=\(value)")
            #expect(found.header == "cf_clearance=AbC.1-2_3; __cf_bm=q==")
            let stored = ([cookie.line] + found.cookies).joined(separator: "; ")
            #expect(try find(stored).get() == cookie && clearance(stored) == found)
            #expect(!"\(found)".contains("AbC") && !String(reflecting: found).contains("AbC"))
        }
        #expect(clearance(whole, takesBare: false) == nil)
        let old = [line(expiry: "900", name: "cf_clearance", value: "old"), line()].joined(separator: "\n")
        for text in [old, "PHPSESSID=\(value); cf_clearance=a\u{1}b", "cf_clearance=a b", "cf_clearance=", ""] {
            #expect(clearance(text) == nil)
        }
    }

    @Test(
        "what no signed-in user's cookie looks like",
        arguments: [
            "", "\n", "x", secret, "_\(secret)", "0_\(secret)", "-1_\(secret)", "a_\(secret)", "123_", "123_short",
            "123_" + secret + " x", "123_" + secret + ";a=b", "99999999999999999999_\(secret)", "PHPSESSID=",
            "123-\(secret)",
            "123_" + String(repeating: "a", count: 300), "\(value)\n\(value)", "<html>", "{\"a\":1}", "１２３_\(secret)",
            "123_" + "ünïcödé123", "123_\(secret)\u{1b}[0m",
        ])
    func wrong(text: String) {
        let reason = problem(find(text))
        #expect(reason != "none")
        #expect(!reason.contains(secret))
    }

    @Test("bytes that are no text")
    func binary() {
        for bytes in [[0xFF, 0xFE], [0], Array(value.utf8) + [0], [UInt8](repeating: 65, count: (4 << 20) + 1)]
            as [[UInt8]]
        {
            #expect(throws: Failure.self) {
                try SessionText.cookie(in: bytes, host: "www.pixiv.net", takesBare: true, now: 0)
            }
        }
    }

    @Test("cookies.txt in every manner of export")
    func jars() {
        let jars = [
            line(), "# Netscape HTTP Cookie File\n\n" + line() + "\n", "#HttpOnly_" + line(),
            "# Netscape HTTP Cookie File\r\n#HttpOnly_" + line() + "\r\n", line("www.pixiv.net"), line("pixiv.net"),
            line(".www.pixiv.net"), line(".PIXIV.net"), line(expiry: "0"), line(expiry: "-1"), line(expiry: "2000.5"),
            line(expiry: ""), line(name: "device_token", value: "") + "\n" + line(),
            "garbage\twith tabs\n" + line(), line(expiry: "999") + "\n" + line(), line(value: secret) + "\n" + line(),
            line(".example.com") + "\n" + line(), "#\t" + line(".example.com") + "\n" + line(),
        ]
        for jar in jars {
            for takesBare in [true, false] {
                #expect((try? find(jar, takesBare: takesBare).get())?.value == value, "\(jar)")
            }
        }
    }

    @Test("what a jar lacks is told, and nothing of what it holds")
    func lacking() {
        let cases = [
            (line(expiry: "1000"), "run out"), (line(expiry: "999.9"), "run out"),
            (line(value: secret), "not signed in"),
            (line(".example.com"), "other hosts"), (line("pximg.net"), "other hosts"), (line("net"), "other hosts"),
            (line("notpixiv.net"), "other hosts"), (line("evil-www.pixiv.net"), "other hosts"),
            (line(""), "other hosts"),
            (line("a.www.pixiv.net"), "other hosts"), (line(name: "phpsessid"), "no PHPSESSID"),
            (line(name: "yuid_b"), "no PHPSESSID"), ("a\tb", "no PHPSESSID"), (line() + "\textra", "no PHPSESSID"),
            (line(value: value + ";x"), "not signed in"),
        ]
        for (jar, reason) in cases {
            let found = problem(find(jar))
            #expect(found.contains(reason), "\(jar): \(found)")
            #expect(!found.contains(secret))
        }
    }

    @Test("an origin of one's own gets its own cookies only")
    func otherHosts() {
        #expect((try? find(line("127.0.0.1"), host: "127.0.0.1").get()) != nil)
        #expect(problem(find(line(".pixiv.net"), host: "127.0.0.1")).contains("other hosts"))
        #expect(problem(find(line("0.0.1"), host: "127.0.0.1")).contains("other hosts"))
        #expect(problem(find(line(".0.0.1"), host: "127.0.0.1")).contains("other hosts"))
        #expect(problem(find(line("127.0.0.1"))).contains("other hosts"))
        #expect((try? find(line("::1"), host: "::1").get()) != nil)
    }

    @Test("a cookie shows its value to nobody")
    func hidden() throws {
        let cookie = try find(value).get()
        var dumped = ""
        dump(cookie, to: &dumped)
        dump([cookie as SessionCookie?], to: &dumped)
        for text in ["\(cookie)", String(reflecting: cookie), "\([cookie])", "\(Optional(cookie) as Any)", dumped] {
            #expect(!text.contains(secret) && text.contains("123"), "\(text)")
        }
    }

    @Test("words that may be cookies are told from names of files")
    func words() {
        for word in [
            value, "\(value)\u{FEFF}", "\(value)\t", "PHPSESSID=\(value)", "PHPSESSID=abc", "phpsessid=x",
            "Cookie: PHPSESSID=1",
        ] {
            #expect(SessionText.looksLikeCookie(word))
        }
        for word in [
            "cookies.txt", "/home/me/cookies.txt", "-", "2024_05", "12345", "1_cookies/x",
            "20241128_cookies.txt", "2024_rankings", "tags=1000_followers", "2024_all-rankings-of-the-year",
        ] {
            #expect(!SessionText.looksLikeCookie(word), "\(word)")
        }
    }
}
