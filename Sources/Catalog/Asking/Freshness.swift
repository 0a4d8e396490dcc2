import Rankings
internal import Synchronization

/// The moments at which known facts become stale: pure rules over Unix seconds.
enum Freshness {
    /// The seconds for which a refusal holds: the service may publish late, and a mistyped name may be tried twice.
    static let refusalSeconds: Int64 = 300
    /// The seconds for which "the newest day is still the one before" holds after the time at which the next day appears.
    static let lateSeconds: Int64 = 300
    /// The seconds for which a failed request keeps the older answer: fewer, because a network comes back at any time.
    static let failedSeconds: Int64 = 60
    /// The seconds for which a listing stays as it is after a failed rereading: hundreds of pages would be requested again.
    static let unfinishedSeconds: Int64 = 6 * 3600
    /// The seconds after which an end that contradicts a stored list is believed if it has come again.
    static let doubtSeconds: Int64 = 3600
    /// The seconds after which an author's profile is stale: six hours, for a few requests a day.
    static let profileSeconds: Int64 = 6 * 3600

    /// The seconds for which the record of a work is not requested again because a picture of it is gone: most are deleted works.
    static let renewalSeconds: Int64 = 24 * 3600

    /// Whether an event at `moment` is still within its time.
    ///
    /// A moment in the future (the wall clock was set back) counts as long ago, so that nothing is kept for years.
    static func holds(since moment: Int64, seconds: Int64, now: Int64) -> Bool {
        now >= moment && now.subtracting(saturating: moment) < seconds
    }

    /// Whether the calendar alone rules a listing out.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - days: The days of a ranking.
    ///   - newest: The newest day that a ranking can have.
    /// - Returns: True if no request is needed.
    static func isImpossible(
        _ key: ListingKey, days: (RankingMode) -> RankingDays, newest: (RankingMode) -> Day
    ) -> Bool {
        switch key.subject {
        case .day(let mode, let day): day.map { !days(mode).contains($0) || $0 > newest(mode) } ?? false
        case .name(let words): !words.text.contains { !$0.isWhitespace }
        case .number(let number): number <= 0
        }
    }

    /// Whether a complete listing can never change: a day before the newest; works of the newest day may still move for an hour.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - isComplete: Whether no further entry will come.
    ///   - change: Whether the service's rankings change after they have appeared.
    ///   - newest: The newest day that the listing's mode can have.
    /// - Returns: True if the listing may be cached for good.
    static func isFrozen(
        _ key: ListingKey, isComplete: Bool, change: RankingCalendar.Change, newest: (RankingMode) -> Day
    ) -> Bool {
        guard isComplete, change == .never, let (mode, day) = key.ranking else { return false }
        return day < newest(mode)
    }

    /// Whether a loaded or stored listing should be compared with the service's before it is shown.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - isEmpty: Whether it has no entry.
    ///   - fetched: The time of the last request to the service for it, in Unix seconds.
    ///   - days: The days of a ranking.
    ///   - now: The present time, in Unix seconds.
    /// - Returns: True if it may have changed.
    static func needsRefresh(
        _ key: ListingKey, isEmpty: Bool = false, fetched: Int64, days: (RankingMode) -> RankingDays, now: Int64
    ) -> Bool {
        switch key.kind.facts.freshness {
        // A service that limits searches finds nothing for some minutes.
        case .seconds where isEmpty && key.kind == .search: !holds(since: fetched, seconds: lateSeconds, now: now)
        case .calendar:
            key.ranking.map { mayHaveChanged($0.day, days($0.mode), fetched: fetched, now: now) } ?? false
        case .seconds(let seconds): !holds(since: fetched, seconds: seconds, now: now)
        }
    }

    /// Whether the ranking of a day may have changed since the service was last queried for it.
    private static func mayHaveChanged(_ day: Day, _ days: RankingDays, fetched: Int64, now: Int64) -> Bool {
        switch days.change {
        case .never: return false
        case .settles(let age, let interval):
            let settled = days.published(day) + age
            return now >= settled && (fetched < settled || !holds(since: fetched, seconds: interval, now: now))
        }
    }
}

// MARK: - Pauses

/// Keys that are not requested again for a while, because the service refused them or did not answer.
///
/// ## Concurrency
///
/// Any thread may call; takes a lock for microseconds.
final class Pauses<Key: Hashable & Sendable>: Sendable {
    /// The most pauses that are remembered; a program that tries thousands of names merely repeats its requests sooner.
    static var bound: Int { 4096 }

    /// The duration of each pause.
    private let seconds: Int64
    /// The beginning of each pause, in Unix seconds.
    private let begun = Mutex<[Key: Int64]>([:])

    init(seconds: Int64) {
        self.seconds = seconds
    }

    /// The number of remembered pauses, including those that are over.
    var count: Int { begun.withLock { $0.count } }

    /// Whether a key must not be requested now.
    ///
    /// - Parameters:
    ///   - key: The key of the possible request.
    ///   - now: The present time, in Unix seconds.
    /// - Returns: False once the pause is over, and whenever the clock is before its beginning.
    func holds(_ key: Key, now: Int64) -> Bool {
        guard let moment = begun.withLock({ $0[key] }) else { return false }
        return Freshness.holds(since: moment, seconds: seconds, now: now)
    }

    /// Begins a pause after a failed request; one that its last waiter gave up shows nothing about the service.
    func begin(_ key: Key, after error: Failure, now: Int64) {
        if error != .cancelled { begin(key, now: now) }
    }

    /// Begins a pause at `now`, in Unix seconds; a pause under way begins anew.
    func begin(_ key: Key, now: Int64) {
        begun.withLock { begun in
            if begun.count >= Self.bound {
                begun = begun.filter { Freshness.holds(since: $0.value, seconds: seconds, now: now) }
                if begun.count >= Self.bound { begun = [:] }
            }
            begun[key] = now
        }
    }

    /// Ends a pause: the next request is sent.
    func end(_ key: Key) {
        begun.withLock { $0[key] = nil }
    }
}
