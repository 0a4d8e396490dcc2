import HTTP
import Rankings
import Synchronization
import TestSupport
import Testing

@testable import Tier

/// Keys of users: where they are read, and that nothing prints them.
@Suite struct KeyTests {
    private func first(in text: String) -> StoreKeys? {
        KeyProfile.all(in: Array(text.utf8)).lazy.compactMap { StoreKeys(profile: $0) }.first
    }

    @Test(arguments: [
        "[default]\naws_access_key_id = AK\naws_secret_access_key = s3/cr+et==\n",
        "# mine\r\naws_access_key_id=AK\r\naws_secret_access_key=s3/cr+et==\r\n",
        "[a]\nAWS_ACCESS_KEY_ID = AK\naws_secret_access_key=\ts3/cr+et== \n[b]\naws_access_key_id=other\n",
        "[a]\nregion = r\n[b]\naws_access_key_id = AK\naws_secret_access_key = s3/cr+et==\naws_access_key_id = other\n",
    ])
    func aFileIsRead(_ text: String) throws {
        let keys = try #require(first(in: text))
        #expect(keys.keyID == "AK")
        #expect(keys.secret == "s3/cr+et==")
        #expect(keys.sessionToken == nil)
    }

    @Test(arguments: [
        "", "aws_access_key_id = AK", "aws_access_key_id =\naws_secret_access_key = x",
        "aws_access_key_id = A K\naws_secret_access_key = x", "aws_access_key_id = A\naws_secret_access_key = \u{e4}",
        "[a]\naws_access_key_id = AK\n[b]\naws_secret_access_key = x",
        "; aws_access_key_id = A\naws_secret_access_key = x",
    ])
    func aFileWithoutOneIsRefused(_ text: String) { #expect(first(in: text) == nil) }

    @Test func profilesHaveTheNamesOfBothFiles() {
        let text = "a = 1\n[default]\nb = 2 = 3\n[profile some]\nC = 4\n[ other ]\n[profile]\n[]\n"
        let profiles = KeyProfile.all(in: Array(text.utf8))
        #expect(profiles.map(\.name) == ["", "default", "some", "other", "profile", ""])
        #expect(profiles[0]["a"] == "1" && profiles[1]["b"] == "2 = 3" && profiles[2]["c"] == "4")
        #expect(profiles[3]["c"] == nil)
    }

    @Test func variablesAreRead() throws {
        let keys = try #require(
            StoreKeys(variables: [
                "AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "hidden", "AWS_SESSION_TOKEN": "passing",
            ]))
        #expect(keys.sessionToken == "passing")
        #expect(StoreKeys(variables: ["AWS_ACCESS_KEY_ID": "AK"]) == nil)
    }

    @Test func anAnswerIsRead() throws {
        let program =
            #"{"Version": 1, "AccessKeyId": "AK", "SecretAccessKey": "hidden", "SessionToken": "passing", "Expiration": "2019-05-29T00:21:43Z"}"#
        let loan = try #require(KeyRing.Loan(answer: Array(program.utf8), version: 1))
        #expect(loan.keys == StoreKeys(keyID: "AK", secret: "hidden", sessionToken: "passing"))
        #expect(loan.ends == 1_559_089_303)
        let role = #"{"AccessKeyId": "AK", "SecretAccessKey": "hidden", "Token": "passing"}"#
        let lent = try #require(KeyRing.Loan(answer: Array(role.utf8)))
        #expect(lent.keys == loan.keys && lent.ends == nil)
        #expect(KeyRing.Loan(answer: Array(role.utf8), version: 1) == nil)
    }

    @Test(arguments: [
        "", "no", "{}", #"{"AccessKeyId": "AK"}"#,
        #"{"Version": 2, "AccessKeyId": "AK", "SecretAccessKey": "hidden"}"#,
        #"{"Version": 1, "AccessKeyId": "AK", "SecretAccessKey": "hid\nden"}"#,
        #"{"Version": 1, "AccessKeyId": "AK", "SecretAccessKey": "hidden", "Expiration": "soon"}"#,
    ])
    func anAnswerWithoutOneIsRefused(_ text: String) {
        #expect(KeyRing.Loan(answer: Array(text.utf8), version: 1) == nil)
    }

    @Test func nothingPrintsASecret() throws {
        let keys = try #require(StoreKeys(keyID: "AK", secret: "hidden", sessionToken: "passing"))
        let profile = try #require(KeyProfile.all(in: Array("aws_secret_access_key = hidden".utf8)).first)
        var dumped = ""
        dump(keys, to: &dumped)
        dump(profile, to: &dumped)
        dump(KeyRing.Loan(keys), to: &dumped)
        for text in [
            "\(keys)", String(reflecting: keys), "\(profile)", "\(KeyRing.Loan(keys))", dumped,
        ] {
            #expect(!text.contains("hidden") && !text.contains("passing"), "\(text)")
        }
    }
}

