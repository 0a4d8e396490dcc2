/// The days from a ranking's first to its newest, by years and months.
package struct PublishedDays: Hashable, Sendable {
    package let first: Day
    package let newest: Day
    private let period: RankingPeriod

    /// - Parameters:
    ///   - first: The first day.
    ///   - newest: The newest day; before the first one if there is none.
    ///   - period: What each ranks, so that only one day a period stands for it.
    package init(first: Day, newest: Day, period: RankingPeriod = .day) {
        self.first = first
        self.newest = newest
        self.period = period
    }

    /// The years that have a day, in order.
    package var years: [Int] {
        first <= newest ? Array(first.civil.year...newest.civil.year) : []
    }

    /// Whether a day is one of them.
    package func contains(_ day: Day) -> Bool {
        (first...max(first, newest)).contains(day) && day <= newest && period.first(day) == day
    }

    /// The months of a year that have a day, 1 to 12, in order.
    package func months(of year: Int) -> [Int] {
        (1...12).filter { newest(of: year, $0) != nil }
    }

    /// The days of a month, in order.
    package func days(of year: Int, _ month: Int) -> [Day] {
        guard let start = Day(year: year, month: month, day: 1), let last = newest(of: year, month) else { return [] }
        return (max(start, first).ordinal...last.ordinal).map { Day(ordinal: $0) }.filter { period.first($0) == $0 }
    }

    /// The last day of a month that is published; nil if none is.
    package func newest(of year: Int, _ month: Int) -> Day? {
        guard let start = Day(year: year, month: month, day: 1) else { return nil }
        // The last month of the calendar has 31 days.
        let next = month < 12 ? Day(year: year, month: month + 1, day: 1) : Day(year: year + 1, month: 1, day: 1)
        let last = period.first(min(next?.advanced(by: -1) ?? start.advanced(by: 30), newest))
        return last >= max(start, first) ? last : nil
    }
}
