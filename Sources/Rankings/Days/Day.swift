/// A calendar day in the years 1 to 9999; the calendar of a source (`RankingCalendar`) defines its beginning and end.
package struct Day: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Days since 1970-01-01.
    package let ordinal: Int

    /// The day a number of days after 1970-01-01, or the first or last day of the calendar for a number beyond it.
    ///
    /// A clock or a damaged database can yield any number; no sum over a day overflows, and its text has ten characters.
    package init(ordinal: Int) {
        self.ordinal = min(max(ordinal, Self.calendar.lowerBound), Self.calendar.upperBound)
    }

    /// The day with this year, month and day of the month in the Gregorian calendar; nil for a day that does not exist.
    ///
    /// Years are 1 to 9999, so that every day has ten characters.
    package init?(year: Int, month: Int, day: Int) {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1,
            day <= Self.length(ofMonth: month, year: year)
        else { return nil }
        ordinal = Self.ordinal(year: year, month: month, day: day)
    }

    package static func < (left: Day, right: Day) -> Bool {
        left.ordinal < right.ordinal
    }

    /// Parses `2024-05-01`, exactly ten characters; nil for anything else, including days that do not exist.
    package init?(_ text: String) {
        let bytes = Array(text.utf8.prefix(11))
        guard bytes.count == 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            let year = Digits.number(bytes[0..<4]), let month = Digits.number(bytes[5..<7]),
            let day = Digits.number(bytes[8..<10])
        else { return nil }
        self.init(year: year, month: month, day: day)
    }

    /// Parses `20240501`.
    package init?(compact text: String) {
        guard text.utf8.count == 8, text.utf8.allSatisfy(\.isDigit) else { return nil }
        self.init("\(text.prefix(4))-\(text.dropFirst(4).prefix(2))-\(text.suffix(2))")
    }

    /// The day as `2024-05-01`.
    package var description: String {
        let (year, month, day) = civil
        return "\(Digits.padded(year, to: 4))-\(Digits.padded(month, to: 2))-\(Digits.padded(day, to: 2))"
    }

    /// The day as `20240501`.
    package var compact: String { description.filter { $0 != "-" } }

    /// Year, month (1 to 12) and day of the month (from 1).
    package var civil: (year: Int, month: Int, day: Int) {
        // Years begin in March here, which puts the leap day last: month lengths are then one straight line.
        let shifted = ordinal + Self.daysFromMarchOfYearZero
        let era = Self.floored(shifted, by: Self.daysPerEra)
        let dayOfEra = shifted - era * Self.daysPerEra
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    /// The day a number of days later, or the last (first) day of the calendar.
    package func advanced(by days: Int) -> Day {
        Day(ordinal: ordinal.adding(saturating: days))
    }

    /// The day in UTC of a moment in Unix seconds.
    package static func inUTC(atUnixSeconds seconds: Int64) -> Day {
        Day(ordinal: floored(Int(seconds), by: Int(secondsPerDay)))
    }

    /// The moment, in Unix seconds, at which this day begins in UTC.
    package var beginsInUTC: Int64 {
        Int64(ordinal) * Self.secondsPerDay
    }

    /// From 0001-01-01 to 9999-12-31.
    private static let calendar = -719_162...2_932_896
    fileprivate static let secondsPerDay: Int64 = 86_400
    /// The calendar repeats after 400 years.
    private static let daysPerEra = 146_097
    /// Days from 0000-03-01 to 1970-01-01.
    private static let daysFromMarchOfYearZero = 719_468

    private static func ordinal(year: Int, month: Int, day: Int) -> Int {
        let marchYear = month <= 2 ? year - 1 : year
        let era = floored(marchYear, by: 400)
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * daysPerEra + dayOfEra - daysFromMarchOfYearZero
    }

    private static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func floored(_ number: Int, by divisor: Int) -> Int {
        let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

/// Numbers in decimal, with leading zeros.
package enum Digits {
    /// The number that some digits of ASCII spell, at most 18 of them; nil for anything else.
    package static func number(_ digits: some Collection<UInt8>) -> Int? {
        guard (1...18).contains(digits.count), digits.allSatisfy(\.isDigit) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    package static func padded(_ number: Int, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}

extension UInt8 {
    /// Whether it is a decimal digit of ASCII.
    package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// Whether it is a letter of ASCII.
    package var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

    /// Whether it is a hexadecimal digit of ASCII, in lower case.
    package var isHexDigit: Bool { isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self) }
}

extension StringProtocol {
    /// Whether it is an MD5 digest: 32 hexadecimal digits in lower case.
    package var isMD5: Bool { utf8.count == 32 && utf8.allSatisfy(\.isHexDigit) }
}

// MARK: - Timestamp

/// Moments as ISO 8601 spells them.
package enum Timestamp {
    /// Unix seconds of `2018-03-14T09:00:00+00:00`; seconds and their fraction may be missing, the offset may be `Z`.
    ///
    /// - Returns: Nil for anything else, including days and times that do not exist.
    package static func seconds(_ text: String) -> Int64? {
        guard text.utf8.count <= longest else { return nil }
        let halves = text.split(separator: "T", omittingEmptySubsequences: false)
        guard halves.count == 2, let day = Day(String(halves[0])),
            let sign = halves[1].firstIndex(where: { $0 == "Z" || $0 == "+" || $0 == "-" }),
            let offset = offset(halves[1][sign...]), let time = time(halves[1][..<sign])
        else { return nil }
        return day.beginsInUTC + Int64(time - offset)
    }

    /// `2018-03-14T09:00:00Z`; nil outside of the years 1 to 9999.
    package static func text(_ seconds: Int64) -> String? {
        let day = Day.inUTC(atUnixSeconds: seconds)
        let second = seconds.subtracting(saturating: day.beginsInUTC)
        guard (0..<Day.secondsPerDay).contains(second) else { return nil }
        let clock = [second / 3600, second / 60 % 60, second % 60].map { Digits.padded(Int($0), to: 2) }
        return "\(day)T\(clock.joined(separator: ":"))Z"
    }

    /// The longest accepted text, in bytes; the longest form with a fraction of nine digits has 35.
    private static let longest = 40

    /// Seconds since midnight of `09:00`, `09:00:00` or `09:00:00.000`.
    private static func time(_ text: Substring) -> Int? {
        let fraction = text.split(separator: ".", omittingEmptySubsequences: false)
        guard fraction.count == 1 || fraction.count == 2 && Int(fraction[1]) != nil else { return nil }
        let parts = fraction[0].split(separator: ":", omittingEmptySubsequences: false).compactMap(twoDigits)
        guard parts.count == 2 || parts.count == 3, fraction[0].utf8.count == parts.count * 3 - 1, parts[0] < 24,
            parts.dropFirst().allSatisfy({ $0 < 60 })
        else { return nil }
        return parts[0] * 3600 + parts[1] * 60 + (parts.count == 3 ? parts[2] : 0)
    }

    /// Seconds ahead of UTC of `Z`, `+09:00` or `+0900`.
    private static func offset(_ text: Substring) -> Int? {
        if text == "Z" { return 0 }
        let digits = text.dropFirst().filter { $0 != ":" }
        guard digits.utf8.count == 4, let hours = twoDigits(digits.prefix(2)),
            let minutes = twoDigits(digits.suffix(2)),
            hours < 24, minutes < 60
        else { return nil }
        return (text.first == "-" ? -1 : 1) * (hours * 3600 + minutes * 60)
    }

    private static func twoDigits(_ text: some StringProtocol) -> Int? {
        text.utf8.count == 2 ? Digits.number(text.utf8) : nil
    }
}
