import Foundation
import Glibc
import Rankings
import Sourcing
import Synchronization
import TestSupport
import Testing

@testable import Pixiv

private let first = "123_AbCdEfGhIjKl"
private let second = "456_MnOpQrStUvWx"

/// A directory of one test.
private final class Folder: Sendable {
    private let folder = TemporaryFolder()
    var path: String { folder.path }
    let reports = Mutex<[String]>([])
    let expiries = Mutex(0)
    let now = Mutex<Int64>(10_000)

    func write(_ text: String, to name: String, mode: Int = 0o600) throws {
        let file = "\(path)/\(name)"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    }

    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }

    func keeper(_ places: [SessionPlace]) -> SessionKeeper {
        SessionKeeper(
            following: SessionMeans(
                places: places, host: "www.pixiv.net", now: { [self] in now.withLock { $0 } },
                report: { [self] text in reports.withLock { $0.append(text) } },
                expired: { [self] in expiries.withLock { $0 += 1 } }))
    }

    func place(
        _ name: String, takesBare: Bool = true, mustBePrivate: Bool = true, isExpected: Bool = false
    ) -> SessionPlace {
        SessionPlace("\(path)/\(name)", takesBare: takesBare, mustBePrivate: mustBePrivate, isExpected: isExpected)
    }

    var told: [String] { reports.withLock { $0 } }
}

@Suite("Session files")
struct SessionFileTests {
    private let folder = Folder()

    private func signedIn(_ number: Int64) -> SignIn { .signedIn(UserID(rawValue: number)) }

    /// The user may sign out in a browser, and nothing refuses a stranger's question.
    @Test("answers that name nobody are a reason to check a session, at once where others named the user")
    func doubts() async throws {
        let other = Folder()
        try folder.write(first, to: "session")
        let keeper = folder.keeper([folder.place("session")])
        let cookie = try #require(keeper.cookie)
        func isDoubtful(_ isNamed: Bool, after seconds: Int64) -> Bool {
            folder.now.withLock { $0 += seconds }
            return keeper.isDoubtful(cookie, isNamed: isNamed)
        }
        #expect(isDoubtful(false, after: 0))
        #expect(!isDoubtful(false, after: 3599) && isDoubtful(false, after: 1))
        #expect(!isDoubtful(true, after: 0) && !isDoubtful(false, after: 59) && isDoubtful(false, after: 1))
        #expect(!isDoubtful(false, after: 60), "some of its answers name nobody")
        keeper.expire(cookie)
        #expect(!isDoubtful(false, after: 9999))

        try other.write(first, to: "session")
        let session = other.keeper([other.place("session")])
        let service = FakeService(
            [(200, ranking()), (400, "{}"), (200, ranking())].map {
                .success(FakeService.response($0, [], Array($1.utf8)))
            })
        let source = service.source(session: session)
        #expect(await source.failure(of: ListingKey.ranking(.daily, day)) == .needsSignIn)
        #expect(await source.failure(of: ListingKey.ranking(.daily, day)) == nil)
        #expect(session.signIn == .expired(UserID(rawValue: 123)) && other.expiries.withLock { $0 } == 1)
        #expect(service.requests.map { $0.headers.contains { $0.hasPrefix("Cookie") } } == [true, true, false])
    }

    @Test("what is stored is private, whole and alone, and gone without a rest")
    func storing() throws {
        let file = "\(folder.path)/session"
        let old = umask(0)
        defer { umask(old) }
        for text in [first, second] {
            try SessionFile.store([try #require(SessionCookie(text)).line], at: file)
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "PHPSESSID=\(text)\n")
            #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["session"])
        }
        // Another name of the same bytes shows that they were overwritten, not only unlinked.
        try FileManager.default.linkItem(atPath: file, toPath: "\(folder.path)/twin")
        try folder.write(first, to: "session.new")
        #expect(try SessionFile.remove(file))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["twin"])
        #expect(try Data(contentsOf: URL(filePath: "\(folder.path)/twin")).allSatisfy { $0 == 0 })
        #expect(try !SessionFile.remove(file))
        #expect(throws: Failure.self) {
            try SessionFile.store([first], at: "\(folder.path)/none/session")
        }
    }

