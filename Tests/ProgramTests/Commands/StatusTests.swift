import Rankings
import Testing

@testable import rankfs

@Suite struct StatusTests {
    private let document = StatusDocument.sample

    @Test func oneIsNotMany() {
        var document = document
        for path in ["cache.stored_pictures", "network.active_transfers", "waiting_requests"] {
            document[path] = .integer(1)
        }
        let text = document.summary(at: 0)
        for part in ["  1 picture,", " 1 request waiting,", " 1 transfer,"] {
            #expect(text.contains(part), "\(text)")
        }
        let frame = WatchFrame(document: document, now: 0, clock: { _ in "" }).lines(
            width: 100, height: 40, colours: false)
        #expect(frame.contains { $0.hasSuffix(", 1 picture") } && frame.contains { $0.contains("; 1 transfer,") })
        #expect(0.counted("file") == "0 files" && 2.counted("file") == "2 files")
    }

    @Test func namesAreStable() {
        let text = String(decoding: document.json, as: UTF8.self)
        let names = """
            version source mount_point pid started uptime catalog cache network waiting_requests recent \
            stored_listings loaded_listings loaded_entries known_sizes original_questions_to_host \
            original_questions_to_service directory stored_pictures stored_bytes pinned_pictures pinned_bytes budget \
            open_pictures received_bytes preloaded evicted downloads picture received total is_read active_transfers \
            queued_transfers tokens closed_until image_host_closed_until requests api size preview connection head get \
            answers succeeded redirected limited refused server_failed failures unreachable timed_out broken invalid \
            cancelled path is_queued is_storing queued_preloads queue monotonic warnings errors time level message \
            sign_in state user thumbnails files
            """
        for name in names.split(separator: " ") {
            #expect(text.contains("\"\(name)\""), "\(name)")
        }
        #expect(text.hasSuffix("}\n"))
        #expect(text.contains(#""/m/ü\n""#))
    }

    /// A front is not waited for: its pauses are hours, and the sentence says what helps.
    @Test func aFrontIsNoCoolDown() {
        var document = document
        document["network.turned_away_until"] = .integer(9000)
        document["network.troubles"] = .array([
            .members([("message", .string("example.org answers with a check")), ("since", .integer(4000))])
        ])
        #expect(document.opensAgain == 5000)
        #expect(document.frontSentence(at: 4000) == "example.org answers with a check")
        #expect(document.frontSentence(at: 9000) == nil)
    }

    @Test func otherTextsAreNotDocuments() {
        #expect(StatusDocument(json: []) == nil)
        #expect(StatusDocument(json: Array("{}".utf8)) == nil)
    }

