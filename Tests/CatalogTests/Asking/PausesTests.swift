import Rankings
import Testing

@testable import Catalog

@Suite struct PausesTests {
    @Test func aPauseHoldsForItsTimeAndNotBefore() {
        let pauses = Pauses<String>(seconds: 300)
        #expect(!pauses.holds("a", now: 1000))
        pauses.begin("a", now: 1000)
        #expect(pauses.holds("a", now: 1000) && pauses.holds("a", now: 1299))
        #expect(!pauses.holds("a", now: 1300))
        #expect(!pauses.holds("a", now: 999), "the clock was set back")
        #expect(!pauses.holds("b", now: 1000))
        pauses.begin("a", now: 1200)
        #expect(pauses.holds("a", now: 1300), "begun anew")
        pauses.end("a")
        #expect(!pauses.holds("a", now: 1300))
    }

    @Test func whoeverTriesNamesByTheThousandIsNotRememberedForEver() {
        let pauses = Pauses<Int>(seconds: 300)
        for key in 0..<Pauses<Int>.bound { pauses.begin(key, now: Int64(key)) }
        pauses.begin(-1, now: Int64(Pauses<Int>.bound))
        #expect(pauses.count == 300, "those that are over are forgotten first")
        #expect(pauses.holds(Pauses<Int>.bound - 1, now: Int64(Pauses<Int>.bound)))
        for key in 0..<2 * Pauses<Int>.bound { pauses.begin(key, now: 0) }
        #expect(pauses.count <= Pauses<Int>.bound)
        #expect(pauses.holds(2 * Pauses<Int>.bound - 1, now: 0))
    }
}
