import Glibc
import System
import Rankings
import Testing

@testable import rankfs

@Suite struct WatchTests {
    private func frame(_ document: StatusDocument = .sample, now: Int64 = 4000) -> WatchFrame {
        WatchFrame(document: document, rate: 3 << 20, now: now) { "[\($0)]" }
    }

    private static func hardDownload(_ number: Int) -> String {
        let path = #", "path": "ranking/daily/2024-05-01/\u001B[2J雨上がりの喫茶店と猫と長い題.jpg""#
        return "{\"picture\": \"\(number)_p0\", \"received\": \(number)000000, \"is_read\": \(number % 5 < 2)"
            + (number % 3 == 0 ? "" : path) + (number % 2 == 0 ? "" : ", \"total\": 0") + "}"
    }

    /// The sample with a name that is wide and would move the cursor, and with everything unknown.
    private var hard: StatusDocument {
        var document = StatusDocument.sample
        document.set("cache.downloads", "[\((0..<30).map(Self.hardDownload).joined(separator: ","))]")
        document["cache.budget"] = .integer(0)
        let messages = (0..<20).map {
            #"{"time": \#($0), "level": "\#($0 % 2 == 0 ? "error" : "warning")", "message": "雨\n上"}"#
        }
        document.set("recent", "[\(messages.joined(separator: ","))]")
        return document
    }

