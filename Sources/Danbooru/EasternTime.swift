package import Rankings

/// Time on the east coast of the United States, by which the service counts days (its configuration's `time_zone`).
package enum EasternTime {
    /// Seconds ahead of UTC when a day begins: five hours behind, four in summer time.
    ///
    /// From 1987 on: summers before that began at other times, and the service has no posts of them.
    package static func secondsAhead(_ day: Day) -> Int64 {
        isSummerTime(day) ? -4 * 3600 : -5 * 3600
    }

    /// Whether clocks are an hour ahead when a day begins.
    ///
    /// Clocks change at two in the morning: from the second Sunday in March to the first in November since 2007 (Energy Policy Act
    /// of 2005, section 110), before that from the first Sunday in April to the last in October (Public Law 99-359).
    private static func isSummerTime(_ day: Day) -> Bool {
        let year = day.civil.year
        let (beginning, end) =
            year >= 2007
            ? (sunday(year, month: 3, from: 8), sunday(year, month: 11, from: 1))
            : (sunday(year, month: 4, from: 1), sunday(year, month: 10, from: 25))
        guard let beginning, let end else { return false }
        return day > beginning && day <= end
    }

    /// The first Sunday from a day on.
    private static func sunday(_ year: Int, month: Int, from day: Int) -> Day? {
        guard let day = Day(year: year, month: month, day: day) else { return nil }
        // 1970-01-01 was a Thursday.
        return day.advanced(by: 6 - ((day.ordinal + 3) % 7 + 7) % 7)
    }
}
