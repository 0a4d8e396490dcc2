import Catalog
import Rankings

/// Tells a file manager that glances at the directories it shows from a person who opens one.
///
/// Nautilus, Caja and Nemo count the entries of every directory that they show: they list it and look up `.hidden` there, just
/// as in one that they open. Dolphin lists them for previews of the first pictures and looks up nothing (seen with each). All
/// begin when they have looked up `.hidden` in the parent, and go from one to the next without a pause. `ls` and `rsync` look
/// up nothing, so what they list is never taken for a glance.
struct LookRecognition: Sendable {
    /// How much of a directory is worth thumbnails.
    enum Extent: Hashable, Sendable {
        /// What a preview of the directory shows.
        case beginning
        case whole
    }

    /// A longer pause ends a round of glances; an answer may be held for two of these seconds.
    static let pause: Duration = .seconds(3)
    /// Parents and directories remembered; when there are more, they are forgotten.
    static let most = 1000

    private struct Round {
        var last: ContinuousClock.Instant
        /// Directories that were looked at for the first time.
        var looks = 0
    }

    /// By the path of the parent.
    private var rounds: [String: Round] = [:]
    private var seen: Set<ListingKey> = []

    /// A desktop looked up `.hidden` in a directory of directories.
    mutating func looked(atParent path: String, now: ContinuousClock.Instant) {
        if rounds.count >= Self.most { rounds = [:] }
        rounds[path] = Round(last: now)
    }

    /// A directory is opened: whether a file manager glances at it, or just opens what it shows.
    mutating func opened(below parent: String, now: ContinuousClock.Instant) -> Bool {
        guard isUnderWay(parent, now) else { return false }
        rounds[parent]?.last = now
        return true
    }

    /// A desktop looked up `.hidden` in a directory of pictures.
    mutating func looked(at key: ListingKey, below parent: String, now: ContinuousClock.Instant) -> Extent {
        if seen.count >= Self.most { seen = [] }
        // Whoever comes back stays; a first look may be an item count, unless it is the first of its round.
        guard seen.insert(key).inserted, isUnderWay(parent, now), let round = rounds[parent] else { return .whole }
        rounds[parent] = Round(last: now, looks: round.looks + 1)
        return round.looks == 0 ? .whole : .beginning
    }

    private func isUnderWay(_ parent: String, _ now: ContinuousClock.Instant) -> Bool {
        rounds[parent].map { $0.last.duration(to: now) < Self.pause } ?? false
    }
}
