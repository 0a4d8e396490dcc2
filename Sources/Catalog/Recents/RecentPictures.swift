package import Rankings

/// A picture that was read, as its path below the mount point, with the time in Unix seconds.
package struct RecentPicture: Hashable, Sendable {
    package let path: String
    package let opened: Int64
    /// The work; nil if it was not noted.
    let work: WorkID?
    /// The page of the work.
    let page: Int
    /// The name of the picture among recent ones, for as long as it is remembered, independent of the other pictures.
    ///
    /// `2026-11-21_daily_001-Title.jpg` of a ranking, `77-Title.jpg` of an author or a search, `77_p0.png` of a work,
    /// `5_001-Title.jpg` of a series.
    package let name: String

    /// The number of remembered pictures: those in a few screens of a file manager.
    static let bound = 100
    /// The longest name of a file in bytes (path_resolution(7)).
    private static let longest = 255

    init(path text: String, opened: Int64, of picture: (work: WorkID, page: Int)? = nil) {
        path = text
        self.opened = opened
        (work, page) = (picture?.work, picture?.page ?? 0)
        let path = TreePath(text)
        name =
            switch path.parent {
            case .day(let mode, let day): "\(day)_\(mode.rawValue)_\(path.name)"
            // Pages of all works have the same names, and so may have first pictures: the name of the directory distinguishes them.
            case .listing(let kind, let subject) where kind.namesArePlaces:
                "\(SafeText.cut(subject, toBytes: Self.longest - path.name.utf8.count - 1))_\(path.name)"
            default: path.name
            }
    }
}

/// The pictures that were read last, newest first: each name once, up to a bound.
extension [RecentPicture] {
    /// - Parameter pictures: Newest first.
    init(stored pictures: [RecentPicture]) {
        self.init(pictures.filter { !$0.name.isEmpty }.uniqued(by: \.name).prefix(RecentPicture.bound))
    }

    /// Moves or inserts a picture at the front.
    mutating func note(_ picture: RecentPicture) {
        removeAll { $0.name == picture.name }
        insert(picture, at: 0)
        removeLast(Swift.max(0, count - RecentPicture.bound))
    }
}

// MARK: - Stored text

/// The subject of a stored text.
struct TextKey: Hashable, Sendable {
    let text: String

    /// The full record of a work, as JSON.
    static func details(_ work: WorkID) -> Self { Self(text: "details/\(work.rawValue)") }
    /// The frames of an animation.
    static func animation(_ work: WorkID) -> Self { Self(text: "animation/\(work.rawValue)") }
    /// A profile, as JSON.
    static func profile(_ author: UserID) -> Self { Self(text: "profile/\(author.rawValue)") }
    /// The reference to an author's picture.
    static func avatar(_ author: UserID) -> Self { Self(text: "avatar/\(author.rawValue)") }
}

/// A text with the times at which it was requested and last changed, in Unix seconds.
package struct StoredText: Hashable, Sendable {
    package var text: String
    package var fetched: Int64
    package var changed: Int64
}

extension StoredText {
    init(_ text: String, now: Int64) {
        self.init(text: text, fetched: now, changed: now)
    }
}

// MARK: - Newest day

/// The known facts of a mode's newest day.
struct NewestDay: Hashable, Sendable {
    /// The newest day that the service has named.
    var day: Day
    /// The time at which the service named it, in Unix seconds; 0 for a day that it never called the newest.
    var asked: Int64
    /// The time of a failed request since then, in Unix seconds; nil after an answer.
    var failed: Int64?

    /// Whether the service must be queried before this day is returned.
    ///
    /// - Parameters:
    ///   - days: The days of the ranking.
    ///   - now: The present time, in Unix seconds.
    /// - Returns: Whether a newer day may have appeared since the last query.
    func mustAsk(_ days: RankingDays, now: Int64) -> Bool {
        let expected = days.newest(at: now)
        guard day != expected else { return false }
        if let failed, Freshness.holds(since: failed, seconds: Freshness.failedSeconds, now: now) { return false }
        // The clock is slow compared with the day that the service named: it cannot determine when the next day appears.
        if day > expected { return !Freshness.holds(since: asked, seconds: Freshness.lateSeconds, now: now) }
        let askedSince = asked <= now && days.newest(at: asked) >= expected
        return !(askedSince && Freshness.holds(since: asked, seconds: Freshness.lateSeconds, now: now))
    }

    /// The last day to list without a request: the calendar's, unless the service was queried since that day was due.
    func listedEnd(_ days: RankingDays, now: Int64) -> Day {
        let expected = days.newest(at: now)
        let latestAsking = max(asked, failed ?? asked)
        // A stored day that stands in for the newest one says nothing of the days after it.
        guard asked > 0, latestAsking <= now else { return max(day, expected) }
        return days.newest(at: latestAsking) >= expected ? day : max(day, expected)
    }
}

/// A mode's newest day, without a request.
package struct RememberedDay: Hashable, Sendable {
    package let day: Day
    /// Whether a request for the newest day would be answered without the service.
    package let isCurrent: Bool

    package init(day: Day, isCurrent: Bool) {
        self.day = day
        self.isCurrent = isCurrent
    }

    /// Nil if the service may have published a day since the last query.
    ///
    /// - Parameters:
    ///   - told: The day that the service named last.
    ///   - days: The days of the ranking.
    ///   - calendarsIsThere: Whether the listing of the newest day that the calendar allows exists: no day is newer then.
    ///   - now: The present time, in Unix seconds.
    init?(_ told: NewestDay?, _ days: RankingDays, calendarsIsThere: Bool, now: Int64) {
        let expected = days.newest(at: now)
        // A day later than the calendar's: the clock is slow.
        if let told, told.day >= expected {
            (day, isCurrent) = (told.day, !told.mustAsk(days, now: now))
        } else if calendarsIsThere {
            (day, isCurrent) = (expected, true)
        } else if let told, !told.mustAsk(days, now: now) || told.listedEnd(days, now: now) == told.day {
            (day, isCurrent) = (told.day, !told.mustAsk(days, now: now))
        } else {
            return nil
        }
    }
}

extension RankingDays {
    /// The days that a mode's directory shows: the recent ones up to `end` and the stored ones, oldest first, each once.
    func listed(to end: Day, recent: Int, stored: some Sequence<Day>) -> [Day] {
        var listed = Set(stored)
        var day = end
        for _ in 0..<max(0, recent) {
            guard day >= first else { break }
            listed.insert(day)
            day = before(day)
        }
        return listed.sorted()
    }
}
