import Testing

@testable import RankFS

/// Which programs were at which paths lately.
@Suite struct ProgramPlacesTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    @Test func aProgramIsRememberedWhereItWas() {
        var places = ProgramPlaces(lifetime: .seconds(20))
        #expect(places.isEmpty && !places.holds("a", 1, now: start))
        places.note("a", 1, now: start, prolongs: true)
        #expect(!places.isEmpty && places.holds("a", 1, now: at(19)))
        #expect(!places.holds("a", 2, now: start) && !places.holds("b", 1, now: start))
        #expect(!places.holds("a", 1, now: at(20)))
    }

    @Test(arguments: [true, false]) func itsTimeBeginsAnewIfItShall(prolongs: Bool) {
        var places = ProgramPlaces(lifetime: .seconds(20))
        places.note("a", 1, now: start, prolongs: prolongs)
        places.note("a", 1, now: at(10), prolongs: prolongs)
        #expect(places.holds("a", 1, now: at(25)) == prolongs)
        places.note("a", 1, now: at(31), prolongs: prolongs)
        #expect(places.holds("a", 1, now: at(50)), "its time was over")
    }

    @Test func aPathAtWhichNobodyIsIsForgotten() {
        var places = ProgramPlaces(lifetime: .seconds(20))
        places.note("a", 1, now: start, prolongs: true)
        places.note("a", 2, now: at(10), prolongs: true)
        let (whileBoth, whileOne) = (places.isAnybody(at: "a", now: at(19)), places.isAnybody(at: "a", now: at(29)))
        #expect(whileBoth && whileOne && places.remembered == 2)
        let (later, elsewhere) = (places.isAnybody(at: "a", now: at(30)), places.isAnybody(at: "b", now: at(30)))
        #expect(!later && !elsewhere && places.isEmpty)
    }

    @Test func itRemembersABoundedNumber() {
        var places = ProgramPlaces(lifetime: .seconds(20))
        for number in 0..<Int32(ProgramPlaces.most) { places.note("\(number)", 1, now: start, prolongs: true) }
        #expect(places.remembered == ProgramPlaces.most)
        places.note("new", 1, now: at(1), prolongs: true)
        #expect(places.remembered == 1, "all were as fresh")
        for number in 0..<Int32(ProgramPlaces.most) { places.note("a", number, now: at(2), prolongs: true) }
        places.note("a", -1, now: at(21.5), prolongs: true)
        #expect(places.remembered == 1 && places.holds("a", -1, now: at(21.5)))
        for number in 0..<Int32(ProgramPlaces.most) { places.note("b", number, now: at(30), prolongs: true) }
        places.note("c", 1, now: at(50), prolongs: true)
        places.note("b", -1, now: at(50), prolongs: true)
        #expect(places.remembered == 2, "those whose time is over go first")
    }
}