/// Keys that change, end and are refused while requests go on.
@Suite struct KeyRingTests {
    /// A place of keys whose content a test sets.
    private final class Place: Sendable {
        struct Content {
            var number = 1
            var ends: Int64?
            var isChanged = false
            var failure: Failure?
            var readings = 0
            var now: Int64 = 1000
        }

        let content = Mutex(Content())

        var source: KeyRing.Source {
            let read = { @Sendable () throws(Failure) -> KeyRing.Loan in
                try self.content.withLock { content -> Result<KeyRing.Loan, Failure> in
                    content.readings += 1
                    if let failure = content.failure { return .failure(failure) }
                    content.isChanged = false
                    return KeyRingTests.keys(content.number).map { .success(KeyRing.Loan($0, ends: content.ends)) }
                        ?? .failure(.absent)
                }.get()
            }
            return ({ self.content.withLock { $0.isChanged } }, read, {})
        }

        var readings: Int { content.withLock { $0.readings } }

        func set(_ change: (inout Content) -> Void) { content.withLock { change(&$0) } }
    }

    private let clock = ManualClock()
    private let place = Place()

    private static func keys(_ number: Int) -> StoreKeys? { StoreKeys(keyID: "K\(number)", secret: "s") }

    private func ring(ends: Int64? = nil) throws -> KeyRing {
        let loan = KeyRing.Loan(try #require(Self.keys(1)), ends: ends)
        return KeyRing(loan, source: place.source, time: TimeSource(clock)) { [place] in
            place.content.withLock { $0.now }
        }
    }

    private func present(_ ring: KeyRing) async throws -> String {
        try await ring.current(by: clock.now + .seconds(60)).keyID
    }

    private func others(_ ring: KeyRing, than number: Int) async throws -> String? {
        try await ring.others(than: try #require(Self.keys(number)), by: clock.now + .seconds(60))?.keyID
    }

    @Test func keysStayWhileTheirPlaceIsBeingWritten() async throws {
        let ring = try ring()
        place.set { ($0.number, $0.isChanged, $0.failure) = (2, true, .refused("half a file")) }
        clock.advance(by: KeyRing.interval)
        #expect(try await present(ring) == "K1")
        place.set { $0.failure = nil }
        clock.advance(by: KeyRing.interval)
        #expect(try await present(ring) == "K2")
    }

    @Test func refusedKeysAreReadAtOnceAndThenAtIntervals() async throws {
        let ring = try ring()
        #expect(try await others(ring, than: 1) == nil)
        #expect(try await others(ring, than: 1) == nil)
        #expect(place.readings == 1)
        place.set { $0.number = 2 }
        clock.advance(by: KeyRing.interval)
        #expect(try await others(ring, than: 1) == "K2")
        // A request that was under way with the old ones.
        #expect(try await others(ring, than: 1) == "K2")
        #expect(place.readings == 2)
    }

    @Test func aReadingThatFailsIsTheReasonAlsoForThoseThatComeAfterIt() async throws {
        let ring = try ring()
        place.set { $0.failure = .refused("others may read it") }
        for _ in 0..<2 {
            await #expect(throws: Failure.refused("others may read it")) { try await others(ring, than: 1) }
        }
        #expect(place.readings == 1)
        place.set { ($0.number, $0.failure) = (2, nil) }
        clock.advance(by: KeyRing.interval)
        #expect(try await others(ring, than: 1) == "K2")
    }

    @Test func keysAreRenewedBeforeTheyEndWithoutAWait() async throws {
        let ring = try ring(ends: 1000 + KeyRing.ahead + 1)
        place.set { ($0.number, $0.ends) = (2, 9000) }
        #expect(try await present(ring) == "K1")
        #expect(place.readings == 0)
        place.set { $0.now = 1001 }
        #expect(try await present(ring) == "K1")
        // It joins the reading, or comes after it.
        #expect(try await others(ring, than: 1) == "K2")
        #expect(try await present(ring) == "K2")
        #expect(place.readings == 1)
    }

    @Test func endedKeysAreReadFirstAndTriedIfThatFails() async throws {
        let ring = try ring(ends: 900)
        place.set { ($0.number, $0.failure) = (2, .timedOut) }
        #expect(try await present(ring) == "K1")
        #expect(try await present(ring) == "K1")
        #expect(place.readings == 1)
        place.set { $0.failure = nil }
        clock.advance(by: KeyRing.interval)
        #expect(try await present(ring) == "K2")
    }

    @Test func theFirstKeysAreAwaited() async throws {
        place.set { $0.failure = .refused("no program") }
        let ring = KeyRing(nil, source: place.source, time: TimeSource(clock)) { 0 }
        await #expect(throws: Failure.refused("no program")) { try await present(ring) }
        place.set { $0.failure = nil }
        #expect(try await present(ring) == "K1")
    }
}
