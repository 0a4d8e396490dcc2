/// The `Retry-After` header: seconds or a date (RFC 9110, 10.2.3).
package enum RetryAfter {
    /// The longest wait taken from a server, in seconds: one hour, because a larger number is more often a mistake than a wish.
    package static let longest: Int64 = 3_600

    /// The pause that an answer asks for, in seconds from 1 to `longest`; nil if it asks for none that can be understood.
    ///
    /// A date is compared with the answer's own, so that a wrong clock here plays no part.
    package static func asked(by head: HTTPHead, now: Int64) -> Int64? {
        guard let text = head["retry-after"] else { return nil }
        let date = head["date"].flatMap { HTTPDate.seconds(from: $0) }
        return seconds(from: text, now: date ?? now).map { max($0, 1) }
    }

    /// Seconds to wait from `now`, between 0 and `longest`; nil if the text is neither a number nor a date.
    ///
    /// - Parameters:
    ///   - text: The value of the header.
    ///   - now: Wall clock in Unix seconds, for the date form.
    /// - Returns: Whole seconds; a date in the past is 0.
    package static func seconds(from text: String, now: Int64) -> Int64? {
        let trimmed = text.utf8.drop { $0 == UInt8(ascii: " ") }
        let digits = trimmed.prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        let rest = trimmed.dropFirst(digits.count)
        if !digits.isEmpty, rest.allSatisfy({ $0 == UInt8(ascii: " ") }) {
            // Too many digits for a number is still "very long".
            return min(Int64(String(Substring(digits))) ?? longest, longest)
        }
        guard let date = HTTPDate.seconds(from: String(Substring(trimmed))) else { return nil }
        let (left, overflows) = date.subtractingReportingOverflow(now)
        return overflows ? longest : min(max(left, 0), longest)
    }
}
