import Rankings
internal import Synchronization

/// When what is known must be asked again: pure rules over Unix seconds.
enum Freshness {
    /// How long "the service does not have it" holds: the service may publish late, and a mistyped name may be tried twice.
    static let refusalSeconds: Int64 = 300
    /// How long "the newest day is still the one before" holds after the time at which the next appears.
    static let lateSeconds: Int64 = 300
    /// How long a failed asking keeps the older answer: shorter, because a network comes back at any time.
    static let failedSeconds: Int64 = 60
    /// How long a listing stays as it is after reading it anew has failed on the way: hundreds of pages would be asked for again.
    static let unfinishedSeconds: Int64 = 6 * 3600
    /// After how long an author's works are asked again: six hours, a few looks a day.
    static let authorSeconds: Int64 = 6 * 3600

    /// After how long any other listing (a search, bookmarks, followed authors) is asked again: an hour, since they are looked at for
    /// what is new.
    static let searchSeconds: Int64 = 3600

    /// Whether something that happened at `moment` is still within its time.
    ///
    /// A moment in the future (the wall clock was set back) counts as long ago, so that nothing is kept for years.
    static func holds(since moment: Int64, seconds: Int64, now: Int64) -> Bool {
        let (passed, overflows) = now.subtractingReportingOverflow(moment)
        return now >= moment && !overflows && passed < seconds
    }

    /// Whether the calendar alone rules a listing out.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - days: The days of a ranking.
    ///   - newest: The newest day that a ranking can have.
    /// - Returns: True if nobody need be asked.
    static func isImpossible(
        _ key: ListingKey, days: (RankingMode) -> RankingDays, newest: (RankingMode) -> Day
    ) -> Bool {
        switch key {
        case .ranking(let mode, let day):
            !days(mode).contains(day) || day > newest(mode)
        case .search(let words), .artist(let words): !words.text.contains { !$0.isWhitespace }
        default: key.number.map { $0 <= 0 } ?? false
        }
    }

    /// Whether a complete listing can never change: a day older than the newest one, whose works may still be moved for an hour.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - isComplete: Whether no further entry will come.
    ///   - change: Whether the service's rankings change after they have appeared.
    ///   - newest: The newest day that its mode can have.
    /// - Returns: True if it may be cached for good.
    static func isFrozen(
        _ key: ListingKey, isComplete: Bool, change: RankingCalendar.Change, newest: (RankingMode) -> Day
    ) -> Bool {
        guard isComplete, change == .never, case .ranking(let mode, let day) = key else { return false }
        return day < newest(mode)
    }

    /// Whether a listing that is there should be compared with the service's before it is shown.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - fetched: When the service was asked for it, in Unix seconds.
    ///   - days: The days of a ranking.
    ///   - now: Unix seconds.
    /// - Returns: True if it may have changed.
    static func needsRefresh(
        _ key: ListingKey, fetched: Int64, days: (RankingMode) -> RankingDays, now: Int64
    ) -> Bool {
        switch key {
        case .ranking(let mode, let day): mayHaveChanged(day, days(mode), fetched: fetched, now: now)
        case .author, .artist, .work: !holds(since: fetched, seconds: authorSeconds, now: now)
        default: !holds(since: fetched, seconds: searchSeconds, now: now)
        }
    }

    /// Whether the ranking of a day may have changed since the service was asked for it.
    private static func mayHaveChanged(_ day: Day, _ days: RankingDays, fetched: Int64, now: Int64) -> Bool {
        switch days.change {
        case .never: return false
        case .settles(let age, let interval):
            let (settled, overflows) = days.published(day).addingReportingOverflow(age)
            guard !overflows, now >= settled else { return false }
            return fetched < settled || !holds(since: fetched, seconds: interval, now: now)
        }
    }
}

// MARK: - Pauses

/// What is not asked for again for a while, because the service refused it or did not answer.
///
/// ## Concurrency
///
/// Any thread may call; takes a lock for microseconds.
final class Pauses<Key: Hashable & Sendable>: Sendable {
    /// Pauses remembered at most; a program that tries names by the thousand only asks again sooner.
    static var bound: Int { 4096 }

    /// How long each lasts.
    private let seconds: Int64
    /// When each began, in Unix seconds.
    private let begun = Mutex<[Key: Int64]>([:])

    init(seconds: Int64) {
        self.seconds = seconds
    }

    /// How many are remembered, also of those that are over.
    var count: Int { begun.withLock { $0.count } }

    /// Whether a key is not to be asked for now.
    ///
    /// - Parameters:
    ///   - key: What would be asked for.
    ///   - now: Unix seconds.
    /// - Returns: False once its pause is over, and whenever the clock says that it has not begun.
    func holds(_ key: Key, now: Int64) -> Bool {
        guard let moment = begun.withLock({ $0[key] }) else { return false }
        return Freshness.holds(since: moment, seconds: seconds, now: now)
    }

    /// Begins a pause, in Unix seconds; one that was under way begins anew.
    func begin(_ key: Key, now: Int64) {
        begun.withLock { begun in
            if begun.count >= Self.bound {
                begun = begun.filter { Freshness.holds(since: $0.value, seconds: seconds, now: now) }
                if begun.count >= Self.bound { begun = [:] }
            }
            begun[key] = now
        }
    }

    /// Ends a pause: the next one who asks is heard.
    func end(_ key: Key) {
        begun.withLock { $0[key] = nil }
    }
}
