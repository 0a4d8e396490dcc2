import Testing

@testable import HTTP

@Suite("Dates and pace")
struct DateAndPaceTests {
    /// All three forms that a recipient has to read (RFC 9110, 5.6.7), with a leap second.
    @Test(
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("", nil), ("now", nil),
            ("Sun, 06 Nov 1994 24:00:00 GMT", nil), ("Sun, 06 Nov 1994 08:60:37 GMT", nil),
            ("Sun, 00 Nov 1994 08:49:37 GMT", nil), ("Xyz, 06 Nov 1994 08:49:37 GMT", nil),
        ] as [(String, Int64?)])
    func readsDates(text: String, seconds: Int64?) {
        #expect(HTTPAnswer(status: 200, headers: [(name: "date", value: text)]).date == seconds)
    }

    @Test func aCrawlingTransferIsFoundAndALivingOneIsNot() {
        let start = ContinuousClock.now
        // Eight seconds: at least 8192 bytes in any eight looks.
        var living = PaceMeter(window: .seconds(8), now: start)
        var crawling = living
        var stalling = living
        stalling.received(1_000_000)
        for second in 1...7 {
            let now = start.advanced(by: .seconds(second))
            living.received(1024)
            crawling.received(1023)
            let verdicts = [living.crawls(at: now), crawling.crawls(at: now), stalling.crawls(at: now)]
            #expect(verdicts == [false, false, false])
        }
        living.received(1024)
        crawling.received(1023)
        let eighth = start.advanced(by: .seconds(8))
        let verdicts = [living.crawls(at: eighth), crawling.crawls(at: eighth), stalling.crawls(at: eighth)]
        #expect(verdicts == [false, true, false])
        // The first second's million no longer counts; and a look that comes too early sees nothing.
        let later = [stalling.crawls(at: start.advanced(by: .seconds(9))), crawling.crawls(at: eighth)]
        #expect(later == [true, false])
    }

    @Test func whatGoesIsBoundAfterABurst() {
        let start = ContinuousClock.now
        var pace = SteadyPace(burst: 100, perSecond: 4)
        pace.take(100, now: start)
        #expect(pace.wait(now: start) == .zero)
        pace.take(12, now: start)
        #expect(pace.wait(now: start) == .seconds(3))
        #expect(pace.wait(now: start - .seconds(9)) == .seconds(3), "a clock does not run backwards")
        #expect(pace.wait(now: start + .seconds(3)) == .zero)
        pace.take(-500)
        pace.take(101)
        #expect(pace.wait(now: start + .seconds(3)) == .milliseconds(250))
    }
}
