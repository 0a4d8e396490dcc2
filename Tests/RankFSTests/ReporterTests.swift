import Synchronization
import Testing

@testable import RankFS

/// What is said once, and what is not said.
@Suite struct ReporterTests {
    /// Lines said and a clock that stands still until it is moved.
    private final class Desk: Sendable {
        let lines = Mutex<[String]>([])
        let time = Mutex<Int64>(1000)

        func reporter() -> Reporter {
            Reporter(now: { self.time.withLock { $0 } }, say: { line in self.lines.withLock { $0.append(line) } })
        }
    }

    @Test func aLineSaysSubjectCauseAndRemedy() {
        let desk = Desk()
        desk.reporter().report(.picture(.unreachable("no route")), subject: "ranking/daily/2024-05-01/001-a.jpg")
        #expect(
            desk.lines.withLock { $0 } == [
                "ranking/daily/2024-05-01/001-a.jpg: the service cannot be reached (no route); "
                    + "check the network, then read it again"
            ])
    }

    @Test func identicalLinesAreSaidOnceAWhile() {
        let desk = Desk()
        let reporter = desk.reporter()
        for _ in 1...5 { reporter.report(.withheld, subject: "a") }
        reporter.report(.withheld, subject: "b")
        #expect(desk.lines.withLock { $0.count } == 2)
        desk.time.withLock { $0 += Limits.messageInterval }
        reporter.report(.withheld, subject: "a")
        #expect(desk.lines.withLock { $0.last?.hasSuffix("(and 4 times before)") } == true)
    }

    @Test func namesAndInterruptionsAreNotSaid() {
        let desk = Desk()
        for failure in [Failure.noSuchName, .picture(.cancelled), .catalog(.noSuchListing), .noSuchAttribute] {
            desk.reporter().report(failure, subject: "a")
        }
        #expect(desk.lines.withLock { $0.isEmpty })
    }

    @Test func memoryIsBoundedWhateverIsSaid() {
        let desk = Desk()
        let reporter = desk.reporter()
        for number in 0..<(Limits.rememberedMessages * 3) { reporter.report(.withheld, subject: "\(number)") }
        #expect(desk.lines.withLock { $0.count } == Limits.rememberedMessages * 3)
        #expect(reporter.remembered <= Limits.rememberedMessages)
    }
}
