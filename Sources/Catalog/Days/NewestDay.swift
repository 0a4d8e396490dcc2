package import Rankings

/// What is known of a mode's newest day.
struct NewestDay: Hashable, Sendable {
    /// The newest day that the service has named.
    var day: Day
    /// When it named it, in Unix seconds.
    var asked: Int64
    /// When asking failed since; nil after an answer.
    var failed: Int64?

    /// Whether the service must be asked before this is given as the answer.
    ///
    /// - Parameters:
    ///   - days: The ranking's.
    ///   - now: Unix seconds.
    /// - Returns: Whether a newer day may have appeared since it was asked.
    func mustAsk(_ days: RankingDays, now: Int64) -> Bool {
        let expected = days.newest(at: now)
        guard day != expected else { return false }
        if let failed, Freshness.holds(since: failed, seconds: Freshness.failedSeconds, now: now) { return false }
        // The clock is behind what the service named: it cannot tell when the next day appears.
        if day > expected { return !Freshness.holds(since: asked, seconds: Freshness.lateSeconds, now: now) }
        let askedSince = asked <= now && days.newest(at: asked) >= expected
        return !(askedSince && Freshness.holds(since: asked, seconds: Freshness.lateSeconds, now: now))
    }

    /// The last of the days to list without asking: the calendar's, unless the service was asked since that one was due.
    func listedEnd(_ days: RankingDays, now: Int64) -> Day {
        let expected = days.newest(at: now)
        let latestAsking = max(asked, failed ?? asked)
        guard latestAsking <= now else { return max(day, expected) }
        return days.newest(at: latestAsking) >= expected ? day : max(day, expected)
    }
}

/// A mode's newest day without asking anybody.
package struct RememberedDay: Hashable, Sendable {
    package let day: Day
    /// Whether asking for it would not ask the service.
    package let isCurrent: Bool

    package init(day: Day, isCurrent: Bool) {
        self.day = day
        self.isCurrent = isCurrent
    }

    /// Nil if the service may have published a day since it was asked.
    ///
    /// - Parameters:
    ///   - told: What the service named last.
    ///   - days: The ranking's.
    ///   - calendarsIsThere: Whether the listing of the newest day that the calendar allows is here: then none is newer.
    ///   - now: Unix seconds.
    init?(_ told: NewestDay?, _ days: RankingDays, calendarsIsThere: Bool, now: Int64) {
        let expected = days.newest(at: now)
        // Later than the calendar's: the clock is behind.
        if let told, told.day >= expected {
            (day, isCurrent) = (told.day, !told.mustAsk(days, now: now))
        } else if calendarsIsThere {
            (day, isCurrent) = (expected, true)
        } else if let told, told.listedEnd(days, now: now) == told.day {
            (day, isCurrent) = (told.day, !told.mustAsk(days, now: now))
        } else {
            return nil
        }
    }
}

/// Which days a mode's directory shows.
enum ListedDays {
    /// The recent days up to `end` and the stored ones, oldest first, each once.
    static func days(_ days: RankingDays, end: Day, recent: Int, stored: some Sequence<Day>) -> [Day] {
        var listed = Set(stored)
        var day = end
        for _ in 0..<max(0, recent) {
            guard day >= days.first else { break }
            listed.insert(day)
            day = days.before(day)
        }
        return listed.sorted()
    }
}
