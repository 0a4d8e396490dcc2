import Testing

@testable import Rankings

/// When rankings appear, in calendars of several services.
@Suite struct RankingCalendarTests {
    /// Midnight in UTC, at once.
    private let utc = RankingCalendar(delay: 0, change: .never) { _ in 0 }
    /// Noon in Japan.
    private let japan = RankingCalendar(delay: 12 * 3600, change: .never) { _ in 9 * 3600 }

    private func day(_ text: String) throws -> Day { try #require(Day(text)) }

    @Test func aDayAppearsAtItsMoment() throws {
        for calendar in [utc, japan] {
            for period in [RankingPeriod.day, .week, .month] {
                let days = RankingDays(first: try day("2020-01-01"), period: period, calendar: calendar)
                var newest = days.newest(at: try day("2024-02-29").beginsInUTC)
                // Forty periods on: each is the newest from the moment at which it appears to that of the next.
                for _ in 0..<40 {
                    let moment = days.published(newest)
                    #expect(days.newest(at: moment) == newest)
                    #expect(days.newest(at: moment - 1) == days.before(newest))
                    #expect(days.contains(newest) && period.first(newest) == newest)
                    newest = days.newest(at: days.published(period.next(newest)))
                }
            }
        }
    }

    @Test func weeksBeginOnMondaysAndMonthsOnTheFirst() throws {
        // 2024-09-23 was a Monday.
        for number in 23...29 {
            #expect(RankingPeriod.week.first(try day("2024-09-\(number)")).description == "2024-09-23")
            #expect(RankingPeriod.week.next(try day("2024-09-\(number)")).description == "2024-09-30")
        }
        #expect(RankingPeriod.week.first(Day(ordinal: -1)).description == "1969-12-29")
        #expect(RankingPeriod.month.first(try day("2024-02-29")).description == "2024-02-01")
        #expect(RankingPeriod.month.next(try day("2024-01-31")).description == "2024-02-01")
        #expect(RankingPeriod.month.next(try day("2024-12-01")).description == "2025-01-01")
    }

    @Test func theFirstOneIsTheFirstWholePeriod() throws {
        let weeks = RankingDays(first: try day("2024-09-24"), period: .week, calendar: utc)
        #expect(weeks.first.description == "2024-09-30")
        #expect(!weeks.contains(try day("2024-09-23")))
        #expect(!weeks.contains(try day("2024-10-01")))
        #expect(weeks.contains(try day("2024-10-07")))
        let months = RankingDays(first: try day("2024-09-01"), period: .month, calendar: utc)
        #expect(months.first.description == "2024-09-01")
        #expect(months.newest(at: try day("2024-10-15").beginsInUTC).description == "2024-09-01")
    }

    @Test func yearsAndMonthsHoldTheDaysThatStandForPeriods() throws {
        let weeks = RankingDays(first: try day("2024-09-24"), period: .week, calendar: utc)
        let published = weeks.published(to: try day("2025-01-06"))
        #expect(published.years == [2024, 2025])
        #expect(published.months(of: 2024) == [9, 10, 11, 12] && published.months(of: 2025) == [1])
        #expect(published.days(of: 2024, 10).map(\.description) == ["07", "14", "21", "28"].map { "2024-10-\($0)" })
        #expect(published.days(of: 2024, 9).map(\.description) == ["2024-09-30"])
        #expect(published.contains(try day("2025-01-06")))
        #expect(!published.contains(try day("2025-01-13")))
        #expect(!published.contains(try day("2025-01-05")))
        let none = weeks.published(to: try day("2024-09-23"))
        #expect(none.years.isEmpty && !none.contains(weeks.first))
    }

    /// The clocks go forward on one day and back on another; days have 23 and 25 hours then.
    @Test func summerTimeMakesDaysShorterAndLonger() throws {
        let (spring, autumn) = (try day("2024-03-10"), try day("2024-11-03"))
        let eastern = RankingCalendar(delay: 0, change: .never) { $0 > spring && $0 <= autumn ? -4 * 3600 : -5 * 3600 }
        let days = RankingDays(first: try day("2020-01-01"), period: .day, calendar: eastern)
        func length(_ day: Day) -> Int64 { eastern.begins(day.advanced(by: 1)) - eastern.begins(day) }
        #expect(length(spring) == 23 * 3600 && length(autumn) == 25 * 3600)
        for day in [spring, autumn] {
            #expect(days.newest(at: days.published(day)) == day)
            #expect(days.newest(at: days.published(day) - 1) == day.advanced(by: -1))
        }
    }

    @Test("a broken clock is survived", arguments: [Int64.min, -1 << 45, 1 << 45, .max])
    func extremes(seconds: Int64) {
        for calendar in [utc, japan] {
            for period in [RankingPeriod.day, .week, .month] {
                let days = RankingDays(first: Day(ordinal: .min), period: period, calendar: calendar)
                let newest = days.newest(at: seconds)
                #expect((newest.ordinal < 0) == (seconds < 0))
                _ = days.published(newest)
                _ = days.before(newest)
                _ = days.published(to: newest).months(of: newest.civil.year)
            }
        }
    }
}
