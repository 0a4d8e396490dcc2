import Rankings
import Foundation
import Glibc
import TestSupport
import Testing

@testable import rankfs

@Suite struct LogTests {
    @Test(arguments: [
        ("plain ünïcode ／", "plain ünïcode ／"), ("a\nb", "a\\u{a}b"), ("\u{1b}[31m", "\\u{1b}[31m"), ("\0", "\\u{0}"),
        ("\u{202e}x", "\\u{202e}x"), ("a\u{2028}b", "a\\u{2028}b"), ("\u{7f}", "\\u{7f}"), ("\u{9b}", "\\u{9b}"),
    ])
    func oneEventIsOneLine(_ text: String, shown: String) {
        #expect(LogText.escaped(text) == shown)
    }

    @Test(arguments: [
        ("/home/me/Bilder-2024_é~/x", "/home/me/Bilder-2024_é~/x"), ("/a b", "'/a b'"), ("/it's", "'/it'\\''s'"),
        ("/a$(b)", "'/a$(b)'"), ("/a*", "'/a*'"), ("/a\nb", "'/a\\u{a}b'"),
    ])
    func aPathInACommandIsAWordOfTheShell(_ path: String, word: String) {
        #expect(LogText.word(path) == word)
    }

    @Test func longTextsAreCutBetweenCharacters() {
        let cut = LogText.escaped(String(repeating: "é", count: 5000), limit: LogText.longestLine)
        #expect(cut.utf8.count <= LogText.longestLine + 3)
        #expect(cut.hasSuffix("é…"))
    }

    @Test(arguments: [
        "👩‍👩‍👧", "👩🏽‍🚀", "🏳️‍🌈", "🤷🏻‍♀️", "❤️", "❤️‍🔥", "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", "🇯🇵", "が", "e\u{301}",
    ])
    func whatIsOneSignStaysOne(_ sign: String) {
        #expect(LogText.escaped("a\(sign)b") == "a\(sign)b")
        #expect(LogText.escaped("a\(sign)b", limit: 100) == "a\(sign)b")
        // Whole or not at all.
        let many = LogText.escaped(String(repeating: sign, count: 300))
        #expect(many.replacing(sign, with: "") == "…")
        #expect(LogText.escaped("\(sign)\(sign)", limit: sign.utf8.count * 2 - 1) == "\(sign)…")
    }

    @Test func aLetterUnderManyAccentsIsCut() {
        let shown = LogText.escaped("e" + String(repeating: "\u{301}", count: 5000) + "x")
        let scalars = shown.unicodeScalars
        #expect(scalars.count == LogText.longestShown && scalars.starts(with: ["e", "\u{301}"]) && scalars.last == "x")
        let line = LogText.escaped(String(repeating: "\u{301}", count: 5000), limit: LogText.longestLine)
        #expect(line.utf8.count <= LogText.longestLine + 3 && line.utf8.count > LogText.longestLine - 2)
    }

    @Test(arguments: [
        ("a\u{200D}b", "a\\u{200d}b"), ("👩\u{200D}", "👩\\u{200d}"), ("👩\u{200D}\u{200D}👧", "👩\\u{200d}\\u{200d}👧"),
        ("\u{200D}👩", "\\u{200d}👩"), ("1\u{200D}👩", "1\\u{200d}👩"), ("👩\u{E0067}\u{E007F}", "👩\\u{e0067}\\u{e007f}"),
        ("👩\u{202E}👧", "👩\\u{202e}👧"), ("\u{1B}👩‍👧", "\\u{1b}👩‍👧"),
    ])
    func joinersThatJoinNothingAreShown(_ text: String, _ shown: String) {
        #expect(LogText.escaped(text) == shown)
    }

    @Test func pathsKeepTheirEndsInSentences() {
        let path = "/begin/" + String(repeating: "ünï\n", count: 500) + "/end.jpg"
        let shown = LogText.escaped(path)
        #expect(
            shown.count == LogText.longestShown && shown.hasPrefix("/begin/ünï\\u{a}") && shown.hasSuffix("/end.jpg"))
        #expect(shown.contains("…"))
        let whole = String(repeating: "x", count: LogText.longestShown)
        #expect(LogText.escaped(whole) == whole)
    }

    @Test func linesSuitTheirReader() {
        #expect(Log.line(.warning, "m", at: 0, isFile: false, forJournal: false) == "rankfs: warning: m")
        #expect(Log.line(.warning, "m", at: 0, isFile: false, forJournal: true) == "<4>m")
        #expect(Log.line(.error, "m", at: 0, isFile: true, forJournal: true) == "1970-01-01T00:00:00Z error: m")
        #expect(LogLevel.allCases.map(\.journalPrefix) == ["<3>", "<4>", "<6>", "<7>"])
        #expect(Log.timestamp(1_795_227_220) == "2026-11-21T02:13:40Z")
    }

    @Test func theNewestFailuresAreKept() {
        // Nothing below a warning may be kept, and the lines themselves go nowhere here: the level is error.
        let log = Log(level: .warning, forJournal: false, now: { 7 })
        for index in 0..<(Log.recentBound + 5) { log.warning("w\(index)") }
        log.info("not written")
        log.flush()
        #expect(log.recent.count == Log.recentBound)
        #expect(log.recent.first?.time == 7 && log.recent.first?.level == .warning && log.recent.first?.message == "w5")
        #expect(log.recent.last?.message == "w\(Log.recentBound + 4)")
    }
}
