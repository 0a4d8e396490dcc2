import Rankings

/// The days that somebody reached through `by-date/` lately: file managers know the pictures by that path then, and look for
/// thumbnails under it.
///
/// A pure state machine: it knows no clock.
struct DatedWays: Sendable {
    private struct Way: Hashable {
        let mode: RankingMode
        let day: Day
    }

    /// How long a way is remembered after the last step on it: each path that a program opens behind a link is one.
    static let memory: Duration = .seconds(600)
    /// Ways remembered; a program that reads all links of a month (`ls -l`) takes them all.
    static let most = 64

    private var steps: [Way: ContinuousClock.Instant] = [:]

    var remembered: Int { steps.count }

    /// Somebody read the link to a day.
    mutating func note(_ mode: RankingMode, _ day: Day, now: ContinuousClock.Instant) {
        let way = Way(mode: mode, day: day)
        if steps[way] == nil, steps.count >= Self.most, let oldest = steps.min(by: { $0.value < $1.value }) {
            steps[oldest.key] = nil
        }
        steps[way] = now
    }

    /// Whether somebody goes to a day that way.
    func holds(_ mode: RankingMode, _ day: Day, now: ContinuousClock.Instant) -> Bool {
        steps[Way(mode: mode, day: day)].map { $0.duration(to: now) < Self.memory } ?? false
    }
}
