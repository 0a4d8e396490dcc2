import Rankings

/// The clock of New York, by which Danbooru counts days.
///
/// Summer time is from the second Sunday of March to the first of November; until 2006 it was from the first Sunday of April
/// to the last of October (Energy Policy Act of 2005, section 110). Clocks change at two in the morning.
enum ServedEasternTime {
    /// Seconds to add to UTC.
    static func offset(at seconds: Int64) -> Int64 {
        let year = Day.inUTC(atUnixSeconds: seconds).civil.year
        guard let (begin, end) = summer(of: year) else { return -standard }
        return (begin..<end).contains(seconds) ? hour - standard : -standard
    }

    /// When a day begins, in Unix seconds.
    static func begin(of day: Day) -> Int64 {
        let midnight = day.beginsInUTC + standard
        return offset(at: midnight) == -standard ? midnight : midnight - hour
    }

    /// The day of a moment.
    static func day(at seconds: Int64) -> Day {
        Day.inUTC(atUnixSeconds: seconds + offset(at: seconds))
    }

    /// As Rails writes a moment, from Unix milliseconds: `2026-09-27T14:53:48.533-04:00`.
    static func iso(_ milliseconds: Int64) -> String {
        let seconds = milliseconds / 1000
        let offset = offset(at: seconds)
        let local = seconds + offset
        let day = Day.inUTC(atUnixSeconds: local)
        let rest = local - day.beginsInUTC
        let clock = [rest / 3600, rest / 60 % 60, rest % 60].map { padded($0, to: 2) }.joined(separator: ":")
        return "\(day)T\(clock).\(padded(milliseconds % 1000, to: 3))-\(padded(-offset / hour, to: 2)):00"
    }

    // MARK: -

    private static let hour: Int64 = 3600
    private static let standard: Int64 = 5 * hour

    private static func summer(of year: Int) -> (Int64, Int64)? {
        let isNew = year >= 2007
        guard let spring = Day(year: year, month: isNew ? 3 : 4, day: isNew ? 8 : 1),
            let autumn = Day(year: year, month: isNew ? 11 : 10, day: isNew ? 1 : 25)
        else { return nil }
        // two o'clock of standard time, two o'clock of summer time
        return (sunday(from: spring).beginsInUTC + 7 * hour, sunday(from: autumn).beginsInUTC + 6 * hour)
    }

    /// The first Sunday from a day on; 1970-01-01 was a Thursday.
    private static func sunday(from day: Day) -> Day {
        day.advanced(by: (3 - day.ordinal % 7 + 7) % 7)
    }

    private static func padded(_ number: Int64, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
