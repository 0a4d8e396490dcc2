import Rankings
import Testing

@testable import Catalog

/// Semantics: "Unreachable never means deleted".
@Suite(.timeLimit(.minutes(1))) struct ClockTests {
    let bench = Bench()

    /// 1970, 2000, 2100, and what no clock should say.
    static let clocks: [Int64] = [0, 946_684_800, 4_102_444_800, -86_400 * 1000, .min, .max]

    @Test(arguments: clocks)
    func aStoredDayIsThereWithAnyClock(now: Int64) async throws {
        try await bench.storeDay()
        bench.now = now
        bench.source.set { $0.failure = .timedOut }
        let catalog = try bench.open()
        #expect(!catalog.listings.isKnownAbsent(Bench.key))
        #expect(catalog.listings.isStored(Bench.key))
        #expect(catalog.days.listed(of: .daily).contains(Bench.day))
        let listing = try await catalog.listings.open(Bench.key)
        #expect(listing.entries.count == 500 && listing.isComplete)
        #expect(try await catalog.days.newest(of: .daily) == Bench.day, "the newest stored one")
        #expect(catalog.days.calendar(of: .daily).published(catalog.days.newestPossible(of: .daily)) > .min)
        bench.now = Bench.start
        #expect(try await bench.reopen(Bench.key).listing.entries.count == 500, "the clock deleted nothing")
    }

    @Test func aClockBehindTheServiceRulesNoNamedDayOut() async throws {
        bench.now = 946_684_800
        let catalog = try bench.open()
        #expect(catalog.listings.isKnownAbsent(Bench.key), "nobody named it yet")
        #expect(try await catalog.days.newest(of: .daily) == Bench.day)
        #expect(!catalog.listings.isKnownAbsent(.ranking(.daily, Bench.day.advanced(by: -1))))
        #expect(catalog.listings.isKnownAbsent(.ranking(.daily, Bench.day.advanced(by: 1))))
        #expect(try await catalog.listings.open(.ranking(.daily, Bench.day.advanced(by: -1))).entries.count == 50)
        let old = try await catalog.listings.open(.ranking(.daily, Bench.day.advanced(by: -1)))
        _ = try await old.entries(reaching: .max)
        #expect(old.isFrozen)
    }

    @Test func aClockBehindTheServiceIsNoReasonNotToAskForNews() async throws {
        let catalog = try bench.open()
        #expect(try await catalog.days.newest(of: .daily) == Bench.day)
        let next = Bench.day.advanced(by: 1)
        bench.source.set { $0.newest = next }
        bench.now = 946_684_800
        #expect(try await catalog.days.newest(of: .daily) == next)
        #expect(try await catalog.days.newest(of: .daily) == next)
        #expect(bench.source.calls.count == 2, "once in five minutes")
        bench.now += 300
        _ = try await catalog.days.newest(of: .daily)
        #expect(bench.source.calls.count == 3)
    }

    @Test func whatWasAskedInTheFutureIsAskedAgain() async throws {
        bench.source.set { $0.works[Bench.author] = [WorkID(rawValue: 3)] }
        bench.now = 4_102_444_800
        let (catalog, _) = try await bench.open(.author(Bench.author))
        bench.now = Bench.start
        bench.source.set { $0.works[Bench.author] = [WorkID(rawValue: 4), WorkID(rawValue: 3)] }
        #expect(try await catalog.listings.open(.author(Bench.author)).entries.count == 2)
    }

    @Test func momentsOfADamagedDatabaseOverflowNothing() {
        let days = SourceDescription.likePixiv.days
        for moment in [Int64.min, -1, 0, .max] {
            for now in [Int64.min, 0, .max] {
                _ = Freshness.holds(since: moment, seconds: .max, now: now)
                _ = NewestDay(day: Day(ordinal: .max), asked: moment, failed: moment).mustAsk(days, now: now)
                _ = NewestDay(day: Day(ordinal: .min), asked: moment).listedEnd(days, now: now)
            }
        }
        #expect(!Freshness.holds(since: .min, seconds: .max, now: .max))
        for ordinal in [Int.min, .max] {
            let day = Day(ordinal: ordinal)
            #expect(day.description.utf8.count == 10)
            _ = days.published(day)
            #expect(days.listed(to: day, recent: 3, stored: [day]).contains(day))
        }
    }
}