    @Test(arguments: [0, 1, 2, 10, 20, 21, 40, 49, 50, 51, 60, 80, 100, 101, 120, 200], [0, 1, 2, 5, 24, 80])
    func linesFitTheTerminal(_ width: Int, _ height: Int) {
        for document in [StatusDocument.sample, hard] {
            for colours in [false, true] {
                let lines = frame(document).lines(width: width, height: height, colours: colours)
                #expect(lines.count <= height)
                for line in lines {
                    let plain = line.replacing(/\u{1B}\[[0-9]*m/, with: "")
                    #expect(DisplayText.width(of: plain) <= max(0, width - 1), "\(width): \(plain)")
                    #expect(!plain.unicodeScalars.contains { $0.value < 0x20 }, "controls of names are escaped")
                    #expect(colours || plain == line)
                }
            }
        }
    }

    @Test func theFrameTells() {
        #expect(
            frame().lines(width: 90, height: 40, colours: false) == [
                "/m/ü\\u{a}  pixiv, rankfs 1.2.3, up 1 h 2 min",
                "cache     [--------------------] 5M of 2G, 7 pictures",
                "received  1M, 3M/s; 2 transfers, 1 queued; requests waiting: 4",
                "requests  12 to the service, 500 for sizes, 30 for pictures, 3 failed",
                "service   39 requests may go at once, then one each 1.3 s",
                "waiting   the service asked to be left alone for 16 min 40 s, until [5000]",
                "waiting   the image host asked to be left alone for 1 min, until [4060]",
                "warning   [0] no \"route\"",
                "reading   [#####---------------]  25 %  1K of 4K          001-雨.jpg",
                "preload   [~~~~~~~~~~~~~~~~~~~~]   ? %  0                 2_p0",
                "queue     25 wait, next p0.png",
            ])
        #expect(
            frame().lines(width: 40, height: 40, colours: false).suffix(3) == [
                "reading    25 %  1K of 4K  001-雨.jpg", "preload     ? %  0  2_p0",
                "queue     25 wait, next p0.png",
            ])
    }

    @Test func sixtyColumnsAreEnough() {
        #expect(
            frame().lines(width: 60, height: 24, colours: false) == [
                "/m/ü\\u{a}  pixiv, rankfs 1.2.3, up 1 h 2 min",
                "cache     [----------] 5M of 2G, 7 pictures",
                "received  1M, 3M/s; 2 transfers, 1 queued; requests",
                "          waiting: 4",
                "requests  12 to the service, 500 for sizes, 30 for",
                "          pictures, 3 failed",
                "service   39 requests may go at once, then one each 1.3 s",
                "waiting   the service asked to be left alone for 16 min 40",
                "          s, until [5000]",
                "waiting   the image host asked to be left alone for 1 min,",
                "          until [4060]",
                "warning   [0] no \"route\"",
                "reading   [##--------]  25 %  1K of 4K  001-雨.jpg",
                "preload   [~~~~~~~~~~]   ? %  0  2_p0",
                "queue     25 wait, next p0.png",
            ])
        // Where messages need the lines, figures are cut; what keeps the mount waiting never is.
        let few = frame().lines(width: 60, height: 13, colours: false)
        #expect(few[2] == "received  1M, 3M/s; 2 transfers, 1 queued; requests waitin…")
        #expect(
            few.count == 13 && few.contains("          s, until [5000]") && few.contains("warning   [0] no \"route\""))
    }

    @Test func theMountIsNamedHoweverLongItsPathIs() {
        var document = StatusDocument.sample
        document["mount_point"] = .string("/home/somebody/Pictures/from the network/Rankings of 雨")
        let lines = frame(document).lines(width: 60, height: 24, colours: false)
        #expect(Array(lines.prefix(2)) == [document.text("mount_point"), "pixiv, rankfs 1.2.3, up 1 h 2 min"])
        #expect(frame(document).lines(width: 30, height: 24, colours: false)[0] == "…m the network/Rankings of 雨")
        #expect(WatchDisplay.text("idle", of: "/m\n", at: "12:03:00") == "12:03:00 /m\\u{a}: idle\n")
    }

    @Test func readsAreBlueAndPreloadsGreen() throws {
        let lines = frame().lines(width: 90, height: 40, colours: true)
        #expect(lines.contains { $0.hasPrefix("reading   [\u{1B}[94m#####\u{1B}[0m-") })
        #expect(lines.contains { $0.hasPrefix("preload   [\u{1B}[32m~~~") })
        #expect(lines.contains { $0.hasPrefix("\u{1B}[33mwarning\u{1B}[0m   ") })
        let plain = frame().lines(width: 90, height: 40, colours: false)
        #expect(!plain.joined().contains("\u{1B}"))
    }

    @Test func coolDownsCountDownAndEnd() {
        #expect(
            frame(now: 4059).lines(width: 90, height: 40, colours: false).contains { $0.contains("for 1 s, until") })
        #expect(!frame(now: 5000).lines(width: 90, height: 40, colours: false).contains { $0.hasPrefix("waiting") })
    }

    @Test func anIdleMountHasBothBarsAndASilentOneIsTold() {
        var document = StatusDocument.sample
        document["cache.downloads"] = .array([])
        document["cache.queued_preloads"] = .integer(0)
        document["cache.is_storing"] = .bool(false)
        document["sign_in.state"] = .string("expired")
        var frame = frame(document, now: 9000)
        frame.silence = 7
        frame.others = 2
        let lines = frame.lines(width: 120, height: 40, colours: false)
        #expect(lines.suffix(2).map { $0.prefix(13) } == ["reading   [--", "preload   [--"])
        #expect(lines.contains("waiting   the mount has not answered for 7 s"))
        #expect(lines.contains("waiting   nothing is stored for now; make room on the disk"))
        #expect(lines.contains("waiting   the session has expired; `rankfs login` again"))
        #expect(lines[0].hasSuffix(", 2 more mounts"))
    }

    @Test func messagesAreWholeWithTheirRemedies() {
        var document = StatusDocument.sample
        let messages = (1...9).map {
            let message = "ranking/daily/2024-05-01/00\($0)-a.jpg: no route; check the network"
            return #"{"time": \#($0), "level": "error", "message": "\#(message)"}"#
        }
        document.set("recent", "[\(messages.joined(separator: ","))]")
        let lines = frame(document).lines(width: 60, height: 16, colours: false)
        #expect(
            Array(lines[9..<13]) == [
                "error     [8] ranking/daily/2024-05-01/008-a.jpg: no route;", "          check the network",
                "error     [9] ranking/daily/2024-05-01/009-a.jpg: no route;", "          check the network",
            ])
        #expect(frame(document).lines(width: 60, height: 99, colours: false).count { $0.hasPrefix("error") } == 5)
    }

    @Test func theBarsStayWhenLinesAreFew() {
        let lines = frame().lines(width: 90, height: 4, colours: false)
        #expect(lines.map { $0.prefix(7) } == ["/m/ü\\u{", "reading", "preload", "queue  "])
    }

    // MARK: Rates

    @Test func rateIsThatOfTheLastSeconds() {
        var meter = RateMeter()
        #expect(meter.perSecond == nil)
        meter.look(1000, at: 10)
        #expect(meter.perSecond == nil)
        meter.look(1000, at: 10)
        #expect(meter.perSecond == nil, "a document read twice is no time")
        meter.look(3000, at: 11)
        #expect(meter.perSecond == 2000)
        for second in 12...30 { meter.look(3000, at: Double(second)) }
        #expect(meter.perSecond == 0)
        meter.look(5, at: 31)
        #expect(meter.perSecond == nil, "a new process counts from the beginning")
        for number in 0..<1000 { meter.look(Int64(number), at: 31 + Double(number) / 1_000_000) }
        #expect(meter.perSecond != nil)
    }

    // MARK: One line

    @Test func theLineForManagers() {
        let clock: (Int64) -> String = { "[\($0)]" }
        var document = StatusDocument.sample
        #expect(
            document.line(rate: 3_355_443, clock: clock)
                == "reading 1, preloading 1, 3.1M/s, 5M of 2G stored; the service asked to be left alone until [5000]")
        document["cache.downloads"] = .array([])
        document["network.closed_until"] = .null
        document["network.image_host_closed_until"] = .integer(9000)
        document["cache.is_storing"] = .bool(false)
        document["sign_in.state"] = .string("expired")
        #expect(
            document.line(rate: 0, clock: clock)
                == "idle, 5M of 2G stored; the image host asked to be left alone until [9000]; "
                + "nothing is stored: make room on the disk; signed out: `rankfs login` again")
    }

    // MARK: Terminals

    @Test func progressOfTheTerminal() {
        var document = StatusDocument.sample
        #expect(document.progressSequence(at: 4000) == Terminal.progress(0.25, isPaused: true))
        #expect(document.progressSequence(at: 6000) == Terminal.progress(0.25))
        document["cache.downloads"] = .array(Array(document["cache.downloads"].elements.dropFirst()))
        #expect(document.progressSequence(at: 6000) == Terminal.progress(nil), "a preload of unknown length")
        document["cache.downloads"] = .array([])
        #expect(document.progressSequence(at: 6000) == Terminal.noProgress)
        #expect(Terminal.progress(0.257) == "\u{1B}]9;4;1;25\u{1B}\\")
        #expect(Terminal.progress(2, isPaused: true) == "\u{1B}]9;4;4;100\u{1B}\\")
        #expect(Terminal.progress(nil) == "\u{1B}]9;4;3\u{1B}\\")
        #expect(Terminal.noProgress == "\u{1B}]9;4;0\u{1B}\\")
        #expect(Terminal.showsProgress(["TERM": "xterm", "VTE_VERSION": "7006"]))
        #expect(Terminal.showsProgress(["TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty"]))
        #expect(!Terminal.showsProgress(["TERM": "xterm", "TERM_PROGRAM": "iTerm.app"]), "it would pop up a message")
        #expect(!Terminal.showsProgress(["TERM": "dumb", "VTE_VERSION": "7006"]))
    }

    @Test func progressOfAFetch() {
        let progress = FetchProgress(filesDone: 1, filesKnown: 4, listingsDone: 1)
        #expect(progress.sequence == Terminal.progress(0.25))
        var paused = progress
        paused.coolDown = 9
        #expect(paused.sequence == Terminal.progress(0.25, isPaused: true))
    }

    @Test(arguments: [(0.0, "[----]"), (0.5, "[##--]"), (1, "[####]"), (7, "[####]"), (-1, "[----]"), (nil, "[~~~~]")])
    func bars(_ fraction: Double?, _ text: String) {
        #expect(Terminal.bar(fraction, columns: 6, colour: nil) == text)
        #expect(Terminal.bar(fraction, columns: 6, colour: .green).contains("\u{1B}[32m"))
    }
}
