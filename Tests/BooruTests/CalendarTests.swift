import Boards
import Foundation
import Rankings
import Testing

/// When days begin.
@Suite struct CalendarTests {
    /// Every day of forty years, against the system's own table of time zones.
    @Test func daysBeginAtMidnightInNewYork() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "America/New_York"))
        for ordinal in day("1990-01-01").ordinal..<day("2030-01-01").ordinal {
            let day = Day(ordinal: ordinal)
            let (year, month, number) = day.civil
            let midnight = try #require(calendar.date(from: DateComponents(year: year, month: month, day: number)))
            #expect(DanbooruEngine.calendar.begins(day) == Int64(midnight.timeIntervalSince1970), "\(day)")
        }
    }

    @Test(arguments: [
        // Clocks change at two in the morning, so that the day of a change begins by the old time.
        ("2006-04-02", -5), ("2006-04-03", -4), ("2006-10-29", -4), ("2006-10-30", -5),
        ("2007-03-11", -5), ("2007-03-12", -4), ("2007-11-04", -4), ("2007-11-05", -5),
        ("2024-03-10", -5), ("2024-03-11", -4), ("2024-11-03", -4), ("2024-11-04", -5),
        ("2026-03-08", -5), ("2026-03-09", -4), ("2026-11-01", -4), ("2026-11-02", -5),
    ])
    func summersBeginAndEnd(date: String, hours: Int64) {
        #expect(DanbooruEngine.secondsAhead(day(date)) == hours * 3600)
    }

    @Test func theNewestDayIsYesterday() {
        let days = DanbooruEngine.description.days(of: .day)
        // 2024-07-02, midnight in New York.
        #expect(days.newest(at: 1_719_892_800) == day("2024-07-01"))
        #expect(days.newest(at: 1_719_892_799) == day("2024-06-30"))
        let utc = yandere.description.days(of: .day)
        #expect(utc.newest(at: 1_719_878_400) == day("2024-07-01"))
        #expect(utc.newest(at: 1_719_878_399) == day("2024-06-30"))
        #expect(days.change == .settles(after: 7 * 86_400, then: 30 * 86_400) && utc.change == days.change)
    }

    @Test func weeksBeginOnMondayAndMonthsOnTheFirst() {
        for engine in [yandere.description, DanbooruEngine.description] {
            #expect(engine.days(of: .week).contains(day("2024-05-06")))
            #expect(!engine.days(of: .week).contains(day("2024-05-05")))
            #expect(engine.days(of: .month).contains(day("2024-05-01")))
            #expect(!engine.days(of: .month).contains(day("2024-05-02")))
            #expect(engine.rankings.map(\.mode) == [.day, .week, .month])
        }
    }
}
