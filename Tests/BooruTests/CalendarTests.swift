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
