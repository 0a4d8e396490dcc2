internal import Synchronization
import Rankings

/// The newest day of each ranking, as far as the service has told.
///
/// ## Concurrency
///
/// Any thread may call; takes a lock for microseconds.
final class ToldDays: Sendable {
    private let newest: Mutex<[RankingMode: NewestDay]>
    private let context: CatalogContext

    /// - Parameters:
    ///   - newest: What is stored.
    ///   - context: What the catalog's parts share.
    init(_ newest: [RankingMode: NewestDay], _ context: CatalogContext) {
        self.newest = Mutex(newest)
        self.context = context
    }

    /// What the service named last; nil if it was never asked.
    subscript(mode: RankingMode) -> NewestDay? {
        newest.withLock { $0[mode] }
    }

    /// The days of a ranking by the source's calendar.
    func days(of mode: RankingMode) -> RankingDays { context.source.description.days(of: mode) }

    /// The newest day that a mode can have: the calendar's, or the one that the service named if the clock is behind it.
    func newestPossible(of mode: RankingMode) -> Day {
        let expected = days(of: mode).newest(at: context.now)
        return self[mode].map { max($0.day, expected) } ?? expected
    }

    /// Keeps what the service named just now.
    func told(_ day: Day, of mode: RankingMode) {
        let told = NewestDay(day: day, asked: context.now)
        newest.withLock { $0[mode] = told }
        context.outbox.add([.newest(mode, told)])
    }

    /// Notes that asking failed.
    ///
    /// - Parameters:
    ///   - mode: What was asked for.
    ///   - moment: When asking began, in Unix seconds.
    ///   - stored: The newest day that is stored.
    /// - Returns: The newest day named before, or else stored.
    func failed(_ mode: RankingMode, at moment: Int64, stored: Day?) -> Day? {
        newest.withLock { newest in
            var known = newest[mode] ?? stored.map { NewestDay(day: $0, asked: 0) }
            known?.failed = moment
            newest[mode] = known
            return known?.day
        }
    }
}
