import Testing

@testable import Rankings

@Suite("Published days")
struct PublishedDaysTests {
    private static func day(_ text: String) throws -> Day { try #require(Day(text)) }

    @Test(
        "years and months tell every day from the first to the newest, each once and in order",
        arguments: [
            ("2007-09-13", "2026-11-20"), ("2022-10-31", "2024-02-29"), ("2024-05-01", "2024-05-01"),
            ("2023-12-31", "2024-01-01"), ("0001-01-01", "0003-03-03"), ("9998-11-30", "9999-12-31"),
        ])
    func everyDayOnce(first: String, newest: String) throws {
        let published = PublishedDays(first: try Self.day(first), newest: try Self.day(newest))
        var days: [Day] = []
        for year in published.years {
            #expect(!published.months(of: year).isEmpty)
            for month in published.months(of: year) {
                let found = published.days(of: year, month)
                #expect(found.last == published.newest(of: year, month))
                days += found
            }
        }
        #expect(days.map(\.ordinal) == Array(published.first.ordinal...published.newest.ordinal))
    }

    @Test("what lies outside has no days")
    func outside() throws {
        let published = PublishedDays(first: try Self.day("2007-09-13"), newest: try Self.day("2024-05-02"))
        for (year, month) in [(2007, 8), (2006, 12), (2024, 6), (2025, 1), (2024, 0), (2024, 13), (0, 1), (10_000, 1)] {
            #expect(published.days(of: year, month).isEmpty)
            #expect(published.newest(of: year, month) == nil)
        }
        #expect(published.months(of: 2006).isEmpty && published.months(of: 2025).isEmpty)
        #expect(published.months(of: 2007) == [9, 10, 11, 12])
        // A clock that is set back before the first ranking.
        let none = PublishedDays(first: try Self.day("2007-09-13"), newest: try Self.day("1970-01-01"))
        #expect(none.years.isEmpty && none.months(of: 1970).isEmpty && none.days(of: 1970, 1).isEmpty)
    }
}