    @Test("a link is removed with the session that it leads to; a link beside it is not followed")
    func links() throws {
        let file = "\(folder.path)/session"
        func link(_ name: String, to target: String) throws {
            try FileManager.default.createSymbolicLink(
                atPath: "\(folder.path)/\(name)", withDestinationPath: "\(folder.path)/\(target)")
        }
        try folder.write("precious", to: "other")
        try folder.write(first, to: "kept")
        try FileManager.default.linkItem(atPath: "\(folder.path)/kept", toPath: "\(folder.path)/twin")
        try link("session.new", to: "other")
        try link("session", to: "kept")
        #expect(try SessionFile.remove(file))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["other", "twin"])
        #expect(try Data(contentsOf: URL(filePath: "\(folder.path)/twin")).allSatisfy { $0 == 0 })
        #expect(try String(contentsOfFile: "\(folder.path)/other", encoding: .utf8) == "precious")
        try link("session", to: "nowhere")
        #expect(try SessionFile.remove(file))
        // What is not the session's own file stays, and is not said to be gone.
        try link("session", to: ".")
        #expect(throws: Failure.self) { try SessionFile.remove(file) }
        #expect(try !SessionFile.remove(file))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["other", "twin"])
    }

    @Test("a file that its owner may only read is overwritten all the same", .enabled(if: geteuid() == 0, "needs root"))
    func readOnly() throws {
        try folder.write(first, to: "session", mode: 0o400)
        try FileManager.default.linkItem(atPath: "\(folder.path)/session", toPath: "\(folder.path)/twin")
        for path in [folder.path, "\(folder.path)/session"] { #expect(chown(path, 65534, 65534) == 0) }
        // The thread's own identity for files (setfsuid(2)), with which root's right to write everywhere goes.
        typealias Change = @convention(c) (UInt32) -> Int32
        let change = unsafeBitCast(try #require(dlsym(nil, "setfsuid")), to: Change.self)
        _ = change(65534)
        defer { _ = change(0) }
        #expect(try SessionFile.remove("\(folder.path)/session"))
        _ = change(0)
        #expect(try Data(contentsOf: URL(filePath: "\(folder.path)/twin")).allSatisfy { $0 == 0 })
    }

    @Test("signing in, as another and out is noticed at the next question")
    func noticing() throws {
        let keeper = folder.keeper([folder.place("session")])
        #expect(keeper.signIn == .signedOut && keeper.cookie == nil)
        try folder.write(first + "\n", to: "session")
        #expect(keeper.signIn == signedIn(123) && keeper.cookie?.value == first)
        try folder.write(second + "\n", to: "session")
        #expect(keeper.signIn == signedIn(456) && keeper.cookie?.value == second)
        try folder.remove("session")
        #expect(keeper.cookie == nil && keeper.cookieForAccount() == nil && keeper.signIn == .signedOut)
        #expect(folder.told.isEmpty)
    }

    @Test("the first place that exists counts")
    func order() throws {
        let keeper = folder.keeper([
            folder.place("cookies.txt", takesBare: false), folder.place("credential", mustBePrivate: false),
            folder.place("session"),
        ])
        try folder.write(second, to: "session")
        #expect(keeper.signIn == signedIn(456))
        try folder.write(first, to: "credential", mode: 0o440)
        #expect(keeper.signIn == signedIn(123))
        try folder.write(".pixiv.net\tTRUE\t/\tTRUE\t0\tPHPSESSID\t789_abcdefgh", to: "cookies.txt")
        #expect(keeper.signIn == signedIn(789))
        // A file that cannot be used hides those behind it: nobody should act as somebody else by mistake.
        try folder.write("nonsense", to: "cookies.txt")
        #expect(keeper.signIn == .signedOut)
        for name in ["cookies.txt", "credential"] { try folder.remove(name) }
        #expect(keeper.signIn == signedIn(456))
    }

    @Test(
        "a file that others may read is not used until it is private", arguments: [0o644, 0o640, 0o604, 0o660, 0o601])
    func permissions(mode: Int) throws {
        let keeper = folder.keeper([folder.place("session")])
        try folder.write(first, to: "session", mode: mode)
        for _ in 0..<3 { #expect(keeper.signIn == .signedOut) }
        #expect(folder.told.count == 1)
        #expect(folder.told[0].contains("chmod 600") && !folder.told[0].contains(first))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(folder.path)/session")
        #expect(keeper.signIn == signedIn(123))
    }

    @Test("what is wrong with a file is told once, and again when it is wrong anew")
    func telling() throws {
        let keeper = folder.keeper([folder.place("session", isExpected: true)])
        for _ in 0..<3 { _ = keeper.signIn }
        #expect(folder.told.count == 1 && folder.told[0].contains("No such file"))
        try folder.write("456_", to: "session")
        for _ in 0..<3 { _ = keeper.signIn }
        #expect(folder.told.count == 2 && folder.told[1].contains("no session cookie"))
        try folder.write(first, to: "session")
        _ = keeper.signIn
        try folder.remove("session")
        for _ in 0..<3 { _ = keeper.signIn }
        #expect(folder.told.count == 3)
        try FileManager.default.createDirectory(atPath: "\(folder.path)/session", withIntermediateDirectories: true)
        #expect(keeper.signIn == .signedOut)
        try folder.remove("session")
        #expect(mkfifo("\(folder.path)/session", 0o600) == 0)
        #expect(keeper.signIn == .signedOut)
    }

    @Test("what an account does not show is named, each once")
    func withheld() async throws {
        try folder.write(first, to: "a")
        let keeper = folder.keeper([folder.place("a")])
        let refusal = #"{"error":true,"message":"不正なリクエストです。","body":[]}"#
        let answer = FakeService.response(400, [("x-userid", "123")], Array(refusal.utf8))
        let source = FakeService(Array(repeating: .success(answer), count: 4)).source(session: keeper)
        let keys = [ListingKey(.feedR18, 123), .ranking(RankingMode.signedIn[0], day)]
        for key in keys + keys { _ = try? await source.page(of: key, 1, deadline: deadline) }
        #expect(folder.told.count == 2)
        #expect(folder.told[0].hasPrefix("pixiv refuses R-18 works of followed authors although"))
        #expect(folder.told[1].hasPrefix("pixiv refuses R-18 rankings although"))
    }

    @Test("a refused session is asked with once an hour, and a new login begins anew")
    func expiry() throws {
        let keeper = folder.keeper([folder.place("session")])
        try folder.write(first, to: "session")
        let cookie = try #require(keeper.cookie)
        keeper.expire(cookie)
        keeper.expire(cookie)
        #expect(keeper.signIn == .expired(UserID(rawValue: 123)) && keeper.isGone(cookie))
        #expect(folder.expiries.withLock { $0 } == 1)
        #expect(folder.told.count == 1 && folder.told[0].contains("rankfs login") && !folder.told[0].contains(first))
        folder.now.withLock { $0 += 3599 }
        #expect(keeper.cookie == nil && keeper.cookieForAccount() == nil)
        folder.now.withLock { $0 += 1 }
        #expect(keeper.cookie == nil)
        #expect(keeper.cookieForAccount() == cookie)
        #expect(keeper.cookieForAccount() == nil)
        // A clock that was set back far.
        folder.now.withLock { $0 = 5 }
        #expect(keeper.cookieForAccount() == cookie)
        keeper.confirm(cookie)
        #expect(keeper.signIn == signedIn(123) && keeper.cookie == cookie)
        keeper.expire(cookie)
        #expect(folder.expiries.withLock { $0 } == 2)
        try folder.write(second, to: "session")
        #expect(keeper.signIn == signedIn(456))
        // Late answers to requests with the former one say nothing of this one.
        keeper.expire(cookie)
        #expect(keeper.signIn == signedIn(456) && keeper.isGone(cookie))
        #expect(folder.expiries.withLock { $0 } == 2)
    }
}
