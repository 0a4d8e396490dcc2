/// The value of `Retry-After`: seconds or a date (RFC 9110 section 10.2.3).
package enum RetryAfter: Hashable, Sendable {
    case seconds(Int64)
    /// In Unix seconds.
    case date(Int64)

    /// The longest wait taken from a server, in seconds: one hour, because a larger number is more often a mistake than a wish.
    package static let longest: Int64 = 3_600

    /// Parses a value; nil if it is neither a number nor a date.
    init?(_ text: String) {
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            // Too many digits for a number is still "very long".
            self = .seconds(Int64(text) ?? Self.longest)
        } else if let date = HTTPDate.seconds(from: text) {
            self = .date(date)
        } else {
            return nil
        }
    }

    /// Whole seconds to wait from `now`, in Unix seconds, between 0 and `longest`; a date in the past is 0.
    func wait(from now: Int64) -> Int64 {
        switch self {
        case .seconds(let seconds): return min(seconds, Self.longest)
        case .date(let date):
            let (left, overflows) = date.subtractingReportingOverflow(now)
            return overflows ? Self.longest : min(max(left, 0), Self.longest)
        }
    }
}
