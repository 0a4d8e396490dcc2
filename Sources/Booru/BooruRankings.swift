package import Rankings

/// The rankings that every image board can be asked for: the best of a day, week and month by score.
package enum BooruRankings {
    /// The rankings of a board whose first posts are of a day.
    package static func all(from day: Day) -> [RankingFacts] {
        [("day", RankingPeriod.day), ("week", .week), ("month", .month)].compactMap { name, period in
            RankingMode(rawValue: name).map { RankingFacts($0, firstDay: day, period: period) }
        }
    }

    /// What there is besides: nobody signs in, and artists are names alone.
    package static let abilities: Set<SourceAbility> = [.artists, .origins, .works, .search]
}
