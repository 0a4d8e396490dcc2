/// The beginnings of a service's days, and the times at which their rankings appear.
package struct RankingCalendar: Sendable {
    /// Whether rankings change after they have appeared.
    package enum Change: Hashable, Sendable {
        /// A complete ranking does not change and may be cached for good.
        case never
        /// The order keeps following the votes; a ranking is requested again after `after` seconds, then every `then` seconds.
        case settles(after: Int64, then: Int64)
    }

    /// The seconds by which the service's clocks are ahead of UTC when a day begins.
    package let secondsAhead: @Sendable (Day) -> Int64
    /// The seconds from the end of the ranked period to the moment at which the ranking appears.
    package let delay: Int64
    package let change: Change

    /// - Parameters:
    ///   - delay: The delay in seconds, 0 to a few days.
    ///   - change: Whether rankings change after they have appeared.
    ///   - secondsAhead: The offset from UTC at a day's beginning, in seconds; less than a day, and negative west of Greenwich.
    package init(delay: Int64, change: Change, secondsAhead: @escaping @Sendable (Day) -> Int64) {
        self.delay = delay
        self.change = change
        self.secondsAhead = secondsAhead
    }

    /// The moment, in Unix seconds, at which a day begins.
    package func begins(_ day: Day) -> Int64 {
        day.beginsInUTC - secondsAhead(day)
    }

    /// The last day that ended so long before a moment, in Unix seconds, that its ranking has appeared.
    func newest(at seconds: Int64) -> Day {
        let due = seconds.subtracting(saturating: delay)
        let today = Day.inUTC(atUnixSeconds: due)
        // Clocks differ from UTC by less than a day, so the result is one of these days.
        for back in -1...2 {
            let day = today.advanced(by: -back)
            if begins(day.advanced(by: 1)) <= due { return day }
        }
        return today.advanced(by: -2)
    }
}

/// The period of a ranking: the works of one day, week or month.
package enum RankingPeriod: Hashable, Sendable {
    case day
    /// A week from Monday on; the Monday stands for it in names.
    case week
    /// A month from its first day on; the first day stands for it in names.
    case month

    /// The first day of the period that contains a day.
    func first(_ day: Day) -> Day {
        switch self {
        case .day: day
        // 1970-01-01 was a Thursday.
        case .week: day.advanced(by: -(((day.ordinal + 3) % 7 + 7) % 7))
        case .month: day.advanced(by: 1 - day.civil.day)
        }
    }

    /// The first day of the period after that of a day.
    package func next(_ day: Day) -> Day {
        switch self {
        case .day: day.advanced(by: 1)
        case .week: first(day).advanced(by: 7)
        // Any day of the next month: months have 28 to 31.
        case .month: first(first(day).advanced(by: 31))
        }
    }
}

/// The days of one ranking: one a period from the first on, each with a ranking that appears at its time.
package struct RankingDays: Sendable {
    /// The first day that has a ranking.
    package let first: Day
    private let period: RankingPeriod
    private let calendar: RankingCalendar

    /// - Parameters:
    ///   - first: The earliest day; the first whole period from it on counts.
    ///   - period: The ranked period.
    ///   - calendar: The calendar of the service.
    package init(first: Day, period: RankingPeriod, calendar: RankingCalendar) {
        self.first = period.first(first) == first ? first : period.next(first)
        self.period = period
        self.calendar = calendar
    }

    /// Whether rankings change after they have appeared.
    package var change: RankingCalendar.Change { calendar.change }

    /// The newest day with a published ranking at a moment, in Unix seconds, by the calendar.
    package func newest(at seconds: Int64) -> Day {
        period.first(period.first(calendar.newest(at: seconds).advanced(by: 1)).advanced(by: -1))
    }

    /// The moment at which the ranking of a day appears, in Unix seconds.
    package func published(_ day: Day) -> Int64 {
        calendar.begins(period.next(day)) + calendar.delay
    }

    /// The day of the period before that of a day.
    package func before(_ day: Day) -> Day {
        period.first(period.first(day).advanced(by: -1))
    }

    /// Whether a ranking of this day exists or will exist.
    package func contains(_ day: Day) -> Bool {
        day >= first && period.first(day) == day
    }

    /// The published days up to a day, by years and months.
    package func published(to newest: Day) -> PublishedDays {
        PublishedDays(first: first, newest: newest, period: period)
    }
}

// MARK: - Published days

/// The days from a ranking's first to its newest, by years and months.
package struct PublishedDays: Hashable, Sendable {
    package let first: Day
    /// Before `first` if no day is published.
    package let newest: Day
    /// The ranked period; each is represented by one day.
    var period = RankingPeriod.day

    /// The years that have a published day, in order.
    package var years: [Int] {
        first <= newest ? Array(first.civil.year...newest.civil.year) : []
    }

    /// Whether a day is one of the published days.
    package func contains(_ day: Day) -> Bool {
        (first...max(first, newest)).contains(day) && day <= newest && period.first(day) == day
    }

    /// The months of a year that have a published day, 1 to 12, in order.
    package func months(of year: Int) -> [Int] {
        (1...12).filter { newest(of: year, $0) != nil }
    }

    /// The published days of a month, in order.
    package func days(of year: Int, _ month: Int) -> [Day] {
        guard let start = Day(year: year, month: month, day: 1), let last = newest(of: year, month) else { return [] }
        return (max(start, first).ordinal...last.ordinal).map { Day(ordinal: $0) }.filter { period.first($0) == $0 }
    }

    /// The last published day of a month; nil if it has none.
    package func newest(of year: Int, _ month: Int) -> Day? {
        guard let start = Day(year: year, month: month, day: 1) else { return nil }
        // The last month of the calendar has 31 days.
        let next = month < 12 ? Day(year: year, month: month + 1, day: 1) : Day(year: year + 1, month: 1, day: 1)
        let last = period.first(min(next?.advanced(by: -1) ?? start.advanced(by: 30), newest))
        return last >= max(start, first) ? last : nil
    }
}
