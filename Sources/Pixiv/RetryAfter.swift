package import HTTP
import Rankings

/// How long a service asks to be left alone (RFC 9110, 10.2.3).
package enum RetryAfter {
    /// Seconds from 1 to `Limits.longestPause`; nil if the answer names none that can be understood.
    ///
    /// The header holds seconds or a date; a date is compared with the answer's own `Date`, so that the clock here plays no part.
    package static func seconds(_ head: HTTPHead) -> Int64? {
        guard let text = head["retry-after"] else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return bounded(Int64(text) ?? .max)
        }
        guard let end = HTTPDate.unixSeconds(text), let now = head["date"].flatMap(HTTPDate.unixSeconds) else {
            return nil
        }
        return bounded(end - now)
    }

    private static func bounded(_ seconds: Int64) -> Int64 {
        min(max(seconds, 1), Limits.longestPause)
    }
}

/// Dates in headers (RFC 9110, 5.6.7), in the one form that is sent today: `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    static func unixSeconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard text.utf8.count <= 40, words.count == 6, words[5] == "GMT", let day = Int(words[1]),
            let month = months.firstIndex(of: String(words[2])), let year = Int(words[3]),
            let date = Day(year: year, month: month + 1, day: day)
        else { return nil }
        let clock = words[4].split(separator: ":").compactMap { Int($0) }
        guard clock.count == 3, (0..<24).contains(clock[0]), (0..<60).contains(clock[1]), (0...60).contains(clock[2])
        else { return nil }
        return Int64(date.ordinal) * 86_400 + Int64(clock[0] * 3600 + clock[1] * 60 + clock[2])
    }
}
