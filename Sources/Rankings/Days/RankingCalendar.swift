/// Where a service's days begin, and when the ranking of one appears.
package struct RankingCalendar: Sendable {
    /// Whether rankings change after they have appeared.
    package enum Change: Hashable, Sendable {
        /// A complete ranking is what it was, and may be cached for good.
        case never
        /// Their order goes on following the votes: one is asked for again when it is so many seconds old, and from then on at
        /// intervals of so many seconds.
        case settles(after: Int64, then: Int64)
    }

    /// By how many seconds the service's clocks are ahead of UTC when a day begins.
    package let secondsAhead: @Sendable (Day) -> Int64
    /// Seconds from the end of what is ranked to the moment at which the ranking appears.
    package let delay: Int64
    package let change: Change

    /// - Parameters:
    ///   - delay: Seconds, 0 to a few days.
    ///   - change: Whether rankings change later.
    ///   - secondsAhead: For a day's beginning; less than a day, and negative west of Greenwich.
    package init(delay: Int64, change: Change, secondsAhead: @escaping @Sendable (Day) -> Int64) {
        self.delay = delay
        self.change = change
        self.secondsAhead = secondsAhead
    }

    /// The moment, in Unix seconds, at which a day begins.
    package func begins(_ day: Day) -> Int64 {
        day.beginsInUTC - secondsAhead(day)
    }

    /// The last day that is over for so long at a moment, in Unix seconds, that its ranking is out.
    func newest(at seconds: Int64) -> Day {
        let (due, overflows) = seconds.subtractingReportingOverflow(delay)
        let today = Day.inUTC(atUnixSeconds: overflows ? .min : due)
        // Clocks differ by less than a day, so that it is one of these.
        for back in -1...2 {
            let day = today.advanced(by: -back)
            if begins(day.advanced(by: 1)) <= due { return day }
        }
        return today.advanced(by: -2)
    }
}

/// What a ranking ranks: the works of one day, week or month.
package enum RankingPeriod: Hashable, Sendable {
    case day
    /// From Monday on, which stands for it in names.
    case week
    /// From the first on, which stands for it in names.
    case month

    /// The first day of the period that a day is in.
    func first(_ day: Day) -> Day {
        switch self {
        case .day: day
        // 1970-01-01 was a Thursday.
        case .week: day.advanced(by: -(((day.ordinal + 3) % 7 + 7) % 7))
        case .month: day.advanced(by: 1 - day.civil.day)
        }
    }

    /// The first day of the period after the one that a day is in.
    package func next(_ day: Day) -> Day {
        switch self {
        case .day: day.advanced(by: 1)
        case .week: first(day).advanced(by: 7)
        // Any day of the next month: months have 28 to 31.
        case .month: first(first(day).advanced(by: 31))
        }
    }
}

/// The days of one ranking: from the first that there is, one a period, each of which appears at its time.
package struct RankingDays: Sendable {
    /// The first one.
    package let first: Day
    private let period: RankingPeriod
    private let calendar: RankingCalendar

    /// - Parameters:
    ///   - first: The first day; the first whole period from it on counts.
    ///   - period: What is ranked.
    ///   - calendar: The service's.
    package init(first: Day, period: RankingPeriod, calendar: RankingCalendar) {
        self.first = period.first(first) == first ? first : period.next(first)
        self.period = period
        self.calendar = calendar
    }

    /// Whether rankings change after they have appeared.
    package var change: RankingCalendar.Change { calendar.change }

    /// The newest one that is out at a moment, in Unix seconds, by the calendar.
    package func newest(at seconds: Int64) -> Day {
        period.first(period.first(calendar.newest(at: seconds).advanced(by: 1)).advanced(by: -1))
    }

    /// The moment at which the ranking of a day appears, in Unix seconds.
    package func published(_ day: Day) -> Int64 {
        calendar.begins(period.next(day)) + calendar.delay
    }

    /// The one before a day.
    package func before(_ day: Day) -> Day {
        period.first(period.first(day).advanced(by: -1))
    }

    /// Whether there is, or will be, a ranking of this name.
    package func contains(_ day: Day) -> Bool {
        day >= first && period.first(day) == day
    }

    /// Those up to a day, by years and months.
    package func published(to newest: Day) -> PublishedDays {
        PublishedDays(first: first, newest: newest, period: period)
    }
}

// MARK: - Published days

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