    @Test func theSummaryIsForPeople() {
        #expect(
            document.summary(at: 4000) == """
                /m/ü\\u{a}: pixiv, rankfs 1.2.3, process 42, up 1 h 2 min
                  stored     7 pictures, 5M of 2G, 2 of them pinned with 1M, in /c
                  received   1M; 2 preloaded, 0 evicted
                  listings   3 stored, 2 in memory with 999 entries; 500 sizes known
                  now        1 open, 4 requests waiting, 2 transfers, 1 queued
                  requests   12 to the service, 500 for sizes, 30 for pictures, 3 failed
                  reading    ranking/daily/2024-05-01/001-雨.jpg: 1K of 4K
                  preload    2_p0: 0
                  queued     25 preloads
                  thumbnails 120 files for file managers, from 3M of previews
                  account    signed in as 123
                  waiting    the service asked to be left alone for another 16 min 40 s
                  waiting    the image host asked to be left alone for another 1 min
                  warning    1970-01-01T00:00:00Z no "route"
                """)
        #expect(!document.summary(at: 5000).contains("left alone"))
    }

    @Test func aSessionThatHasRunOutIsToldWithItsRemedy() {
        var document = document
        document["sign_in.state"] = .string("expired")
        #expect(
            document.summary(at: 4000).contains(
                "  account    the session of 123 has expired: sign in again with `rankfs login`\n"))
        document["sign_in.user"] = .null
        #expect(!document.summary(at: 4000).contains("account"))
        let user = UserID(rawValue: 5)
        #expect(
            [SignIn.signedOut, .signedIn(user), .expired(user)].map(StatusFigure.state)
                == ["signed_out", "signed_in", "expired"])
    }

    @Test func aMountOfAnotherVersionIsToldAndJSONIsWhatItIs() throws {
        let other = { (_: String) throws(ProgramError) -> [UInt8] in Array(#"{"version": "0.0.1"}"#.utf8) }
        let error = #expect(throws: ProgramError.self) {
            try Command.text(of: "/m\n", json: false, now: 0, read: other)
        }
        #expect(error?.status == .unavailable)
        #expect(error?.message == "/m\\u{a} is served by another version of rankfs; mount it again, or try --json.")
        #expect(try Command.text(of: "/m", json: true, now: 0, read: other) == #"{"version": "0.0.1"}"#)
        let bytes = document.json
        #expect(
            try Command.text(of: "/m", json: false, now: 9) { (_) throws(ProgramError) in bytes }
                == document.summary(at: 9) + "\n")
    }

    @Test func aDiskThatTakesNothingIsTold() {
        var document = document
        document["cache.is_storing"] = .bool(false)
        #expect(document.summary(at: 9).contains("\n  storing    not for now: "))
    }

    @Test func aHostThatCannotBeAskedIsTold() {
        var document = document
        document.set(
            "network.troubles",
            #"[{"message": "a.example: the name\n cannot be resolved; is it right?", "since": 5}]"#)
        let line = "a.example: the name\\u{a} cannot be resolved; is it right?"
        #expect(document.summary(at: 9).contains("\n  network    \(line)\n"))
        #expect(document.line(rate: nil, clock: { _ in "" }).hasSuffix("; \(line)"))
        #expect(StatusDocument(json: document.json) == document)
    }

    @Test(arguments: [
        "9223372036854775807", "-9223372036854775808", "1e300", "-1e300", "1e-300", "18446744073709551616",
    ])
    func noFigureOfAStrangersMountEndsTheDisplay(_ figure: String) {
        let text = String(decoding: document.json, as: UTF8.self).replacing(/("[a-z_]+" : )-?[0-9.]+/) { match in
            match.1.contains("pid") ? String(match.0) : match.1 + figure
        }
        // A fraction of a picture is another version's document.
        guard let told = StatusDocument(json: Array(text.utf8)) else {
            #expect(figure == "1e-300")
            return
        }
        var meter = RateMeter()
        meter.look(0, at: 0)
        meter.look(told)
        let lines = WatchFrame(document: told, now: 0, clock: Log.timestamp).lines(
            width: 100, height: 40, colours: false)
        #expect(!lines.isEmpty && !told.summary(at: 0).isEmpty)
        #expect(!told.line(rate: meter.perSecond, clock: Log.timestamp).isEmpty)
        _ = FetchEstimate.seconds(requests: 1, tokens: told.real("network.tokens"), rate: told.real("network.rate"))
    }

    @Test func othersAreToldFiguresOnly() {
        let text = String(decoding: document.publicPart.json, as: UTF8.self)
        for secret in ["001-", "3_p0", "p0.png", "\"/c\"", "123", "route"] {
            #expect(!text.contains(secret), "\(secret)")
        }
        #expect(document.publicPart["cache.stored_pictures"] == document["cache.stored_pictures"])
        #expect(!document.publicPart.summary(at: 9).contains(", in "))
    }

    @Test(arguments: [
        (5, "5 s"), (65, "1 min 5 s"), (1800, "30 min"), (7200, "2 h"), (3700, "1 h 1 min"), (90000, "1 d 1 h"),
    ])
    func durations(_ seconds: Int64, text: String) {
        #expect(DisplayText.duration(seconds) == text)
    }
}
