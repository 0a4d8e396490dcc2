import Foundation
import Testing

@testable import Rankings

@Suite("Day")
struct DayTests {
    @Test("every day of a thousand years agrees with Foundation's calendar and survives the round trip")
    func agreesWithFoundation() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        let first = try #require(Day("1583-01-01"))
        for ordinal in stride(from: first.ordinal, through: first.ordinal + 365_243, by: 7) {
            let day = Day(ordinal: ordinal)
            let parts = calendar.dateComponents(
                [.year, .month, .day], from: Date(timeIntervalSince1970: Double(ordinal) * 86_400))
            #expect(day.civil.year == parts.year && day.civil.month == parts.month && day.civil.day == parts.day)
            #expect(Day(day.description) == day)
            #expect(Day(compact: day.compact) == day)
        }
    }

    @Test(
        "known days",
        arguments: [
            ("1970-01-01", "19700101", 0), ("2000-02-29", "20000229", 11_016), ("2024-05-01", "20240501", 19_844),
            ("2007-09-13", "20070913", 13_769), ("1969-12-31", "19691231", -1), ("0001-01-01", "00010101", -719_162),
            ("9999-12-31", "99991231", 2_932_896),
        ])
    func known(text: String, compact: String, ordinal: Int) throws {
        let day = try #require(Day(text))
        #expect(day.ordinal == ordinal)
        #expect(Day(compact: compact) == day)
        #expect(day.description == text)
        #expect(day.compact == compact)
    }

    @Test(
        "what is no day is refused",
        arguments: [
            "", "2024-05-1", "2024-5-01", "2024-05-011", "2024/05/01", "20240501", "2024-13-01", "2024-00-10",
            "2024-01-00", "2024-01-32", "2023-02-29", "1900-02-29", "2024-04-31", "0000-01-01", "-024-05-01",
            "+024-05-01", " 024-05-01", "2024-05-0a", "２０２４-05-01", "2024-05-01\0", "2024-05-01 ", "2024−05−01",
            ".hidden",
        ])
    func refused(text: String) {
        #expect(Day(text) == nil)
    }

    @Test(
        "what is no compact day is refused",
        arguments: [
            "", "2024050", "202405011", "20241301", "20240532", "20230229", "2024-501", "2024 501", "+2024501", "false",
        ])
    func compactRefused(text: String) {
        #expect(Day(compact: text) == nil)
    }

    @Test("a day is made from its parts, and only if it exists")
    func parts() {
        #expect(Day(year: 2024, month: 2, day: 29) == Day("2024-02-29"))
        for (year, month, day) in [
            (0, 1, 1), (10_000, 1, 1), (2024, 0, 1), (2024, 13, 1), (2024, 1, 0), (2023, 2, 29), (2100, 2, 29),
            (2024, 6, 31), (Int.max, 1, 1), (2024, Int.min, 1), (2024, 1, Int.max),
        ] {
            #expect(Day(year: year, month: month, day: day) == nil)
        }
    }

    @Test("a broken clock is survived")
    func extremes() {
        #expect(Day.inUTC(atUnixSeconds: .min) < Day.inUTC(atUnixSeconds: .max))
        for ordinal in [Int.min, -719_163, 2_932_897, .max] {
            let day = Day(ordinal: ordinal)
            #expect(Day(day.description) == day, "the calendar's first or last day")
            #expect(day.advanced(by: .max).description == "9999-12-31")
            #expect(day.advanced(by: .min).description == "0001-01-01")
            #expect(abs(day.beginsInUTC) < 1 << 40)
        }
    }
}
