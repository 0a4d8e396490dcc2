import Rankings
import Testing

@testable import Catalog

@Suite struct FreshnessTests {
    let day = Bench.day
    let start = Bench.start
    /// 12:00 in Japan, when the next day appears.
    var noon: Int64 { start + 3 * 3600 }

    private func days(of mode: RankingMode) -> RankingDays { SourceDescription.likePixiv.days(of: mode) }

    private var daily: RankingDays { days(of: .daily) }

    /// The newest day by the calendar.
    private func newest(at now: Int64) -> (RankingMode) -> Day {
        { _ in Day.newestPublished(atUnixSeconds: now) }
    }

    @Test func onlyCompleteDaysBeforeTheNewestAreFrozen() {
        let key = ListingKey.ranking(.daily, day)
        #expect(!Freshness.isFrozen(key, isComplete: true, change: .never, newest: newest(at: noon - 1)))
        #expect(Freshness.isFrozen(key, isComplete: true, change: .never, newest: newest(at: noon)))
        #expect(!Freshness.isFrozen(key, isComplete: false, change: .never, newest: newest(at: noon)))
        #expect(
            !Freshness.isFrozen(key, isComplete: true, change: .settles(after: 1, then: 1), newest: newest(at: noon)))
        #expect(!Freshness.isFrozen(.author(Bench.author), isComplete: true, change: .never, newest: newest(at: noon)))
    }

    @Test func theNewestDayIsAskedForAfterNoonAndAWhileAfterALateAnswerOrAFailure() {
        for (known, due) in [
            (NewestDay(day: day, asked: start), noon), (NewestDay(day: day, asked: noon + 10), noon + 310),
            // The next noon ends the wait at once.
            (NewestDay(day: day.advanced(by: -1), asked: noon - 10), noon),
            (NewestDay(day: day, asked: start, failed: noon + 5), noon + 65),
        ] { #expect(!known.mustAsk(daily, now: due - 1) && known.mustAsk(daily, now: due)) }
    }

    @Test func theNewestDayIsRememberedUntilTheNextNoon() {
        let next = day.advanced(by: 1)
        func remembered(_ told: NewestDay?, isThere: Bool = false, now: Int64) -> RememberedDay? {
            RememberedDay(told, daily, calendarsIsThere: isThere, now: now)
        }
        for isThere in [false, true] {
            let known = isThere ? RememberedDay(day: next, isCurrent: true) : nil
            #expect(remembered(nil, isThere: isThere, now: noon) == known)
            #expect(remembered(NewestDay(day: day, asked: start), isThere: isThere, now: noon) == known)
        }
        let told = NewestDay(day: day, asked: start)
        #expect(remembered(told, now: noon - 1) == RememberedDay(day: day, isCurrent: true))
        // The service is late: that day is shown, and asked for again after five minutes.
        let late = NewestDay(day: day, asked: noon + 1)
        #expect(remembered(late, now: noon + 300) == RememberedDay(day: day, isCurrent: true))
        #expect(remembered(late, now: noon + 301) == RememberedDay(day: day, isCurrent: false))
        let failed = NewestDay(day: day, asked: start, failed: noon + 1)
        #expect(remembered(failed, now: noon + 60) == RememberedDay(day: day, isCurrent: true))
        #expect(remembered(failed, now: noon + 61) == RememberedDay(day: day, isCurrent: false))
        // The clock is behind what the service named: what is stored of the calendar's day does not matter.
        let ahead = NewestDay(day: next, asked: start)
        #expect(remembered(ahead, isThere: true, now: start) == RememberedDay(day: next, isCurrent: true))
        #expect(remembered(ahead, isThere: true, now: start - 1) == RememberedDay(day: next, isCurrent: false))
    }

    @Test func theLastListedDayIsTheCalendarsUnlessTheServiceWasAskedSince() {
        let next = day.advanced(by: 1)
        #expect(NewestDay(day: day, asked: start).listedEnd(daily, now: noon) == next)
        #expect(NewestDay(day: day, asked: noon + 1).listedEnd(daily, now: noon + 2) == day)
        #expect(NewestDay(day: day, asked: start, failed: noon + 1).listedEnd(daily, now: noon + 2) == day)
        #expect(NewestDay(day: next, asked: noon + 1).listedEnd(daily, now: noon + 2) == next)
        #expect(NewestDay(day: day, asked: 0, failed: noon + 1).listedEnd(daily, now: noon + 2) == next)
    }

    @Test func listedDaysAreTheRecentAndTheStoredOnes() {
        let first = Day.first(of: .daily)
        let old = first.advanced(by: 100)
        #expect(
            daily.listed(to: day, recent: 2, stored: [old, day])
                == [old, day.advanced(by: -1), day])
        #expect(daily.listed(to: first, recent: 5, stored: []) == [first])
        #expect(daily.listed(to: day, recent: 0, stored: []) == [])
    }

    @Test func daysThatSettleAreAskedForAfterAWeekAndThenMonthly() {
        let (week, month) = (Int64(7 * 86_400), Int64(30 * 86_400))
        let days = SourceDescription.settling.days(of: .daily)
        func isDue(fetched: Int64, now: Int64) -> Bool {
            Freshness.needsRefresh(.ranking(.daily, day), fetched: fetched, days: { _ in days }, now: now)
        }
        let published = days.published(day)
        #expect(!isDue(fetched: published, now: published + week - 1))
        #expect(isDue(fetched: published, now: published + week))
        #expect(isDue(fetched: published + week - 1, now: published + week), "it was not settled yet")
        let asked = published + week + 5
        #expect(!isDue(fetched: asked, now: asked + month - 1))
        #expect(isDue(fetched: asked, now: asked + month))
        #expect(isDue(fetched: asked + month, now: asked), "the clock was set back")
        #expect(!isDue(fetched: asked, now: published), "by the clock it is new")
        for moment in [Int64.min, .max] {
            _ = isDue(fetched: moment, now: .min)
            _ = isDue(fetched: moment, now: .max)
        }
    }
}
