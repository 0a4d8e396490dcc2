import Rankings

/// The times for which an answer to another machine is fresh.
enum AnswerAge {
    /// The seconds after its publication in which a day may still be corrected.
    static let moving: Int64 = 3600
    /// The seconds after which a changeable answer is requested again.
    static let changing: Int64 = 600
    /// The seconds for which the newest day is fresh: the next one may be late.
    static let newest: Int64 = 300
    /// The seconds for which profiles of authors are fresh: as long as a mount keeps them.
    static let profile: Int64 = 6 * 3600
    /// The seconds for which records of works are fresh.
    static let record: Int64 = 30 * 86_400
    /// The most seconds by which the object store's clock may differ between answers, as different machines read it.
    static let apart: Int64 = 60

    /// Returns whether a part of a listing, as requested at `asked`, is still fresh at `now`; a list is for as long as a mount
    /// keeps it.
    static func isFresh(
        _ listing: ListingKey, _ days: (RankingMode) -> RankingDays, asked: Int64, now: Int64
    ) -> Bool {
        switch listing.kind.facts.freshness {
        case .calendar: listing.ranking.map { isFresh($0.day, days($0.mode), asked: asked, now: now) } ?? false
        case .seconds(let seconds): holds(asked, seconds, now)
        }
    }

    /// Returns whether the ranking of a day, as requested at `asked`, is still fresh at `now`.
    static func isFresh(_ day: Day, _ days: RankingDays, asked: Int64, now: Int64) -> Bool {
        guard !isFuture(asked, now) else { return false }
        let published = days.published(day)
        let isQuiet = asked >= published + moving || holds(asked, changing, now)
        guard case .settles(let age, let interval) = days.change, now >= published + age else { return isQuiet }
        return asked >= published + age && holds(asked, interval, now)
    }

    /// Returns whether fewer than `seconds` have passed; a time in the future is not fresh, so that no answer is kept for years.
    static func holds(_ asked: Int64, _ seconds: Int64, _ now: Int64) -> Bool {
        !isFuture(asked, now) && now.subtracting(saturating: asked) < seconds
    }

    /// Returns whether a time is in the future, by more than the clocks may differ.
    static func isFuture(_ asked: Int64, _ now: Int64) -> Bool {
        asked.subtracting(saturating: now) > apart
    }

    /// Returns the newest day that a service can have published at a time: it may be a day ahead of its own calendar.
    static func newestDay(_ days: RankingDays, at now: Int64) -> Day {
        days.newest(at: now.adding(saturating: 86_400))
    }
}
