internal import Synchronization
import Rankings

/// What a catalog knows without asking the database.
struct Known: Sendable {
    var stored: Set<ListingKey>
    var newest: [RankingMode: NewestDay]
    /// How many pictures' sizes are stored.
    var sizes: Int
    var recent: RecentPictures
    /// The works of recent pictures, by path; those that were asked for.
    var seen: [String: SeenWork] = [:]
    /// Questions that showing originals cost: to the image host, to the service.
    var originalQuestions = (host: 0, service: 0)
    /// When the service said that a listing does not exist, in Unix seconds.
    var refused: [ListingKey: Int64] = [:]
    /// When refreshing a listing failed, in Unix seconds.
    var refreshFailed: [ListingKey: Int64] = [:]
    /// When asking again for a stored text failed, in Unix seconds.
    var textFailed: [TextKey: Int64] = [:]
    /// Works that were told to have no original.
    var missing: Set<WorkID> = []
    /// Pictures whose told size a download contradicted: headers may tell it again.
    var doubted: Set<PictureID> = []

    /// How much work in the background was begun.
    var errands: UInt64 = 0

    /// A number that no other work in the background has.
    mutating func nextErrand() -> UInt64 {
        errands &+= 1
        return errands
    }

    /// The newest day that a mode can have: the calendar's, or the one that the service named if the clock is behind it.
    func newestPossible(of mode: RankingMode, _ days: RankingDays, now: Int64) -> Day {
        let expected = days.newest(at: now)
        return newest[mode].map { max($0.day, expected) } ?? expected
    }

    /// The days of a mode that are stored, in no order.
    func storedDays(of mode: RankingMode) -> [Day] {
        stored.compactMap { key in
            guard case .ranking(mode, let day) = key else { return nil }
            return day
        }
    }
}

/// The knowledge behind a lock, shared by the catalog and its database's callbacks.
///
/// ## Concurrency
///
/// Any thread may call; the lock is held for microseconds.
final class SharedKnown: Sendable {
    private let known: Mutex<Known>

    init(_ known: Known) {
        self.known = Mutex(known)
    }

    func withLock<Value: Sendable>(_ body: (inout Known) -> Value) -> Value {
        known.withLock { body(&$0) }
    }
}
