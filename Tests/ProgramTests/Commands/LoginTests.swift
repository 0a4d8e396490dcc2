import Foundation
import HTTP
import Pixiv
import Sourcing
import TestSupport
import Testing

@testable import rankfs

private let secret = "AbCdEfGhIjKl012345"
private let cookie = "123_" + secret

@Suite struct LoginTests {
    private let home = Home(variables: ["HOME": "/home/me"], userID: 1000, passwdHome: nil)

    /// Whoever writes the cookie on the command line hears so, and does not read it again.
    @Test(arguments: [
        ["login", cookie], ["login", "PHPSESSID=\(cookie)"], ["login", "phpsessid=\(secret)"],
        ["login", "--", cookie], ["login", "-PHPSESSID=\(cookie)"], ["login", "--PHPSESSID=\(cookie)"],
        ["login", "--cookie", cookie], ["login", "-o", "cookies=\(cookie)"], ["login", "-ocookies=\(cookie)"],
        ["login", "--cookies", cookie], ["login", "--cookies=\(cookie)"],
        ["login", "a", "Cookie: PHPSESSID=\(secret)"],
        ["logout", cookie], ["mount", "pixiv", "/m", "-o", "top=3,cookies=PHPSESSID=\(cookie)"],
        ["mount", cookie, "/m"], ["login", "-o", "password=\(cookie)"], ["demo", "-o", "cookies=\(cookie),top=3"],
    ])
    func neverOnTheCommandLine(_ words: [String]) {
        do {
            _ = try Command.parse(words)
            Issue.record("parsed")
        } catch {
            #expect(error.status == .usage)
            #expect(!error.message.contains(secret) && error.message.contains("rankfs login"), "\(error.message)")
        }
    }

    /// fstab, the file and the environment do not pass the parser of commands.
    @Test(arguments: [cookie, "PHPSESSID=\(cookie)", "PHPSESSID=\(secret)"])
    func neverInPlaceOfAName(_ value: String) {
        for place in [OptionPlace.commandLine, .environment(variable: "RANKFS_COOKIES"), .file(path: "f", line: 1)] {
            var settings = Settings()
            do {
                try Assignment(name: "cookies", value: value, place: place).apply(
                    to: &settings, context: OptionContext(directory: "/", home: "/home/me"))
                Issue.record("taken")
            } catch {
                #expect(!error.message.contains(secret) && error.message.contains("name of a file"), "\(error.message)")
            }
        }
    }

    @Test func theOptionNamesAFile() throws {
        var settings = Settings()
        let context = OptionContext(directory: "/work", home: "/home/me")
        for (text, path) in [
            ("~/c.txt", "/home/me/c.txt"), ("c.txt", "/work/c.txt"), ("/a/me@example.txt", "/a/me@example.txt"),
        ] {
            try Assignment(name: "cookies", value: text, place: .commandLine).apply(to: &settings, context: context)
            #expect(settings.cookies == path)
        }
    }

    @Test func whereSessionsAre() throws {
        #expect(SessionFiles(Settings(), home: home).own == "/home/me/.local/state/rankfs/session")
        #expect(SessionFiles(Settings(), home: home).host == "www.pixiv.net")
        let state = Home(variables: ["XDG_STATE_HOME": "/state", "HOME": "/h"], userID: 1000, passwdHome: nil)
        #expect(SessionFiles(Settings(), home: state).own == "/state/rankfs/session")
        let system = Home(variables: [:], userID: 0, passwdHome: "/root")
        #expect(SessionFiles(Settings(), home: system).own == "/var/lib/rankfs/session")
        let nowhere = SessionFiles(Settings(), home: Home(variables: [:], userID: 1000, passwdHome: nil))
        #expect(nowhere.own == nil && nowhere.places.isEmpty)
        #expect(throws: ProgramError.self) { try nowhere.ownFile() }

        var settings = Settings()
        settings.apiURL = try OriginURL("http://127.0.0.1:8080")
        let own = SessionFiles(settings, home: home)
        #expect(own.own == "/home/me/.local/state/rankfs/session-127.0.0.1_8080" && own.host == "127.0.0.1")
        settings.apiURL = try OriginURL("http://[::1]:8080/prefix")
        #expect(SessionFiles(settings, home: home).host == "::1")
    }

    @Test func whichFileCounts() throws {
        let service = Home(
            variables: ["HOME": "/h", "CREDENTIALS_DIRECTORY": "/run/credentials/x"], userID: 1000, passwdHome: nil)
        var settings = Settings()
        settings.cookies = "/c.txt"
        #expect(
            SessionFiles(settings, home: service).places.map(\.path)
                == ["/c.txt", "/run/credentials/x/rankfs-session", "/h/.local/state/rankfs/session"])
        let odd = Home(variables: ["HOME": "/h", "CREDENTIALS_DIRECTORY": "x"], userID: 1000, passwdHome: nil)
        #expect(SessionFiles(Settings(), home: odd).places.map(\.path) == ["/h/.local/state/rankfs/session"])

        // A bare value does not tell whose it is: no origin of one's own gets pixiv's by mistake.
        settings.apiURL = try OriginURL("http://127.0.0.1:8080")
        let places = SessionFiles(settings, home: service).places
        #expect(places.last == SessionPlace("/h/.local/state/rankfs/session-127.0.0.1_8080", takesBare: true))
        #expect(places[0] == SessionPlace("/c.txt", takesBare: false, isExpected: true))
        #expect(places[1] == SessionPlace("/run/credentials/x/rankfs-session", takesBare: false, mustBePrivate: false))
    }

    @Test func theDirectoryBecomesPrivate() throws {
        let scratch = TemporaryFolder()
        let directory = scratch.path
        try FileManager.default.createDirectory(
            atPath: directory + "/rankfs", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        for file in ["/rankfs/session", "/other/rankfs/session"] {
            try SessionFiles.prepare(directory + file)
            let parent = (directory + file as NSString).deletingLastPathComponent
            #expect(try FileManager.default.attributesOfItem(atPath: parent)[.posixPermissions] as? Int == 0o700)
        }
        try "".write(toFile: directory + "/file", atomically: true, encoding: .utf8)
        #expect(throws: ProgramError.self) { try SessionFiles.prepare(directory + "/file/session") }
    }

    /// Each host has its own remedy: a browser's cookies, or another name.
    @Test func whatHelpsAgainstACheckIsSaidForEachHost() throws {
        func sentence(_ source: String, _ host: String, page: String) throws -> String {
            var settings = Settings()
            settings.apiURL = try OriginURL(page)
            return try SourceName(argument: source).frontSentence(
                host, HostPause(end: 1800, front: FrontStop(refusal: .challenge, step: 0, mark: "")), settings, now: 0)
        }
        let pixiv = try sentence("pixiv", "www.pixiv.net", page: "https://www.pixiv.net")
        #expect(pixiv.contains("`rankfs login cookies.txt` (") && pixiv.hasSuffix("try another network"))
        let konachan = try sentence("konachan", "konachan.com", page: "https://konachan.com")
        #expect(konachan.contains("`rankfs login konachan cookies.txt -o api_url=https://konachan.com`"), "\(konachan)")
        #expect(konachan.contains("exactly that browser's") && konachan.hasSuffix(", or https://konachan.net"))
        for (source, host) in [("danbooru", "danbooru.donmai.us"), ("yandere", "yande.re")] {
            let text = try sentence(source, host, page: "https://\(host)")
            #expect(text.contains("never a browser's") && !text.contains("login"))
        }
    }
}
