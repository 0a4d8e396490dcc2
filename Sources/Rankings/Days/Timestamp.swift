/// Moments as ISO 8601 spells them.
package enum Timestamp {
    /// Unix seconds of `2018-03-14T09:00:00+00:00`; seconds and their fraction may be missing, the offset may be `Z`.
    ///
    /// - Returns: Nil for anything else, also for days and times that do not exist.
    package static func seconds(_ text: String) -> Int64? {
        guard text.utf8.count <= longest else { return nil }
        let halves = text.split(separator: "T", omittingEmptySubsequences: false)
        guard halves.count == 2, let day = Day(String(halves[0])),
            let sign = halves[1].firstIndex(where: { $0 == "Z" || $0 == "+" || $0 == "-" }),
            let offset = offset(halves[1][sign...]), let time = time(halves[1][..<sign])
        else { return nil }
        return Int64(day.ordinal) * secondsPerDay + Int64(time - offset)
    }

    /// `2018-03-14T09:00:00Z`; nil outside of the years 1 to 9999.
    package static func text(_ seconds: Int64) -> String? {
        var (ordinal, second) = seconds.quotientAndRemainder(dividingBy: secondsPerDay)
        if second < 0 {
            ordinal -= 1
            second += secondsPerDay
        }
        guard days.contains(ordinal) else { return nil }
        let clock = [second / 3600, second / 60 % 60, second % 60].map { Digits.padded(Int($0), to: 2) }
        return "\(Day(ordinal: Int(ordinal)))T\(clock.joined(separator: ":"))Z"
    }

    private static let secondsPerDay: Int64 = 86_400
    /// From 0001-01-01 to 9999-12-31: years of four digits.
    private static let days: ClosedRange<Int64> = -719_162...2_932_896
    /// Bytes; the longest form with a fraction of nine digits has 35.
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
        guard text.utf8.count == 2, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int(text)
    }
}
