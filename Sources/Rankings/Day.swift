/// A day of the service's calendar (Japan Standard Time).
package struct Day: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Days since 1970-01-01.
    package let ordinal: Int

    package init(ordinal: Int) {
        self.ordinal = ordinal
    }

    package static func < (left: Day, right: Day) -> Bool {
        left.ordinal < right.ordinal
    }

    /// Parses `2024-05-01`, exactly ten characters; nil for anything else, also for days that do not exist.
    package init?(_ text: String) {
        fatalError("written by the owner of Rankings: \(text)")
    }

    /// Parses `20240501`.
    package init?(compact text: String) {
        fatalError("written by the owner of Rankings: \(text)")
    }

    /// `2024-05-01`
    package var description: String {
        fatalError("written by the owner of Rankings")
    }

    /// `20240501`
    package var compact: String {
        fatalError("written by the owner of Rankings")
    }

    /// The first day that the service has a ranking for: 2007-09-13 (reference/pixiv-api.md, "When a day appears").
    package static func first(of mode: RankingMode) -> Day {
        fatalError("written by the owner of Rankings: \(mode)")
    }

    /// The newest day published at a moment: yesterday's ranking appears at 12:00 JST, so it is (now at UTC-3) - 1.
    package static func newestPublished(atUnixSeconds seconds: Int64) -> Day {
        fatalError("written by the owner of Rankings: \(seconds)")
    }

    package func advanced(by days: Int) -> Day {
        Day(ordinal: ordinal + days)
    }
}
