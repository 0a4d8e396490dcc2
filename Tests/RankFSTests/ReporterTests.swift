import Rankings
import Sourcing
import Synchronization
import Testing

@testable import RankFS

/// What is said once, and what is not said.
@Suite struct ReporterTests {
    private let desk = Desk()
    private let withheld = Failure.withheldPicture.explanation(isSecret: false) ?? ""

    /// Lines said and a clock that stands still until it is moved.
    private final class Desk: Sendable {
        let lines = Mutex<[String]>([])
        let time = Mutex<Int64>(1000)

        let waiting = Mutex<[@Sendable () -> Void]>([])

        func reporter(troubled: @escaping @Sendable (String) -> Void = { _ in }) -> Reporter {
            var configuration = MountConfiguration(user: 0, group: 0, now: { self.time.withLock { $0 } })
            configuration.report = { line in self.lines.withLock { $0.append(line) } }
            configuration.later = { _, work in self.waiting.withLock { $0.append(work) } }
            configuration.troubled = troubled
            return Reporter(configuration)
        }

        /// Lets so many seconds go by, at the end of which everything happens that was to happen later.
        func pass(_ seconds: Int64) {
            time.withLock { $0 += seconds }
            let work = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            for work in work { work() }
        }
    }

    @Test func aLineSaysSubjectCauseAndRemedy() {
        desk.reporter().report(.unreachable("no route"), subject: "ranking/daily/2024-05-01/001-a.jpg")
        #expect(
            desk.lines.withLock { $0 } == [
                "ranking/daily/2024-05-01/001-a.jpg: the service cannot be reached (no route); "
                    + "check the network, then read it again"
            ])
    }

    /// A service repeats what it was asked for; where that is a secret, no line has its words.
    @Test func theWordsOfAServiceAboutASecretAreNotSaid() {
        let troubles = Mutex<[String]>([])
        let reporter = desk.reporter { text in troubles.withLock { $0.append(text) } }
        let words = ForeignText.quoted("\u{301}no tag SECRET ” of “ yours; bm=201911")
        let paths = [
            "bookmark-tags/SECRET", "bookmark-tags/SECRET/5-A.jpg", "bookmark-months/2019-11", "bookmark-tags",
            "bookmarks-private/5-A.jpg",
        ]
        for path in paths {
            for failure in [
                Failure.unreadable("pixiv answered with an error: \(words)."),
                .troubled("It is in trouble: \(words)."),
                .notTaken("two tags at most: \(words)"),
            ] {
                reporter.report(failure, subject: path)
            }
        }
        let lines = desk.lines.withLock { $0 } + troubles.withLock { $0 }
        #expect(lines.allSatisfy { !$0.contains("SECRET") && !$0.contains("2019") && $0.contains("“…”") })
        let first =
            "bookmark-tags/…: an answer makes no sense (pixiv answered with an error: “…”.); "
            + "try again later, or look for a newer rankfs"
        #expect(lines.first == first)
        reporter.report(.notTaken("too many: \(ForeignText.quoted("six tags"))"), subject: "search/a")
        #expect(desk.lines.withLock { $0.last } == "search/a: the service does not take this (too many: “six tags”)")
    }

    @Test func aStormOfOneCauseIsAFewLinesAndACount() {
        let reporter = desk.reporter()
        for number in 1...100 { reporter.report(.withheldPicture, subject: "\(number % 50)") }
        #expect(desk.lines.withLock { $0.map { $0.prefix(2) } } == ["1:", "2:", "3:"])
        reporter.report(.timedOut, subject: "1")
        #expect(desk.lines.withLock { $0.count } == 4, "another cause is told by itself")
        desk.pass(TreeLimits.messageInterval)
        #expect(desk.lines.withLock { $0.last } == "and 97 more like this: " + withheld)
        #expect(desk.lines.withLock { $0.count } == 5 && reporter.remembered == 1)
        reporter.report(.withheldPicture, subject: "1")
        #expect(desk.lines.withLock { $0.last?.prefix(2) } == "1:")
    }

    @Test func whatWasCountedIsSaidAtTheEnd() {
        let reporter = desk.reporter()
        for number in 1...10 { reporter.report(.withheldPicture, subject: "\(number)") }
        reporter.report(.timedOut, subject: "1")
        reporter.flush()
        #expect(desk.lines.withLock { $0.last } == "and 7 more like this: " + withheld)
        #expect(desk.lines.withLock { $0.count } == 5 && reporter.remembered == 0)
        reporter.flush()
        desk.pass(TreeLimits.messageInterval)
        #expect(desk.lines.withLock { $0.count } == 5, "and once")
    }

    @Test func aCountIsNotForgottenWhenTheClockIsLate() {
        let reporter = desk.reporter()
        for _ in 1...5 { reporter.report(.withheldPicture, subject: "a") }
        desk.time.withLock { $0 += TreeLimits.messageInterval }
        reporter.report(.withheldPicture, subject: "a")
        #expect(desk.lines.withLock { $0.map { $0.prefix(6) } } == ["a: the", "and 4 ", "a: the"])
        desk.pass(0)
        #expect(desk.lines.withLock { $0.count } == 3, "and is told once")
    }

    @Test func causesThatDifferInANumberAreOne() {
        let reporter = desk.reporter()
        for seconds in 1...50 { reporter.report(.limited(retryAfter: Int64(seconds)), subject: "a") }
        #expect(desk.lines.withLock { $0.count } == 1)
    }

    @Test func namesAndInterruptionsAreNotSaid() {
        for failure in [Failure.absent, .cancelled, .absent, .noSuchAttribute] {
            desk.reporter().report(failure, subject: "a")
        }
        #expect(desk.lines.withLock { $0.isEmpty })
    }

    @Test func memoryIsBoundedWhateverIsSaid() {
        let reporter = desk.reporter()
        for number in 0..<(TreeLimits.rememberedMessages * 3) {
            let letters = String(number, radix: 3).map { ["0": "a", "1": "b", "2": "c"][$0] ?? "" }.joined()
            reporter.report(.refused(letters), subject: "x")
        }
        #expect(desk.lines.withLock { $0.count } == TreeLimits.rememberedMessages * 3)
        #expect(reporter.remembered <= TreeLimits.rememberedMessages)
    }
}
